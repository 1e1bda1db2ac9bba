package main

import (
	"fmt"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// TestLongSeries checks that a series too long for any matrix is computed by its states where the kernel has some, and
// that the error names such kernels where it has none.
func TestLongSeries(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var table strings.Builder
	table.WriteString("t,y\n")
	for i := range 400_000 { // a matrix of 1.2 TiB
		fmt.Fprintf(&table, "%d,%d\n", i, i*i%7)
	}
	write(t, dir, "s.csv", table.String())
	testcheck.Words(t, mustLine(t, "nlml", "s.csv", "--kernel", "matern32", "--dry-run"), "TiB of memory", "too large: ", "markov    cpu", "(chosen)")
	testcheck.Words(t, mustLine(t, "nlml", "s.csv", "--kernel", "matern32", "--device", "cpu"), "read 400000 rows", "method markov")
	write(t, dir, "spec.yaml", "data: [s.csv]\n")
	if out := mustLine(t, "batch", "spec.yaml", "--dry-run"); !strings.Contains(out, "MiB for one job") {
		t.Errorf("a batch that chooses kernels plans a matrix:\n%s", out)
	}
	for word, args := range map[string][]string{
		"the method markov cannot evaluate the kernel rbf: rbf has no states": {"nlml", "s.csv", "--kernel", "rbf", "--method", "markov"},
		"the method grid cannot evaluate the kernel matern32":                 {"nlml", "s.csv", "--kernel", "matern32", "--method", "grid"},
		"a factor of the covariance matrix; the method dense does":            {"fit", "s.csv", "--kernel", "matern32", "--method", "markov", "--save-factor"},
		"choose one of its kernels, or the method chosen":                     {"fit", "s.csv", "--method", "finite"},
	} {
		code, _, stderr := runLine(t, args...)
		if code != exit.Usage || strings.Contains(stderr, "NVIDIA") {
			t.Errorf("%v: exit code %d: %s", args, code, stderr)
		}
		testcheck.Words(t, stderr, word)
	}
	code, _, stderr := runLine(t, "fit", "s.csv", "--kernel", "rbf", "--device", "cpu")
	if code != exit.Device {
		t.Errorf("%d: %s", code, stderr)
	}
	testcheck.Words(t, stderr, "or take a kernel that needs no matrix of a series: matern12", "with matern32 a value with gradient takes")
}
