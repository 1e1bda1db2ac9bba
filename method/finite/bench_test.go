package finite

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// BenchmarkGradient measures a value with gradient of 10⁵ rows.
func BenchmarkGradient(b *testing.B) {
	const n = 100000
	rng := rand.New(rand.NewPCG(1, 29))
	for _, c := range []struct {
		text    string
		columns int
	}{{"linear", 20}, {"poly(2)", 8}, {"cosine(dims=0) + linear", 8}} {
		b.Run(c.text, func(b *testing.B) {
			x := kernel.NewPoints(methodtest.Normals(rng, n*c.columns), n, c.columns)
			prog := testcheck.Get(kernel.CompileText(c.text, c.columns))(b)
			theta, y, ctx := slices.Repeat([]float64{1}, prog.NumParams), methodtest.Normals(rng, n), context.Background()
			w := testcheck.Get(open(b).NewWorkspace(ctx, x))(b)
			alpha, grad, diag := make([]float64, n), make([]float64, prog.NumParams), make([]float64, n)
			for k := 0; b.Loop(); k++ {
				testcheck.Do(b, w.Form(ctx, prog, theta, []float64{0.1 + 0.001*float64(k%9)}))
				copy(alpha, y)
				testcheck.Do(b, w.Solve(ctx, alpha, 1))
				adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}
				testcheck.Do(b, w.Contract(ctx, adj, prog, theta, grad, diag))
			}
		})
	}
}
