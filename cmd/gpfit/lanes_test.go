package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// TestBatchLanes runs a batch whose jobs share an emulated GPU that works late and in random order, and one job at a time on
// a GPU that works at once. The results have the same bits.
func TestBatchLanes(t *testing.T) {
	g, dir := newGPU(t), t.TempDir()
	t.Chdir(dir)
	var table strings.Builder
	table.WriteString("x,y\n")
	for i := range 30 {
		fmt.Fprintf(&table, "%v,%v\n", 0.1*float64(i), math.Sin(float64(i*i)))
	}
	write(t, dir, "t.csv", table.String())
	spec := write(t, dir, "s.yaml", "data: [t.csv]\nkernels: [rbf, matern32]\nseeds: [1, 2, 3]\ndefaults: {device: cuda, threads: 1, restarts: 0, max_evals: 8}\n")
	results := func(machine emulator.Config, args ...string) (all []float64) {
		stdout, _ := g.outputs(t, machine, append([]string{"batch", spec, "--json"}, args...)...)
		for line := range strings.Lines(stdout) {
			var job struct {
				Device     string
				NLML       float64
				Parameters map[string]float64
			}
			if must.Do(t, json.Unmarshal([]byte(line), &job)); job.Device == "cuda:0" {
				all = append(all, job.NLML)
				all = slices.AppendSeq(all, maps.Values(job.Parameters))
			}
		}
		slices.Sort(all) // the jobs end in any order
		return all
	}
	want := results(emulator.Config{}, "--gpu-jobs", "1", "--out", "alone")
	if got := results(emulator.Config{Order: 5}, "--out", "lanes"); len(want) < 6 || !slices.Equal(got, want) {
		t.Errorf("in lanes %v, alone %v", got, want)
	}
}
