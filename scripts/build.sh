#!/bin/sh
# SPDX-License-Identifier: MIT
# Configures and builds one preset; the packages it needs (group build, and any more groups named) are seen to first.
#
#   scripts/build.sh PRESET [GROUP...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
log=build/configure-$preset.log
shift
scripts/packages.sh install build "$@"
case " $* " in
  *" test "*) tests=ON ;;
  *) tests=$(sed -n 's/^UNMOOR_TESTS:BOOL=//p' "build/$preset/CMakeCache.txt" 2>/dev/null || true) ;;
esac
mkdir -p build
# Without the test packages only the program is built; a tree that has tests keeps them.
cmake --preset "$preset" -DUNMOOR_TESTS="${tests:-OFF}" -DUNMOOR_BENCHMARKS="${tests:-OFF}" >"$log" 2>&1 || {
  cat "$log"
  exit 1
}
exec cmake --build --preset "$preset" -j "${JOBS:-$(nproc)}"
