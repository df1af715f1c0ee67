#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The last line of `make check` (scripts/summary.py): what ran where, and what did not."""
import json
import pathlib
import subprocess
import sys
import tempfile

REPORT = """<testsuite>
<testcase name="A.passed" status="run"/>
<testcase name="A.fails" status="fail"><failure/></testcase>
<testcase name="A.needs_mounts" status="notrun"><skipped/><system-out>x.cpp:1: Skipped
needs mounts:
 not here

[  SKIPPED ]</system-out></testcase>
<testcase name="A.ran_in_a_guest" status="notrun"><skipped/><system-out>x.cpp:1: Skipped
needs mounts

</system-out></testcase>
<testcase name="script" status="notrun"><skipped/><system-out>words
needs fuse</system-out></testcase>
<testcase name="vm.kernel.6.1-rt" status="run"/>
</testsuite>"""


def summary(guests):
    with tempfile.TemporaryDirectory() as scratch:
        report, results = pathlib.Path(scratch, "ctest.xml"), pathlib.Path(scratch, "vm-results")
        report.write_text(REPORT)
        for name, told in guests.items():
            (results / name).mkdir(parents=True)
            (results / name / "summary.json").write_text(json.dumps(told))
        return subprocess.run([sys.argv[1], report, results], capture_output=True, text=True, check=True).stdout


for guests, want in [
    ({}, "1 here, 0 in the VM, 3 skipped: 1 needs mounts: not here; 1 needs mounts; 1 needs fuse\n"),
    ({"a": {"passed": ["A.ran_in_a_guest", "A.passed"], "not_run": []}, "b": {"passed": ["A.passed"], "not_run": []}},
     "1 here, 3 in the VM, 2 skipped: 1 needs mounts: not here; 1 needs fuse\n"),
    ({"a": {"passed": ["A.passed"], "not_run": ["A.fails"]}, "b": {"passed": [], "not_run": ["A.fails", "A.passed"]}},
     "1 here, 1 in the VM, 3 skipped: 1 needs mounts: not here; 1 needs mounts; 1 needs fuse;"
     " not run in the VM, to save time: 3 (make vm-check)\n"),
]:
    got = summary(guests)
    if got != want:
        sys.exit(f"{guests}:\n{got}not\n{want}")
