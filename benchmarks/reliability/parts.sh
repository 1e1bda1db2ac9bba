#!/usr/bin/env bash
# Runs parts of make reliability two at a time, continues after a part that fails, and ends
# with a table of results and seconds:
#
#   benchmarks/reliability/parts.sh input numerics
#
# Many parts wait for processes and disks, so that two of them take little longer than one.
# RELIABILITY_JOBS=1 runs them one after the other. The output of each part stays in a file,
# which the table names; the output of one that fails is printed, too.
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=${RELIABILITY_LOGS:-$(mktemp -d)}
mkdir -p "$logs"
rm -f "$logs/table" "$logs/failed"

run() { # part
  local began=$SECONDS result=passed
  if ! make --no-print-directory "reliability-$1" > "$logs/$1.txt" 2>&1; then
    result=FAILED
    touch "$logs/failed"
    cat "$logs/$1.txt"
  fi
  printf '%-17s %-7s %5d s   %s\n' "$1" $result $((SECONDS - began)) "$logs/$1.txt" | tee -a "$logs/table"
}

for part in "$@"; do
  while [ "$(jobs -rp | wc -l)" -ge "${RELIABILITY_JOBS:-2}" ]; do wait -n; done
  printf '%5d s: %s\n' $SECONDS "$part"
  run "$part" &
done
wait
printf '\n%-17s %-7s %7s   %s\n' part result time output
cat "$logs/table"
printf '%-17s %15d s\n' all $SECONDS
[ ! -e "$logs/failed" ]
