#!/bin/sh
# SPDX-License-Identifier: MIT
# The two tables of the kernel mails: their own figures, then ours, measured on a PREEMPT_RT kernel in QEMU and on this
# machine's kernel where it lets us mount.
set -eu
cd "$(dirname "$0")/.."
scripts/build.sh release vm
program=$PWD/build/release/unmoor
bench="bench umount -r 10 --only umount,umount-l"

title() {
  printf '\n== %s ==\n\n' "$1"
}

title "The mails' own figures: a kernel without and with their patch"
cat docs/results/mails.txt

title "Debian's 6.1 PREEMPT_RT kernel in QEMU, not patched: util-linux's umount beside unmoor"
status=0
vm/run --kernel 6.1-rt --file "$program" --file "$program-verbs" -- "uname -a; $program $bench" || status=$?

title "This machine: $(uname -sr)"
if forbidden=$(scripts/can_mount.sh); then
  "$program" $bench
  if [ "$(id -u)" = 0 ] && [ -w /sys/kernel/rcu_normal ]; then
    title "This machine under rcu_normal=1 (put back afterwards)"
    "$program" $bench --rcu=normal --wait=60
  fi
else
  echo "not measured here, mounting is forbidden: $forbidden"
fi
[ "$status" = 0 ] || echo "demo: the guest's part failed (exit code $status)" >&2
exit "$status"
