#!/bin/sh
# SPDX-License-Identifier: MIT
# The Debian 12 packages the project stands on, in groups, and the way to get them.
#
#   scripts/packages.sh list GROUP...     print the names
#   scripts/packages.sh check GROUP...    print what is missing; exit 1 if anything is
#   scripts/packages.sh install GROUP...  root: install what is missing; anybody else: print the apt-get line, exit 1
#
# Groups: build (program and libraries), test (make check), vm (real-time kernels in QEMU), lint (make lint, clang preset),
# cross (arm64 preset). One package a line, sorted, so that a change is a one-line change.
set -eu

build="
ccache
cmake
g++
libcli11-dev
libfmt-dev
libmount-dev
liburcu-dev
ninja-build
nlohmann-json3-dev
pkgconf
"

test="
bash
btrfs-progs
bubblewrap
busybox-static
crun
e2fsprogs
fuse3
libbenchmark-dev
libgmock-dev
libgtest-dev
lsof
mandoc
mount
podman
procps
psmisc
python3
spin
strace
util-linux
"

vm="
binutils
busybox-static
e2fsprogs
mount
python3
qemu-system-x86
"

lint="
clang-19
clang-format-19
clang-tidy-19
"

cross="
g++-aarch64-linux-gnu
"

names() {
  for group in "$@"; do
    case $group in
      build) echo "$build" ;;
      test) echo "$test" ;;
      vm) echo "$vm" ;;
      lint) echo "$lint" ;;
      cross) echo "$cross" ;;
      *)
        echo "packages.sh: no group '$group' (build, test, vm, lint, cross)" >&2
        exit 2
        ;;
    esac
  done | sed '/^$/d' | LC_ALL=C sort -u
}

# What is not installed, of the names on standard input.
missing() {
  while read -r name; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null || true)
    [ "$status" = installed ] || echo "$name"
  done
}

apt() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

install_all() {
  # A container image comes without package lists, and an old list names files that are no longer there.
  if ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 && apt install -y --no-install-recommends "$@"; then
    return 0
  fi
  apt update && apt install -y --no-install-recommends "$@"
}

[ $# -ge 2 ] || { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
action=$1
shift
wanted=$(names "$@")
if [ "$action" = list ]; then
  echo "$wanted"
  exit 0
fi
if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "packages.sh: not a Debian system; this needs what Debian 12 calls:" $wanted >&2
  exit 0
fi
lacking=$(echo "$wanted" | missing)
[ -n "$lacking" ] || exit 0
case $action in
  check)
    echo "$lacking"
    exit 1
    ;;
  install)
    if [ "$(id -u)" = 0 ]; then
      install_all $lacking
    else
      echo "These packages are missing; as root:" >&2
      echo "apt-get install -y --no-install-recommends" $lacking >&2
      exit 1
    fi
    ;;
  *)
    echo "packages.sh: no action '$action'" >&2
    exit 2
    ;;
esac
