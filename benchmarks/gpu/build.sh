#!/usr/bin/env bash
# Builds the files that a machine with a GPU and without Go needs to run run.py:
#
#   benchmarks/gpu/build.sh OUTDIR
#
# The script needs Go. With a C compiler and the headers of CUDA it also builds the
# programs that reach the driver through gorgonia.org/cu. It fetches the headers with
# pip unless GPFIT_CUDA_INCLUDE names them (see the Makefile). CUDA=13 selects the
# headers of CUDA 13, and GPFIT_SKIP_CU=1 skips these programs.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
mkdir -p "$1"
final=$(cd "$1" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
limit=$((64 << 20)) # bytes of all files together

# Without cgo a program does not depend on the version of the C library.
build() { CGO_ENABLED=0 GOOS=linux go -C "${3:-.}" build -trimpath -ldflags='-s -w' -o "$out/$1" "$2"; }
build gpfit ./cmd/gpfit
build measure ./gpu/measure benchmarks
CGO_ENABLED=0 GOOS=linux go test -c -trimpath -ldflags='-s -w' -o "$out/cuda.test" ./device/cuda

with_cu() {
  [ -z "${GPFIT_SKIP_CU:-}" ] || { echo "GPFIT_SKIP_CU is set"; return 1; }
  local flags
  flags=$(device/cuda/driver/headers.sh "${CUDA:-12}" 2>&1) || { echo "no headers of CUDA ${CUDA:-12}: $flags"; return 1; }
  export CGO_ENABLED=1 CGO_CFLAGS="$flags"
  go build -tags cu -trimpath -ldflags='-s -w' -o "$out/gpfit-cu" ./cmd/gpfit 2>&1 || return 1
  go test -c -tags cu -trimpath -ldflags='-s -w' -o "$out/cuda-cu.test" ./device/cuda 2>&1 || return 1
}
if ! why=$(with_cu); then
  rm -f "$out/gpfit-cu" "$out/cuda-cu.test"
  echo "$why" >"$out/without-cu"
  echo "build.sh: skipped the programs with the tag cu: $why" >&2
fi

{ git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown; go version; } >"$out/BUILD"
(cd "$out" && ls -l | awk 'NR > 1 { printf "%10d  %s\n", $5, $NF }')
# The programs take 80 MB, so pack them into one compressed file.
tar -C "$out" -czf "$final/programs.tar.gz" .
cp "$here"/{run,steps,parts,power,report,compare,peer,engines}.py "$here/README.md" "$final/"
size=$(cat "$final"/{programs.tar.gz,*.py,README.md} | wc -c)
printf '%10d  total, in %s\n' "$size" "$final"
[ "$size" -le "$limit" ] || { echo "build.sh: more than $limit bytes" >&2; exit 1; }
