#!/usr/bin/env bash
# Assembles PTX with NVIDIA's ptxas, several files at a time.
#
#   ptxas.sh PTXAS 'sm_80 sm_90' FILE|FOLDER...
#
# It fails if ptxas refuses or warns, and if the registers of an entry named
# gpfit_contract... do not suffice, so that it keeps some in memory ("spills").
set -euo pipefail
if [ "${1:-}" = --one ]; then
  ptxas=$2 arch=$3 file=$4
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  # As package kernels does for the device that it loads them on.
  target=$([ "${arch#sm_}" -ge 90 ] && echo sm_90 || echo sm_80)
  sed "s/^\.target sm_80$/.target $target/" "$file" >"$work/in"
  if ! "$ptxas" -v -arch="$arch" -o "$work/out" "$work/in" >"$work/log" 2>&1 || grep -iE '(warning|error) *:' "$work/log"; then
    sed 's/^/  /' "$work/log" >&2
    echo "$file: ptxas does not assemble it for $arch" >&2
    exit 1
  fi
  awk -v where="$file for $arch" '
    /Function properties for/ { entry = $NF }
    /bytes spill stores/ && entry ~ /^gpfit_contract/ && !/ 0 bytes spill stores, 0 bytes spill loads/ {
      print where ": " entry " spills: " $0; failed = 1
    }
    END { exit failed }' "$work/log" >&2
  exit
fi
ptxas=$1 architectures=$2
shift 2
files=$(find "$@" -name '*.ptx' | sort)
[ -n "$files" ] || { echo "ptxas.sh: no .ptx in $*" >&2; exit 2; }
while read -r file; do
  for arch in $architectures; do printf '%s\0%s\0' "$arch" "$file"; done
done <<<"$files" | xargs -0 -n 2 -P "$(nproc)" "${BASH_SOURCE[0]}" --one "$ptxas"
echo "$("$ptxas" --version | sed -n 's/^Cuda compilation tools, release //p'): $(wc -l <<<"$files") file(s) for $architectures"
