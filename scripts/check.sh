#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds, runs every test by ctest (some of them boot PREEMPT_RT kernels in QEMU and run the kernel tests there), and
# says in its last line how many passed here, how many in the VM, and what was skipped and why. Exit code: ctest's.
set -eu
cd "$(dirname "$0")/.."
scripts/build.sh release test vm
tree=build/release
rm -rf "$tree/vm-results" "$tree/ctest.xml"
status=0
ctest --test-dir "$tree" --parallel "${JOBS:-$(nproc)}" --output-on-failure --output-junit ctest.xml \
  --test-output-size-passed 65536 </dev/null || status=$?
scripts/summary.py "$tree/ctest.xml" "$tree/vm-results"
exit "$status"
