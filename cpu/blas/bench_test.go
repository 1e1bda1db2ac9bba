package blas

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// Benchmarks report GFLOP/s. GPFIT_CPU selects the variant and -cpu the number of
// threads:
//
//	go test -run '^$' -bench 'Dgemm/n=1000' -cpu 1,2 gpfit/cpu/blas
func benchmark(b *testing.B, sizes []int, flops func(n float64) float64, f func(impl *Implementation, n int, a, x, c []float64)) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			impl, err := New(Options{})
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 1))
			a, x, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
			for i := range a {
				a[i], x[i] = rng.Float64()/float64(n), rng.Float64()
			}
			for i := range n {
				a[i*n+i] += 1
			}
			f(impl, n, a, x, c)
			b.ResetTimer()
			for range b.N {
				f(impl, n, a, x, c)
			}
			b.ReportMetric(flops(float64(n))*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
		})
	}
}

var benchSizes = []int{50, 100, 200, 500, 1000, 2000, 4000}

func cube(n float64) float64 { return n * n * n }

func BenchmarkDgemm(b *testing.B) {
	for _, tA := range transposes[:2] {
		for _, tB := range transposes[:2] {
			b.Run(fmt.Sprintf("%c%c", tA, tB), func(b *testing.B) {
				benchmark(b, benchSizes, func(n float64) float64 { return 2 * cube(n) }, func(impl *Implementation, n int, a, x, c []float64) {
					impl.Dgemm(tA, tB, n, n, n, 1, a, n, x, n, 0, c, n)
				})
			})
		}
	}
}

func BenchmarkDsyrk(b *testing.B) {
	benchmark(b, benchSizes, cube, func(impl *Implementation, n int, a, x, c []float64) {
		impl.Dsyrk(blas.Lower, blas.NoTrans, n, n, 1, x, n, 0, c, n)
	})
}

func BenchmarkDsymm(b *testing.B) {
	benchmark(b, benchSizes, func(n float64) float64 { return 2 * cube(n) }, func(impl *Implementation, n int, a, x, c []float64) {
		impl.Dsymm(blas.Left, blas.Lower, n, n, 1, a, n, x, n, 0, c, n)
	})
}

// The in-place routines continue from the result of the previous iteration. The
// triangle is close to the identity, so the numbers stay moderate.

func BenchmarkDtrsm(b *testing.B) {
	for _, side := range sides {
		b.Run(string(side), func(b *testing.B) {
			benchmark(b, benchSizes, cube, func(impl *Implementation, n int, a, x, c []float64) {
				copy(c, x)
				impl.Dtrsm(side, blas.Lower, blas.Trans, blas.NonUnit, n, n, 1, a, n, c, n)
			})
		})
	}
}

func BenchmarkDtrmm(b *testing.B) {
	for _, side := range sides {
		b.Run(string(side), func(b *testing.B) {
			benchmark(b, benchSizes, cube, func(impl *Implementation, n int, a, x, c []float64) {
				copy(c, x)
				impl.Dtrmm(side, blas.Lower, blas.NoTrans, blas.NonUnit, n, n, 1, a, n, c, n)
			})
		})
	}
}
