#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs a build tree below a prefix that did not exist when it was configured, and uses what is there as a stranger would.
#
#   install_test.sh BUILD_TREE
set -eu
sources=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/unmoor-install-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "FAILED: $*"
  exit 1
}

prefix=$scratch/prefix
cmake --install "$1" --prefix "$prefix" >"$scratch/log" || fail "install: $(cat "$scratch/log")"
"$prefix/bin/unmoor" --version | grep -q '^unmoor [0-9]' || fail "the program does not say its version"
"$prefix/bin/unmoor" doctor --help | grep -q 'unmoor doctor' || fail "the program does not find its heavy verbs"
"$prefix/bin/unmoor" umount -N /nonexistent x 2>&1 | grep -q 'failed to set target namespace' || fail "umount does not find its half with libmount"
[ -f "$prefix/share/man/man1/unmoor.1" ] || fail "no manual page"
[ -f "$prefix/share/bash-completion/completions/unmoor" ] || fail "no completion"

libdir=$(dirname "$(find "$prefix" -name unmoor.pc)")
export PKG_CONFIG_PATH="$libdir" LD_LIBRARY_PATH="$libdir/.."
needed=$(readelf -d "$libdir/../libunmoor.so" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc\.so|ld-linux)' || true)
[ -z "$needed" ] || fail "libunmoor needs more than libc: $needed"
readelf -d "$libdir/../libunmoor.so" | grep -q 'SONAME.*\[libunmoor\.so\.0\]' || fail "libunmoor has no SONAME"
readelf -d "$libdir/../libunmoor-tree.so" | grep -q 'SONAME.*\[libunmoor-tree\.so\.0\]' || fail "libunmoor-tree has no SONAME"
exported=$(nm -D --defined-only "$libdir/../libunmoor.so" | awk '{print $3}' | grep -v '^unmoor_' | grep -v '^UNMOOR_' || true)
[ -z "$exported" ] || fail "libunmoor exports more than its own names: $exported"

cd "$scratch"
cc "$sources/uses_detach.c" $(pkg-config --cflags --libs unmoor) -o by_pkg_config
./by_pkg_config || fail "C, pkg-config, shared"
cc "$sources/uses_detach.c" $(pkg-config --cflags unmoor) "$libdir/../libunmoor.a" \
  $(pkg-config --static --libs unmoor | sed 's/-lunmoor\>//') -o by_pkg_config_static
LD_LIBRARY_PATH= ./by_pkg_config_static || fail "C, pkg-config, static"
c++ -std=c++23 "$sources/uses_tree.cpp" $(pkg-config --cflags --libs unmoor-tree) -o tree_by_pkg_config
./tree_by_pkg_config || fail "C++, pkg-config, shared"

mkdir consumer
cp "$sources"/uses_* consumer/
cp "$sources/consumer.cmake" consumer/CMakeLists.txt
cmake -S consumer -B built -DCMAKE_PREFIX_PATH="$prefix" >log 2>&1 && cmake --build built >>log 2>&1 || fail "CMake: $(cat log)"
for program in uses_detach uses_detach-static uses_tree uses_tree-static; do
  "built/$program" || fail "CMake: $program"
done

DESTDIR=$scratch/stage cmake --install "$1" --prefix /opt/unmoor >log
[ -x "$scratch/stage/opt/unmoor/bin/unmoor" ] || fail "DESTDIR is not obeyed"
