package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// close1e9 is the relative tolerance for another method's numbers: rounding, and the point
// at which an optimiser ends.
const close1e9 = 1e-9

// TestMethod fits, predicts and runs a batch with a method that another build of the program
// has, and compares the numbers with those of the method dense.
func TestMethod(t *testing.T) {
	if os.Getenv("GPFIT_LONG") == "" {
		t.Skip("SKIPPED: it builds the program with the tag textbook; GPFIT_LONG=1 runs it")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "gpfit-textbook")
	if out, err := exec.Command("go", "build", "-tags", "textbook", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	try := func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return stderr.String(), err
		}
		return string(out), err
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := try(append(args, "--quiet")...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	rows := "a,b,y\n"
	for i := range 60 {
		a, b := math.Sin(3*float64(i)), math.Cos(5*float64(i*i))
		rows += fmt.Sprintf("%.3f,%.3f,%.4f\n", a, b, math.Sin(3*a)+math.Cos(2*b)+0.1*math.Cos(11*float64(i)))
	}
	write(t, filepath.Join(dir, "table.csv"), rows)
	reports, predictions := map[string]any{}, map[string]any{}
	spec := "data: [table.csv]\ndefaults: {threads: 1, scores: [loo]}\nkernels:\n"
	for _, method := range []string{"dense", "textbook"} {
		model := method + ".gpfit"
		text := must("fit", "table.csv", "--kernel", "rbf(ard)", "--mean", "linear", "--scores", "loo", "--method", method, "--threads", "1", "--out", model, "--json")
		reports[method] = numbers(t, text)
		predictions[method] = numbers(t, must("predict", model, "table.csv", "--method", method, "--json"))
		if got := strings.Contains(text, `"method":"textbook"`); got != (method == "textbook") {
			t.Errorf("the report of %s names its method: %v", method, got)
		}
		spec += fmt.Sprintf("  - {name: %s, kernel: rbf(ard), mean: linear, method: %s}\n", method, method)
	}
	sameFigures(t, "report", reports["textbook"], reports["dense"])
	sameFigures(t, "predictions", predictions["textbook"], predictions["dense"])
	write(t, filepath.Join(dir, "spec.yaml"), spec)
	var jobs []any
	for line := range strings.Lines(must("batch", "spec.yaml", "--out", "run", "--json")) {
		jobs = append(jobs, numbers(t, line))
	}
	if len(jobs) < 2 {
		t.Fatalf("results %v", jobs)
	}
	sameFigures(t, "batch", jobs[1], jobs[0])
	for want, args := range map[string][]string{
		`must be chosen, dense, experts or textbook (did you mean "textbook"?)`: {"fit", "table.csv", "--method", "textboks"},
		"--method experts: needs local experts":                                 {"fit", "table.csv", "--method", "experts"},
		"--method textbook: computes with one process":                          {"fit", "table.csv", "--method", "textbook", "--experts", "kmeans:2"},
	} {
		if out, err := try(args...); err == nil || !strings.Contains(out, want) {
			t.Errorf("%v: error %v, want %q in\n%s", args, err, want, out)
		}
	}
	if out, _ := try("devices"); !strings.Contains(out, "textbook  exact") || !strings.Contains(out, "experts   approximate") {
		t.Errorf("devices:\n%s", out)
	}
}

// numbers decodes a JSON object and leaves out what may differ between methods.
func numbers(t *testing.T, text string) any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// sameFigures compares the numbers of two JSON values at the same places.
func sameFigures(t *testing.T, at string, got, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		for key, w := range want {
			if g, ok := got.(map[string]any); ok && !strings.Contains(key, "seconds") && key != "gradient_log" && key != "gradient_norm" && key != "evaluations" {
				sameFigures(t, at+"."+key, g[key], w)
			}
		}
	case []any:
		for i, w := range want {
			if g, ok := got.([]any); ok && i < len(g) {
				sameFigures(t, fmt.Sprintf("%s[%d]", at, i), g[i], w)
			}
		}
	case float64:
		if g, ok := got.(float64); !ok || !(math.Abs(g-want) <= close1e9*max(1, math.Abs(want))) {
			t.Errorf("%s: %v, want %v", at, got, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}
