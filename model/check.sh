#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs Spin over the models: every promise must hold, and every fault must be found. One line each:
#   verdict, model, what it was compiled with, states, and for a fault the promise that it breaks.
#
#   model/check.sh           every row (about a minute on a free machine)
#   model/check.sh --small   without the rows that take longer than a few seconds
#   model/check.sh --trails DIR   also writes the shortest trail of each fault there, as text
#
# Exit status: 0 all as expected, 1 something is not, 77 no spin or no C compiler here.
set -u

small=no
trails=
while [ $# -gt 0 ]; do
  case $1 in
    --small) small=yes ;;
    --trails) trails=$2; shift ;;
    *) echo "usage: model/check.sh [--small] [--trails DIR]" >&2; exit 2 ;;
  esac
  shift
done

here=$(cd "$(dirname "$0")" && pwd)
cc=${CC:-cc}
for tool in spin "$cc"; do
  command -v "$tool" >/dev/null || { echo "model/check.sh: needs $tool" >&2; exit 77; }
done
[ -z "$trails" ] || mkdir -p "$trails"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# check MODEL "DEFINES" holds|PATTERN: with PATTERN, Spin must stop at an assertion or error that matches it.
check() {
  model=$1 defines=$2 expected=$3
  flags=
  for define in $defines; do flags="$flags -D$define"; done
  rm -rf "$work/run" && mkdir "$work/run" && cd "$work/run" && cp "$here/$model.pml" .
  # The shortest trail is the readable one; breadth first finds it.
  [ "$expected" = holds ] && search= || search=-DBFS
  # shellcheck disable=SC2086
  if ! spin $flags -a "$model.pml" >spin.out 2>&1 || ! $cc $optimize -w -DSAFETY $search -o pan pan.c 2>cc.out; then
    cat spin.out cc.out 2>/dev/null
    echo "BROKEN    $model $defines"
    status=1
    return
  fi
  ./pan -m1000000 -n >pan.out 2>&1
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out)
  found=$(sed -n 's/^pan:[0-9]*: \(.*\) (at depth.*/\1/p' pan.out)
  if grep -q -e 'max search depth too small' -e 'out of memory' pan.out || ! grep -q '^State-vector' pan.out; then
    verdict=CUT-SHORT
  elif [ "$expected" = holds ]; then
    [ -z "$found" ] && verdict=holds || verdict=VIOLATED
  else
    case $found in
      '') verdict=NOT-FOUND ;;
      *"$expected"*) verdict=found ;;
      *) verdict=ANOTHER ;;
    esac
  fi
  printf '%-9s %-12s %-42s %9s  %s\n' "$verdict" "$model" "$defines" "$states" "$found"
  case $verdict in holds | found) ;; *) status=1 ;; esac
  if [ -n "$trails" ] && [ -n "$found" ]; then
    # shellcheck disable=SC2086
    spin $flags -t -T "$model.pml" | sed '/^spin: /,$d' >"$trails/$model-$(echo "$defines" | tr ' =' '--').txt"
  fi
  cd "$here" || exit 1
}

# Compiling takes longer than a small search.
optimize=-O0
large() { [ $small = yes ] || { optimize=-O2; check "$@"; optimize=-O0; }; }

# The promises. (State counts are Spin's, after its own reduction.)
check unlock "SYNCHRONOUS IDLE_CHECK" holds
check unlock "ON_DEMAND IDLE_CHECK" holds
check unlock "DEFERRED" holds
large unlock "SYNCHRONOUS IDLE_CHECK WALKERS=2" holds
large unlock "ON_DEMAND IDLE_CHECK WALKERS=2" holds
large unlock "DEFERRED WALKERS=2" holds
check grace_period "READERS=1 UPDATES=2" holds
check grace_period "READERS=1 KINDS=2" holds
large grace_period "READERS=2 KINDS=2 SECTIONS=1" holds
large grace_period "READERS=2" holds

# What each policy and each fault breaks.
check unlock "DEFERRED IDLE_CHECK" '!(idle)||(shutdowns==1)'
check unlock "SKIP_WAIT" 'in_ns||(shutdowns==1)'
check unlock "DEFERRED IN_CALLBACK" 'invalid end state'
check unlock "ON_DEMAND AT_MOST_2" '!(freed)'
check unlock "ON_DEMAND TAKEOVER_AT_MOST_2" '(shutdowns==0)'
check unlock "ON_DEMAND TAKEOVER_KEPT" '!(freed)'
check unlock "SYNCHRONOUS UNSPLIT" 'lazy||(shutdowns==1)'
check unlock "ON_DEMAND UNSPLIT" 'lazy||(shutdowns==1)'
check unlock "SYNCHRONOUS FLAG_OUTSIDE_LOCK" 'lazy||(shutdowns==1)'
check unlock "ON_DEMAND NO_WALKER_FENCE" '(shutdowns==0)'
check unlock "ON_DEMAND NO_UMOUNT_FENCE" '(shutdowns==0)'
check grace_period "NO_BARRIER READERS=1 UPDATERS=1" 'freed[object]'
check grace_period "LATE_NUMBER READERS=1 UPDATERS=1" 'freed[object]'
check grace_period "JOIN_RUNNING READERS=1" 'freed[object]'
check grace_period "ONE_BIT READERS=1 UPDATES=2" 'freed[object]'

exit $status
