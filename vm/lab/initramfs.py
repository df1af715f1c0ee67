# SPDX-License-Identifier: MIT
"""An initramfs made of the distribution's programs, a build tree and whatever else is named."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess

GUEST = pathlib.Path(__file__).parents[1] / "guest"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MERGED = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib32": "usr/lib32", "lib64": "usr/lib64"}
# So that mkfs has its profiles and getpwuid an answer.
_SETTINGS = ["/etc/mke2fs.conf", "/etc/nsswitch.conf", "/etc/ld.so.cache"]


def listed(path: pathlib.Path) -> list[str]:
    """The lines of a list file, without comments."""
    return [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#")]


class Initramfs:
    """Collects files by their path in the guest, then writes them as one "newc" cpio archive."""

    def __init__(self, stripped: pathlib.Path):
        self._files: dict[str, tuple[int, bytes]] = {}  # path -> mode, content
        self._stripped = stripped  # programs without their debugging information, kept from run to run

    def add_bytes(self, path: str, content: bytes, mode: int = 0o100644) -> None:
        self._files[path.lstrip("/")] = (mode, content)

    def add_file(self, source: str | pathlib.Path, path: str | None = None) -> None:
        """A file under the guest's root; a program brings its libraries."""
        source = pathlib.Path(source)
        path = path or str(source.absolute())
        directory = os.path.realpath(os.path.dirname(path)) if path == str(source.absolute()) else os.path.dirname(path)
        where = f"payload{directory}/{os.path.basename(path)}"
        if where in self._files:
            return
        mode = source.stat().st_mode
        content = source.read_bytes()
        if content.startswith(b"\x7fELF"):
            self._files[where] = (mode, self._without_debug(source, content))
            for library in _libraries(source):
                self.add_file(library)
        else:
            self._files[where] = (mode, content)

    def add_distribution(self) -> None:
        for name in listed(GUEST / "programs"):
            found = shutil.which(name, path=_PATH)
            if found:
                self.add_file(found)
        for path in _SETTINGS:
            if os.path.exists(path):
                self.add_file(path)
        self.add_bytes("payload/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
        self.add_bytes("payload/etc/group", b"root:x:0:\nnogroup:x:65534:\n")
        busybox = shutil.which("busybox", path=_PATH)
        if busybox is None:
            raise FileNotFoundError("busybox (package busybox-static)")
        self.add_bytes("bin/busybox", pathlib.Path(busybox).read_bytes(), 0o100755)
        self.add_bytes("init", (GUEST / "init").read_bytes(), 0o100755)
        self.add_bytes("payload/vm/start", (GUEST / "start").read_bytes(), 0o100755)

    def add_modules(self, modules: list[tuple[str, bytes]]) -> None:
        for name, content in modules:
            self.add_bytes(f"payload/vm/modules.d/{name}", content)
        self.add_bytes("payload/vm/modules", "".join(f"/vm/modules.d/{name}\n" for name, _ in modules).encode())

    def add_build_tree(self, tree: pathlib.Path) -> None:
        """Every program and shared library of a build tree, at its own path: what was compiled in stays true."""
        for path in sorted(tree.rglob("*")):
            inside = path.relative_to(tree).parts
            if "CMakeFiles" in inside or not path.is_file() or path.is_symlink() and not path.exists():
                continue
            if os.access(path, os.X_OK) and (_is_elf(path) or path.suffix in (".sh", ".py")):
                self.add_file(path)

    def add_data(self, root: pathlib.Path) -> None:
        """What the tests of a build tree read from the repository at `root`, at its own place."""
        for name in listed(GUEST / "data"):
            for path in sorted([root / name, *(root / name).rglob("*")]):
                if path.is_file():
                    self.add_file(path)

    def write(self, out: pathlib.Path) -> None:
        directories: set[str] = set()
        for path in self._files:
            directories.update(str(parent) for parent in pathlib.PurePosixPath(path).parents if str(parent) != ".")
        with open(out, "wb") as archive:
            number = 0

            def entry(name: str, mode: int, content: bytes) -> None:
                nonlocal number
                number += 1
                encoded = os.fsencode(name) + b"\0"
                fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
                head = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
                archive.write(head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4))

            for directory in sorted(directories):
                entry(directory, 0o040755, b"")
            entry("dev", 0o040755, b"")
            for link, target in _MERGED.items():
                entry(f"payload/{link}", 0o120777, target.encode())
            for path, (mode, content) in sorted(self._files.items()):
                entry(path, mode, content)
            entry("TRAILER!!!", 0, b"")

    def _without_debug(self, source: pathlib.Path, content: bytes) -> bytes:
        if b".debug_info" not in content:
            return content
        facts = source.stat()
        key = hashlib.sha256(f"{source.resolve()} {facts.st_mtime_ns} {facts.st_size}".encode()).hexdigest()
        kept = self._stripped / key
        if not kept.exists():
            self._stripped.mkdir(parents=True, exist_ok=True)
            fresh = kept.with_suffix(f".{os.getpid()}")
            if subprocess.run(["strip", "--strip-debug", "-o", fresh, source], capture_output=True).returncode != 0:
                return content
            fresh.rename(kept)
        return kept.read_bytes()


def _is_elf(path: pathlib.Path) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _libraries(program: pathlib.Path) -> list[str]:
    """The shared libraries of a program and its loader; none for a static one."""
    answer = subprocess.run(["ldd", program], capture_output=True, text=True)
    return re.findall(r"(/\S+) \(0x", answer.stdout)
