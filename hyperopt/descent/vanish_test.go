package descent

import (
	"math"
	"testing"

	"gpfit/internal/must"
)

// fading returns a function of a long lengthscale exp(z₀) and a second parameter: its slope
// along z₀ shrinks like ℓ⁻², and it is lowest at infinity, or where ℓ⁻² = at.
func fading(at float64) func(z, g []float64) float64 {
	return func(z, g []float64) float64 {
		r := math.Exp(-2 * z[0])
		d := r - at
		f := 50*d*d + (z[1]-1)*(z[1]-1)
		if at < 0 {
			f = 30*r + (z[1]-1)*(z[1]-1)
		}
		if g != nil {
			g[0], g[1] = -200*d*r, 2*(z[1]-1)
			if at < 0 {
				g[0] = -60 * r
			}
		}
		return f
	}
}

// minimizeFading descends over z₀ up to ln 10⁴, from where its effect vanishes at 2.
func minimizeFading(t *testing.T, at float64, limits func([]float64) []float64) *Result {
	t.Helper()
	inf := math.Inf(1)
	p := Search{
		Objectives: []Func{total(fading(at))}, Limits: limits, Starts: []Start{{Z: []float64{2, -1}}},
		Parameters: []Parameter{{Name: "lengthscale", Log: true, Start: 1, Upper: 1e4}, {Name: "b", Start: -1, Lower: -inf, Upper: inf}},
	}
	r := must.Get(Minimize(t.Context(), p, Options{GradientTolerance: 1e-9, RelativeTolerance: -1}))(t)
	return r
}

// TestVanish checks that a descent tries the bound of a parameter whose effect vanishes,
// that this saves evaluations, and that it does not stay there if f is higher.
func TestVanish(t *testing.T) {
	limits := func([]float64) []float64 { return []float64{2, math.Inf(1)} }
	slow, fast := minimizeFading(t, -1, nil), minimizeFading(t, -1, limits)
	if fast.X[0] != math.Log(1e4) || fast.Evaluations.Value >= slow.Evaluations.Value {
		t.Errorf("ends at %v after %+v; without limits at %v after %+v", fast.X, fast.Evaluations, slow.X, slow.Evaluations)
	}
	if r := minimizeFading(t, math.Exp(-2*7.0), limits); math.Abs(r.X[0]-7) > 1e-2 || r.Evaluations.Value > 40 {
		t.Errorf("ends at %v after %+v, want 7 far beyond the limit", r.X, r.Evaluations)
	}
	inside := math.Exp(-2 * 3.0)
	if r := minimizeFading(t, inside, limits); math.Abs(r.X[0]-3) > 1e-3 {
		t.Errorf("ends at %v, want 3 inside the bounds", r.X)
	}
}
