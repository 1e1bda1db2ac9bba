package descent

import (
	"math"
	"math/rand/v2"
	"testing"
)

// monkey has a saddle at 0, where the gradient vanishes, and minima at z₀ = ±1. The other
// elements are a well-conditioned bowl, along which a descent reaches the saddle.
func monkey(z, grad []float64) float64 {
	f := 50 * (z[0]*z[0]*z[0]*z[0]/4 - z[0]*z[0]/2)
	if grad != nil {
		grad[0] = 50 * (z[0]*z[0]*z[0] - z[0])
	}
	for i := 1; i < len(z); i++ {
		f += 20 * (z[i] - 1) * (z[i] - 1)
		if grad != nil {
			grad[i] = 40 * (z[i] - 1)
		}
	}
	return f
}

// TestGainPassesSaddles checks that the products of the Hessian do not let a descent end at a saddle whose gradient is far within the tolerance.
func TestGainPassesSaddles(t *testing.T) {
	for _, off := range []float64{1e-4, -1e-5, 1e-6} {
		start := []float64{off, 3, -2, 0.5}
		r := mustMinimize(t, arrays{Objective: total(monkey), Start: start}, how{ToleranceNats: 1e-3, GradientTolerance: -1})
		if math.Abs(math.Abs(r.X[0])-1) > 0.02 || !r.Status.Converged() {
			t.Errorf("from %g: ends at %v (%v)", off, r.X, r.Status)
		}
	}
}

// TestGainEnds checks that a tolerance ends descents of quadratics of any condition within
// it and says so, without many evaluations for products of the Hessian that deny it.
func TestGainEnds(t *testing.T) {
	for _, condition := range []float64{1, 100, 1e4} {
		f := quadratic([]float64{1, -2, 0.5, 3, 0}, condition)
		start := []float64{-3, 2, 4, -1, 2}
		full := mustMinimize(t, arrays{Objective: total(f), Start: start}, how{GradientTolerance: 1e-9, RelativeTolerance: -1})
		for _, tolerance := range []float64{1, 1e-3, 1e-6} {
			r := mustMinimize(t, arrays{Objective: total(f), Start: start}, how{ToleranceNats: tolerance, GradientTolerance: 1e-9, RelativeTolerance: -1})
			if !r.Status.Converged() || condition > 1 && tolerance > 1e-4 && r.Status != StatusGainConverged || r.F-full.F > tolerance {
				t.Errorf("condition %g, tolerance %g: %v, %g above the minimum", condition, tolerance, r.Status, r.F-full.F)
			}
			if r.Evaluations.Gradient > full.Evaluations.Gradient*3/2 {
				t.Errorf("condition %g, tolerance %g: %+v, without a tolerance %+v", condition, tolerance, r.Evaluations, full.Evaluations)
			}
		}
		if full.Status != StatusGradientConverged {
			t.Errorf("condition %g: %v without a tolerance", condition, full.Status)
		}
	}
}

// TestGainAlong compares the decrease along a direction with a search over distances.
func TestGainAlong(t *testing.T) {
	for _, b := range []float64{0, 1e-3, 1, 50, -7} {
		for _, c := range []float64{-3, 0, 1e-6, 0.4, 10, 1e4} {
			best := 0.0
			for k := range 200001 {
				x := gainReach * float64(k) / 200000
				best = max(best, math.Abs(b)*x-c*x*x/2)
			}
			if got := gainAlong(b, c); math.Abs(got-best) > 1e-6*max(1, best) {
				t.Errorf("slope %g, curvature %g: %g, want %g", b, c, got, best)
			}
		}
	}
}

// TestECNoise checks the estimate on noise of known size over smooth functions, within the
// factor of four that Moré and Wild accept, and that smooth values show none.
func TestECNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	far, none := 0, 0
	for range 500 {
		sigma := math.Exp(-20 * rng.Float64())
		slope := sigma * rng.NormFloat64()
		var values []float64
		for k := range noiseValues + 1 {
			values = append(values, 300+slope*float64(k)+sigma*rng.NormFloat64())
		}
		switch got := ecNoise(values); {
		case got == 0:
			none++
		case got > 4*sigma || got < sigma/4:
			far++
		}
	}
	if far > 25 || none > 100 {
		t.Errorf("of 500 estimates %d are far off and %d found no noise", far, none)
	}
	var smooth []float64
	for k := range noiseValues + 1 {
		smooth = append(smooth, math.Exp(float64(k)/4))
	}
	if got := ecNoise(smooth); got != 0 {
		t.Errorf("a smooth function has noise %g", got)
	}
}

// TestNoisyValues checks that a descent on values with scatter far above the precision
// ends at the minimum as converged, without long searches within the scatter.
func TestNoisyValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	smooth := quadratic([]float64{1, -2, 0.5}, 1e3)
	noisy := func(z, grad []float64) float64 {
		f := 500 + smooth(z, grad) + 2e-5*rng.NormFloat64()
		for i := range grad {
			grad[i] += 1e-3 * rng.NormFloat64()
		}
		return f
	}
	r := mustMinimize(t, arrays{Objective: total(noisy), Start: []float64{-3, 2, 4}}, how{GradientTolerance: 1e-6})
	if !r.Status.Converged() || math.Abs(r.F-500) > 1e-3 {
		t.Errorf("%v at %v, value %v", r.Status, r.X, r.F)
	}
	if r.Evaluations.Value > 100 {
		t.Errorf("%+v", r.Evaluations)
	}
}
