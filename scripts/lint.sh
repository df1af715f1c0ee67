#!/bin/sh
# SPDX-License-Identifier: MIT
# Layout (clang-format) and clang-tidy, warnings as errors.
#
#   scripts/lint.sh [FILE...]    without files: the whole repository, some minutes
set -eu
cd "$(dirname "$0")/.."
scripts/build.sh clang test lint
[ $# -gt 0 ] || set -- $(git ls-files '*.c' '*.cpp' '*.h')
clang-format-19 --dry-run --Werror "$@"
sources=
for file in "$@"; do
  case $file in
    *.c | *.cpp) grep -q "\"file\": \"$PWD/$file\"" build/clang/compile_commands.json && sources="$sources $file" ;;
  esac
done
[ -z "$sources" ] || printf '%s\n' $sources |
  xargs -P "${JOBS:-$(nproc)}" -n 1 clang-tidy-19 --quiet --warnings-as-errors='*' -p build/clang 2>build/lint.log || {
  grep -v 'warnings generated' build/lint.log || true
  exit 1
}
