#!/usr/bin/env bash
# Runs or continues a batch, and writes its table of results:
#
#   batch.sh SPEC RUN RESULTS
#
# The run directory RUN stays after a failure, so that the next call continues there. The
# exit code is gpfit's. With ALLOW_FAILED=1, exit code 3 (some jobs failed) is 0: the table
# says which jobs failed and why.
set -uo pipefail
spec=$1 run=$2 results=$3

if [ -e "$run/run.json" ]; then
  # A changed spec or table repeats the jobs that it affects. Failed jobs are tried again.
  gpfit resume "$run" --allow-changed --retry-failed --quiet
else
  gpfit batch "$spec" --out "$run" --quiet
fi
code=$?
case $code in
0 | 3) gpfit show "$run" --format csv >"$results.part" && mv "$results.part" "$results" || exit ;;
12) echo "the device is missing, lost or too small: try again, or set another device" >&2 ;;
130) echo "interrupted: the same command continues" >&2 ;;
esac
if [ $code = 3 ] && [ "${ALLOW_FAILED:-0}" = 1 ]; then code=0; fi
exit $code
