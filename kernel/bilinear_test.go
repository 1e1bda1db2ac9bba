package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/kerneltest"
	"gpfit/kernel"
)

// TestQuadraticGradient compares QuadraticGradient with the sum over all pairs.
func TestQuadraticGradient(t *testing.T) {
	const n, d = 12, 3
	rng := rand.New(rand.NewPCG(8, 8))
	rows, v, theta := make([]float64, n*d), make([]float64, n), make([]float64, 8)
	for _, s := range [][]float64{rows, v, theta} {
		for i := range s {
			s[i] = rng.NormFloat64()
		}
	}
	x := kernel.NewPoints(rows, n, d)
	for text, bilinear := range map[string]bool{
		"linear": true, "linear(ard)": true, "constant": true, "linear + constant": true, "constant*linear": true, "linear(dims=0) + linear(ard, dims=[1, 2]) + constant": true,
		"poly(1)": true, "poly(2)": false, "linear*linear": false, "rbf": false, "rbf + linear": false, "rbf*linear": false,
	} {
		prog := kerneltest.Program(t, text, d)
		if got := prog.Bilinear(); got != bilinear {
			t.Errorf("%s is bilinear: %v, expected %v", text, got, bilinear)
		}
		if !bilinear {
			continue
		}
		e := kernel.NewEvaluator(prog)
		natural := make([]float64, prog.NumParams)
		for i := range natural {
			natural[i] = math.Exp(0.3 * theta[i])
		}
		e.Bind(natural)
		got, want := make([]float64, prog.NumParams), make([]float64, prog.NumParams)
		e.QuadraticGradient(got, -0.5, v, x)
		for i := range n {
			adj := make([]float64, n)
			for j := range adj {
				adj[j] = -0.5 * v[i] * v[j]
			}
			e.RowGradient(want, adj, x, i, x, 0, n)
		}
		for p := range want {
			if !(math.Abs(got[p]-want[p]) <= 1e-13*(1+math.Abs(want[p]))) {
				t.Errorf("%s, parameter %d: %v, sum over pairs %v", text, p, got[p], want[p])
			}
		}
	}
}

// TestQuadraticGradientOrthogonal checks that nothing is left for a vector that is
// orthogonal to the columns in use and to constants, however long it is.
func TestQuadraticGradientOrthogonal(t *testing.T) {
	x := kernel.NewPoints([]float64{
		1, 0.3,
		2, 1e9,
		3, -0.7,
		4, 1.9,
	}, 4, 2)
	v := []float64{1e20, -2e20, 1e20, 0}
	for _, text := range []string{"linear(dims=0)", "linear(ard, dims=0) + constant", "poly(1, dims=0)"} {
		prog := kerneltest.Program(t, text, 2)
		e := kernel.NewEvaluator(prog)
		theta := make([]float64, prog.NumParams)
		for i := range theta {
			theta[i] = 0.7 + 0.1*float64(i)
		}
		e.Bind(theta)
		grad := make([]float64, prog.NumParams)
		e.QuadraticGradient(grad, 1, v, x)
		for p, g := range grad {
			if g != 0 {
				t.Errorf("%s: derivative %g by parameter %d", text, g, p)
			}
		}
	}
}
