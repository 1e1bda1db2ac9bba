package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gpfit/fit/summary"
	"gpfit/internal/must"
)

// TestGPUMeans compares an emulated GPU with the CPU: means by least squares, noise that
// differs from row to row, no noise, and several targets.
func TestGPUMeans(t *testing.T) {
	t.Setenv("GPFIT_FORCE", "true") // the commands write one model after another
	g := newGPU(t)
	dir := t.TempDir()
	data, model := filepath.Join(dir, "t.csv"), filepath.Join(dir, "m.gpfit")
	rng := rand.New(rand.NewPCG(3, 3))
	text := "x,z,v,lab,a,b\n"
	for i := range 150 {
		x, z := 3*rng.NormFloat64(), rng.NormFloat64()
		text += fmt.Sprintf("%g,%g,%g,lab%d,%g,%g\n", x, z, 0.01*float64(1+i%3), i%2, math.Sin(x)+z+0.3*rng.NormFloat64(), 2*x-math.Cos(z))
	}
	must.Do(t, os.WriteFile(data, []byte(text), 0o644))
	for _, args := range [][]string{
		{"--target", "a", "--mean", "poly(2) + bumps(3, dims=0)", "--noise-column", "v", "--noise-group", "lab"},
		{"--target", "a", "--kernel", "matern12", "--noise", "none", "--mean", "constant"},
		{"--target", "a,b", "--mean", "linear", "--noise-group", "lab"},
	} {
		args = append(args, "--features", "x,z")
		evaluate := func(device string) summary.Report {
			r, _ := g.report(t, nil, append([]string{"nlml", data, "--device", device}, args...)...)
			return r
		}
		cpu, gpu := evaluate("cpu"), evaluate("cuda:0")
		// The condition numbers are at most about 1e5.
		if gpu.Device != "cuda:0" || math.Abs(gpu.NLML-cpu.NLML) > 1e-10*math.Abs(cpu.NLML) {
			t.Errorf("%q: NLML %v on %s, %v on the CPU", args, gpu.NLML, gpu.Device, cpu.NLML)
		}
		for name, want := range cpu.GradientLog {
			if math.Abs(gpu.GradientLog[name]-want) > 1e-8*(1+math.Abs(want)) {
				t.Errorf("%q: gradient of %s is %v, on the CPU %v", args, name, gpu.GradientLog[name], want)
			}
		}
		for i, c := range cpu.MeanCoefficients {
			if k := gpu.MeanCoefficients[i]; math.Abs(k.Value-c.Value) > 1e-7**c.StandardError || math.Abs(*k.StandardError-*c.StandardError) > 1e-8**c.StandardError {
				t.Errorf("%q: %s = %v ± %v, on the CPU %v ± %v", args, c.Name, k.Value, *k.StandardError, c.Value, *c.StandardError)
			}
		}
		g.report(t, nil, append([]string{"fit", data, "--device", "cpu", "--max-evals", "5", "--out", model}, args...)...)
		onCPU, onGPU := g.numbers(t, "predict", model, data, "--device", "cpu"), g.numbers(t, "predict", model, data, "--device", "cuda:0")
		if len(onCPU) == 0 || len(onCPU)%150 != 0 || len(onGPU) != len(onCPU) {
			t.Fatalf("%q: %d numbers on the GPU, %d on the CPU", args, len(onGPU), len(onCPU))
		}
		for i, want := range onCPU {
			if math.Abs(onGPU[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("%q: number %d is %v, on the CPU %v", args, i, onGPU[i], want)
			}
		}
	}
}
