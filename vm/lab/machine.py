# SPDX-License-Identifier: MIT
"""One boot of a guest under QEMU: hardware virtualisation where it works, else emulation."""

import ctypes
import io
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field

_QEMU = "qemu-system-x86_64"
_KVM_PATIENCE = 15.0  # seconds until a kernel that runs at hardware speed must have said something
# Whatever is wrong in the guest ends in a panic, and a panic ends QEMU (with -no-reboot).
# noirqdebug: an emulated serial port that is kept busy for minutes looks to the kernel like a stuck interrupt line.
_ALWAYS = ("console=ttyS0 panic=-1 oops=panic softlockup_panic=1 hung_task_panic=1 sysctl.kernel.panic_on_rcu_stall=1 "
           "loglevel=5 printk.time=1 random.trust_cpu=on mitigations=off noirqdebug")
# An emulator translates a program again for each address that it is loaded at. With the same address every time a process
# starts four times as fast, which is nearer to what it costs on hardware in comparison with a grace period.
_EMULATED = "norandmaps no5lvl"


@dataclass
class Boot:
    image: pathlib.Path
    initramfs: pathlib.Path
    cpus: int = 2
    memory: int = 1024  # MiB
    append: str = ""
    deadline: float = 300.0  # seconds


@dataclass
class Outcome:
    """What came back. `failure` is empty when the guest ran its commands to the end; their exit code is `exit`."""

    failure: str
    console: str
    accelerator: str
    seconds: float
    output: bytes = b""
    exit: int | None = None
    results: dict[str, bytes] = field(default_factory=dict)

    @property
    def kernel_log(self) -> str:
        return self.results.get("kernel.log", b"").decode("utf-8", "replace")


def run(boot: Boot, output=None) -> Outcome:
    """Boots, copies what the commands print to `output` (a binary file) as it comes, and returns when QEMU is gone."""
    output = output or sys.stdout.buffer
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        outcome = _attempt(boot, ["-accel", "kvm"], output)
        if outcome is not None:
            return outcome
    return _attempt(boot, ["-accel", "tcg,thread=multi"], output)


def _attempt(boot: Boot, accelerator: list[str], output) -> Outcome | None:
    """None when the accelerator is hardware and did not bring the kernel to its first line."""
    kvm = "kvm" in accelerator
    end = secrets.token_hex(16)
    with tempfile.TemporaryDirectory(prefix="unmoor-vm-") as scratch:
        console, port = pathlib.Path(scratch) / "console", pathlib.Path(scratch) / "port"
        console.touch()
        port.touch()
        command = [_QEMU, *accelerator, "-cpu", "max", "-smp", str(boot.cpus), "-m", str(boot.memory), "-nodefaults",
                   "-no-user-config", "-display", "none", "-no-reboot", "-serial", f"file:{console}", "-serial", f"file:{port}",
                   "-kernel", str(boot.image), "-initrd", str(boot.initramfs),
                   "-append", f"{_ALWAYS} {'' if kvm else _EMULATED} unmoor.end={end} {boot.append}"]
        started = time.monotonic()
        failure = ""
        stream = _Stream(port, end.encode(), output)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              start_new_session=True, preexec_fn=_die_with_parent) as qemu:
            try:
                while qemu.poll() is None:
                    stream.pump()
                    running = time.monotonic() - started
                    if kvm and running > _KVM_PATIENCE and console.stat().st_size == 0:
                        return None
                    if running > boot.deadline:
                        failure = f"deadline of {boot.deadline:.0f} s"
                        break
                    time.sleep(0.05)
            finally:
                if qemu.poll() is None:
                    qemu.kill()
                complaint = qemu.communicate()[1].decode("utf-8", "replace").strip()
        stream.pump()
        said = console.read_text("utf-8", "replace").replace("\r", "")
        if kvm and not said:
            return None
        outcome = Outcome(failure, said, "kvm" if kvm else "tcg", time.monotonic() - started)
        outcome.results = stream.results()
        outcome.output = bytes(stream.passed_on)
        if "exit" in outcome.results:
            outcome.exit = int(outcome.results["exit"])
        elif not failure:
            outcome.failure = "the guest died" + (f": {complaint}" if complaint else "")
        return outcome


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class _Stream:
    """The second serial port: what the commands print, the end mark, a tar archive, the end mark."""

    def __init__(self, path: pathlib.Path, end: bytes, output):
        self._file = open(path, "rb")
        self._mark = b"\n" + end + b"\n"
        self._output = output
        self.passed_on = bytearray()
        self._pending = b""
        self._archive: bytes | None = None

    def pump(self) -> None:
        arrived = self._file.read()
        if self._archive is not None:
            self._archive += arrived
            return
        self._pending += arrived
        before, mark, after = self._pending.partition(self._mark)
        if mark:
            self._pass_on(before)
            self._archive = after
        else:  # the mark may be cut in two
            keep = len(self._mark) - 1
            self._pass_on(self._pending[:-keep])
            self._pending = self._pending[-keep:]

    def results(self) -> dict[str, bytes]:
        """The files the guest sent; none unless it sent all."""
        self._file.close()
        if self._archive is None:
            self._pass_on(self._pending)
            return {}
        if not self._archive.endswith(self._mark):
            return {}
        with tarfile.open(fileobj=io.BytesIO(self._archive[: -len(self._mark)])) as archive:
            return {os.path.normpath(member.name): archive.extractfile(member).read() for member in archive if member.isfile()}

    def _pass_on(self, data: bytes) -> None:
        if data:
            self.passed_on += data
            self._output.write(data)
            self._output.flush()
