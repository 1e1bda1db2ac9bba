#!/usr/bin/env bash
# Fetches the headers of a CUDA toolkit, which the build tag cu needs to compile
# gorgonia.org/cu, from NVIDIA's Python wheel of the CUDA runtime, and prints the
# CGO_CFLAGS that find them:
#
#   CGO_CFLAGS="$(device/cuda/driver/headers.sh 12)" go build -tags cu ./cmd/gpfit
#
# The argument is 12 or 13. The script keeps the wheel in GPFIT_HEADERS (default: the
# user's cache folder); it is never committed. If GPFIT_CUDA_INCLUDE names a folder, the
# script uses its headers and fetches nothing. It needs python3 with pip and zipfile.
set -euo pipefail
major=${1:-12}
case $major in
  12) package=nvidia-cuda-runtime-cu12 version=12.9.79 ;;
  13) package=nvidia-cuda-runtime version=13.0.96 ;;
  *) echo "usage: headers.sh 12|13" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
include=${GPFIT_CUDA_INCLUDE:-}
if [ -z "$include" ]; then
  cache=${GPFIT_HEADERS:-${XDG_CACHE_HOME:-$HOME/.cache}/gpfit-cuda-headers}/$package-$version
  if [ ! -d "$cache" ]; then
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
      --dest "$tmp/wheel" "$package==$version" >&2
    python3 -m zipfile -e "$tmp"/wheel/*.whl "$tmp/unpacked"
    mkdir -p "$(dirname "$cache")"
    mv "$tmp/unpacked" "$cache" 2>/dev/null || [ -d "$cache" ]
  fi
  include=$(dirname "$(find "$cache" -name cuda.h | head -n 1)")
fi
[ -f "$include/cuda.h" ] || { echo "headers.sh: no cuda.h in $include" >&2; exit 1; }
echo "-O2 -g -I$here/include -I$include"
