#!/usr/bin/env bash
# Runs parts of make reliability one after the other, continues after a part that fails,
# and ends with a table of results and seconds:
#
#   benchmarks/reliability/parts.sh input numerics
#
# The output of each part stays in a file, which the table names.
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=${RELIABILITY_LOGS:-$(mktemp -d)}
mkdir -p "$logs"
failed=0 table=""
for part in "$@"; do
  printf '\n== %s (%d s)\n' "$part" $SECONDS
  began=$SECONDS
  if make --no-print-directory "reliability-$part" 2>&1 | tee "$logs/$part.txt"; then
    result=passed
  else
    result=FAILED failed=1
  fi
  table+=$(printf '%-12s %-7s %5d s   %s' "$part" $result $((SECONDS - began)) "$logs/$part.txt")$'\n'
done
printf '\n%-12s %-7s %7s   %s\n%s%-12s %15d s\n' part result time output "$table" all $SECONDS
exit $failed
