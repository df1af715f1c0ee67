#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of the laboratory itself: a guest that dies, hangs or complains is reported with its console and leaves no process."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.dont_write_bytecode = True
from lab import kernel, log  # noqa: E402

RUN = pathlib.Path(__file__).with_name("run")
KERNEL = "6.1-rt"


def machines(mark: str) -> list[int]:
    """The QEMU processes of one test."""
    found = []
    for directory in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"qemu" in words[0] and any(mark.encode() in word for word in words):
            found.append(int(directory.name))
    return found


class KernelLog(unittest.TestCase):
    def test_finds_what_a_healthy_kernel_does_not_say(self):
        for line in ("BUG: unable to handle page fault", "WARNING: CPU: 0 PID: 1 at fs/namespace.c:1", "INFO: task x:1 blocked for more than 120 seconds.",
                     "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", "WARNING: possible circular locking dependency detected",
                     "Kernel panic - not syncing: x", "VFS: Busy inodes after unmount of loop0", "EXT4-fs error (device loop0): x"):
            self.assertEqual(log.complaints(f"[    1.0] fine\n[   12.345678] {line}\n"), [line])
            self.assertEqual(log.complaints(f"[   12.345678][  T123] {line}\n"), [line])

    def test_is_silent_about_ordinary_lines_and_about_what_programs_print(self):
        self.assertEqual(log.complaints("[    0.1] mtrr: your CPUs had inconsistent MTRRdefType settings\nBUG: said by a test\n"
                                        "[    0.2] EXT4-fs (loop0): mounted filesystem\n"), [])


class Guest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.kernel = kernel.find(KERNEL)
            subprocess.run(["qemu-system-x86_64", "--version"], check=True, capture_output=True)
        except (kernel.Unavailable, FileNotFoundError) as reason:
            print(f"needs a kernel in QEMU: {reason}")
            sys.exit(77)

    def setUp(self):
        self.mark = f"unmoor.test={uuid.uuid4()}"
        self.addCleanup(lambda: self.assertEqual(machines(self.mark), [], "a QEMU is left"))

    def guest(self, job: str, *options: str) -> subprocess.CompletedProcess:
        done = subprocess.run([RUN, "--kernel", KERNEL, "--append", self.mark, *options, job], capture_output=True, timeout=200)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()  # not text=True, which would turn \r\n into \n
        return done

    def test_modules_bring_what_they_depend_on_first(self):
        names = [name for name, _ in self.kernel.modules(["ext4"])]
        self.assertLess(names.index("jbd2.ko"), names.index("ext4.ko"))
        self.assertLess(names.index("mbcache.ko"), names.index("ext4.ko"))

    def test_output_exit_code_and_results_come_back(self):
        with tempfile.TemporaryDirectory() as results:
            done = self.guest(r"printf 'a\r\n\001b'; echo kept > /results/word; exit 7", "--results", results)
            self.assertEqual((done.returncode, done.stdout), (7, "a\r\n\001b"))
            self.assertEqual((pathlib.Path(results) / "word").read_text(), "kept\n")
            self.assertIn("PREEMPT_RT", (pathlib.Path(results) / "kernel.log").read_text())

    def test_panic_is_reported_with_the_console(self):
        done = self.guest("echo before; echo c >/proc/sysrq-trigger")
        self.assertEqual((done.returncode, done.stdout), (125, "before\n"))
        self.assertIn("Kernel panic - not syncing: sysrq triggered crash", done.stderr)
        self.assertIn("Call Trace:", done.stderr)

    def test_hang_is_ended_by_the_deadline_with_the_console(self):
        done = self.guest("echo before; sleep 1000", "--deadline", "40")
        self.assertEqual((done.returncode, done.stdout), (125, "before\n"))
        self.assertIn("deadline of 40 s", done.stderr)
        self.assertIn("vm: the commands begin", done.stderr)

    def test_a_complaint_of_the_kernel_fails_although_the_command_succeeded(self):
        done = self.guest("echo 'WARNING: CPU: 0 PID: 1 at fs/namespace.c:1 planted' >/dev/kmsg")
        self.assertEqual(done.returncode, 125)
        self.assertIn("fs/namespace.c:1 planted", done.stderr)

    def test_nothing_is_left_when_the_caller_is_killed(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        for how in (signal.SIGTERM, signal.SIGKILL):
            with subprocess.Popen([RUN, "--kernel", KERNEL, "--append", self.mark, "sleep 1000"], stderr=subprocess.DEVNULL,
                                  env={**os.environ, "TMPDIR": scratch.name}) as caller:
                self.assertTrue(self.within(60, lambda: machines(self.mark)), "QEMU did not start")
                os.kill(caller.pid, how)
            self.assertTrue(self.within(10, lambda: not machines(self.mark)), f"QEMU outlives signal {how}")

    @staticmethod
    def within(seconds: float, condition) -> bool:
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.1)
        return bool(condition())


if __name__ == "__main__":
    unittest.main(verbosity=2)
