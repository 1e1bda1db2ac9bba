#!/usr/bin/env bash
# Compiles the PTX of covariance functions with NVIDIA's assembler and prints
# registers, spilled bytes and the seconds of a core that it takes. $PTXAS is the
# assembler, at least 12.8 for sm_100; $ARCHS may name other architectures.
#
#   PTXAS=/path/to/ptxas benchmarks/gpu/kernels/ptxas.sh 8 'rbf(ard)' periodic
set -euo pipefail
d=$1
shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$(dirname "$0")/../../.."
go run ./benchmarks/gpu/kernels -out "$work" -d "$d" "$@"
printf '\n%-22s %-8s %9s %7s %7s %9s %8s\n' module arch registers stores loads shared seconds
for file in "$work"/*.ptx; do
  for arch in ${ARCHS:-sm_80 sm_90 sm_100}; do
    # The loader puts the device's own architecture in for sm_80.
    sed "s/^\.target sm_80$/.target ${arch/sm_100/sm_90}/" "$file" > "$work/in"
    TIMEFORMAT='%U'
    { time "${PTXAS:-ptxas}" -v -arch="$arch" -o "$work/out" "$work/in" 2> "$work/log"; } 2> "$work/seconds" || { cat "$work/log"; exit 1; }
    seconds=$(cat "$work/seconds")
    sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' "$work/log" > "$work/registers"
    printf '%-22s %-8s %9s %7s %7s %9s %8.2f\n' "$(basename "$file" .ptx)" "$arch" "$(cat "$work/registers")" \
      "$(sed -n 's/.* \([0-9]*\) bytes spill stores.*/\1/p' "$work/log")" "$(sed -n 's/.* \([0-9]*\) bytes spill loads.*/\1/p' "$work/log")" \
      "$(sed -n 's/.* \([0-9]*\) bytes smem.*/\1/p' "$work/log")" "$seconds"
  done
done
