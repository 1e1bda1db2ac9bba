#!/usr/bin/env bash
# Builds what a machine with a GPU and without Go needs to run run.py:
#
#   benchmarks/gpu/build.sh OUTDIR
#
# Needs Go. With a C compiler and the headers of CUDA (see the Makefile; they are
# fetched with pip unless GPFIT_CUDA_INCLUDE names them) also the programs that
# reach the driver through gorgonia.org/cu; CUDA=13 takes headers of CUDA 13,
# GPFIT_SKIP_CU=1 leaves these programs out.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
mkdir -p "$1"
final=$(cd "$1" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
limit=$((64 << 20)) # bytes of everything together

# Without cgo a program needs no C library of a certain age.
build() { CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags='-s -w' -o "$out/$1" "$2"; }
build gpfit ./cmd/gpfit
build measure ./benchmarks/gpu/measure
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
  echo "build.sh: the programs with the tag cu are left out: $why" >&2
fi

{ git describe --always --dirty --abbrev=12 2>/dev/null || echo unknown; go version; } >"$out/BUILD"
(cd "$out" && ls -l | awk 'NR > 1 { printf "%10d  %s\n", $5, $NF }')
# One file, compressed: the programs are 80 MB.
tar -C "$out" -czf "$final/programs.tar.gz" .
cp "$here"/{run,steps,report,peer}.py "$here/README.md" "$final/"
size=$(cat "$final"/{programs.tar.gz,run.py,steps.py,report.py,peer.py,README.md} | wc -c)
printf '%10d  all of it in %s\n' "$size" "$final"
[ "$size" -le "$limit" ] || { echo "build.sh: more than $limit bytes" >&2; exit 1; }
