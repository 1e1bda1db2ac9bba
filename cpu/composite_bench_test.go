package cpu

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/kernel"
)

// BenchmarkComposites measures value and gradient with composite kernels
// against rbf alone, in turns in one process, n = 4000 and d = 8: of/rbf is the
// ratio of the medians.
//
//	go test ./cpu -run '^$' -bench Composites -benchtime 9x
func BenchmarkComposites(b *testing.B) {
	const n, d = 4000, 8
	rng := rand.New(rand.NewPCG(1, 1))
	rows, y := make([]float64, n*d), make([]float64, n)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.NormFloat64()
	}
	backend, err := New(device.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	ws, err := backend.NewWorkspace(ctx, kernel.NewPoints(rows, n, d))
	if err != nil {
		b.Fatal(err)
	}
	defer ws.Close()
	evaluation := func(text string) func() {
		expr, err := kernel.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		prog, err := kernel.Compile(expr, kernel.Columns(d))
		if err != nil {
			b.Fatal(err)
		}
		theta, grad, diag, alpha := make([]float64, prog.NumParams), make([]float64, prog.NumParams), make([]float64, n), make([]float64, n)
		for i := range theta {
			theta[i] = 1
		}
		return func() {
			copy(alpha, y)
			clear(grad)
			for _, step := range []func() error{
				func() error { return ws.Fill(ctx, prog, theta, []float64{0.1}) },
				func() error { return ws.Factor(ctx) },
				func() error { return ws.Solve(ctx, alpha, 1) },
				func() error {
					return ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: 0.5, Alpha: alpha}, prog, theta, grad, diag)
				},
			} {
				if err := step(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	single := evaluation("rbf")
	for _, text := range []string{"rbf + matern32 + rq", "rbf*periodic + linear", "rbf*periodic + rq + linear"} {
		composite := evaluation(text)
		b.Run(text, func(b *testing.B) {
			var ours, theirs []time.Duration
			measure := func(f func()) time.Duration {
				start := time.Now()
				f()
				return time.Since(start)
			}
			for range b.N {
				theirs, ours = append(theirs, measure(single)), append(ours, measure(composite))
			}
			slices.Sort(ours)
			slices.Sort(theirs)
			b.ReportMetric(float64(ours[len(ours)/2])/float64(theirs[len(theirs)/2]), "of/rbf")
		})
	}
}
