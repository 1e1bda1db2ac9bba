#!/usr/bin/env bash
# Compares gpfit and its peers on this machine; see ../README.md.
#
#   run.sh [nlml] [--quick] [OPTIONS]       NLML and gradient; NumPy's dgemm
#   run.sh fit [--quick] DATA[,MASK[:COL]]… whole fits against scikit-learn
#   run.sh values [--data FOLDER]           values that a fit from one start needs, against scikit-learn
#   run.sh dgemm [--n …] [--rounds …]       gpfit against NumPy, the product alone
#   run.sh co2                             the CO2 model of the book, against scikit-learn
#
# Environment: PEERS (default "scipy sklearn gpytorch tinygp", and mkl on x86-64;
# without gpytorch torch is not installed), THREADS (default: all), BENCH_CACHE (folder of the
# Python environment), BENCH_CORETYPE (OpenBLAS kernels), PYTHON (python3).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
[[ $(uname -m) == x86_64 ]] && mkl=" mkl" || mkl=""
export PEERS=${PEERS:-"scipy sklearn gpytorch tinygp$mkl"}
export THREADS=${THREADS:-$(nproc)}
cache=${BENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpfit-bench}

mode=nlml
case "${1:-}" in
nlml | fit | values | dgemm | co2) mode=$1 && shift ;;
-h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" && exit ;;
esac

# The environment is rebuilt if the requirements change.
requirements=("$here/requirements.txt")
[[ $mode == nlml && " $PEERS " == *" gpytorch "* ]] && requirements+=("$here/requirements-torch.txt")
[[ $mode == nlml && " $PEERS " == *" mkl "* ]] && requirements+=("$here/requirements-mkl.txt")
mkdir -p "$cache"
for file in "${requirements[@]}"; do
	stamp=$cache/installed-$(basename "$file")
	cmp -s "$file" "$stamp" && continue
	echo "installing $(basename "$file") in $cache" >&2
	[[ -x $cache/venv/bin/python ]] || "${PYTHON:-python3}" -m venv "$cache/venv"
	"$cache/venv/bin/pip" install --quiet --requirement "$file" >&2
	cp "$file" "$stamp"
done
python=$cache/venv/bin/python

echo "building gpfit" >&2
(cd "$root" && go build -o "$cache/gpfit" ./cmd/gpfit)
export GPFIT=$cache/gpfit
GPFIT_REVISION=$(git -C "$root" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)
export GPFIT_REVISION

# Every engine uses the same number of threads.
export OPENBLAS_NUM_THREADS=$THREADS OMP_NUM_THREADS=$THREADS MKL_NUM_THREADS=$THREADS
export NUMEXPR_NUM_THREADS=$THREADS GOMAXPROCS=$THREADS PYTHONDONTWRITEBYTECODE=1
export PYTHONWARNINGS=ignore::FutureWarning

# OpenBLAS mistakes some processors with AVX-512 for older ones, and an inherited
# setting may have the same effect. A fair comparison uses its fastest kernels.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
if [[ -n ${BENCH_CORETYPE:-} ]]; then
	export OPENBLAS_CORETYPE=$BENCH_CORETYPE
elif grep -qw avx512f /proc/cpuinfo 2>/dev/null && ! "$python" "$here/machine.py" has-avx512-kernels; then
	export OPENBLAS_CORETYPE=SkylakeX
	echo "OpenBLAS would not use AVX-512 by itself: OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE" >&2
fi

exec "$python" "$here/$mode.py" "$@"
