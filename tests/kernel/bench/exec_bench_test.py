#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`unmoor bench exec` prints its lines, its JSON has each side's times, and it leaves nothing behind. (What it measures is no test.)"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

RUNS = 3
SCENARIOS = ["crun", "bwrap"]  # also the programs

unmoor = sys.argv[1]


def skip(why):
    print("needs", why)
    sys.exit(77)


def check(true, *words):
    if not true:
        sys.exit(" ".join(map(str, words)))


def bench(scratch, *words):
    run = subprocess.run([unmoor, "bench", "exec", f"-r{RUNS}", *words], capture_output=True, text=True,
                         env={**os.environ, "TMPDIR": scratch})
    check(run.returncode == 0 and run.stderr == "", "exit status", run.returncode, run.stderr, run.stdout)
    return run.stdout


def names(directory, pattern):
    return {path.name for path in pathlib.Path(directory).glob(pattern)}


def brokers():
    found = set()
    for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text() == "unmoor-broker\n":
                found.add(comm.parent.name)
        except OSError:
            pass
    return found


def remains():
    return {"mounts": pathlib.Path("/proc/self/mountinfo").read_text(), "containers": names("/run/crun", "unmoor-bench-*")}


if os.geteuid() != 0:
    skip("root: crun is given a cgroup of its own")
for program in [*SCENARIOS, "busybox"]:
    if shutil.which(program) is None:
        skip(program)
before, brokers_before = remains(), brokers()
with tempfile.TemporaryDirectory() as scratch:
    text = bench(scratch)
    told = json.loads(bench(scratch, "--json"))
    check(not names(scratch, "*"), "files stay:", names(scratch, "*"))

for name in SCENARIOS:
    part = text[text.index(f"\n{name}: "):]
    commands = re.findall(rf"Performance counter stats for '([^\n]*)' \({RUNS} runs\):\n\n +[0-9.]+ \+- [0-9.]+ seconds time elapsed", part)[:3]
    check(commands[0].startswith(name) and commands[1] == f"unmoor exec -- {commands[0]}" and commands[2] == "/bin/true", part)
    check(re.search(r"unmoor exec -- [^\n]* times as fast \(", part), part)
check(told["not_measured"] == [], told["not_measured"])
check([scenario["name"] for scenario in told["scenarios"]] == SCENARIOS, told)
for scenario in told["scenarios"]:
    check([side["role"] for side in scenario["sides"]] == ["reference", "contender", "floor"], scenario)
    for side in scenario["sides"]:
        check(len(side["seconds"]) == RUNS and min(side["seconds"]) > 0, scenario["name"], side)

check(remains() == before, "left behind:", remains(), "before:", before)
# A broker ends by itself, a grace period after its last client; others' brokers and directories come and go.
for attempt in range(100):
    stays = brokers() - brokers_before
    if not stays:
        break
    time.sleep(0.1)
check(not stays, "brokers stay:", stays)
