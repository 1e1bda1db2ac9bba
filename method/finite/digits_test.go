package finite

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/device/textbook"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestFar compares all results for waves far from zero with plain formulas, which see differences alone. Points that are
// whole periods apart have no derivative by the period.
func TestFar(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 29))
	p := &methodtest.Instance{Text: "cosine", Targets: 1, X: kernel.NewPoints(methodtest.Normals(rng, 50), 50, 1), XS: kernel.NewPoints(methodtest.Normals(rng, 9), 9, 1)}
	p.Prog, p.Theta, p.Noise, p.Y = testcheck.Get(kernel.CompileText(p.Text, 1))(t), []float64{1.3, 1}, []float64{0.1}, methodtest.Normals(rng, 50)
	for _, x := range []*kernel.Points{p.X, p.XS} {
		for i := range x.X {
			x.X[i] += 1e9
		}
	}
	var all []*methodtest.Results
	for _, b := range []device.Backend{textbook.New(), open(t)} {
		w := testcheck.Get(b.NewWorkspace(t.Context(), p.X))(t)
		all = append(all, methodtest.Evaluate(t, w, p, rand.New(rand.NewPCG(2, 1)), false))
	}
	compareResults(t, "far from zero", all[1], all[0], 1e-11)
	for i := range p.X.X {
		p.X.X[i] = 1e9 + 0.375 + 1.5*float64(i)
	}
	p.Theta, p.Noise = []float64{1.5, 1}, []float64{1e-6}
	w := testcheck.Get(open(t).NewWorkspace(t.Context(), p.X))(t)
	r := methodtest.Evaluate(t, w, p, rand.New(rand.NewPCG(2, 1)), false)
	testcheck.Near(t, "derivative by the period", r.Values[slices.Index(r.Names, "gradient")][:1], []float64{0}, 0, 1e-6)
}

// plusInner returns a number plus the inner product of two points.
func plusInner(number float64, x *kernel.Points, i, j int) *big.Float {
	v := methodtest.Big(number)
	for c := range x.D {
		v.Add(v, methodtest.Times(methodtest.Big(x.Column(c)[i]), methodtest.Big(x.Column(c)[j])))
	}
	return v
}

// TestDigits compares the terms of the likelihood for small noise and nearly equal columns with 60 digits.
// It logs the errors of plain formulas on n×n matrices as well.
func TestDigits(t *testing.T) {
	const n = 40
	rng := rand.New(rand.NewPCG(8, 29))
	x := kernel.NewPoints(methodtest.Normals(rng, 3*n), n, 3)
	y := methodtest.Normals(rng, n)
	for i := range n {
		x.Column(2)[i] = x.Column(1)[i] + 1e-4*x.Column(2)[i]
	}
	prog := testcheck.Get(kernel.CompileText("linear", 3))(t)
	covariance := func(i, j int) *big.Float { return plusInner(0, x, i, j) }
	for _, c := range []struct{ noise, logDet, fit float64 }{
		{1e-4, 1e-14, 1e-14},
		{1e-8, 1e-13, 1e-13},
		{1e-11, 1e-12, 1e-12},
	} {
		bigDet, bigFit := methodtest.Terms(covariance, y, c.noise)
		logDet, fit := methodtest.Float(bigDet), methodtest.Float(bigFit)
		for name, b := range map[string]device.Backend{"finite": open(t), "plain": textbook.New()} {
			p := &methodtest.Instance{X: x, Prog: prog, Theta: []float64{1}, Noise: []float64{c.noise}, Y: y}
			got, sum, _, err := methodtest.Likelihood(t, b, p)
			testcheck.Do(t, err)
			t.Logf("noise %g, %s: log|Σ| differs by %.1g of it, the fit by %.1g", c.noise, name, (got-logDet)/logDet, (sum-fit)/fit)
			if name == "finite" {
				testcheck.Near(t, "log|Σ|", []float64{got}, []float64{logDet}, c.logDet, 0)
				testcheck.Near(t, "fit", []float64{sum}, []float64{fit}, c.fit, 0)
			}
		}
	}
}

// TestExplained compares yᵀΣ⁻¹y for targets that the features explain, of which small noise leaves next to nothing, with
// 60 digits. Standard errors of coefficients, of weights and of terms are such numbers.
func TestExplained(t *testing.T) {
	const n = 60
	rng := rand.New(rand.NewPCG(5, 29))
	x := kernel.NewPoints(methodtest.Normals(rng, 2*n), n, 2)
	prog := testcheck.Get(kernel.CompileText("linear + constant", 2))(t)
	covariance := func(i, j int) *big.Float { return plusInner(1, x, i, j) }
	for _, y := range [][]float64{slices.Repeat([]float64{1}, n), x.Column(0)} {
		for _, noise := range []float64{1e-2, 1e-6, 1e-10, 1e-13} {
			_, fit := methodtest.Terms(covariance, y, noise)
			p := &methodtest.Instance{X: x, Prog: prog, Theta: slices.Repeat([]float64{1}, prog.NumParams), Noise: []float64{noise}, Y: y}
			_, got, _, err := methodtest.Likelihood(t, open(t), p)
			testcheck.Do(t, err)
			testcheck.Near(t, "fit", []float64{got}, []float64{methodtest.Float(fit)}, 1e-12, 0)
		}
	}
}
