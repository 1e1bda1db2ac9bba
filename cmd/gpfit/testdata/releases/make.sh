#!/usr/bin/env bash
# Makes the samples of a release, which later releases must read (releases_test.go):
#
#   cmd/gpfit/testdata/releases/make.sh            uses the version of this tree
#
# The folder VERSION holds the data, models of several kinds with their predictions and
# exports, a run directory with an interrupted job, and the checkpoint of a killed fit
# with the result of the whole fit. It has at most 300 kB and does not change after the
# release. To add a sample of another kind, change this script and releases_test.go;
# folders of older releases may lack it.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^const version = "\(.*\)"/\1/p' ../../cmd_version.go)
go build -ldflags "-X main.released=$version" -o "$work/gpfit" ../..
gpfit() { "$work/gpfit" "$@"; }
export GPFIT_CPU=generic # the same bits on every processor of the architecture
[ ! -e "$version" ] || { echo "$version exists already"; exit 1; }
mkdir "$version"
cd "$version"
awk 'BEGIN {
  print "a,b,lab,y,z"
  for (i = 0; i < 40; i++) printf "%.3f,%.3f,%s,%.4f,%.4f\n", i/4, (i*7)%11/3, i%2 ? "p" : "q", sin(i/5) + (i*13%7)/40, cos(i/6) + (i*5%9)/50
}' > data.csv
head -8 data.csv | cut -d, -f1-3 > new.csv
fit() { gpfit fit data.csv --features a,b --device cpu --quiet "$@" >/dev/null; }
fit --target y --kernel 'rbf(ard) + matern32' --out one.gpfit --save-factor
fit --target y --mean 'poly(2, dims=0)' --noise-group lab --kernel 'periodic*rbf' --out groups.gpfit
fit --target y,z --mean linear --kernel 'rq' --out targets.gpfit
for m in one groups targets; do gpfit predict $m.gpfit new.csv --device cpu --out $m.csv; done
for m in one groups; do gpfit export $m.gpfit --out $m.export.json; done

cat > study.yaml <<'SPEC'
defaults: {device: cpu, threads: 1, features: [a, b], target: y}
data: [data.csv]
kernels: [rbf, rbf(ard) + linear]
SPEC
gpfit batch study.yaml --out run --quiet --cores 1 >/dev/null
gpfit show run --format csv > run.csv
# Leave the second job as a kill does: begun, but not finished.
job=data.rbf-ard+linear.seed-1
head -1 run/jobs/$job.jsonl > begun && mv begun run/jobs/$job.jsonl
rm -f run/models/$job.gpfit run/logs/* run/lock
# Remove the names of the folder and the machine from the sample.
sed -i "s|$PWD|@DIR@|g" run/run.json
sed -i 's/"host":"[^"]*","pid":[0-9]*/"host":"sample","pid":1/' run/jobs/*
sed -i 's/,[^,]*,[0-9]*,models/,sample,1,models/' run.csv

# A killed fit leaves its checkpoint; whole.json is the report of the whole fit.
fit() { gpfit fit data.csv --features a,b --target y --kernel matern52 --restarts 40 --device cpu --threads 1 --quiet --json "$@"; }
fit --out whole.gpfit > whole.json
rm whole.gpfit
"$work/gpfit" fit data.csv --features a,b --target y --kernel matern52 --restarts 40 --device cpu --threads 1 --quiet \
  --checkpoint fit.ckpt --out killed.gpfit &
while [ "$(cat fit.ckpt 2>/dev/null | wc -l)" -lt 20 ]; do kill -0 $! || { echo "the fit ended before it was killed"; exit 1; }; done
kill -KILL $!
wait || true
head -20 fit.ckpt > cut && mv cut fit.ckpt
size=$(cat $(find . -type f) | wc -c)
[ "$size" -le 300000 ] || { echo "$version has $size bytes, more than 300,000"; exit 1; }
echo "$version: $size bytes"
