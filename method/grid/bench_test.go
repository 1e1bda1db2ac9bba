package grid

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// BenchmarkEvaluation measures a value with gradient on a square grid.
func BenchmarkEvaluation(b *testing.B) {
	for _, side := range []int{100, 300, 1000} {
		b.Run(fmt.Sprint(side), func(b *testing.B) {
			ctx, n := context.Background(), side*side
			x := kernel.NewPoints(make([]float64, 2*n), n, 2)
			for i := range n {
				x.Column(0)[i], x.Column(1)[i] = 5*float64(i/side)/float64(side), 5*float64(i%side)/float64(side)
			}
			prog := testcheck.Get(kernel.CompileText("rbf(dims=0)*matern32(dims=1)", 2))(b)
			w := testcheck.Get(open(b).NewWorkspace(ctx, x))(b)
			y, alpha, grad, diag := methodtest.Normals(rand.New(rand.NewPCG(1, 1)), n), make([]float64, n), make([]float64, prog.NumParams), make([]float64, n)
			theta := []float64{1, 1, 1}
			for k := range b.N {
				theta[0] = 1 + 0.001*float64(k)
				copy(alpha, y)
				testcheck.Do(b, w.Form(ctx, prog, theta, []float64{0.1}), w.Solve(ctx, alpha, 1))
				testcheck.Do(b, w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, grad, diag))
			}
		})
	}
}

// BenchmarkDetection measures how long a table of 2,000 rows that is no grid keeps the choice of a method.
func BenchmarkDetection(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	const n, d = 2000, 8
	own := open(b)
	for name, values := range map[string]int{"all values differ": 0, "30 values": 30} {
		x := kernel.NewPoints(methodtest.Normals(rng, n*d), n, d)
		for i := range x.X {
			if values > 0 {
				x.X[i] = float64(rng.IntN(values))
			}
		}
		w := device.Workload{N: n, D: d, Points: x, Program: testcheck.Get(kernel.CompileText("rbf(ard)", d))(b)}
		b.Run(name, func(b *testing.B) {
			for range b.N {
				_ = own.Supports(w)
			}
		})
	}
}
