package main

import (
	"fmt"
	"math"
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
	testcheck.Words(t, mustLine(t, "fit", "s.csv", "--kernel", "rbf", "--dry-run"), "tree      cpu", "NLML within 0.001 nats of exact (chosen)")
	write(t, dir, "s.csv", strings.Join(strings.SplitAfterN(table.String(), "\n", 300_002)[:300_001], "")) // dense reads no more than about 370,000
	for _, method := range []string{"dense", "tiles"} {
		code, _, stderr := runLine(t, "fit", "s.csv", "--kernel", "rbf", "--device", "cpu", "--method", method)
		if out := mustLine(t, "fit", "s.csv", "--kernel", "rbf", "--device", "cpu", "--method", method, "--dry-run"); code != exit.Device || strings.Contains(out, "(chosen)") || !strings.Contains(out, "none is chosen: ") {
			t.Errorf("%d: %s\n%s", code, stderr, out)
		}
		testcheck.Words(t, stderr, "or take a kernel that needs no matrix of a series: matern12", "with matern32 a value with gradient takes",
			"or take a method that is not exact, but bounds its error (--tolerance): --method tree needs ", "for a value with gradient")
	}
}

// TestBoundedChosen checks that a method with a bound is chosen for a large table of two columns, not for four, for a small table or
// beside a structure that is cheaper.
func TestBoundedChosen(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	var large, small strings.Builder
	fmt.Fprintln(&large, "a,b,c,d,y")
	fmt.Fprintln(&small, "a,b,c,d,y")
	for i := range 7500 {
		x := math.Mod(float64(i)*0.6180339887, 1)
		row := fmt.Sprintf("%.6f,%.6f,%d,%d,%.6f", x, math.Mod(float64(i)*0.7548776662, 1), i*i%13, i*i%17, math.Sin(6*x))
		fmt.Fprintln(&large, row)
		if i < 2000 {
			fmt.Fprintln(&small, row)
		}
	}
	write(t, dir, "large.csv", large.String())
	write(t, dir, "small.csv", small.String())
	for _, c := range []struct{ table, features, kernel, chosen string }{
		{"large.csv", "a,b", "rbf(ard)", "tree"},
		{"large.csv", "a,b", "matern52", "tree"},
		{"large.csv", "a,b,c,d", "rbf(ard)", "dense"},
		{"large.csv", "a", "matern32", "markov"},
		{"small.csv", "a,b", "rbf(ard)", "dense"},
	} {
		out := mustLine(t, "fit", c.table, "--features", c.features, "--kernel", c.kernel, "--dry-run", "--json", "--tolerance", "0.02")
		if !strings.Contains(out, `"method":"`+c.chosen+`","device":"cpu","exact":`+fmt.Sprint(c.chosen != "tree")+`,"chosen":true`) {
			t.Errorf("%+v: %s", c, out)
		}
		if c.features == "a,b" && !strings.Contains(out, `"bound":0.02`) {
			t.Errorf("%+v: no bound in %s", c, out)
		}
	}
}
