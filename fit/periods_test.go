package fit

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/fit/problem"
	"gpfit/hyperopt"
)

// series returns n values of one feature from f, and targets from g.
func series(n int, f func(i int) float64, g func(x float64) float64) problem.Data {
	d := problem.Data{N: n, D: 1}
	for i := range n {
		x := f(i)
		d.X, d.Y = append(d.X, x), append(d.Y, g(x))
	}
	return d
}

// TestFindsPeriod checks that a fit without restarts finds a period far from its start
// value, a third of the range.
func TestFindsPeriod(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	d := series(240, func(i int) float64 { return float64(i) / 10 }, func(x float64) float64 {
		return math.Sin(2*math.Pi*x/1.3) + 0.1*rng.NormFloat64()
	})
	r := mustFit(t, d, problem.Options{Kernel: "periodic", Standardize: "none"}).Report
	turns := 1.3 / r.Parameters["period"]
	if math.Abs(turns-math.Round(turns)) > 0.01 && math.Abs(1/turns-math.Round(1/turns)) > 0.01 {
		t.Errorf("period %v, want 1.3 or a multiple", r.Parameters["period"])
	}
	if r.Parameters["noise_variance"] > 0.02 {
		t.Errorf("noise %v: the wave counts as noise", r.Parameters["noise_variance"])
	}
}

// TestRepeatedRows checks that tuning finds an optimum that only repeated rows show:
// fast waves and little noise, of which random halves of the rows part most pairs.
func TestRepeatedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	d := series(240, func(i int) float64 { return float64(i/3) + 0.3*math.Sin(float64(i/3)) }, func(x float64) float64 {
		return math.Sin(2.5*x) + 0.02*rng.NormFloat64()
	})
	for _, restarts := range []int{0, 5} {
		r := mustFit(t, d, problem.Options{Settings: hyperopt.Settings{Restarts: restarts}}).Report
		if r.Parameters["noise_variance"] > 0.01 {
			t.Errorf("%d restarts: noise %v, want 0.0008", restarts, r.Parameters["noise_variance"])
		}
	}
}
