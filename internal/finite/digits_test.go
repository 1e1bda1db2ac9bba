package finite

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/internal/methodtest"
	"gpfit/internal/must"
	"gpfit/internal/textbook"
	"gpfit/kernel"
)

// digits is the precision of the oracle: 60 decimal digits.
const digits = 200

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(x) }

// bigTerms returns log|Σ| and yᵀΣ⁻¹y for the kernel linear of variance 1, by a Cholesky factorisation.
func bigTerms(x *kernel.Points, y []float64, noise float64) (logDet, fit float64) {
	l, z, sum := make([][]*big.Float, x.N), make([]*big.Float, x.N), bigOf(0)
	mul := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Mul(a, b) }
	for i := range x.N {
		l[i], z[i] = make([]*big.Float, i+1), bigOf(y[i])
		for j := range i + 1 {
			v := bigOf(0)
			for c := range x.D {
				v.Add(v, mul(bigOf(x.Column(c)[i]), bigOf(x.Column(c)[j])))
			}
			if i == j {
				v.Add(v, bigOf(noise))
			}
			for k := range j {
				v.Sub(v, mul(l[i][k], l[j][k]))
			}
			if i == j {
				mantissa := new(big.Float)
				exponent := v.MantExp(mantissa)
				m, _ := mantissa.Float64()
				logDet += math.Log(m) + float64(exponent)*math.Ln2
				v.Sqrt(v)
			} else {
				v.Quo(v, l[j][j])
			}
			l[i][j] = v
		}
		for k := range i {
			z[i].Sub(z[i], mul(l[i][k], z[k]))
		}
		z[i].Quo(z[i], l[i][i])
		sum.Add(sum, mul(z[i], z[i]))
	}
	fit, _ = sum.Float64()
	return logDet, fit
}

// TestFar compares all results for waves far from zero with plain formulas, which see differences alone. Points that are
// whole periods apart have no derivative by the period.
func TestFar(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 29))
	p := &methodtest.Instance{Text: "cosine", Targets: 1, X: kernel.NewPoints(methodtest.Normals(rng, 50), 50, 1), XS: kernel.NewPoints(methodtest.Normals(rng, 9), 9, 1)}
	p.Prog, p.Theta, p.Noise, p.Y = must.Get(kernel.CompileText(p.Text, 1))(t), []float64{1.3, 1}, []float64{0.1}, methodtest.Normals(rng, 50)
	for _, x := range []*kernel.Points{p.X, p.XS} {
		for i := range x.X {
			x.X[i] += 1e9
		}
	}
	var all []*methodtest.Results
	for _, b := range []device.Backend{textbook.New(), open(t)} {
		w := must.Get(b.NewWorkspace(t.Context(), p.X))(t)
		all = append(all, methodtest.Evaluate(t, w, p, rand.New(rand.NewPCG(2, 1)), false))
	}
	compareResults(t, "far from zero", all[1], all[0], 1e-11)
	for i := range p.X.X {
		p.X.X[i] = 1e9 + 0.375 + 1.5*float64(i)
	}
	p.Theta, p.Noise = []float64{1.5, 1}, []float64{1e-6}
	w := must.Get(open(t).NewWorkspace(t.Context(), p.X))(t)
	r := methodtest.Evaluate(t, w, p, rand.New(rand.NewPCG(2, 1)), false)
	must.Near(t, "derivative by the period", r.Values[slices.Index(r.Names, "gradient")][:1], []float64{0}, 0, 1e-6)
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
	prog, ctx := must.Get(kernel.CompileText("linear", 3))(t), t.Context()
	for _, c := range []struct{ noise, logDet, fit float64 }{
		{1e-4, 1e-14, 1e-14},
		{1e-8, 1e-13, 1e-13},
		{1e-11, 1e-12, 1e-12},
	} {
		logDet, fit := bigTerms(x, y, c.noise)
		for name, b := range map[string]device.Backend{"finite": open(t), "plain": textbook.New()} {
			w := must.Get(b.NewWorkspace(ctx, x))(t)
			must.Do(t, w.Form(ctx, prog, []float64{1}, []float64{c.noise}))
			alpha := slices.Clone(y)
			must.Do(t, w.Solve(ctx, alpha, 1))
			got, _ := must.Get2(w.LogDet())(t)
			sum := 0.0
			for i, a := range alpha {
				sum += a * y[i]
			}
			t.Logf("noise %g, %s: log|Σ| differs by %.1g of it, the fit by %.1g", c.noise, name, (got-logDet)/logDet, (sum-fit)/fit)
			if name == "finite" {
				must.Near(t, "log|Σ|", []float64{got}, []float64{logDet}, c.logDet, 0)
				must.Near(t, "fit", []float64{sum}, []float64{fit}, c.fit, 0)
			}
		}
	}
}
