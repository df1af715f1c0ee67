#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The last line of `make check`: N here, M in the VM, K skipped: reasons; not run in the VM, to save time: L.

N counts the tests that passed on this machine, M those that passed on a kernel in QEMU (a test that ran on two kernels counts
twice), K those that ran nowhere, L those that the guests had no time for (one that two kernels had no time for counts twice).
Usage: summary.py CTEST.XML DIRECTORY-OF-VM-RESULTS
"""

import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def reason(output: str) -> str:
    """Why a test was skipped, in its own words: what follows GoogleTest's "Skipped", else the last line."""
    found = re.search(r": Skipped\n(.*?)\n(?:\n|\[)", output, re.DOTALL)
    if found:
        return " ".join(found.group(1).split())
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def main() -> int:
    report, results = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    here = 0
    skipped: dict[str, str] = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            skipped[case.get("name")] = reason(case.findtext("system-out") or "")
        elif case.get("status") == "run" and not case.get("name").startswith("vm.kernel."):
            here += 1
    in_vm = not_run = 0
    for summary in sorted(results.glob("*/summary.json")):
        told = json.loads(summary.read_text("utf-8"))
        in_vm += len(told["passed"])
        not_run += len(told["not_run"])
        for name in told["passed"]:
            skipped.pop(name, None)
    counted = collections.Counter(skipped.values())
    reasons = "; ".join(f"{count} {text}" for text, count in counted.most_common())
    print(f"{here} here, {in_vm} in the VM, {len(skipped)} skipped" + (f": {reasons}" if reasons else "") +
          (f"; not run in the VM, to save time: {not_run} (make vm-check)" if not_run else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
