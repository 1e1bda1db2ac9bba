package score

import (
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
)

// mixtures are densities with parts far apart, close together, alike, and with no variance.
var mixtures = map[string]Predictive{
	"one":    {{Mean: 1, Std: 2}},
	"same":   {{Mean: 1, Std: 2}, {Mean: 1, Std: 2}, {Mean: 1, Std: 2}},
	"close":  {{Mean: 0, Std: 1}, {Mean: 0.1, Std: 1.2}, {Mean: -0.2, Std: 0.9}},
	"far":    {{Mean: -50, Std: 0.1}, {Mean: 3, Std: 2}, {Mean: 80, Std: 1e-3}},
	"narrow": {{Mean: 5, Std: 1e-8}, {Mean: 5, Std: 3}},
	"unlike": {{Mean: 1, Std: 0.5, Weight: 0.93}, {Mean: 1, Std: 4e9, Weight: 0.07}},
	"rare":   {{Mean: 1, Std: 0.5, Weight: 9.7}, {Mean: 1, Std: 1e12, Weight: 0.3}},
}

// share returns the share of a part in a mixture.
func share(d Predictive, of Normal) float64 {
	total := 0.0
	for _, part := range d {
		total += part.Weight
	}
	if total == 0 {
		return 1 / float64(len(d))
	}
	return of.Weight / total
}

// bigDensity returns the density of a mixture at y with 400 bits.
func bigDensity(d Predictive, y float64) *big.Float {
	sum := new(big.Float).SetPrec(400)
	for _, part := range d {
		z := new(big.Float).SetPrec(400).Sub(big.NewFloat(y), big.NewFloat(part.Mean))
		z.Quo(z, big.NewFloat(part.Std))
		e := bigExp(z.Mul(z, z).Mul(z, big.NewFloat(-0.5)))
		sum.Add(sum, e.Quo(e, new(big.Float).Quo(big.NewFloat(part.Std), big.NewFloat(share(d, part)))))
	}
	return sum.Quo(sum, big.NewFloat(math.Sqrt(2*math.Pi)))
}

// bigExp returns exp x for x ≤ 0 by its Taylor series after halving x.
func bigExp(x *big.Float) *big.Float {
	const halvings = 60
	small := new(big.Float).SetPrec(400).SetMantExp(x, -halvings)
	term, sum := big.NewFloat(1).SetPrec(400), big.NewFloat(1).SetPrec(400)
	for k := 1; k < 60; k++ {
		term.Mul(term, small).Quo(term, big.NewFloat(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// TestNegLog compares the log density of mixtures with sums of 400 bits, also where every
// part underflows.
func TestNegLog(t *testing.T) {
	const tol = 1e-14 // a few roundings of the log densities
	for name, d := range mixtures {
		for _, y := range []float64{-60, -3, 0, 1, 4.99, 5, 79.99, 200} {
			mantissa := new(big.Float)
			exponent := bigDensity(d, y).MantExp(mantissa)
			m, _ := mantissa.Float64()
			want := -math.Log(m) - float64(exponent)*math.Ln2
			testcheck.Within(t, d.NegLog(y), want, tol*max(1, math.Abs(want)), "%s at %v", name, y)
		}
	}
	for _, c := range []struct {
		d       Predictive
		y, want float64
	}{
		{Predictive{{Mean: 1, Std: 0}}, 1, math.Inf(-1)}, {Predictive{{Mean: 1, Std: 0}}, 2, math.Inf(1)},
		{Predictive{{Mean: 1, Std: 0}, {Mean: 3, Std: 1}}, 1, math.Inf(-1)}, {Predictive{{Mean: 1, Std: 0}, {Mean: 3, Std: 0}}, 2, math.Inf(1)},
		{Predictive{{Mean: 1, Std: 0}, {Mean: 3, Std: 1}}, 3, math.Log(2) + 0.5*math.Log(2*math.Pi)},
	} {
		if got := c.d.NegLog(c.y); got != c.want && !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%v at %v: %v, want %v", c.d, c.y, got, c.want)
		}
	}
}

// TestInterval compares bounds and standardized values with gonum's distribution functions.
func TestInterval(t *testing.T) {
	const tol = 1e-9 // of probabilities
	below := func(d Predictive, y float64) (p float64) {
		for _, part := range d {
			p += distuv.Normal{Mu: part.Mean, Sigma: part.Std}.CDF(y) * share(d, part)
		}
		return p
	}
	for name, d := range mixtures {
		for _, p := range []float64{0.1, 0.5, 0.9, 0.95, 0.999} {
			lower, upper := d.Interval(p)
			if name != "narrow" { // where doubles are too coarse
				testcheck.Within(t, below(d, lower), (1-p)/2, tol, "%s: probability below the interval of %v", name, p)
				testcheck.Within(t, below(d, upper), (1+p)/2, tol, "%s: probability below the upper bound of %v", name, p)
			}
			z := CentralQuantile(p)
			down, up := 1e-6*max(1, math.Abs(lower)), 1e-6*max(1, math.Abs(upper))
			for _, y := range []float64{lower - down, lower + down, upper - up, upper + up} {
				if in := math.Abs(d.Standardized(y)) <= z; in != (y >= lower && y <= upper) {
					t.Errorf("%s: %v is in the interval of %v: %v", name, y, p, in)
				}
			}
		}
		testcheck.Within(t, d.Standardized(1.5), distuv.UnitNormal.Quantile(below(d, 1.5)), 1e-8, "%s: standardized", name)
		if z := d.Standardized(1e15); !(z > 100) || math.IsInf(z, 0) {
			t.Errorf("%s: far out %v", name, z)
		}
	}
}

// TestTransformed compares the density of a log-normal variable and of a mixture with gonum's, and
// intervals with its quantiles.
func TestTransformed(t *testing.T) {
	of := &transform.Map{Kind: transform.Log, Unit: 3}
	one := Normal{Mean: 0.4, Std: 0.7, Of: of}
	want := distuv.LogNormal{Mu: 0.4 + math.Log(3), Sigma: 0.7}
	other := distuv.Normal{Mu: 5, Sigma: 2}
	mixed := Predictive{one, {Mean: 5, Std: 2}}
	for _, y := range []float64{0.1, 2, 30} {
		testcheck.Within(t, Predictive{one}.NegLog(y), -want.LogProb(y), 1e-12, "log density at %v", y)
		testcheck.Within(t, mixed.NegLog(y), -math.Log(want.Prob(y)/2+other.Prob(y)/2), 1e-12, "log density of a mixture at %v", y)
		testcheck.Within(t, mixed.Standardized(y), distuv.UnitNormal.Quantile(want.CDF(y)/2+other.CDF(y)/2), 1e-8, "standardized %v", y)
	}
	if f := one.NegLog(-1); !math.IsInf(f, 1) {
		t.Errorf("-log density %v of a negative number", f)
	}
	for _, p := range []float64{0.5, 0.95} {
		lower, upper := Predictive{one}.Interval(p)
		testcheck.Within(t, lower, want.Quantile((1-p)/2), 1e-9, "lower bound of %v", p)
		testcheck.Within(t, upper, want.Quantile((1+p)/2), 1e-9, "upper bound of %v", p)
		lower, _ = mixed.Interval(p)
		testcheck.Within(t, want.CDF(lower)/2+other.CDF(lower)/2, (1-p)/2, 1e-9, "probability below the bound of a mixture")
	}
}

// TestTally compares with numbers worked out by hand.
func TestTally(t *testing.T) {
	var s Tally
	if !math.IsNaN(s.Coverage(0)) || !math.IsNaN(s.RMSE()) || !math.IsNaN(s.NLPD()) {
		t.Errorf("scores of no rows: %v, %v, %v", s.Coverage(0), s.RMSE(), s.NLPD())
	}
	s.Add(3, 1, true, false)
	s.Add(-4, 2, true, true)
	if s.N != 2 || s.RMSE() != math.Sqrt(12.5) || s.MAE() != 3.5 || s.NLPD() != 1.5 || s.Coverage(0) != 1 || s.Coverage(1) != 0.5 {
		t.Errorf("%+v", s)
	}
	s.Add(0, math.Inf(1), false, false)
	s.Add(0, 1, false, false)
	if !math.IsInf(s.NLPD(), 1) {
		t.Errorf("NLPD %v where a row has no density", s.NLPD())
	}
}
