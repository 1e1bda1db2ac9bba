package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

func mustFit(t *testing.T, d problem.Data, o problem.Options) *Outcome {
	t.Helper()
	task := mustPrepare(t, d, o)
	out := testcheck.Get(Run(t.Context(), task, backend))(t)
	t.Cleanup(out.Close)
	return out
}

func TestFit(t *testing.T) {
	d := synthetic(200)
	d.Test = every(5, 0, 200)
	var iterations []descent.Iteration
	out := testcheck.Get(Run(t.Context(), watched(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}}, problem.Events{OnIteration: func(it descent.Iteration) { iterations = append(iterations, it) }}), backend))(t)
	defer out.Close()
	r := out.Report
	if r.Type != "fit" || r.N != 160 || r.D != 2 || !strings.HasSuffix(r.Status, "-converged") || r.Device != "cpu" || r.Kernel != "rbf(ard)" {
		t.Errorf("report %+v", r)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `"const" is constant`) {
		t.Errorf("warnings %q", r.Warnings)
	}
	if len(iterations) < 5 || r.Iterations != len(iterations)-1 {
		t.Errorf("%d callbacks, %d iterations", len(iterations), r.Iterations)
	}
	// The noise is known; its estimate from 160 rows is within a quarter.
	testcheck.Within(t, math.Sqrt(r.ParametersOriginalUnits["noise_variance"]), 5, 0.25*5, "noise")
	testcheck.Within(t, r.DataFit+r.Complexity+r.Constant, r.NLML, 1e-9*math.Abs(r.NLML), "sum of the terms")
	for name, g := range r.GradientLog {
		// A millionth of a nat is left at a gradient g with a curvature of g²/2e-6.
		testcheck.Within(t, g, 0, 1e-2, "gradient of %s at the optimum", name)
	}
	if _, ok := r.Parameters["lengthscale[kelvin]"]; !ok || len(r.Parameters) != 4 {
		t.Errorf("parameters %v: the third feature is lengthscale[kelvin] though the second is left out", r.Parameters)
	}
	if r.Test.N != 40 || r.Test.RMSE > 8 || r.Test.RMSEStandardized > 0.15 || r.Test.Coverage95 < 0.8 {
		t.Errorf("test scores %+v", *r.Test)
	}
	checkScores(t, out, d)
	testcheck.Words(t, r.Text(), "NLML", "lengthscale[mm]", "held-out rows (40)", "converged: ")
}

// checkScores recomputes the scores from the model's predictions.
func checkScores(t *testing.T, out *Outcome, d problem.Data) {
	t.Helper()
	pred := predictAt(t, out.Model, d.X)
	var se, nlpd, n float64
	for i, y := range d.Y {
		if d.Test[i] {
			z := (y - pred.Mean[i]) / pred.Std[i]
			se += (y - pred.Mean[i]) * (y - pred.Mean[i])
			nlpd += z*z/2 + math.Log(pred.Std[i]*math.Sqrt(2*math.Pi))
			n++
		}
	}
	s := out.Report.Test
	if math.Abs(s.RMSE-math.Sqrt(se/n)) > 1e-12*s.RMSE || math.Abs(float64(s.NLPD)-nlpd/n) > 1e-9 {
		t.Errorf("scores %+v, from predictions RMSE %v, NLPD %v", *s, math.Sqrt(se/n), nlpd/n)
	}
}

// TestUnits checks that an isotropic lengthscale has one value per column in original units.
func TestUnits(t *testing.T) {
	d := synthetic(120)
	iso := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}).Report
	ratio := iso.ParametersOriginalUnits["lengthscale[mm]"] / iso.ParametersOriginalUnits["lengthscale[kelvin]"]
	s := gp.NewScaling(gp.StandardizeX, d.X, d.Y, 3)
	testcheck.Within(t, ratio/(s.XScale[0]/s.XScale[2]), 1, 1e-12, "ratio of original lengthscales")
}

func TestFixAndBounds(t *testing.T) {
	d := synthetic(80)
	r := mustFit(t, d, problem.Options{
		Mean:   "zero",
		Kernel: "rbf(ard)",
		Fix:    []problem.Assignment{{Name: "noise_variance", Value: 0.25, Given: true}, {Name: "lengthscale[2]"}},
		Set:    []problem.Assignment{{Name: "lengthscale", Value: 0.5, Given: true}},
		Bounds: []problem.Interval{{Name: "signal_variance", Lo: 0.01, Hi: 0.1}},
	}).Report
	p := r.Parameters
	if math.Abs(p["noise_variance"]-0.25) > 1e-15 || math.Abs(p["lengthscale[kelvin]"]-0.5) > 1e-15 {
		t.Errorf("fixed parameters moved: %v", p)
	}
	if math.Abs(p["signal_variance"]-0.1) > 1e-6 || len(r.AtBound) != 1 || r.AtBound[0] != "signal_variance" {
		t.Errorf("signal_variance %v with upper bound 0.1, at bound %v", p["signal_variance"], r.AtBound)
	}
	testcheck.Words(t, strings.Join(r.Warnings, "\n"), "signal_variance is at its upper bound")
}

func TestRestarts(t *testing.T) {
	r := mustFit(t, synthetic(60), problem.Options{Mean: "zero", Kernel: "matern52(ard)", Settings: hyperopt.Settings{Restarts: 3, Seed: 9, Coarse: hyperopt.CoarseOff}}).Report
	if len(r.Starts) != 4 || *r.Seed != 9 {
		t.Errorf("starts %+v", r.Starts)
	}
	best := 0
	for _, s := range r.Starts {
		if s.Best {
			best++
		}
		if *s.NLML < r.NLML-1e-9*math.Abs(r.NLML) {
			t.Errorf("a start reached %v, the result is %v", *s.NLML, r.NLML)
		}
	}
	if best != 1 {
		t.Errorf("%d best starts", best)
	}
}

// TestWarnedOnce checks that what every descent warns of is in the report once.
func TestWarnedOnce(t *testing.T) {
	for want, o := range map[string]problem.Options{
		"stopped before convergence: the largest number of values is 1 (option max-evals)": {Settings: hyperopt.Settings{MaxEvaluations: 1}},
		"lengthscale is fixed at 5, outside its bounds [2, 3]":                             {Kernel: "rbf", Fix: []problem.Assignment{{Name: "lengthscale", Value: 5, Given: true}}, Bounds: []problem.Interval{{Name: "lengthscale", Lo: 2, Hi: 3}}},
	} {
		if all := mustFit(t, twoOptima(60), o).Report.Warnings; strings.Count(strings.Join(all, "\n"), want) != 1 {
			t.Errorf("%q", all)
		}
	}
}

// TestCancel checks that an interrupted fit returns the best model so far.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	best := math.Inf(1)
	task := watched(t, synthetic(100), problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}}, problem.Events{OnIteration: func(it descent.Iteration) {
		best = it.Best
		if it.Iteration == 3 {
			cancel()
		}
	}})
	out, err := Run(ctx, task, backend)
	if !errors.Is(err, context.Canceled) || out == nil {
		t.Fatalf("outcome %v, error %v", out, err)
	}
	defer out.Close()
	if out.Report.Status != "cancelled" || math.Abs(out.Report.NLML-best) > 1e-9*math.Abs(best) {
		t.Errorf("status %s, NLML %v, best seen %v", out.Report.Status, out.Report.NLML, best)
	}
	testcheck.Do(t, out.SaveModel(t.TempDir()+"/m", false))
	// Before the first value there is no model to keep.
	if out, err := Run(ctx, task, backend); out != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("outcome %v, error %v", out, err)
	}
}

func TestNotPDAtStart(t *testing.T) {
	d := synthetic(40)
	copy(d.X[3:], d.X[:60]) // rows repeat
	o := problem.Options{Kernel: "rbf", Mean: "zero", Standardize: gp.StandardizeX, Set: []problem.Assignment{{Name: "noise_variance", Value: 1e-30, Given: true}, {Name: "lengthscale", Value: 1e3, Given: true}}}
	task := mustPrepare(t, d, o)
	if _, err := Evaluate(t.Context(), task, backend, nil); !device.IsNotPD(err) || !strings.Contains(err.Error(), "raise noise_variance") {
		t.Errorf("error %v, want a NotPDError with advice", err)
	}
	if out, err := Run(t.Context(), task, backend); out != nil || !device.IsNotPD(err) {
		t.Errorf("fit from there: %v", err)
	}
	o.MaxJitter = 10
	task = mustPrepare(t, d, o)
	r, err := Evaluate(t.Context(), task, backend, nil)
	if err != nil || r.Jitter <= 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), "a jitter of") {
		t.Errorf("report %+v, error %v: the jitter must be reported", r, err)
	}
}

// TestSingularStart checks the warning of a fit without noise whose start values have no value.
func TestSingularStart(t *testing.T) {
	for want, settings := range map[string]hyperopt.Settings{
		"the objective is not defined at the start values: the fit began at other starts": {},
		"start 0: covariance matrix is not positive definite: leading minor of order ":    {Coarse: hyperopt.CoarseOff, Restarts: 3},
	} {
		text := strings.Join(mustFit(t, white(60), problem.Options{Kernel: "rbf", Mean: "zero", NoNoise: true, Settings: settings}).Report.Warnings, "\n")
		if !strings.HasPrefix(text, want) || strings.Contains(text, "hyperopt") || strings.Contains(text, "noise variance") {
			t.Error(text)
		}
	}
}

func TestBadOptions(t *testing.T) {
	d := synthetic(20)
	for _, o := range map[string]problem.Options{
		"unknown start":   {Set: []problem.Assignment{{Name: "lenghtscale", Value: 1, Given: true}}},
		"unknown fix":     {Fix: []problem.Assignment{{Name: "sigma", Value: 1, Given: true}}},
		"negative":        {Set: []problem.Assignment{{Name: "lengthscale", Value: -1, Given: true}}},
		"NaN":             {Fix: []problem.Assignment{{Name: "lengthscale", Value: math.NaN(), Given: true}}},
		"crossed bounds":  {Bounds: []problem.Interval{{Name: "lengthscale", Lo: 2, Hi: 1}}},
		"zero bound":      {Bounds: []problem.Interval{{Name: "lengthscale", Lo: 0, Hi: 1}}},
		"unknown bound":   {Bounds: []problem.Interval{{Name: "x", Lo: 1, Hi: 2}}},
		"bad standardize": {Standardize: "yx"},
	} {
		wantOption(t, d, o, "")
	}
	for _, text := range []string{"rbv", "rbf(dims=1)", "rbf(dims=9)"} { // column 1 is constant
		if _, err := Prepare(d, problem.Options{Mean: "zero", Kernel: text}, problem.Events{}); err == nil {
			t.Errorf("kernel %s accepted", text)
		}
	}
}

// TestTextStartValues checks that a fit uses start values in the kernel's text.
func TestTextStartValues(t *testing.T) {
	r := evaluate(t, synthetic(20), problem.Options{Mean: "zero", Kernel: "rbf(ard, lengthscale=[2, 3], signal_variance=4)"})
	for name, v := range map[string]float64{"lengthscale[mm]": 2, "lengthscale[kelvin]": 3, "signal_variance": 4} {
		testcheck.Within(t, r.Parameters[name], v, 1e-14, "start of %s", name)
	}
}

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
	r := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "periodic", Standardize: "none"}).Report
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
		r := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Restarts: restarts}}).Report
		if r.Parameters["noise_variance"] > 0.01 {
			t.Errorf("%d restarts: noise %v, want 0.0008", restarts, r.Parameters["noise_variance"])
		}
	}
}
