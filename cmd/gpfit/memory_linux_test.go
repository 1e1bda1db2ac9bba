package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// memoryTable writes a table of n rows and d inputs.
func memoryTable(t *testing.T, dir string, n, d int) string {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(d)))
	var b strings.Builder
	for c := range d {
		fmt.Fprintf(&b, "c%d,", c)
	}
	b.WriteString("y\n")
	for range n {
		y := 0.1 * rng.NormFloat64()
		for c := range d {
			v := rng.NormFloat64()
			if c < 2 {
				y += math.Sin(v)
			}
			fmt.Fprintf(&b, "%.4g,", v)
		}
		fmt.Fprintf(&b, "%.5g\n", y)
	}
	return write(t, dir, fmt.Sprintf("t%dx%d.csv", n, d), b.String())
}

// memoryCommands returns fits of many shapes with the options that take memory: 60 commands in the long
// form.
func memoryCommands() (all []struct {
	n, d    int
	options string
}) {
	add := func(n, d int, options ...string) {
		for _, o := range options {
			all = append(all, struct {
				n, d    int
				options string
			}{n, d, o})
		}
	}
	if !testcheck.Long() {
		add(20, 300, "--kernel matern52")
		add(800, 4, "--kernel rbf --restarts 0 --scores loo,cv --folds 3")
		return all
	}
	add(20, 1000, "--kernel matern52")
	add(1000, 8, "--kernel rbf(ard) --restarts 3 --scores loo,cv --folds 5")
	for _, n := range []int{20, 200, 1000, 2000} {
		for _, d := range []int{1, 8, 100} {
			add(n, d, "--kernel rbf", "--kernel matern52(ard) --report page.html", "--kernel rbf(ard) --restarts 3 --scores cv --folds 5")
		}
	}
	for _, n := range []int{20, 200, 1000} {
		add(n, 4, "--kernel rbf --posterior hmc --posterior-chains 2 --posterior-draws 50 --posterior-warmup 50", "--kernel rbf --posterior laplace --posterior-draws 10000", "--kernel rbf(ard) --posterior laplace --posterior-chains 8")
		add(n, 8, "--kernel rbf+linear --scores cv --folds 10 --refit")
	}
	add(200, 1000, "--kernel rbf(ard)", "--kernel rbf --report page.html")
	add(200, 10_000, "--kernel rbf --report page.html", "--kernel matern52(ard)")
	add(5, 20_000, "--kernel rbf", "--kernel rbf(ard)")
	add(4000, 8, "--kernel rbf(ard)", "--kernel rbf --save-factor")
	add(4000, 2, "--kernel rbf --experts kmeans:4")
	add(50, 300, "--kernel rbf(ard) --std-errors")
	return all
}

// TestMemoryPlan compares the peak memory of fits with their plans.
func TestMemoryPlan(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	dir := t.TempDir()
	commands := memoryCommands()
	for _, c := range commands {
		page := filepath.Join(dir, "page.html")
		args := append([]string{"fit", memoryTable(t, dir, c.n, c.d), "--target", "y", "--device", "cpu", "--json", "--quiet", "--max-evals", "4", "--force", "--out", filepath.Join(dir, "m.gpfit")},
			strings.Fields(strings.ReplaceAll(c.options, "page.html", page))...)
		cmd := exec.Command("gpfit", args...)
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%d×%d %s: %v", c.n, c.d, c.options, err)
			continue
		}
		var r summary.Report
		testcheck.Do(t, json.Unmarshal(out, &r))
		peak := r.PeakBytes // the usage of a child begins with the memory of this process
		t.Logf("%4d×%-5d peak %4d MB, plan %4d MB  %s", c.n, c.d, peak>>20, r.PlannedBytes>>20, c.options)
		// The program itself takes 50 MB, and some more for this test; small work leaves as much garbage as it holds, and 16 MB.
		if limit := r.PlannedBytes*5/4 + 110<<20; r.PlannedBytes == 0 || peak == 0 || peak > limit {
			t.Errorf("%d×%d %s: took %d MB with a plan of %d MB", c.n, c.d, c.options, peak>>20, r.PlannedBytes>>20)
		}
	}
	t.Logf("%d commands", len(commands))
}
