# SPDX-License-Identifier: MIT
"""Debian kernel packages: found by their meta package, downloaded and unpacked into a cache, never installed."""

import fcntl
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
from dataclasses import dataclass

# Our name of a kernel -> the Debian package that depends on the newest build of it. To add a kernel, add a line.
META_PACKAGES = {
    "6.1-rt": "linux-image-rt-amd64",
    "6.12-rt": "linux-image-6.12-rt-amd64",
    "6.1": "linux-image-amd64",
    "6.12": "linux-image-6.12-amd64",
}

# Of the modules, those that a guest without hardware can want.
_KEPT = re.compile(r"^\./boot/(vmlinuz|config)-|^\./lib/modules/[^/]+/kernel/(?!sound/|drivers/(?!block/|char/|md/|virtio/))")


class Unavailable(Exception):
    """This kernel cannot be had here; the text says why."""


@dataclass
class Kernel:
    name: str
    release: str
    directory: pathlib.Path

    @property
    def image(self) -> pathlib.Path:
        return self.directory / "boot" / f"vmlinuz-{self.release}"

    def modules(self, wanted: list[str]) -> list[tuple[str, bytes]]:
        """The modules named and all they depend on, in loading order, as (file name, content)."""
        files = {_module_name(path): path for path in (self.directory / "lib/modules").rglob("*.ko*")}
        ordered: dict[str, tuple[str, bytes]] = {}

        def add(name: str) -> None:
            path = files.get(name)
            if path is None or name in ordered:  # no file: built into this kernel
                return
            content = path.read_bytes()
            if path.suffix == ".xz":
                content = lzma.decompress(content)
            for needed in _dependencies(content):
                add(needed)
            ordered[name] = (f"{name}.ko", content)

        for name in wanted:
            add(name.replace("-", "_"))
        return list(ordered.values())


def _module_name(path: pathlib.Path) -> str:
    return path.name.split(".ko")[0].replace("-", "_")


def _dependencies(module: bytes) -> list[str]:
    """From the .modinfo strings of the module itself: the package has no modules.dep before it is installed."""
    names: list[str] = []
    for key, value in re.findall(rb"\x00(depends|softdep)=([^\x00]*)\x00", b"\x00" + module.replace(b"\x00", b"\x00\x00")):
        if key == b"depends":
            names += [name for name in value.decode().split(",") if name]
        elif value.startswith(b"pre:"):
            names += value.decode().removeprefix("pre:").split("post:")[0].split()
    return [name.replace("-", "_") for name in names]


def cache_directory() -> pathlib.Path:
    """$UNMOOR_VM_CACHE, else the user's cache directory, else build/ of this repository."""
    chosen = os.environ.get("UNMOOR_VM_CACHE")
    if chosen:
        candidates = [pathlib.Path(chosen)]
    else:
        user = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        candidates = [pathlib.Path(user) / "unmoor" / "vm", pathlib.Path(__file__).parents[2] / "build" / "vm-cache"]
    for directory in candidates:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return directory.resolve()
    raise Unavailable("no cache directory can be written: " + ", ".join(map(str, candidates)))


def find(name: str) -> Kernel:
    """The kernel, from the cache if it is there, else downloaded. Several at a time wait for each other."""
    if name not in META_PACKAGES:
        raise Unavailable(f"no kernel '{name}' (there are: {', '.join(META_PACKAGES)})")
    cache = cache_directory()
    with open(cache / f"{name}.lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        directory = cache / name
        if not directory.exists():
            _download(META_PACKAGES[name], directory, cache)
        releases = [path.name for path in (directory / "lib/modules").iterdir()]
        return Kernel(name, releases[0], directory)


def _download(meta: str, directory: pathlib.Path, cache: pathlib.Path) -> None:
    work = cache / f"{directory.name}.part"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    options: list[str] = []
    package = _real_package(meta, options)
    if package is None:  # no package lists, as in a container image: private ones, which need no privilege
        options = _private_lists(cache)
        package = _real_package(meta, options)
    if package is None:
        raise Unavailable(f"apt knows no package {meta}")
    got = subprocess.run(["apt-get", "-q", *options, "download", package], cwd=work, capture_output=True, text=True)
    packages = list(work.glob("*.deb"))
    if not packages:
        raise Unavailable(f"apt-get download {package} failed: {got.stderr.strip().splitlines()[-1:]}")
    _unpack(packages[0], work)
    packages[0].unlink()
    work.rename(directory)


def _real_package(meta: str, options: list[str]) -> str | None:
    try:
        shown = subprocess.run(["apt-cache", *options, "show", "--no-all-versions", meta], capture_output=True, text=True)
    except FileNotFoundError:
        raise Unavailable("needs apt, to download a Debian kernel") from None
    found = re.search(r"^Depends:.*?\b(linux-image-\d\S*)", shown.stdout, re.MULTILINE)
    return found.group(1) if found else None


def _private_lists(cache: pathlib.Path) -> list[str]:
    state = cache / "apt"
    (state / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (state / "archives" / "partial").mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}", "-o", f"Dir::Cache::Archives={state}/archives",
               "-o", "APT::Sandbox::User=", "-o", "Debug::NoLocking=1"]
    subprocess.run(["apt-get", "-q", *options, "update"], capture_output=True, check=False)
    return options


def _unpack(package: pathlib.Path, directory: pathlib.Path) -> None:
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as unpacker:
        with tarfile.open(fileobj=unpacker.stdout, mode="r|") as archive:
            for member in archive:
                if member.isfile() and _KEPT.match(member.name):
                    target = directory / member.name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with open(target, "wb") as out:
                        shutil.copyfileobj(archive.extractfile(member), out)
    if unpacker.returncode != 0:
        raise Unavailable(f"dpkg-deb could not unpack {package.name}")
