package markov

import (
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// series returns a task of n sorted rows and one noise variance.
func series(t testing.TB, text string, n int, regular bool) *methodtest.Instance {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	p := &methodtest.Instance{Text: text, Targets: 1, Noise: []float64{0.1}, Y: methodtest.Normals(rng, n), X: kernel.NewPoints(make([]float64, n), n, 1)}
	at := 0.0
	for i := range n {
		if at += 0.1; !regular {
			at += 0.1 * rng.ExpFloat64()
		}
		p.X.X[i] = at
	}
	p.Prog = testcheck.Get(kernel.CompileText(text, 1))(t)
	for i := range p.Prog.NumParams {
		p.Theta = append(p.Theta, 1+0.3*float64(i))
	}
	return p
}

// benchmarkRows returns GPFIT_ROWS, or 10⁶ without it.
func benchmarkRows() int {
	if n, err := strconv.Atoi(os.Getenv("GPFIT_ROWS")); err == nil {
		return n
	}
	return 1_000_000
}

// BenchmarkValue evaluates the likelihood alone.
func BenchmarkValue(b *testing.B) {
	for _, text := range []string{"matern12", "matern32"} {
		b.Run(text+", uneven", func(b *testing.B) {
			p := series(b, text, benchmarkRows(), false)
			w := testcheck.Get(open(b).NewWorkspace(context.Background(), p.X))(b)
			for b.Loop() {
				testcheck.Do(b, w.Form(context.Background(), p.Prog, p.Theta, p.Noise))
				alpha := slices.Clone(p.Y)
				testcheck.Do(b, w.Solve(context.Background(), alpha, 1))
			}
		})
	}
}

// BenchmarkGradient evaluates the likelihood with its gradient, of 10⁶ rows without GPFIT_ROWS.
func BenchmarkGradient(b *testing.B) {
	n := benchmarkRows()
	for _, text := range []string{"matern12", "matern32", "matern52", "matern(3.5)", "matern52 + matern12*cosine", "matern12" + strings.Repeat(" + matern12*cosine", 20)} {
		for _, regular := range []bool{true, false} {
			name := text + ", uneven"
			if regular {
				name = text
			}
			b.Run(name, func(b *testing.B) {
				p := series(b, text, n, regular)
				w := testcheck.Get(open(b).NewWorkspace(context.Background(), p.X))(b)
				grad, diag := make([]float64, p.Prog.NumParams), make([]float64, n)
				for b.Loop() {
					ctx := context.Background()
					testcheck.Do(b, w.Form(ctx, p.Prog, p.Theta, p.Noise))
					alpha := slices.Clone(p.Y)
					testcheck.Do(b, w.Solve(ctx, alpha, 1))
					adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}
					testcheck.Do(b, w.Contract(ctx, adj, p.Prog, p.Theta, grad, diag))
				}
				b.ReportMetric(float64(w.Work().Bytes)/float64(n), "B/row")
			})
		}
	}
}

// BenchmarkPredict predicts at 10⁵ points from 10⁶ rows, 1000 points at a time.
func BenchmarkPredict(b *testing.B) {
	const n, m = 1_000_000, 100_000
	p := series(b, "matern32", n, false)
	w, ctx := testcheck.Get(open(b).NewWorkspace(context.Background(), p.X))(b), context.Background()
	testcheck.Do(b, w.Form(ctx, p.Prog, p.Theta, p.Noise))
	rng := rand.New(rand.NewPCG(8, 8))
	for b.Loop() {
		for range m / 1000 {
			xs := kernel.NewPoints(make([]float64, 1000), 1000, 1)
			for j := range xs.X {
				xs.X[j] = p.X.X[n-1] * rng.Float64()
			}
			testcheck.Do(b, w.Predict(ctx, p.Prog, p.Theta, p.Y, xs, make([]float64, 1000), make([]float64, 1000)))
		}
	}
}
