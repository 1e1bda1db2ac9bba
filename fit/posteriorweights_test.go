package fit

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/fit/internal/psis"
	"gpfit/fit/problem"
	"gpfit/fit/residual"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// TestWeighed compares draws with a posterior in closed form, as TestPosteriorAnalytic does: with the
// power ηn of the likelihood of n rows, ηn·v/τ² is χ² with ηn degrees of freedom.
func TestWeighed(t *testing.T) {
	const n = 16
	d := synthetic(n)
	o := problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "lengthscale", Value: 1e-9, Given: true}, {Name: "noise_variance", Value: 1e-9, Given: true}}, Bounds: []problem.Interval{{Name: "signal_variance", Lo: 1e-4, Hi: 1e4}}}
	out := mustFit(t, d, o)
	r := out.Report
	if len(out.Model.Draws.Theta) != averaged || r.Posterior.Method != problem.AutoPosterior || *r.Posterior.ParetoK > 0.7 || len(r.Warnings) > 1 {
		t.Errorf("%d draws, k-hat %v, warnings %v", len(out.Model.Draws.Theta), *r.Posterior.ParetoK, r.Warnings)
	}
	testcheck.Words(t, r.Text(), "predictions            average over 64 draws of the parameters (16 rows, free parameters: 1; k-hat ")
	degrees := autoPower(n) * n
	below := func(v float64) float64 { return distuv.ChiSquared{K: degrees}.Survival(degrees / v) }
	ranks := 0.0
	for _, theta := range out.Model.Draws.Theta {
		ranks += below(theta[slices.Index(out.Model.ParameterNames, "signal_variance")]) / averaged
	}
	// Probabilities are uniform, with the variance 1/12; resampling adds at most as much again.
	testcheck.Within(t, ranks, 0.5, 4*math.Sqrt(2./12/averaged), "mean probability")
}

// TestCandidates compares the density of candidates with gonum's t distribution, and checks weights and
// resampling.
func TestCandidates(t *testing.T) {
	m := &mode{u: []float64{1, -2}, covariance: mat.NewSymDense(2, []float64{2, 0.5, 0.5, 1}), share: 1}
	m.factor()
	reference, _ := distmv.NewStudentsT(m.u, m.covariance, tails, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	var us [][]float64
	var fs []float64
	for range 4000 {
		u := m.distant(rng)
		testcheck.Within(t, m.logT(u), reference.LogProb(u), 1e-10, "log density at %v", u)
		us, fs = append(us, u), append(fs, 0.5*floats.Dot(u, u))
	}
	// The target is standard normal.
	weights, _ := psis.Smoothed(ratiosOf([][]*mode{{m}}, us, fs))
	testcheck.Within(t, floats.Sum(weights), 1, 1e-12, "sum of weights")
	w := weighted(us, weights, m)
	for i := range 2 {
		testcheck.Within(t, w.u[i], 0, 0.15, "mean %d", i)
		testcheck.Within(t, w.covariance.At(i, i), 1-shrinkage+shrinkage*m.covariance.At(i, i), 0.15, "variance %d", i)
	}
	if taken := resampled([][]float64{{1}, {2}, {3}}, []float64{0.5, 0.26, 0.24}, 100, 0.3); len(taken) != 100 || taken[49][0] != 1 || taken[51][0] != 2 || taken[99][0] != 3 {
		t.Error(taken)
	}
}

// TestFewRows checks when option posterior auto averages, and that the scores of held-out rows are the
// scores of predictions by the model's file, to the bit.
func TestFewRows(t *testing.T) {
	d := synthetic(60)
	o := problem.Options{Kernel: "rbf(ard)", HoldOut: 0.5}
	out := mustFit(t, d, o)
	path := filepath.Join(t.TempDir(), "m")
	testcheck.Do(t, out.SaveModel(path, false))
	p := testcheck.Get(testcheck.Get(gp.Load(path))(t).Condition(t.Context(), backend))(t)
	defer p.Close()
	j := mustPrepare(t, d, o)
	x, noise, observed, rows := HeldOut(j.Prepared)
	again := testcheck.Get(gp.Predict(t.Context(), p, x, len(rows), noise))(t)
	scored, _ := residual.Of(again[0], observed[0])
	if got, want := residual.Scores(scored, p.Whole(), j.Sample.TargetScale(0), false, false), out.Report.Test; !reflect.DeepEqual(got, want) || again[0].Parts == nil {
		t.Errorf("%+v, in the report %+v", got, want)
	}
	for want, o := range map[string]problem.Options{
		"": {Kernel: "rbf", Mean: "zero"}, "objective nlml": {Kernel: "rbf(ard)", HoldOut: 0.5, Objective: problem.LOO}, "local experts": {Kernel: "rbf(ard)", HoldOut: 0.5, Experts: "kmeans:2"},
	} {
		out := mustFit(t, synthetic(map[bool]int{true: 95, false: 62}[want == ""]), o)
		if out.Model.Draws != nil || !strings.Contains(out.Report.Predictions, want) || (want == "") != (out.Report.Predictions == "") {
			t.Errorf("%d draws, %q", out.Model.Draws.Len(), out.Report.Predictions)
		}
	}
}

// TestSoundAverages checks on grids of few levels that averages over draws predict about as well as the optimum. Weights
// that are not sound once gave errors of 900 standard deviations there.
func TestSoundAverages(t *testing.T) {
	branin := func(u, v float64) float64 {
		inner := v - 5.1/(4*math.Pi*math.Pi)*u*u + 5/math.Pi*u - 6
		return inner*inner + 10*(1-1/(8*math.Pi))*math.Cos(u) + 10
	}
	for levels := 4; levels <= 8; levels++ {
		d := drawn(0, 0, levels*levels, "u v y", func(i int, _, _ random) []float64 {
			u, v := -5+15*float64(i%levels)/float64(levels-1), 15*float64(i/levels)/float64(levels-1)
			return []float64{u, v, branin(u, v)}
		})
		fresh := drawn(3, 4, 500, "u v y", func(_ int, uniform, _ random) []float64 {
			u, v := -5+15*uniform(), 15*uniform()
			return []float64{u, v, branin(u, v)}
		})
		out := mustFit(t, d, problem.Options{})
		rmse := func(p *gp.Prediction, err error) (sum float64) {
			testcheck.Do(t, err)
			for i, m := range p.Mean {
				sum += (m - fresh.Y[i]) * (m - fresh.Y[i]) / float64(fresh.N)
			}
			return math.Sqrt(sum)
		}
		averages := testcheck.Get(gp.Predict(t.Context(), out.Posterior(), fresh.X, fresh.N, gp.RowNoise{}))(t)
		average, optimum := rmse(averages[0], nil), rmse(out.Posterior().Predict(t.Context(), fresh.X, fresh.N))
		if !(average <= 3*optimum+0.02*stat.StdDev(fresh.Y, nil)) {
			t.Errorf("%d levels: RMSE %.3g, of the optimum %.3g (%s)", levels, average, optimum, out.Report.Predictions)
		}
	}
}
