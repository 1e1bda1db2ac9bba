package main

import (
	"cmp"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/baseline"
	"gpfit/internal/must"
)

// corners returns the weights of example 20: of two and of six columns, without a penalty and
// with one.
func corners(t *testing.T) [][]float64 {
	t.Helper()
	rows, x := read("../data", "wide.csv")
	var all [][]float64
	for _, columns := range []int{2, 6} {
		weights := penalised(x.Slice(0, rows.N, 0, columns), rows.Y, []float64{0, 0.5}, baseline.Ridge{Design: plain, Form: baseline.Primal})
		all = append(all, weights...)
	}
	return all
}

// TestShortest checks the weights without penalty against the singular value decomposition:
// six columns meet all targets, and ridge regression takes the same solution.
func TestShortest(t *testing.T) {
	rows, x := read("../data", "wide.csv")
	all := corners(t)
	for i, columns := range []int{2, 6} {
		part := x.Slice(0, rows.N, 0, columns)
		want := shortest(part, rows.Y)
		checkClose(t, all[2*i], want)
		var fit mat.VecDense
		fit.MulVec(part, mat.NewVecDense(columns, want))
		if columns > rows.N {
			checkClose(t, fit.RawVector().Data, rows.Y)
		}
	}
}

// TestNumPy compares the weights with the weights that the page's Python prints, if
// GPFIT_PYTHON, or python3, has NumPy.
func TestNumPy(t *testing.T) {
	_, script, found := strings.Cut(readText(t, "../20-minimum-norm.md"), "```python\n")
	script, _, _ = strings.Cut(script, "```")
	if !found || script == "" {
		t.Fatal("no Python on the page")
	}
	python := cmp.Or(os.Getenv("GPFIT_PYTHON"), "python3")
	if text, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		if os.Getenv("GPFIT_PYTHON_REQUIRED") != "" {
			t.Fatalf("%s cannot import numpy: %v\n%s", python, err, text)
		}
		t.Skipf("SKIPPED: %s cannot import numpy: %v", python, err)
	}
	command := exec.Command(python, "-c", script)
	command.Dir = "../../.."
	var failed strings.Builder
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failed.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	all := corners(t)
	if len(lines) != len(all) {
		t.Fatalf("%d lines for %d penalties:\n%s", len(lines), len(all), out)
	}
	for i, line := range lines {
		var theirs []float64
		for word := range strings.FieldsSeq(line) {
			w := must.Get(strconv.ParseFloat(word, 64))(t)
			theirs = append(theirs, w)
		}
		checkClose(t, all[i], theirs)
	}
}

// checkClose fails if numbers differ by more than the rounding of a few operations.
func checkClose(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
		return
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-12*max(1, math.Abs(want[i]))) {
			t.Errorf("%v, want %v", got, want)
			return
		}
	}
}
