#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds, runs every test by ctest (some of them boot PREEMPT_RT kernels in QEMU and run the kernel tests there), and
# says in its last line how many passed here, how many in the VM, and what was skipped and why. Exit code: ctest's.
set -eu
cd "$(dirname "$0")/.."
scripts/build.sh release test vm
tree=build/release
# Where mounting is forbidden the guests are the only place for the kernel tests: they get the time for all of them.
budget=130
scripts/can_mount.sh >/dev/null || budget=480
timeout=120
if [ -n "${UNMOOR_LONG:-}" ]; then
  budget=0
  timeout=1800
fi
cmake -B "$tree" -DUNMOOR_VM_BUDGET=$budget -DUNMOOR_TEST_TIMEOUT=$timeout >/dev/null
rm -rf "$tree/vm-results" "$tree/ctest.xml"
status=0
ctest --test-dir "$tree" --parallel "${JOBS:-$(nproc)}" --output-on-failure --output-junit ctest.xml \
  --test-output-size-passed 65536 </dev/null || status=$?
scripts/summary.py "$tree/ctest.xml" "$tree/vm-results"
exit "$status"
