#!/usr/bin/env bash
# Assembles gpfit.ptx and the PTX of covariance functions with the oldest and the newest
# ptxas, for all architectures from sm_80 to sm_120 that each knows, and prints the
# registers of every entry. It needs Go, python3 with pip, and the network, but no GPU.
#
#   assemble.sh [KERNEL...]    covariance functions of 8 columns, such as 'rbf(ard)'
#
# GPFIT_ASSEMBLERS selects the releases (default: "12.0 13.5").
# GPFIT_PTXAS=/usr/local/cuda/bin/ptxas uses an installed ptxas and fetches none. The
# script skips with a message what pip cannot fetch; with GPFIT_HEADERS_REQUIRED=1 that
# is an error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
if [ $# = 0 ]; then
  set -- 'rbf(ard)' 'matern52(ard)' 'rbf(ard) + matern32 + periodic' 'rq*linear'
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/ptx"
go run -C benchmarks ./gpu/kernels -out "$work/ptx" "$@"

assemble() { "$here/ptxas.sh" -v "$1" "device/cuda/kernels/gpfit.ptx" "$work/ptx"; }

if [ -n "${GPFIT_PTXAS:-}" ]; then
  assemble "$GPFIT_PTXAS"
  exit
fi
skipped=()
for version in ${GPFIT_ASSEMBLERS:-12.0 13.5}; do
  if ! "$here/fetch.sh" "$version" "$work/$version" assembler; then
    [ -z "${GPFIT_HEADERS_REQUIRED:-}" ] || { echo "assemble.sh: ptxas $version cannot be fetched" >&2; exit 1; }
    skipped+=("$version")
    continue
  fi
  assemble "$(find "$work/$version" -name ptxas)"
done
if [ ${#skipped[@]} -gt 0 ]; then
  printf '\n*** SKIPPED: the PTX is NOT assembled by ptxas %s, which cannot be fetched ***\n\n' "${skipped[*]}" >&2
fi
