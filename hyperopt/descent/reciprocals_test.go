package descent

import (
	"math"
	"testing"

	"gpfit/internal/must"
)

// fade is quadratic in u = exp(−2z₀) and z₁, with its minimum over u ≥ 0 at u = 0 for slope > −0.3
// and inside below.
func fade(slope float64) curvedFunc {
	return curvedFunc{
		value: func(z []float64) float64 {
			u := math.Exp(-2 * z[0])
			return slope*u + 2*u*u + u*z[1] + (z[1]-0.3)*(z[1]-0.3)
		},
		gradient: func(z, g []float64) {
			u := math.Exp(-2 * z[0])
			g[0], g[1] = -2*u*(slope+4*u+z[1]), u+2*(z[1]-0.3)
		},
		hessian: func(z []float64) []float64 {
			u := math.Exp(-2 * z[0])
			return []float64{4*u*(slope+4*u+z[1]) + 16*u*u, -2 * u, -2 * u, 2}
		},
		steepness: 1,
	}
}

// TestReciprocals checks that a function that is quadratic in ℓ⁻² has a constant Hessian by the
// reciprocals: taken over from log ℓ at one point and given back at another, it is the Hessian there.
func TestReciprocals(t *testing.T) {
	f := fade(1.5)
	at := func(z ...float64) Point {
		g := make([]float64, len(z))
		f.gradient(z, g)
		return Point{Z: z, G: g}
	}
	limits := func([]float64) []float64 { return []float64{0, math.Inf(1)} }
	s := must.Get(newSpace([]Parameter{{Start: 1, Lower: -20, Upper: 14.9}, {Start: 1, Lower: -20, Upper: 20}}))(t)
	s.limits = limits
	for _, to := range []Point{at(0.4, 0.1), at(-0.2, -1), at(2, 0.5)} {
		from := at(0.1, -0.4)
		c, b := s.reciprocals(from, f.hessian(from.Z), true)
		step := []float64{to.Z[0] - from.Z[0], to.Z[1] - from.Z[1]}
		got, want := c.leave(b, to, step), f.hessian(to.Z)
		must.Near(t, "Hessian", got, want, 1e-12, 1e-12)
		y := (1 - math.Exp(-2*step[0])) / 2
		if end := c.end(0, from.Z[0], y, s); math.Abs(end-to.Z[0]) > 1e-14 {
			t.Errorf("a step of %v ends at %v, want %v", y, end, to.Z[0])
		}
		least, most := c.room(0, from.Z[0], s)
		if lo, hi := c.end(0, from.Z[0], least, s), c.end(0, from.Z[0], most, s); lo != s.lo[0] || hi != s.hi[0] {
			t.Errorf("steps as long as the room end at %v and %v, want the bounds", lo, hi)
		}
	}
}

// TestFadingEnd checks that the second-order end finds a minimum at ℓ = ∞, and one beyond the limit,
// in few values.
func TestFadingEnd(t *testing.T) {
	limits := func([]float64) []float64 { return []float64{0, math.Inf(1)} }
	for name, c := range map[string]struct {
		slope float64
		want  []float64
		most  int
	}{
		"infinite": {0.5, []float64{13.8, 0.3}, 8},
		"beyond":   {-0.5, []float64{-math.Log(0.2/3.5) / 2, 0.3 - 0.1/3.5}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			search := Search{Objectives: []Func{fade(c.slope)}, Limits: limits, Starts: []Start{{Z: []float64{0.5, -0.4}, Metric: Metric{1, 0, 0, 1}}},
				Parameters: []Parameter{{Name: "ℓ", Lower: -5, Upper: 13.8}, {Name: "b", Lower: -5, Upper: 5}}}
			r := must.Get(Minimize(t.Context(), search, Options{ToleranceNats: 1e-6}))(t)
			if !r.Status.Converged() || r.Evaluations.Value > c.most {
				t.Errorf("%s after %d values, most %d", r.Status, r.Evaluations.Value, c.most)
			}
			must.Near(t, "minimum", r.X, c.want, 0, 2e-3)
		})
	}
}
