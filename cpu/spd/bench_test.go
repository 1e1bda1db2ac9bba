package spd

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"gpfit/internal/testcheck"
)

// BenchmarkFactorInverse reports GFLOP/s. GPFIT_CPU selects the variant and -cpu the number
// of threads.
func BenchmarkFactorInverse(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{50, 100, 250, 500, 1000, 2000, 4000} {
		e := testcheck.Get(Open(0))(b)
		m := e.New(n)
		setTriangle(m, newReproducible(n).definite(n), 0)
		sigma := slices.Clone(m.a)
		run := func(name string, prepare, work func()) {
			b.Run(fmt.Sprintf("n=%d/%s", n, name), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					prepare()
					b.StartTimer()
					work()
				}
				b.ReportMetric(float64(n)*float64(n)*float64(n)/3*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
		factorize := func() {
			if minor, _ := m.Factor(ctx, 0, nil); minor != 0 {
				b.Fatal(minor)
			}
		}
		run("factor", func() { copy(m.a, sigma) }, factorize)
		copy(m.a, sigma)
		factorize()
		run("invert", func() {}, func() { _ = m.invertTriangle(ctx, nil) })
		u := slices.Clone(m.a)
		run("square", func() { copy(m.a, u) }, func() { _ = m.square(ctx, nil) })
	}
}
