package pursuit

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/gp"
)

// problem is a covariance, a mean with one coefficient, and targets.
type problem struct {
	sigma *mat.SymDense
	h     *mat.VecDense
	y     []*mat.VecDense
}

// newProblem draws n rows, some of which are far off.
func newProblem(n, targets int, off ...int) problem {
	rng := rand.New(rand.NewPCG(3, 4))
	p := problem{sigma: mat.NewSymDense(n, nil), h: mat.NewVecDense(n, nil)}
	for i := range n {
		for k := range i + 1 {
			p.sigma.SetSym(i, k, math.Exp(-math.Pow(float64(i-k)/3, 2)/2))
		}
		p.sigma.SetSym(i, i, 1.1)
		p.h.SetVec(i, 1+0.1*float64(i))
	}
	var c mat.Cholesky
	c.Factorize(p.sigma)
	var l mat.TriDense
	c.LTo(&l)
	for range targets {
		y := mat.NewVecDense(n, nil)
		for i := range n {
			y.SetVec(i, rng.NormFloat64())
		}
		y.MulVec(&l, y)
		for _, i := range off {
			y.SetVec(i, y.AtVec(i)+8)
		}
		p.y = append(p.y, y)
	}
	return p
}

// at returns f and the rows, all of them candidates, for variances, by full matrices.
func (p problem) at(variance []float64) (f float64, r Suspects) {
	n := len(variance)
	var s, inverse, hh, projected mat.Dense
	s.CloneFrom(p.sigma)
	for i, v := range variance {
		s.Set(i, i, s.At(i, i)+v)
	}
	logDet, _ := mat.LogDet(&s)
	if err := inverse.Inverse(&s); err != nil {
		panic(err)
	}
	var sh mat.VecDense
	sh.MulVec(&inverse, p.h)
	hh.Outer(1/mat.Dot(p.h, &sh), &sh, &sh)
	projected.Sub(&inverse, &hh)
	r = Suspects{N: n, Inverse: inverse.RawMatrix().Data, Projected: projected.RawMatrix().Data, Variance: variance}
	for _, y := range p.y {
		alpha := mat.NewVecDense(n, nil)
		alpha.MulVec(&projected, y)
		f += (mat.Dot(y, alpha) + logDet) / 2
		r.Alpha = append(r.Alpha, alpha.RawVector().Data)
	}
	return f, r
}

// TestDerivative compares the derivative by a row's variance with central differences.
func TestDerivative(t *testing.T) {
	p := newProblem(12, 2, 3, 8)
	_, r := p.at(make([]float64, 12))
	for i := range 12 {
		const h = 1e-5
		up, down := make([]float64, 12), make([]float64, 12)
		up[i], down[i] = h, -h
		above, _ := p.at(up)
		below, _ := p.at(down)
		a := r.Alpha[0][i]*r.Alpha[0][i] + r.Alpha[1][i]*r.Alpha[1][i]
		// The error of the differences is h² times the third derivative, about 1e-8 here.
		if got, want := (2*r.Inverse[i*12+i]-a)/2, (above-below)/(2*h); math.Abs(got-want) > 1e-7*(1+math.Abs(want)) {
			t.Errorf("row %d: derivative %v, differences %v", i, got, want)
		}
	}
}

// TestOptimum compares the closed form of the best variance of a row with a search over f.
func TestOptimum(t *testing.T) {
	p := newProblem(12, 1, 3, 8)
	f, r := p.at(make([]float64, 12))
	for i := range 12 {
		kappa, q, a := r.Inverse[i*13], r.Projected[i*13], r.Alpha[0][i]*r.Alpha[0][i]
		least := f
		for d := 1e-3; d < 1e4; d *= 1.01 {
			v := make([]float64, 12)
			v[i] = d
			at, _ := p.at(v)
			least = min(least, at)
		}
		// The grid is a hundredth wide, so that f at its best point is up to about 1e-4/8 above.
		if gain := Gain(kappa, q, a, 1); math.Abs(gain-(f-least)) > 2e-5 {
			t.Errorf("row %d: gain %v, by a grid %v", i, gain, f-least)
		}
	}
}

// TestFits compares the judgement of a new row with the gain of a variance of its own by a search, at the
// limit, and with limits of docs: about four standard deviations for one row of 300, 2.5 for many.
func TestFits(t *testing.T) {
	for _, c := range []struct{ k, n int }{{0, 300}, {60, 300}, {0, 20}, {3, 1000}} {
		z, m := 1.0, &gp.Model{Y: make([]float64, c.n), Noise: gp.Noise{Outlying: make([]int, c.k)}}
		for m.Noise.Fits(z, m.N()) {
			z += 1e-4
		}
		f := func(v float64) float64 { return (math.Log(v) + z*z/v) / 2 }
		best := f(1)
		for v := 1.0; v < 100; v += 1e-3 {
			best = min(best, f(v))
		}
		if gain, cost := f(1)-best, NegLogPrior(c.k+1, c.n)-NegLogPrior(c.k, c.n); math.Abs(gain-cost) > 1e-3 {
			t.Errorf("%d of %d rows: limit %v gains %v, costs %v", c.k, c.n, z, gain, cost)
		}
		if want := map[int]float64{0: 4, 60: 2.5}[c.k]; c.n == 300 && math.Abs(z-want) > 0.3 {
			t.Errorf("%d of %d rows: limit %v", c.k, c.n, z)
		}
	}
	if m := (&gp.Model{Y: make([]float64, 100)}); m.Noise.Fits(math.Inf(-1), m.N()) || !m.Noise.Fits(math.NaN(), m.N()) {
		t.Error("infinite or undefined errors")
	}
}

// TestPursue checks that a pursuit finds the rows that are far off and drops a row that is not. Blocks,
// weights and the gain must be as full matrices give them.
func TestPursue(t *testing.T) {
	const n = 40
	off := []int{7, 18, 30}
	p := newProblem(n, 2, off...)
	start := make([]float64, n)
	start[24] = 2
	before, r := p.at(start)
	gain := r.Pursue()
	for i, v := range r.Variance {
		if (v > 0) != slices.Contains(off, i) {
			t.Errorf("row %d: variance %v", i, v)
		}
	}
	after, want := p.at(slices.Clone(r.Variance))
	// Far above the rounding of a few downdates and of the inverse.
	if want := before + NegLogPrior(1, n) - after - NegLogPrior(3, n); math.Abs(gain-want) > 1e-9*math.Abs(want) {
		t.Errorf("gain %v, by full matrices %v", gain, want)
	}
	for i, v := range want.Alpha[1] {
		if math.Abs(r.Alpha[1][i]-v) > 1e-9 || math.Abs(r.Inverse[i*n+i]-want.Inverse[i*n+i]) > 1e-9 || math.Abs(r.Projected[i]-want.Projected[i]) > 1e-9 {
			t.Errorf("row %d: weight %v, want %v", i, r.Alpha[1][i], v)
		}
	}
	least := math.Inf(1) // what a row costs if it loses its variance
	for _, i := range off {
		less := slices.Clone(r.Variance)
		less[i] = 0
		without, _ := p.at(less)
		least = min(least, without+NegLogPrior(2, n)-after-NegLogPrior(3, n))
	}
	if row, gain := r.Weakest(); !slices.Contains(off, row) || math.Abs(gain+least) > 1e-9*least {
		t.Errorf("the weakest row %d gains %v, by full matrices %v", row, gain, -least)
	}
	for i := range n { // no single change is better
		if _, g := want.step(i, 3); g > 2*least {
			t.Errorf("row %d would gain %v", i, g)
		}
	}
}
