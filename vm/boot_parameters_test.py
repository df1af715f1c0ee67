#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The open question of the kernel mails: does `rcupdate.rcu_normal_after_boot=0 rcupdate.rcu_expedited=1` change anything on a
PREEMPT_RT kernel? Boots with and without it, reads the kernel's own line, and counts expedited grace periods by kprobes.

Which answer is right depends on the build: the first parameter exists only with CONFIG_NO_HZ_FULL, as Debian has it
(docs/from-the-mails.md). `vm/boot_parameters_test.py --print` prints what was seen.
"""

import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from lab import guest, kernel  # noqa: E402

RUN = pathlib.Path(__file__).with_name("run")
EXPEDITE = "rcupdate.rcu_normal_after_boot=0 rcupdate.rcu_expedited=1"
ROUNDS = 10
# `started` is reached only when an expedited grace period really begins; `asked` whenever an unmount asks for one.
JOB = f"""
dmesg | grep -i 'expedited'
for knob in rcu_normal rcu_expedited; do echo "$knob=$(cat /sys/kernel/$knob)"; done
cd /sys/kernel/tracing
echo 'p:asked synchronize_rcu_expedited' >kprobe_events
echo 'p:started sync_rcu_exp_select_cpus' >>kprobe_events
for i in $(seq {ROUNDS}); do
  mount -t tmpfs t /mnt
  echo 1 >events/kprobes/enable
  umount -l /mnt
  echo 0 >events/kprobes/enable
done
awk '{{print $1 "=" $2}}' kprobe_profile
"""


def boot(append: str) -> str:
    return subprocess.run([RUN, "--kernel", "6.1-rt", "--append", append, JOB], capture_output=True, text=True, timeout=300).stdout


def count(seen: str, name: str) -> int:
    found = re.search(rf"^{name}=(\d+)$", seen, re.MULTILINE)
    return int(found.group(1)) if found else -1


class BootParameters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            kernel.find("6.1-rt")
        except guest.Unavailable as reason:
            print(f"needs a kernel in QEMU: {reason}")
            sys.exit(77)

    def test_by_default_no_grace_period_is_expedited(self):
        seen = boot("")
        self.assertIn("No expedited grace period (rcu_normal_after_boot).", seen)
        self.assertEqual(count(seen, "rcu_normal"), 1, seen)
        self.assertGreaterEqual(count(seen, "asked"), ROUNDS, seen)
        self.assertEqual(count(seen, "started"), 0, seen)

    def test_with_the_mails_parameters_every_unmount_gets_an_expedited_one(self):
        seen = boot(EXPEDITE)
        self.assertIn("All grace periods are expedited (rcu_expedited).", seen)
        self.assertEqual((count(seen, "rcu_normal"), count(seen, "rcu_expedited")), (0, 1), seen)
        self.assertGreaterEqual(count(seen, "started"), ROUNDS, seen)


if __name__ == "__main__":
    if "--print" in sys.argv:
        for parameters in ("", EXPEDITE):
            print(f"#### 6.1-rt {parameters}\n{boot(parameters)}")
    else:
        unittest.main(verbosity=2)
