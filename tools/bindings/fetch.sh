#!/usr/bin/env bash
# Unpacks a CUDA toolkit into a folder, from NVIDIA's Python wheels: the headers, the
# libraries that package mathlib loads, and ptxas. It installs and imports
# nothing and deletes each wheel after unpacking it.
#
#   fetch.sh 12.0|12.9|13.5 FOLDER [assembler]
#
# 12.0 is the oldest release that gpfit supports, the others are the newest of their
# generations. A toolkit takes 1.1 to 2.2 GB on disk, and 0.6 GB more while it is unpacked. With "assembler" the script fetches only the compiler's wheel, 20 to 50 MB.
set -euo pipefail
case ${1:-} in
12.0) wheels='nvidia-cuda-runtime-cu12==12.0.107 nvidia-cuda-nvcc-cu12==12.0.76 nvidia-nvjitlink-cu12==12.0.76
  nvidia-cublas-cu12==12.0.1.189 nvidia-cusparse-cu12==12.0.0.76 nvidia-cusolver-cu12==11.4.2.57' ;;
12.9) wheels='nvidia-cuda-runtime-cu12==12.9.79 nvidia-cuda-nvcc-cu12==12.9.86 nvidia-nvjitlink-cu12==12.9.86
  nvidia-cublas-cu12==12.9.3.13 nvidia-cusparse-cu12==12.5.10.65 nvidia-cusolver-cu12==11.7.5.82' ;;
13.5) wheels='nvidia-cuda-runtime==13.5.37 nvidia-cuda-crt==13.5.37 nvidia-cuda-nvcc==13.5.37 nvidia-nvjitlink==13.5.37
  nvidia-cublas==13.10.0.20 nvidia-cusparse==12.9.4.2 nvidia-cusolver==12.4.1.2' ;;
*) echo "usage: fetch.sh 12.0|12.9|13.5 FOLDER [assembler]" >&2; exit 2 ;;
esac
if [ "${3:-}" = assembler ]; then
  wheels=$(tr -s ' ' '\n' <<<"$wheels" | grep nvcc)
fi
mkdir -p "$2"
work=$(mktemp -d "$2/wheels.XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work # a wheel can be larger than /tmp

for wheel in $wheels; do
  python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
    --only-binary=:all: --dest "$work" "$wheel" >&2
  python3 - "$2" "$work"/*.whl <<'PYTHON'
import os, re, sys, zipfile
library = r"lib(cudart|nvJitLink|cublasLt|cublas|cusparse|cusolver)\.so\.\d+"
wanted = re.compile(rf"nvidia/(\w+/)?\w+/(include/.*[^/]|bin/ptxas|lib/{library})$")
with zipfile.ZipFile(sys.argv[2]) as wheel:
    names = list(filter(wanted.match, wheel.namelist()))
    if not names:
        sys.exit(f"fetch.sh: {os.path.basename(sys.argv[2])} has another layout")
    for name in names:
        path = wheel.extract(name, sys.argv[1])
        if name.endswith("/ptxas"):
            os.chmod(path, 0o755)
PYTHON
  rm -f "$work"/*.whl
done
