package tree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel/kerneltest"
)

// TestProducts compares with products by all elements, also for a table with repeated points.
func TestProducts(t *testing.T) {
	const m = 3
	for _, text := range []string{"rbf(ard)", "matern52 + rq(dims=1)", "periodic(dims=0)*rbf"} {
		for _, repeats := range []bool{false, true} {
			rng := rand.New(rand.NewPCG(4, 4))
			p := &methodtest.Instance{Text: text, X: place(rng, "uniform", 900, 2), Noise: []float64{0.1}}
			if repeats {
				for i := 0; i < p.X.N; i += 3 {
					p.X.Column(0)[i], p.X.Column(1)[i] = p.X.Column(0)[i/2], p.X.Column(1)[i/2]
				}
			}
			p.Prog = kerneltest.Program(t, p.Text, 2)
			for range p.Prog.NumParams {
				p.Theta = append(p.Theta, 0.5+rng.Float64())
			}
			v := methodtest.Normals(rng, m*p.X.N)
			w := workspaceOf(t, open(t, 1e-6), p.X, small)
			got, want := make([]float64, len(v)*p.Prog.NumParams), make([]float64, len(v)*p.Prog.NumParams)
			testcheck.Do(t, w.Form(t.Context(), p.Prog, p.Theta, p.Noise))
			testcheck.Do(t, w.MultiplyDerivatives(t.Context(), p.Prog, p.Theta, v, m, got))
			w.engine.restore(want, w.engine.allSlopes(t.Context(), 1, p.Prog, p.Theta, w.engine.ordered(v, m)))
			worst := 0.0
			for i := range got {
				worst = max(worst, math.Abs(got[i]-want[i]))
			}
			if size := slices.Max(want); !(worst <= 1e-5*size) {
				t.Errorf("%s, repeats %t: products differ by %g of %g", text, repeats, worst, size)
			}
			if testing.Verbose() {
				t.Logf("%s, repeats %t: %.2g", text, repeats, worst/slices.Max(want))
			}
		}
	}
}
