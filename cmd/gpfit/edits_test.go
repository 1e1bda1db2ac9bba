package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp/modeltest"
	"gpfit/internal/testcheck"
)

// TestEditedModels runs every command that reads a model on files with strange contents and the right
// checksum. None panics, and none fails but for a bad model, bad data, an option that does not suit, memory,
// or numbers that cannot be computed with. With GPFIT_LONG there are 2,000 files.
func TestEditedModels(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var table strings.Builder
	table.WriteString("x,z,g,v,y\n")
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 16 {
		fmt.Fprintf(&table, "%d,%g,%s,%g,%g\n", i, rng.NormFloat64(), []string{"a", "b"}[i%2], 0.01+rng.Float64(), 3+rng.Float64())
	}
	write(t, dir, "t.csv", table.String())
	kinds := []string{
		"--kernel rbf(ard) --features x,z --target y --mean linear --save-factor", "--kernel matern32 --features x,z --target y --noise-group g", "--kernel rbf+periodic --features x --target y,z",
		"--kernel rbf --features x,g --target y --target-transform log", "--kernel rbf --features x --target y --noise-column v", "--kernel rbf --features x,z --target y --weight-column v --posterior laplace",
		"--kernel rbf --features x,z --target y --method experts --experts kmeans:2", "--kernel linear+constant --features x,z --target y --holdout 0.2",
	}
	var files [][]byte
	for _, kind := range kinds {
		if code, _, stderr := runLine(t, append(strings.Fields("fit t.csv --max-evals 5 --quiet --force --out m.gpfit"), strings.Fields(kind)...)...); code != 0 {
			t.Fatalf("%s: %s", kind, stderr)
		}
		files = append(files, testcheck.Get(os.ReadFile("m.gpfit"))(t))
	}
	commands := []string{
		"inspect m.gpfit", "inspect m.gpfit --json", "predict m.gpfit t.csv", "predict m.gpfit t.csv --json --terms", "loo m.gpfit", "weights m.gpfit", "export m.gpfit --out - --format json",
		"report m.gpfit --out -", "report m.gpfit t.csv --out -", "update m.gpfit t.csv --out new.gpfit --force", "sample m.gpfit t.csv", "fit t.csv --from m.gpfit --max-evals 3 --out new.gpfit --force",
	}
	edits, stride := 50, 1000
	if testcheck.Long() {
		edits, stride = 2000, 7
	}
	codes := map[int]int{}
	try := func(what string, rng *rand.Rand, edited []byte) {
		testcheck.Do(t, os.WriteFile("m.gpfit", edited, 0o600))
		for _, command := range []string{commands[rng.IntN(2)], commands[2+rng.IntN(len(commands)-2)]} {
			func() {
				defer func() {
					if p := recover(); p != nil {
						t.Errorf("%s: %s: %v\n%s", what, command, p, debug.Stack())
					}
				}()
				code, _, stderr := runLine(t, strings.Fields(command)...)
				codes[code]++
				if code == exit.Failure && !strings.Contains(stderr, "definite") && !strings.Contains(stderr, "do not determine") && !strings.Contains(stderr, "finite number") && !strings.Contains(stderr, "two columns") {
					t.Errorf("%s: %s: exit code %d\n%s", what, command, code, stderr)
				}
			}()
		}
	}
	for seed := range edits {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		try(fmt.Sprintf("edit %d of %s", seed, kinds[seed%len(files)]), rng, modeltest.Edit(t, rng, files[seed%len(files)]))
	}
	values := 0
	for k, file := range files {
		modeltest.EachValue(t, file, func() bool { values++; return values%stride == 0 }, func(place string, edited []byte) {
			try(kinds[k]+": "+place, rng, edited)
		})
	}
	t.Logf("exit codes: %v, of %d edits and one in %d of %d values", codes, edits, stride, values)
}
