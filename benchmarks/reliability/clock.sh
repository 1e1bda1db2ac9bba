#!/usr/bin/env bash
# Runs tests of runs, claims, checkpoints and kills with a wall clock that jumps every 50 ms:
# a year ahead, ten years back, and to the right time again. The monotonic clock does not
# jump.
#
#   benchmarks/reliability/clock.sh                        the tests below
#   benchmarks/reliability/clock.sh ./batch -run TestRun   others
#
# The compiler replaces the function Now of Go's package time for the tests and for the
# programs that they start. The script sets no clock of the machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$(go env GOROOT)/src/time/time.go
awk '{ print } $0 == "\tsec, nsec, mono := runtimeNow()" {
  print "\tsec += [...]int64{0, 365 * 86400, -3650 * 86400}[(mono-startNano)/50_000_000%3]"; found++
} END { exit found != 1 }' "$source" > "$work/time.go"
printf '{"Replace": {"%s": "%s"}}' "$source" "$work/time.go" > "$work/overlay.json"
export GPFIT_CLOCK=jumps
test() { go test -count=1 -overlay "$work/overlay.json" -timeout 20m "$@"; }
if [ $# -gt 0 ]; then
  test "$@"
  exit
fi
(cd benchmarks && test ./reliability -run TestClock -v)
test ./batch ./batch/rundir ./hyperopt/journal ./internal/filelock
test ./cmd/gpfit -run 'Kill|Crash|InUse|Workers|BatchSignal'
