#!/usr/bin/env bash
# Assembles PTX with NVIDIA's ptxas, several files at a time.
#
#   ptxas.sh [-v] PTXAS FILE|FOLDER...
#
# ARCHITECTURES lists the architectures (default: from sm_80 to sm_120), of which the
# script uses those that this ptxas knows. The script fails if ptxas refuses a file or
# warns, or if an entry named gpfit_contract... or gpfit_derivative... spills, which means that ptxas keeps
# some of its registers in memory. With -v it prints, for every entry, the registers,
# the bytes that ptxas spills and loads again, and the bytes of shared memory.
set -euo pipefail

assemble() { # verbose, ptxas, architecture, file
  local verbose=$1 ptxas=$2 arch=$3 file=$4 work target
  work=$(mktemp -d)
  trap "rm -rf '$work'" EXIT
  # Package kernels uses this target for a device of this architecture.
  target=$([ "${arch#sm_}" -ge 90 ] && echo sm_90 || echo sm_80)
  sed "s/^\.target sm_80$/.target $target/" "$file" >"$work/in"
  if ! "$ptxas" -v -arch="$arch" -o "$work/out" "$work/in" >"$work/log" 2>&1 || grep -iE '(warning|error) *:' "$work/log"; then
    sed 's/^/  /' "$work/log" >&2
    echo "$file: ptxas does not assemble it for $arch" >&2
    return 1
  fi
  awk -v where="$(basename "$file" .ptx)" -v arch="$arch" -v verbose="$verbose" '
    function number(words) { return match($0, "[0-9]+ " words) ? substr($0, RSTART) + 0 : 0 }
    /Function properties for/ { entry = $NF }
    /bytes spill stores/ { stores = number("bytes spill stores"); loads = number("bytes spill loads") }
    /Used [0-9]+ registers/ {
      if (verbose) printf "%-22s %-24s %-8s %9d %7d %7d %7d\n", where, entry, arch, number("registers"), stores, loads, number("bytes smem")
      if (entry ~ /^gpfit_(contract|derivative)/ && stores + loads > 0) {
        print where ".ptx for " arch ": " entry " spills " stores " bytes and loads " loads > "/dev/stderr"; failed = 1
      }
      entries++
    }
    END { if (!entries) { print where ".ptx for " arch ": ptxas names no entry" > "/dev/stderr"; failed = 1 }; exit failed }' "$work/log"
}

if [ "${1:-}" = --one ]; then
  shift
  assemble "$@"
  exit
fi
verbose=0
if [ "${1:-}" = -v ]; then verbose=1 && shift; fi
ptxas=$1
shift
known=$("$ptxas" --help | grep -oE "'sm_[0-9]+'" | tr -d "'" | sort -u)
architectures=
for arch in ${ARCHITECTURES:-sm_80 sm_86 sm_89 sm_90 sm_100 sm_103 sm_120}; do
  if grep -qx "$arch" <<<"$known"; then architectures="$architectures $arch"; fi
done
[ -n "$architectures" ] || { echo "ptxas.sh: $ptxas knows none of the architectures" >&2; exit 2; }
files=$(find "$@" -name '*.ptx' | sort)
[ -n "$files" ] || { echo "ptxas.sh: no .ptx in $*" >&2; exit 2; }
[ $verbose = 0 ] || printf '%-22s %-24s %-8s %9s %7s %7s %7s\n' file entry arch registers stores loads shared
while read -r file; do
  for arch in $architectures; do printf '%s\0%s\0' "$arch" "$file"; done
done <<<"$files" | xargs -0 -n 2 -P "$(nproc)" "${BASH_SOURCE[0]}" --one "$verbose" "$ptxas"
echo "ptxas $("$ptxas" --version | sed -n 's/^Cuda compilation tools, release //p'): $(wc -l <<<"$files") file(s) for$architectures"
