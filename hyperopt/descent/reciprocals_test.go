package descent

import (
	"math"
	"testing"

	"gpfit/internal/testcheck"
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
		information: func(z []float64) []float64 {
			u := math.Exp(-2 * z[0])
			return []float64{16 * u * u, -2 * u, -2 * u, 2}
		},
	}
}

// TestReciprocals checks derivatives by the reciprocals against differences, that the matrix leaves as
// it came, and that steps end where they should.
func TestReciprocals(t *testing.T) {
	f := fade(1.5)
	s := testcheck.Get(newSpace([]Parameter{{Start: 1, Lower: -20, Upper: 14.9}, {Start: 1, Lower: -20, Upper: 20}}))(t)
	s.limits = func([]float64) []float64 { return []float64{0, math.Inf(1)} }
	for _, z := range [][]float64{{0.4, 0.1}, {-0.2, -1}, {2, 0.5}} {
		at := Point{Z: z, G: make([]float64, 2)}
		f.gradient(z, at.G)
		c := s.reciprocals(at, Metric{0.3, 0.2, 0.2, 1})
		if c[0] <= 0 || c[1] != 0 {
			t.Fatalf("at %v the elements have the constants %v, want one for the lengthscale alone", z, c)
		}
		seen := func(y []float64) []float64 { // the gradient at a point given by the reciprocals
			p := Point{Z: []float64{c.end(0, z[0], y[0]-c.at(0, z[0]), s), y[1]}, G: make([]float64, 2)}
			f.gradient(p.Z, p.G)
			return c.gradient(p)
		}
		y := []float64{c.at(0, z[0]), z[1]}
		h := 1e-6
		value := func(i int, d float64) float64 {
			moved := []float64{y[0], y[1]}
			moved[i] += d
			return f.value([]float64{c.end(0, z[0], moved[0]-y[0], s), moved[1]})
		}
		b := c.see(f.hessian(z), at)
		for i := range 2 {
			testcheck.Near(t, "gradient", []float64{c.gradient(at)[i]}, []float64{(value(i, h) - value(i, -h)) / (2 * h)}, 1e-8, 1e-8)
			up, down := []float64{y[0], y[1]}, []float64{y[0], y[1]}
			up[i], down[i] = up[i]+h, down[i]-h
			g, l := seen(up), seen(down)
			testcheck.Near(t, "Hessian", b[2*i:2*i+2], []float64{(g[0] - l[0]) / (2 * h), (g[1] - l[1]) / (2 * h)}, 1e-7, 1e-7)
		}
		testcheck.Near(t, "Hessian by the vector", c.leave(b, at), f.hessian(z), 1e-12, 1e-12)
		_, most := c.room(0, z[0], s)
		if hi := c.end(0, z[0], most, s); hi != s.hi[0] {
			t.Errorf("a step as long as the room ends at %v, want the bound", hi)
		}
		if back := c.end(0, s.hi[0], -most, s); math.Abs(back-z[0]) > 1e-9 {
			t.Errorf("the step back from the bound ends at %v, want %v", back, z[0])
		}
	}
}

// TestFadingEnd checks that the second-order end finds a minimum at ℓ = ∞, and one beyond the limit,
// in few values, also from ℓ = ∞.
func TestFadingEnd(t *testing.T) {
	limits := func([]float64) []float64 { return []float64{0, math.Inf(1)} }
	for name, c := range map[string]struct {
		slope float64
		from  float64
		want  []float64
		most  int
	}{
		"infinite": {0.5, 0.5, []float64{13.8, 0.3}, 8},
		"beyond":   {-0.5, 0.5, []float64{-math.Log(0.2/3.5) / 2, 0.3 - 0.1/3.5}, 10},
		"back":     {-0.5, 13.8, []float64{-math.Log(0.2/3.5) / 2, 0.3 - 0.1/3.5}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			f := fade(c.slope)
			exact := f.hessian
			f.hessian = func(z []float64) []float64 { // as differences would compute it
				h := exact(z)
				h[0] *= 1 + 1e-9
				return h
			}
			search := Search{Objectives: []Func{f}, Limits: limits, Starts: []Start{{Z: []float64{c.from, -0.4}, Metric: Metric{1, 0, 0, 1}}},
				Parameters: []Parameter{{Name: "ℓ", Lower: -5, Upper: 13.8}, {Name: "b", Lower: -5, Upper: 5}}}
			r := testcheck.Get(Minimize(t.Context(), search, Options{ToleranceNats: 1e-6}))(t)
			if !r.Status.Converged() || r.Evaluations.Value > c.most {
				t.Errorf("%s after %d values, most %d", r.Status, r.Evaluations.Value, c.most)
			}
			testcheck.Near(t, "minimum", r.X, c.want, 0, 2e-3)
		})
	}
}
