package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
)

// BenchmarkStages times the stages of one value and gradient separately, for rbf on
// 8 columns. Flops follow DESIGN's count: n³/3 for each of factor, inverse and
// panels, and n³ for a middle term.
func BenchmarkStages(b *testing.B) {
	for _, n := range []int{100, 250, 500, 1000, 2000, 4000} {
		for _, text := range []string{"rbf", "rbf(ard)"} {
			benchmarkStages(b, n, 8, text)
		}
	}
	benchmarkStages(b, 4000, 26, "rbf(ard)")
}

// BenchmarkDgemmRate reports the rate of matrix products.
func BenchmarkDgemmRate(b *testing.B) {
	dev := must.Get(Open(device.Options{}))(b)
	for _, n := range []int{500, 1000, 2000, 4000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			best := 0.0
			for range b.N {
				rate := must.Get(dev.DgemmRate(b.Context(), n))(b)
				best = max(best, rate)
			}
			b.ReportMetric(best/1e9, "GFLOP/s")
		})
	}
}

func benchmarkStages(b *testing.B, n, d int, text string) {
	prog := kerneltest.Program(b, text, d)
	x, alpha := points(rand.New(rand.NewPCG(1, 1)), n, d), make([]float64, n)
	dev := must.Get(Open(device.Options{}))(b)
	ctx := context.Background()
	w := must.Get(dev.NewWorkspace(ctx, x))(b).(*workspace)
	defer w.Close()
	theta := slices.Repeat([]float64{1}, prog.NumParams)
	grad, diag := make([]float64, len(theta)), make([]float64, n)
	adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}
	run := func(name string, share float64, prepare, work func() error) {
		b.Run(fmt.Sprintf("%s/n=%d/d=%d/%s", text, n, d, name), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				must.Do(b, prepare())
				b.StartTimer()
				must.Do(b, work())
			}
			if share > 0 {
				b.ReportMetric(share*cube(n)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			}
		})
	}
	nothing := func() error { return nil }
	fill := func() error { return w.Fill(ctx, prog, theta, []float64{0.1}) }
	factored := func() error { return w.Form(ctx, prog, theta, []float64{0.1}) }
	middle := device.Adjoint{Outer: []float64{1, -1}, Vectors: make([]float64, 2*n)}
	inverted := func() error {
		if err := factored(); err != nil {
			return err
		}
		return w.InverseDiagonal(ctx, diag)
	}
	contract := func() error { return w.Contract(ctx, adj, prog, theta, grad, diag) }
	run("fill", 0, nothing, fill)
	run("factor", 1.0/3, fill, func() error { return w.Factor(ctx) })
	run("contract", 2.0/3, factored, contract)
	run("middle", 1, inverted, func() error { return w.ContractDiagonal(ctx, middle, diag, prog, theta, grad, make([]float64, n)) })
	run("all", 1, nothing, func() error {
		if err := factored(); err != nil {
			return err
		}
		copy(alpha, diag)
		if err := w.Solve(ctx, alpha, 1); err != nil {
			return err
		}
		return contract()
	})
}
