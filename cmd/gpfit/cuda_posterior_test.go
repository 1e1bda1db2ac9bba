package main

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// TestGPUPosterior compares an emulated GPU with the CPU: terms, gradients, joint draws,
// leave-one-out predictions and weights.
func TestGPUPosterior(t *testing.T) {
	g := newGPU(t)
	model, few := filepath.Join(t.TempDir(), "m.gpfit"), filepath.Join(t.TempDir(), "few.csv")
	text := must.Get(os.ReadFile("../../examples/co2.csv"))(t)
	lines := strings.SplitAfter(string(text), "\n")
	must.Do(t, os.WriteFile(few, []byte(strings.Join(lines[:105], "")), 0o644))
	g.report(t, nil, "fit", few, "--kernel", "rbf(ard) + matern32(dims=0) + linear(dims=0)", "--fix", "noise_variance=0.01", "--max-evals", "10", "--device", "cpu", "--out", model)
	for _, args := range [][]string{
		{"predict", model, "../../examples/co2_new.csv", "--terms", "--gradient", "--draws", "3", "--observed"},
		{"loo", model},
		{"weights", model},
	} {
		onCPU, onGPU := g.numbers(t, append(args, "--device", "cpu")...), g.numbers(t, append(args, "--device", "cuda:0")...)
		if len(onCPU) != len(onGPU) || len(onCPU) < 3 {
			t.Fatalf("%s: %d numbers on the GPU, %d on the CPU", args[0], len(onGPU), len(onCPU))
		}
		for i, want := range onCPU {
			// The condition numbers are about 1e5, the values about 300.
			if math.Abs(onGPU[i]-want) > 1e-8*(1+math.Abs(want)) {
				t.Errorf("%s: number %d is %v, on the CPU %v", args[0], i, onGPU[i], want)
			}
		}
	}
}

// numbers returns all numbers of a table that gpfit prints, row by row.
func (g *gpu) numbers(t *testing.T, args ...string) []float64 {
	t.Helper()
	code, stdout, stderr := g.run(t, nil, args...)
	if code != 0 {
		t.Fatalf("gpfit %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	records := must.Get(csv.NewReader(strings.NewReader(stdout)).ReadAll())(t)
	var out []float64
	for _, record := range records {
		for _, cell := range record {
			if v, err := strconv.ParseFloat(cell, 64); err == nil {
				out = append(out, v)
			}
		}
	}
	return out
}
