package graph_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/graph"
)

// TestGradientRounding compares the derivative by the signal variance s of a kernel of
// rank one, K = s·xxᵀ, with its closed form
//
//	½T·s‖x‖²/λ − ½ Σ_t s(xᵀy_t)²/λ²,  λ = s‖x‖² + σ².
func TestGradientRounding(t *testing.T) {
	for _, name := range []string{"plain", "targets"} {
		f := newFixture(t, "linear", 80, 1, identityModels[name])
		x := f.spec.X.X
		targets := len(f.spec.Y) / len(x)
		closest := 0.0
		for exponent := 0; exponent <= 13; exponent++ {
			z := make([]float64, len(f.obj.Names()))
			for i, name := range f.obj.Names() {
				if name == graph.NoiseVariance {
					z[i] = -float64(exponent) * math.Ln10
				}
			}
			_, grad := f.gradient(t, z)
			square := floats.Dot(x, x)
			lambda := square + math.Pow(10, -float64(exponent))
			want := 0.5 * float64(targets) * square / lambda
			for k := range targets {
				product := floats.Dot(x, f.spec.Y[k*len(x):(k+1)*len(x)])
				want -= 0.5 * product * product / (lambda * lambda)
			}
			estimate := f.obj.GradientRounding()
			off := math.Abs(grad[0] - want)
			if !(off <= estimate+1e-12) {
				t.Errorf("%s, noise 1e-%d: derivative %g instead of %g, estimated error %.2g", name, exponent, grad[0], want, estimate)
			}
			closest = max(closest, off/estimate)
		}
		if closest < 0.02 {
			t.Errorf("%s: the estimate is at least %.2g times the error", name, 1/closest)
		}
		t.Logf("%s: errors up to %.2g of the estimate", name, closest)
	}
}
