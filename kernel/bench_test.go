package kernel

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gpfit/internal/testcheck"
)

// The benchmarks run over the lower triangle of a matrix in the order and in
// the pieces of package cpu, on one core.
const (
	benchRows = 16
	benchCols = 512
)

func benchTriangle(n int, f func(i, j0, j1 int)) {
	for i0 := 0; i0 < n; i0 += benchRows {
		for i := i0; i < min(i0+benchRows, n); i++ {
			for j := 0; j <= i; j += benchCols {
				f(i, j, min(j+benchCols, i+1))
			}
		}
	}
}

// benchCases runs over large triangles of many kernels, and over small ones, with short rows, of one.
func benchCases(b *testing.B, run func(b *testing.B, e *Evaluator, x *Points, a []float64)) {
	bench := func(text string, d, n int) {
		b.Run(fmt.Sprintf("%s/d=%d/n=%d", text, d, n), func(b *testing.B) {
			p := mustCompile(b, text, d)
			theta := testcheck.Slice(p.NumParams, func(i int) float64 { return 1.5 + 0.1*float64(i) })
			run(b, bound(p, theta), randomPoints(rand.New(rand.NewPCG(1, 1)), n, d), make([]float64, n*n))
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(n*(n+1)/2)*1e9, "ns/pair")
		})
	}
	for _, c := range []struct {
		text string
		d    int
	}{
		{"rbf", 8}, {"rbf", 26}, {"rbf(ard)", 8}, {"rbf(ard)", 26},
		{"matern12(ard)", 8}, {"matern32", 8}, {"matern52(ard)", 26}, {"rbf*matern32 + matern52", 8},
		{"rq", 8}, {"periodic", 8}, {"periodic(ard)", 8}, {"linear", 8}, {"cosine(ard)", 8}, {"poly(3)", 8},
		{"rbf + matern32 + rq", 8}, {"rbf*periodic + linear", 8}, {"rbf*periodic + rq + linear", 8},
	} {
		bench(c.text, c.d, 4000)
	}
	for _, d := range []int{1, 2, 4, 8} {
		for _, n := range []int{40, 100, 200} {
			bench("rbf(ard)", d, n)
		}
	}
}

func BenchmarkFill(b *testing.B) {
	benchCases(b, func(b *testing.B, e *Evaluator, x *Points, a []float64) {
		for b.Loop() {
			benchTriangle(x.N, func(i, j0, j1 int) { e.Row(a[i*x.N+j0:], x, i, x, j0, j1) })
		}
	})
}

func BenchmarkSweep(b *testing.B) {
	benchCases(b, func(b *testing.B, e *Evaluator, x *Points, a []float64) {
		for i := range a {
			a[i] = float64(i%17) - 8
		}
		grad := make([]float64, e.prog.NumParams)
		for b.Loop() {
			benchTriangle(x.N, func(i, j0, j1 int) { e.RowGradient(grad, a[i*x.N+j0:i*x.N+j1], x, i, x, j0, j1) })
		}
	})
}

// BenchmarkCompile builds, differentiates and compiles an expression, which a fit does once.
func BenchmarkCompile(b *testing.B) {
	for _, text := range []string{
		"rbf", "rbf(ard)*periodic + rq",
		"rbf(ard) + matern32 + periodic*rq + linear + matern52(ard)*cosine + poly(3) + rbf*matern12",
	} {
		b.Run(text, func(b *testing.B) {
			e := testcheck.Get(Parse(text))(b)
			for b.Loop() {
				p := testcheck.Get(Compile(e, Columns(8)))(b)
				e := bound(p, make([]float64, p.NumParams))
				e.derivatives()
			}
		})
	}
}
