#!/usr/bin/env bash
# Compares the filter of gpfit with celerite2 and tinygp on a series of a million rows, on one core each, in turn:
#
#   benchmarks/structure/run.sh [ROUNDS [N]]      5 rounds, 1,000,000 rows
#
# Environment: BENCH_CACHE (folder of the Python environment), PYTHON (python3).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
rounds=${1:-5} n=${2:-1000000}
cache=${BENCH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gpfit-bench}
venv=$cache/series
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
(cd "$root" && go test -c -o "$cache/markov.test" ./method/markov)
export GOMAXPROCS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

uname -sr
grep -m1 'model name' /proc/cpuinfo || true
echo "gpfit $(git -C "$root" describe --always --dirty --abbrev=12), $n rows, seconds"
for kernel in matern12 matern32; do
	for ((round = 1; round <= rounds; round++)); do
		GPFIT_ROWS=$n "$cache/markov.test" -test.run '^$' -test.bench "^Benchmark(Value|Gradient)\$/^$kernel, uneven\$" -test.benchtime 5x |
			awk -v kernel="$kernel" '/ns\/op/ { sub("Benchmark", "", $1); sub("/.*", "", $1); printf "%s gpfit-%s %.4f\n", kernel, tolower($1), $3 / 1e9 }'
		"$venv/bin/python" "$here/series.py" "$n" "$kernel" | sed "s/^/$kernel /"
	done
done | tee "$cache/series.txt"
awk '{ k = $1 " " $2; v[k] = v[k] " " $3; if (!(k in seen)) { seen[k] = 1; order[++count] = k } }
	END { print "medians"; for (i = 1; i <= count; i++) { m = split(v[order[i]], a, " ")
		for (p = 1; p <= m; p++) for (q = p + 1; q <= m; q++) if (a[q] + 0 < a[p] + 0) { t = a[p]; a[p] = a[q]; a[q] = t }
		print order[i], a[int((m + 1) / 2)] } }' "$cache/series.txt"
