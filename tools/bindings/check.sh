#!/usr/bin/env bash
# Checks the bindings to CUDA against NVIDIA's headers and libraries of the oldest
# and the newest CUDA 12 and of CUDA 13. It needs Go, gcc, python3 with pip, and the network, but no GPU.
#
# GPFIT_CUDA_TOOLKIT=/usr/local/cuda checks an installed toolkit and fetches none.
# GPFIT_TOOLKITS selects from "12.0 12.9 13.5". The script fetches them one after the
# other into GPFIT_TOOLKIT_CACHE (default: the user's cache folder) and deletes them
# after use; GPFIT_TOOLKIT_KEEP=1 keeps them, 5 GB, for the next time. It skips with a
# message what cannot be fetched; with GPFIT_HEADERS_REQUIRED=1 that is an error.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"

check() { # argument: folder of the toolkit; set -e has no effect where this is called
  local log
  log=$(mktemp)
  export GPFIT_CUDA_TOOLKIT=$1
  if ! CGO_ENABLED=1 go test -count=1 -v . >"$log" 2>&1 ||
    ! CGO_ENABLED=0 go test -count=1 -v -run '^Test(Exports|Load)$' . >>"$log" 2>&1; then
    cat "$log"
    rm -f "$log"
    return 1
  fi
  grep '_test\.go:' "$log" | sort -u
  rm -f "$log"
}

if [ -n "${GPFIT_CUDA_TOOLKIT:-}" ]; then
  check "$GPFIT_CUDA_TOOLKIT"
  exit
fi
cache=${GPFIT_TOOLKIT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpfit-toolkits}
skipped=()
for version in ${GPFIT_TOOLKITS:-12.0 12.9 13.5}; do
  folder=$cache/$version
  if [ ! -e "$folder/complete" ]; then
    rm -rf "$folder"
    if ! ./fetch.sh "$version" "$folder"; then
      rm -rf "$folder"
      [ -z "${GPFIT_HEADERS_REQUIRED:-}" ] || { echo "check.sh: CUDA $version cannot be fetched" >&2; exit 1; }
      skipped+=("$version")
      continue
    fi
    touch "$folder/complete"
  fi
  printf -- '-- CUDA %s, %s MB (%d s)\n' "$version" "$(du -sm "$folder" | cut -f1)" $SECONDS
  status=0
  (check "$folder") || status=1
  [ -n "${GPFIT_TOOLKIT_KEEP:-}" ] || rm -rf "$folder"
  [ $status = 0 ] || exit 1
done
if [ ${#skipped[@]} -gt 0 ]; then
  printf '\n*** SKIPPED: the bindings are NOT checked against CUDA %s, which cannot be fetched ***\n\n' "${skipped[*]}" >&2
else
  echo "bindings agree ($SECONDS s)"
fi
