package graph_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/graph"
)

// rankOne returns the derivative of the negative log marginal likelihood by log s for
// K = s·xxᵀ at s = 1, summed over targets:
//
//	½T·‖x‖²/λ − ½ Σ_t (xᵀy_t)²/λ²,  λ = ‖x‖² + σ².
func rankOne(x, y []float64, noise float64) float64 {
	square := floats.Dot(x, x)
	lambda, sum := square+noise, 0.0
	for t := 0; t < len(y); t += len(x) {
		product := floats.Dot(x, y[t:t+len(x)])
		sum += square/lambda - product*product/(lambda*lambda)
	}
	return sum / 2
}

// TestGradientRounding compares derivatives by the signal variance of kernels of rank
// one, and their estimated errors, with the closed form. The first kernel is bilinear
// and keeps its digits, the second loses them.
func TestGradientRounding(t *testing.T) {
	for _, name := range []string{"plain", "targets"} {
		for text, power := range map[string]float64{"linear": 1, "linear*linear": 2} {
			f := newFixture(t, text, 80, 1, identityModels[name])
			x := make([]float64, f.spec.X.N)
			for i, v := range f.spec.X.X {
				x[i] = math.Pow(v, power)
			}
			closest := 0.0
			for exponent := 0; exponent <= 13; exponent++ {
				noise := math.Pow(10, -float64(exponent))
				z := make([]float64, len(f.obj.Names()))
				for i, name := range f.obj.Names() {
					if name == graph.NoiseVariance {
						z[i] = math.Log(noise)
					}
				}
				_, grad := f.gradient(t, z)
				want, estimate := rankOne(x, f.spec.Y, noise), f.obj.GradientRounding()[0]
				off := math.Abs(grad[0] - want)
				if !(off <= estimate+1e-12) || power == 1 && off > 1e-13/noise {
					t.Errorf("%s, %s, noise %g: derivative %g instead of %g, estimated error %.2g", text, name, noise, grad[0], want, estimate)
				}
				closest = max(closest, off/estimate)
			}
			if closest < 0.02 {
				t.Errorf("%s, %s: the estimate is at least %.2g times the error", text, name, 1/closest)
			}
			t.Logf("%s, %s: errors up to %.2g of the estimate", text, name, closest)
		}
	}
}
