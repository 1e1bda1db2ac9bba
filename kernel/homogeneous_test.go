package kernel_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/kerneltest"
	"gpfit/kernel"
)

// TestHomogeneous checks that the weighted derivatives sum to the covariance, for
// all ways to set the size of terms.
func TestHomogeneous(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n, d = 6, 3
	rows := make([]float64, n*d)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	x := kernel.NewPoints(rows, n, d)
	for _, text := range []string{
		"rbf", "rbf(ard)+matern32", "linear", "linear(ard)", "poly(2)", "poly(3, ard)", "constant+rbf*periodic",
		"rbf*(matern12+linear)", "linear(ard)*(rbf+constant)", "(rbf+linear)*(rq+constant)+cosine", "wendland(2)", "gibbs", "arcsine",
		"formula(s*exp(-r/a), s=1, a=1)",
	} {
		prog := kerneltest.Program(t, text, d)
		weights := prog.Homogeneous(x)
		if weights == nil {
			t.Errorf("%s: not homogeneous", text)
			continue
		}
		theta := make([]float64, prog.NumParams)
		for i := range theta {
			theta[i] = math.Exp(0.5 * rng.NormFloat64())
		}
		sum, size := 0.0, 0.0
		e := kernel.NewEvaluator(prog)
		for i, w := range weights {
			if w == 0 {
				continue
			}
			const h = 1e-5
			for sign := -1.0; sign <= 1; sign += 2 {
				at := append([]float64(nil), theta...)
				at[i] *= math.Exp(sign * h)
				sum += w * sign * total(e, x, at) / (2 * h)
			}
		}
		if size = total(e, x, theta); math.Abs(sum-size) > 1e-7*(1+math.Abs(size)) {
			t.Errorf("%s: weighted derivatives %v, covariance %v", text, sum, size)
		}
	}
}

// total is the sum of the covariances of different weights.
func total(e *kernel.Evaluator, x *kernel.Points, theta []float64) float64 {
	e.Bind(theta)
	row, sum := make([]float64, x.N), 0.0
	for i := range x.N {
		e.Row(row, x, i, x, 0, x.N)
		for j, v := range row {
			sum += v * (1 + 0.1*float64(i*j))
		}
	}
	return sum
}
