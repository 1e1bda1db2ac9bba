#!/usr/bin/env bash
# Compiles the kernels to gpfit.ptx. It needs Debian's packages clang-16 and
# libclang-common-16-dev (16.0.6) and no CUDA files.
#
#   ./generate.sh           writes gpfit.ptx
#   ./generate.sh --check   compares instead: exit status 1 unless byte-identical,
#                           2 if that compiler is missing
#
# CI runs it with --check after it installs the two packages. So does the test
# TestGenerated, which skips on status 2.
#
# PTX 7.8 is the oldest version that knows sm_90, and any driver from 520 on loads it.
# The text for sm_80 and for sm_90 differs only in its .target line (the script checks
# this), so that one file serves both; see ptx.go.
set -euo pipefail
cd "$(dirname "$0")"
clang=${CLANG:-clang-16}
if ! command -v "$clang" >/dev/null; then
  echo "generate.sh: $clang not found: apt-get install clang-16 libclang-common-16-dev" >&2
  exit 2
fi
if ! "$clang" --version | grep -q 'version 16\.0\.6'; then
  echo "generate.sh: $clang is not version 16.0.6, whose output is committed" >&2
  exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() { # architecture, output
  (cd source && "$clang" -x cuda --cuda-device-only -nocudainc -nocudalib \
    --target=x86_64-linux-gnu --cuda-gpu-arch="$1" \
    -Xclang -target-feature -Xclang +ptx78 \
    -std=c++17 -O3 -Wall -Werror -S -o "$2" matrix.cu)
}

compile sm_80 "$work/sm_80.ptx"
compile sm_90 "$work/sm_90.ptx"
if ! diff -q <(sed 's/^\.target sm_80$/.target sm_90/' "$work/sm_80.ptx") "$work/sm_90.ptx" >/dev/null; then
  echo "generate.sh: code for sm_80 and sm_90 differs: embed both (ptx.go)" >&2
  exit 1
fi
case ${1:-} in
--check)
  if ! cmp "$work/sm_80.ptx" gpfit.ptx; then
    echo "generate.sh: gpfit.ptx does not match the sources: run device/cuda/kernels/generate.sh" >&2
    exit 1
  fi
  ;;
'') cp "$work/sm_80.ptx" gpfit.ptx ;;
*)
  echo "usage: generate.sh [--check]" >&2
  exit 2
  ;;
esac
