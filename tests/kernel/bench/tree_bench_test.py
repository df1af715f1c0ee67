#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`unmoor bench tree` runs, and its JSON has the mails' table: {umount, umount -l} by policy, idle and held, by kind of
grace period. (What it measures is no test.)"""
import json
import subprocess
import sys

POLICIES = ["synchronous", "skip-wait", "deferred", "on-demand"]

run = subprocess.run([sys.argv[1], "bench", "tree", "--runs=2", "--json"], capture_output=True, text=True)
if run.returncode != 0 and "needs root, or user namespaces" in run.stderr:
    print("needs a user namespace: not allowed here")
    sys.exit(77)
if run.returncode != 0:
    sys.exit(f"exit status {run.returncode}: {run.stderr}")
scenarios = {s["name"]: s for s in json.loads(run.stdout)["scenarios"]}
for kind in ["", "-normal"]:
    for name, words in [("idle", ["umount", "umount -l"]), ("held", ["umount -l"])]:
        want = [f"{word} ({policy})" for policy in POLICIES for word in words]
        sides = scenarios[name + kind]["sides"]
        got = [side["command"] for side in sides]
        if got != want:
            sys.exit(f"{name + kind}: {got}, not {want}")
        if any(len(side["seconds"]) != 2 or min(side["seconds"]) <= 0 for side in sides):
            sys.exit(f"{name + kind}: not two times each: {sides}")
