#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The open questions of the kernel mails: does `rcupdate.rcu_normal_after_boot=0 rcupdate.rcu_expedited=1` change anything on a
PREEMPT_RT kernel, and what share of a lazy umount of a held tmpfs is the grace period? Boots with and without the parameters, reads
the kernel's own line, and traces both by kprobes (Debian builds without the tracepoints of RCU, CONFIG_RCU_TRACE).

Which answer is right depends on the build: the first parameter exists only with CONFIG_NO_HZ_FULL, as Debian has it
(docs/from-the-mails.md). `vm/boot_parameters_test.py --print [KERNEL...]` prints what was seen.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
from lab import guest, kernel  # noqa: E402

RUN = pathlib.Path(__file__).with_name("run")
KERNELS = ["6.1-rt", "6.12-rt"]
EXPEDITE = "rcupdate.rcu_normal_after_boot=0 rcupdate.rcu_expedited=1"
ROUNDS = 10
# `began` is reached only when an expedited grace period really begins; `asked` whenever an unmount asks for one, and `waited` when
# whatever grace period it got is over.
JOB = f"""
dmesg | grep -i 'expedited'
for knob in rcu_normal rcu_expedited; do echo "$knob=$(cat /sys/kernel/$knob)"; done
[ -e /sys/module/rcupdate/parameters/rcu_normal_after_boot ] && echo parameter=1
cd /sys/kernel/tracing
echo 'p:asked synchronize_rcu_expedited' >kprobe_events
echo 'r:waited synchronize_rcu_expedited' >>kprobe_events
echo 'p:began sync_rcu_exp_select_cpus' >>kprobe_events
echo 'p:call path_umount' >>kprobe_events
echo 'r:return path_umount' >>kprobe_events
for i in $(seq {ROUNDS}); do
  mount -t tmpfs t /mnt
  exec 9>/mnt/held
  echo 1 >events/kprobes/enable
  umount -l /mnt
  echo 0 >events/kprobes/enable
  exec 9>&-
done
awk '{{print $1 "=" $2}}' kprobe_profile
grep '^ *umount-' trace
"""


class Seen:
    """What one boot has shown."""

    def __init__(self, name: str, append: str):
        self.text = subprocess.run([RUN, "--kernel", name, "--append", append, JOB], capture_output=True, text=True, timeout=300).stdout
        self.counts = {word: int(number) for word, number in re.findall(r"^(\w+)=(\d+)\b", self.text, re.MULTILINE)}
        # In milliseconds: of each call the whole, and the part in which it waited for a grace period.
        self.calls: list[tuple[float, float]] = []
        at: dict[str, float] = {}
        for time, event in re.findall(r"^ *umount-\d+ .* (\d+\.\d+): (\w+):", self.text, re.MULTILINE):
            at[event] = float(time) * 1000
            if event == "return" and {"call", "asked", "waited"} <= at.keys():
                self.calls.append((at["return"] - at["call"], at["waited"] - at["asked"]))
            if event == "return":
                at.clear()

    def table(self) -> str:
        lines = [line for line in self.text.splitlines() if "xpedited grace" in line or "are expedited" in line]
        whole, waited = zip(*self.calls)
        return "\n".join(lines + [f"{word} {count}" for word, count in self.counts.items()] +
                         [f"lazy umount of a held tmpfs, median: {statistics.median(whole):.3f} ms, of which the grace period "
                          f"{statistics.median(waited):.3f} ms ({100 * statistics.median(w / c for c, w in self.calls):.1f} %)"])


class BootParameters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            for name in KERNELS:
                kernel.find(name)
        except guest.Unavailable as reason:
            print(f"needs a kernel in QEMU: {reason}")
            sys.exit(77)

    def see(self, name: str, append: str) -> Seen:
        seen = Seen(name, append)
        self.assertEqual(len(seen.calls), ROUNDS, seen.text)
        self.assertGreaterEqual(seen.counts["asked"], ROUNDS)
        for whole, waited in seen.calls:
            self.assertTrue(0 < waited < whole, seen.text)
        return seen

    def test_by_default_no_grace_period_is_expedited(self):
        for name in KERNELS:
            with self.subTest(name):
                seen = self.see(name, "")
                self.assertIn("No expedited grace period (rcu_normal_after_boot).", seen.text)
                self.assertEqual((seen.counts["rcu_normal"], seen.counts["began"]), (1, 0), seen.text)

    def test_with_the_mails_parameters_every_unmount_gets_an_expedited_one(self):
        for name in KERNELS:
            with self.subTest(name):
                seen = self.see(name, EXPEDITE)
                self.assertIn("All grace periods are expedited (rcu_expedited).", seen.text)
                self.assertEqual((seen.counts["rcu_normal"], seen.counts["rcu_expedited"]), (0, 1), seen.text)
                self.assertGreaterEqual(seen.counts["began"], ROUNDS, seen.text)


if __name__ == "__main__":
    if "--print" in sys.argv:
        for chosen in [word for word in sys.argv[1:] if word != "--print"] or KERNELS:
            for parameters in ("", EXPEDITE):
                print(f"#### {chosen} {parameters}\n{Seen(chosen, parameters).table()}\n", flush=True)
    else:
        unittest.main(verbosity=2)
