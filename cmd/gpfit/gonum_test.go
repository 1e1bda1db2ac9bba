package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// gonumNames are the names of numbers that differ from run to run.
var gonumNames = regexp.MustCompile(`second|time|rate|bytes|memory|started|date|pid|sha256`)

// numbersOf returns all numbers of a decoded JSON value by their places.
func numbersOf(at string, v any, out map[string]float64) {
	switch v := v.(type) {
	case float64:
		if !gonumNames.MatchString(at) {
			out[at] = v
		}
	case map[string]any:
		for name, inner := range v {
			numbersOf(at+"/"+name, inner, out)
		}
	case []any:
		for i, inner := range v {
			numbersOf(fmt.Sprint(at, "/", i), inner, out)
		}
	}
}

// TestGonum tests that every number that a command computes on the device gonum is the CPU's
// to nine digits, relative to the largest number beside it.
func TestGonum(t *testing.T) {
	dir := t.TempDir()
	call := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := runLine(t, args...)
		if code != 0 {
			t.Fatalf("%q: exit code %d\n%s", args, code, stderr)
		}
		return stdout
	}
	few := filepath.Join(dir, "few.csv")
	table := must.Get(os.ReadFile("../../examples/co2.csv"))(t)
	lines := strings.SplitAfter(string(table), "\n")
	must.Do(t, os.WriteFile(few, []byte(strings.Join(lines[:121], "")), 0o600))
	model := filepath.Join(dir, "m.gpfit")
	call("fit", few, "--max-evals", "5", "--save-factor", "--out", model, "--device", "cpu", "--quiet")
	out := " --force --json --out " + filepath.Join(dir, "o.gpfit")
	for _, command := range []string{
		"fit " + few + out,
		"fit " + few + " --mean linear --objective loo --max-evals 5" + out,
		"nlml " + few + " --objective cv --folds 4 --json",
		"nlml " + few + " --kernel linear+rbf --scores loo,cv --folds 3 --json",
		"nlml " + few + " --experts kmeans:3 --json",
		"predict " + model + " " + few + " --format jsonl",
		"sample " + model + " " + few + " --draws 2 --seed 3 --format jsonl",
		"loo " + model + " --format jsonl",
		"update " + model + " " + few + out,
	} {
		on := func(device string) string {
			return call(append(strings.Fields(command), "--quiet", "--device", device)...)
		}
		sameOnGonum(t, command, on("cpu"), on("gonum"))
	}
	batch := func(device string) string {
		spec, run := filepath.Join(dir, "s.yaml"), filepath.Join(dir, device+".run")
		text := fmt.Sprintf("data:\n  - {name: t, path: few.csv}\nkernels: [rbf, matern52]\nseeds: [1]\ndefaults: {device: %s}\n", device)
		must.Do(t, os.WriteFile(spec, []byte(text), 0o600))
		call("batch", spec, "--out", run, "--quiet")
		return call("show", run, "--format", "json")
	}
	sameOnGonum(t, "batch", batch("cpu"), batch("gonum"))
}

// sameOnGonum compares the numbers of a command's lines.
func sameOnGonum(t *testing.T, command, onCPU, onGonum string) {
	t.Helper()
	numbers := func(text string) map[string]float64 {
		out := map[string]float64{}
		for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
			var v any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, line)
			}
			numbersOf(fmt.Sprint(i), v, out)
		}
		return out
	}
	want, got := numbers(onCPU), numbers(onGonum)
	if len(want) == 0 || len(want) != len(got) || !strings.Contains(onGonum, "gonum") && strings.Contains(onCPU, `"cpu"`) {
		t.Fatalf("%s: %d numbers on the CPU, %d on gonum\n%s", command, len(want), len(got), onGonum)
	}
	largest := map[string]float64{}
	for at, v := range want {
		folder := filepath.Dir(at)
		largest[folder] = max(largest[folder], math.Abs(v))
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		if d := math.Abs(got[at] - want[at]); !(d <= 1e-9*max(1, largest[filepath.Dir(at)])) {
			t.Errorf("%s: %s is %v on gonum, %v on the CPU", command, at, got[at], want[at])
		}
	}
}
