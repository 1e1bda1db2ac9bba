package kernel

import (
	"math"
	"math/rand/v2"
	"testing"
)

var evaluatorCases = []string{
	"rbf", "rbf(ard)", "matern12", "matern12(ard)", "matern32(ard, dims=[2, 0])", "matern52", "rbf*matern32",
	"rbf(ard)*(matern12 + matern52(ard)) + rbf(dims=1)",
	"rq", "rq(ard)", "periodic", "periodic(ard)", "linear", "linear(ard)", "poly(3)", "poly(2, ard)", "cosine", "cosine(ard)", "constant",
	"rbf*periodic + rq + linear", "linear(ard)*(cosine + poly(1)) + constant*rq",
}

// TestRowsAgainstPairs checks that a value depends, to the last bit, neither on the
// position of its pair in a row nor on the order of the points.
func TestRowsAgainstPairs(t *testing.T) {
	const n, d = 150, 3
	rng := rand.New(rand.NewPCG(21, 1))
	x := randomPoints(rng, n, d)
	for _, text := range evaluatorCases {
		p := mustCompile(t, text, d)
		e := NewEvaluator(p)
		e.Bind(randomTheta(rng, p))
		all, part := make([]float64, n), make([]float64, n)
		for i := range 5 {
			e.Row(all, x, i, x, 0, n)
			for j0 := range 40 {
				j1 := j0 + rng.IntN(n-j0)
				e.Row(part, x, i, x, j0, j1)
				for j := j0; j < j1; j++ {
					if part[j-j0] != all[j] {
						t.Fatalf("%s: k(x%d, x%d) is %v in a row from %d to %d, %v in the whole", text, i, j, part[j-j0], j0, j1, all[j])
					}
				}
			}
			for j := range all {
				if e.Row(part, x, j, x, i, i+1); part[0] != all[j] {
					t.Fatalf("%s: k(x%d, x%d) = %v, the other way round %v", text, i, j, all[j], part[0])
				}
			}
		}
	}
}

// TestGradientOfRows checks that the gradient over a row is the sum of the
// gradients of its pairs, for every length.
func TestGradientOfRows(t *testing.T) {
	const n, d = 90, 3
	rng := rand.New(rand.NewPCG(22, 1))
	x := randomPoints(rng, n, d)
	adj := make([]float64, n)
	for j := range adj {
		adj[j] = rng.NormFloat64()
	}
	for _, text := range evaluatorCases {
		p := mustCompile(t, text, d)
		e := NewEvaluator(p)
		e.Bind(randomTheta(rng, p))
		for m := range n {
			got, want, size := make([]float64, p.NumParams), make([]float64, p.NumParams), 0.0
			e.RowGradient(got, adj, x, 7, x, 0, m)
			for j := range m {
				e.RowGradient(want, adj[j:], x, 7, x, j, j+1)
				size += math.Abs(adj[j]) * 20
			}
			for q := range got {
				if math.Abs(got[q]-want[q]) > relTol*size {
					t.Fatalf("%s, %d pairs: ∂/∂log θ%d = %v, %v pair by pair", text, m, q, got[q], want[q])
				}
			}
		}
	}
}

// TestExtremes checks that points whose distance overflows have covariance 0, and
// that NaN stays NaN.
func TestExtremes(t *testing.T) {
	for _, text := range evaluatorCases[:6] {
		p := mustCompile(t, text, 3)
		theta := make([]float64, p.NumParams)
		for i := range theta {
			theta[i] = 1
		}
		for _, c := range []struct{ x, want float64 }{{1e3, 0}, {1e100, 0}, {1e200, 0}, {math.NaN(), math.NaN()}} {
			got := eval(p, theta, []float64{c.x, 0, c.x}, []float64{0, 0, 0})
			if got != c.want && (got == got || c.want == c.want) {
				t.Errorf("%s: k at distance %v is %v, want %v", text, c.x, got, c.want)
			}
		}
	}
}

// TestNoAllocation checks that nothing is allocated after the first row.
func TestNoAllocation(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	x, row := randomPoints(rng, 60, 3), make([]float64, 60)
	for _, text := range evaluatorCases {
		p := mustCompile(t, text, 3)
		e, grad, input := NewEvaluator(p), make([]float64, p.NumParams), make([]float64, 3)
		e.Bind(randomTheta(rng, p))
		if n := testing.AllocsPerRun(10, func() {
			e.Row(row, x, 1, x, 0, 60)
			e.RowGradient(grad, row, x, 1, x, 0, 60)
			e.RowInputGradient(input, row, x, 1, x, 0, 60)
			e.Diagonal(row, x, 0, 60)
		}); n != 0 {
			t.Errorf("%s: %v allocations a row", text, n)
		}
	}
}

// eval returns k(x, y) for two single points.
func eval(prog *Program, theta, x, y []float64) float64 {
	e := NewEvaluator(prog)
	e.Bind(theta)
	out := []float64{math.NaN()}
	e.Row(out, NewPoints(x, 1, prog.D), 0, NewPoints(y, 1, prog.D), 0, 1)
	return out[0]
}
