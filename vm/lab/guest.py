# SPDX-License-Identifier: MIT
"""A command on a kernel: puts the pieces together, and judges what came back."""

import pathlib
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass, field

from . import initramfs, kernel, log, machine
from .kernel import Unavailable

__all__ = ["Request", "Unavailable", "keep", "report", "run"]


@dataclass
class Request:
    kernel: str
    job: str  # for /bin/sh
    cpus: int = 2
    memory: int = 1024
    append: str = ""
    deadline: float = 300.0
    tree: pathlib.Path | None = None
    files: list[tuple[str, str | None]] = field(default_factory=list)  # here, there
    modules: list[str] = field(default_factory=list)


def run(request: Request, output=None) -> machine.Outcome:
    """Runs it. A complaint in the kernel's log is a failure, whatever the command said."""
    if shutil.which("qemu-system-x86_64") is None:
        raise Unavailable("needs qemu-system-x86_64 (package qemu-system-x86)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that QEMU does not outlive us
    found = kernel.find(request.kernel)
    with tempfile.TemporaryDirectory(prefix="unmoor-initramfs-") as scratch:
        archive = initramfs.Initramfs(kernel.cache_directory() / "stripped")
        archive.add_distribution()
        archive.add_modules(found.modules(initramfs.listed(initramfs.GUEST / "modules") + request.modules))
        if request.tree:
            archive.add_build_tree(request.tree.absolute())
            archive.add_data(initramfs.GUEST.parents[1])
        for source, target in request.files:
            archive.add_file(source, target)
        archive.add_bytes("payload/vm/job", request.job.encode() + b"\n")
        path = pathlib.Path(scratch) / "initramfs"
        archive.write(path)
        outcome = machine.run(machine.Boot(found.image, path, request.cpus, request.memory, request.append, request.deadline), output)
    wrong = log.complaints(outcome.console + "\n" + outcome.kernel_log)
    if wrong:
        outcome.failure = "; ".join([outcome.failure] * bool(outcome.failure) + ["the kernel complains: " + wrong[0]])
    return outcome


def keep(outcome: machine.Outcome, directory: pathlib.Path) -> None:
    """Writes the results, with the console, below a directory."""
    for name, content in {**outcome.results, "console.log": outcome.console.encode()}.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def report(request: Request, outcome: machine.Outcome) -> str:
    """For a person: what failed, and the end of the console."""
    tail = "\n".join(outcome.console.splitlines()[-60:])
    return (f"vm: {request.kernel} failed after {outcome.seconds:.0f} s under {outcome.accelerator}: {outcome.failure}\n"
            f"---- console of the guest (its end) ----\n{tail}\n---- end of the console ----")
