#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`unmoor bench all --json`, and the report made of it: a scenario that cannot be measured does not keep the others from it, names
are unique, every run is in the picture. (What it measures is no test.)"""
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

unmoor = sys.argv[1]


def bench(*words, **more):
    return subprocess.run([unmoor, "bench", *words], capture_output=True, text=True, **more)


def check(true, *words):
    if not true:
        sys.exit(" ".join(map(str, words)))


listed = [line.split()[0] for line in bench("all", "--list").stdout.splitlines()]
check(len(set(listed)) == len(listed) and {"exec/crun", "tree/held", "umount/held"} <= set(listed), "listed:", listed)
unknown = bench("all", "--only", "tree/crun")
check(unknown.returncode == 1 and "no scenario 'tree/crun'\nHINT: `unmoor bench all --list`" in unknown.stderr, unknown)

with tempfile.TemporaryDirectory() as scratch:
    # No bwrap on this path: its scenario fails, the next is measured.
    tools = pathlib.Path(scratch, "tools")
    tools.mkdir()
    for name in ["sh", "umount"]:
        found = subprocess.run(["sh", "-c", f"command -v {name}"], capture_output=True, text=True).stdout.strip()
        (tools / name).symlink_to(found)
    done = bench("all", "--private", "--only=exec/bwrap,umount/umount", "-r2", "--json", env={"PATH": str(tools)})
    if done.returncode != 0 and "needs root, or user namespaces" in done.stderr:
        print("needs a user namespace: not allowed here")
        sys.exit(77)
    check(done.returncode == 1 and done.stderr == "unmoor bench: bwrap: run bwrap: No such file or directory\n", done)
    told = json.loads(done.stdout)
    check([(one["bench"], one["name"], one["why"]) for one in told["not_measured"]] ==
          [("exec", "bwrap", "run bwrap: No such file or directory")], told["not_measured"])
    check([(one["bench"], one["name"]) for one in told["scenarios"]] == [("umount", "umount")], told)

    file, picture = pathlib.Path(scratch, "result.json"), pathlib.Path(scratch, "runs.svg")
    file.write_text(done.stdout)
    # Two parts of one measurement share a heading and a table; one from another environment has its own.
    elsewhere = done.stdout.replace('"cpus": ', '"cpus": 1')
    report = bench("report", "--svg", picture, file, file, "-", input=elsewhere)
    check(report.returncode == 0 and report.stderr == "", report)
    check(report.stdout.startswith("![Every run of what is in the tables](runs.svg)\n\n## Linux "), report.stdout)
    check(report.stdout.count("| **umount umount**: umount of a tmpfs | `umount mnt` | 2 |") == 3, report.stdout)
    check(report.stdout.count("## Linux") == report.stdout.count("| scenario |") == 2, report.stdout)
    check(report.stdout.count("\nNot measured: exec bwrap: ") == 3, report.stdout)
    drawn = ElementTree.parse(picture).getroot()
    dots = drawn.findall(".//{http://www.w3.org/2000/svg}circle")
    check(len(dots) == 3 * 3 * 2, len(dots), "dots")

    for words, says in [([str(tools)], f"{tools}: Is a directory\n"), ([scratch + "/none"], "none: No such file or directory\n"),
                        (["--svg", scratch + "/no/where", str(file)], "no/where: No such file or directory\n")]:
        wrong = bench("report", *words)
        check(wrong.returncode == 1 and wrong.stderr.endswith(says), wrong)
    wrong = bench("report", "-", input="{}")
    check(wrong.returncode == 1 and "-: not a result of unmoor bench: " in wrong.stderr and "HINT: `unmoor bench all" in wrong.stderr, wrong)
