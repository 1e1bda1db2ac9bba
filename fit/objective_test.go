package fit

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/residual"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/each"
	"gpfit/internal/testcheck"
)

// TestLOO checks that a fit by leave-one-out has a lower negative leave-one-out
// density and a higher NLML than a fit by likelihood, and that its score equals
// cross-validation with as many folds as rows.
func TestLOO(t *testing.T) {
	d := synthetic(60)
	for _, mean := range []string{"", "linear"} {
		ml := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Mean: mean, LeaveOneOut: true, Settings: hyperopt.Settings{Restarts: 3}}).Report
		o := problem.Options{Kernel: "rbf(ard)", Mean: mean, Objective: problem.LOO, Settings: hyperopt.Settings{Restarts: 3}}
		loo := mustFit(t, d, o).Report
		a, b := ml.Scores.LeaveOneOut, loo.Scores.LeaveOneOut
		if !(b.Sum < a.Sum) || !(loo.NLML > ml.NLML) || loo.Objective != b.Sum || loo.ObjectiveName != "loo" || loo.Path[0].NLML != nil {
			t.Errorf("by leave-one-out: %v, NLML %v; by likelihood: %v, NLML %v; objective %s %v", b.Sum, loo.NLML, a.Sum, ml.NLML, loo.ObjectiveName, loo.Objective)
		}
		if !strings.HasSuffix(loo.Status, "-converged") {
			t.Errorf("status %s", loo.Status)
		}
		task := mustPrepare(t, d, o)
		cv := testcheck.Get(CrossValidate(t.Context(), task, backend, loo.Parameters, problem.CrossValidation{Folds: 60}))(t)
		// The noise of a fitted model is small: condition about 1e4.
		if math.Abs(float64(cv.NLPD)-float64(b.NLPD)) > 1e-9*math.Abs(float64(b.NLPD)) || math.Abs(float64(cv.NLPDStandardized)-float64(b.NLPDStandardized)) > 1e-9*math.Abs(float64(b.NLPDStandardized)) {
			t.Errorf("mean %q: NLPD %v by 60 folds, %v by the formula", mean, float64(cv.NLPD), float64(b.NLPD))
		}
		testcheck.Words(t, loo.Text(), "LOO ", "∂LOO/∂log", "(leave-one-out)")
	}
}

// TestLOPO checks that the score and the objective of leave-one-place-out are predictions of each
// place by a model of the other rows, for a mean by least squares, too: the cross-validation with
// a group for each place.
func TestLOPO(t *testing.T) {
	d := synthetic(60)
	for i := range d.N { // 20 places, mixed
		copy(d.X[i*d.D:(i+1)*d.D], d.X[i%20*d.D:])
		d.Group = append(d.Group, string(rune('a'+i%20)))
	}
	for _, mean := range []string{"", "linear"} {
		for _, objective := range []problem.Criterion{problem.NLML, problem.LOPO, problem.LOPORMSE} {
			o := problem.Options{Kernel: "rbf(ard)", Mean: mean, Objective: objective, LeaveOneOut: true}
			r := mustFit(t, d, o).Report
			loo := r.Scores.LeaveOneOut
			cv := testcheck.Get(CrossValidate(t.Context(), mustPrepare(t, d, o), backend, r.Parameters, problem.CrossValidation{Folds: 20}))(t)
			if !near(loo.NLPD, float64(cv.NLPD), 1e-9) || !near(loo.RMSE, cv.RMSE, 1e-9) || loo.Places != 20 || r.Scores.Objective != nil {
				t.Errorf("mean %q, %s: NLPD %v, RMSE %v at %d places; without each of them %v and %v", mean, objective, loo.NLPD, loo.RMSE, loo.Places, cv.NLPD, cv.RMSE)
			}
			if objective == problem.LOPO && !near(r.Objective, loo.Sum, 1e-10) {
				t.Errorf("objective %v, score %v", r.Objective, loo.Sum)
			}
			testcheck.Words(t, r.Text(), "rows of 20 places left out together")
		}
	}
	// Without repeated inputs it is leave-one-out, bit by bit.
	one := mustFit(t, synthetic(40), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.LOO}).Report
	same := mustFit(t, synthetic(40), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.LOPO}).Report
	if one.Objective != same.Objective || one.Scores.LeaveOneOut.Sum != same.Scores.LeaveOneOut.Sum {
		t.Errorf("%v, %v", one.Objective, same.Objective)
	}
}

// TestLOORMSE checks that a fit by the error of leave-one-out has a lower error than fits
// by likelihood and by leave-one-out density, that the error equals cross-validation with
// as many folds as rows, and that the variances have the size that the errors ask for.
func TestLOORMSE(t *testing.T) {
	d := synthetic(60)
	for i := range d.N { // the model is wrong: the errors are not alike
		d.Y[i] += 0.3 * math.Sin(40*d.X[2*i]) * d.X[2*i+1]
	}
	settings := hyperopt.Settings{Restarts: 3}
	rmse := map[problem.Criterion]float64{}
	for _, c := range problem.Criteria() {
		o := problem.Options{Kernel: "rbf(ard)", Mean: "constant", Objective: c, LeaveOneOut: true, Settings: settings}
		r := mustFit(t, d, o).Report
		rmse[c] = r.Scores.LeaveOneOut.RMSE
		cv, err := CrossValidate(t.Context(), mustPrepare(t, d, o), backend, r.Parameters, problem.CrossValidation{Folds: 60})
		if err != nil || !near(cv.RMSE, r.Scores.LeaveOneOut.RMSE, 1e-8) || !near(cv.RMSEStandardized, r.Scores.LeaveOneOut.RMSEStandardized, 1e-8) {
			t.Errorf("%s: RMSE %v by 60 folds, %+v by the formula, %v", c, cv, r.Scores.LeaveOneOut, err)
		}
		if c != problem.LOORMSE {
			continue
		}
		if !strings.HasSuffix(r.Status, "-converged") || r.ObjectiveName != "loo-rmse" || r.Path[0].NLML != nil || !strings.Contains(r.Text(), "∂LOO log-RMSE/∂log") {
			t.Errorf("%s, %s:\n%s", r.Status, r.ObjectiveName, r.Text())
		}
		// At the best size of the variances, the objective is the density of the errors
		// under one variance.
		m := r.Scores.LeaveOneOut.RMSEStandardized
		testcheck.Within(t, r.Objective, 30*(1+math.Log(2*math.Pi*m*m)), 2*hyperopt.DefaultToleranceNats, "objective")
	}
	if !(rmse[problem.LOORMSE] < rmse[problem.LOO]) || !(rmse[problem.LOORMSE] < rmse[problem.NLML]) {
		t.Errorf("RMSE by objective: %v", rmse)
	}
}

func TestObjectiveOptions(t *testing.T) {
	d := synthetic(30)
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: "mse"}, "must be nlml, loo, loo-rmse, lopo, lopo-rmse, cv or cv-rmse")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.LOO, StdErrors: true}, "option objective nlml")
	r := evaluate(t, d, problem.Options{Kernel: "rbf", Mean: "zero"})
	text := string(testcheck.Get(json.Marshal(r))(t))
	if strings.Contains(text, "scores") || strings.Contains(text, "priors") {
		t.Error(text)
	}
	// A coefficient that one row alone determines.
	d = problem.Data{N: 12, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	for i := range 12 {
		d.X, d.Y = append(d.X, float64(i%2)), append(d.Y, math.Sin(float64(i)))
	}
	d.X[11] = 2
	lacking := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "poly(2)", LeaveOneOut: true}).Report
	if lacking.Scores.LeaveOneOut != nil || !strings.Contains(strings.Join(lacking.Warnings, ";"), "no leave-one-out score") {
		t.Errorf("score %v, warnings %q", lacking.Scores.LeaveOneOut, lacking.Warnings)
	}
	_, err := Run(t.Context(), mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "poly(2)", Objective: problem.LOO}), backend)
	if e := testcheck.Fail[*graph.LeverageError](t, err); e != nil && e.Index != 11 {
		t.Errorf("error %v, want row 11", err)
	}
}

// TestCrossValidateNoise checks that the known noise of rows goes with them into
// training and held-out parts.
func TestCrossValidateNoise(t *testing.T) {
	d := synthetic(40)
	d.NoiseColumn, d.NoiseGroupColumn = "v", "g"
	d.NoiseVariance, d.NoiseGroup = cycled(d.N, 20.0, 40, 60, 80), cycled(d.N, "a", "b")
	o := problem.Options{Kernel: "rbf", Mean: "constant", LeaveOneOut: true, Fix: []problem.Assignment{{Name: "noise_variance[a]", Value: 0.3, Given: true}, {Name: "noise_variance[b]", Value: 0.01, Given: true}}}
	r := evaluate(t, d, o)
	cv := testcheck.Get(CrossValidate(t.Context(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 40}))(t)
	want := float64(r.Scores.LeaveOneOut.NLPD)
	testcheck.Within(t, float64(cv.NLPD), want, 1e-9*math.Abs(want), "NLPD by folds of one row, and by the formula")
}

// freeMemory is a backend with a given amount of free memory.
type freeMemory struct {
	device.Backend
	free int64
}

func (b freeMemory) Info() device.Info {
	info := b.Backend.Info()
	info.MemoryFree = b.free
	return info
}

// TestCheckMemory checks that the memory for the gradient of a leave-one-out
// objective, besides the matrix, counts before any allocation.
func TestCheckMemory(t *testing.T) {
	d := synthetic(500)
	planned := func(o problem.Criterion) int64 {
		return mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: o}).Plan(backend).HostBytes()
	}
	plan, middle := planned(problem.NLML), planned(problem.LOO)
	if least := backend.Plan(device.Workload{N: 500, D: 2}).HostBytes() + int64(8*500*2); plan < least {
		t.Errorf("the plan is %d bytes, and the matrix and the table take %d", plan, least)
	}
	for _, c := range []struct {
		objective problem.Criterion
		free      int64
		fits      bool
	}{
		{problem.NLML, plan, true}, {problem.NLML, plan - 1, false}, {problem.NLML, 0, true},
		{problem.LOO, plan, false}, {problem.LOO, middle, true},
	} {
		task := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: c.objective})
		if err := task.CheckMemory(freeMemory{backend, c.free}); errors.As(err, new(*device.MemoryError)) == c.fits {
			t.Errorf("%s with %d bytes: error %v", c.objective, c.free, err)
		}
	}
}

// TestStdErrorsAnalytic compares with formulas: with a lengthscale far below the distances
// Σ = sI, s = τ² + σ², and with σ² fixed
//
//	NLML = ½n log s + Σ(y − c)²/(2s) + …,  ŝ = Σ(y − ĉ)²/n,
//	∂²/∂(log τ²)² = nτ⁴/(2s²),  ∂²/∂c² = n/s,  no mixed term.
func TestStdErrorsAnalytic(t *testing.T) {
	d := synthetic(50)
	for _, how := range []gp.Standardize{gp.StandardizeXY, gp.StandardizeNone} {
		r := mustFit(t, d, problem.Options{Kernel: "rbf", Standardize: how, Mean: "constant", MeanFit: problem.MeanFree, StdErrors: true,
			Fix: []problem.Assignment{{Name: "lengthscale", Value: 1e-9, Given: true}, {Name: "noise_variance", Value: 1e-3, Given: true}}}).Report
		e := r.StdErrors
		if e == nil || e.Failure != "" {
			t.Fatalf("%s: %+v, warnings %q", how, e, r.Warnings)
		}
		tau := r.Parameters["signal_variance"]
		s := tau + 1e-3
		wantTau, wantMean := s/tau*math.Sqrt(2.0/50), math.Sqrt(s/50)
		// hessianStep² / 6 times a third derivative as large as the second.
		const tol = 1e-6
		testcheck.Within(t, e.Log["signal_variance"]/wantTau, 1, tol, "%s: standard error of log τ²", how)
		testcheck.Within(t, e.Scaled["signal_variance"]/(wantTau*tau), 1, tol, "%s: standard error of τ²", how)
		testcheck.Within(t, e.Scaled["mean_constant"]/wantMean, 1, tol, "%s: standard error of mean_constant", how)
		i := e.Interval95["signal_variance"]
		if math.Abs(i[0]*i[1]/(tau*tau)-1) > 1e-9 || math.Abs(math.Log(i[1]/tau)/(1.959964*wantTau)-1) > tol {
			t.Errorf("interval %v around %v", i, tau)
		}
		// In original units the interval scales with the targets.
		ratio := r.ParametersOriginalUnits["signal_variance"] / tau
		if math.Abs(e.Original["signal_variance"]/(e.Scaled["signal_variance"]*ratio)-1) > 1e-9 || math.Abs(e.Original["mean_constant"]/(wantMean*math.Sqrt(ratio))-1) > tol {
			t.Errorf("%s: original units %v, ratio of variances %v", how, e.Original, ratio)
		}
		if _, ok := e.Log["mean_constant"]; ok || len(e.Names) != 2 || len(e.LeftOut) != 2 {
			t.Errorf("names %v, left out %v, logs %v", e.Names, e.LeftOut, e.Log)
		}
		if text := r.Text(); !strings.Contains(text, "standard errors") || strings.Count(text, "  left out") != 2 {
			t.Errorf("text:\n%s", text)
		}
	}
}

// TestHessian compares with second differences of values, which use no gradient, with
// ties and priors. They have fourth order in the step 0.02 and are accurate to 1e-7
// (truncation) and 1e-16·100/4e-4 (cancellation), relative to their terms.
func TestHessian(t *testing.T) {
	o := problem.Options{Kernel: "rbf(ard) + matern32(ard)", Mean: "linear", MeanFit: problem.MeanFree, StdErrors: true,
		Ties:   []problem.Tie{{Name: "k2.lengthscale[0]", Source: "k1.lengthscale[0]"}},
		Priors: []problem.ParameterPrior{{Name: "k1.lengthscale", Density: density(t, "lognormal(0, 0.5)")}, {Name: "k2.lengthscale[2]", Density: density(t, "gamma(3, 2)")}, {Name: "k1.signal_variance", Density: density(t, "halfnormal(1)")}, {Name: "k2.signal_variance", Density: density(t, "halfnormal(1)")}}}
	d := synthetic(60)
	task := mustPrepare(t, d, o)
	out := mustFit(t, d, o)
	e := out.Report.StdErrors
	if e == nil || e.Failure != "" {
		t.Fatalf("%+v", e)
	}
	testcheck.Do(t, Measure(t.Context(), task, backend, func(p *Parts) error {
		z := each.Of(task.Params.Free, func(q *problem.Parameter) float64 { return q.Z(out.Report.Parameters[q.Name]) })
		value := func(i, j int, a, b float64) float64 {
			at := append([]float64(nil), z...)
			at[i] += a
			at[j] += b
			return testcheck.Get(p.Objective.Value(t.Context(), at))(t)
		}
		mixed := func(i, j int, h float64) float64 {
			return (value(i, j, h, h) - value(i, j, h, -h) - value(i, j, -h, h) + value(i, j, -h, -h)) / (4 * h * h)
		}
		for a, first := range e.Names {
			for b, second := range e.Names {
				i, j := task.Params.Find(first)[0], task.Params.Find(second)[0]
				want := (4*mixed(i, j, 0.01) - mixed(i, j, 0.02)) / 3
				scale := math.Sqrt(math.Abs(e.Hessian[a][a] * e.Hessian[b][b]))
				if got := e.Hessian[a][b]; math.Abs(got-want) > 1e-4*(scale+1) || got != e.Hessian[b][a] {
					t.Errorf("∂²/∂%s∂%s = %v, second difference %v, mirror image %v", first, second, got, want, e.Hessian[b][a])
				}
			}
		}
		return nil
	}))
	if len(e.Names) < 7 || e.Asymmetry > 1e-4*math.Abs(e.Hessian[0][0]) {
		t.Errorf("only %v, or asymmetry %v", e.Names, e.Asymmetry)
	}
	if e.Log["k2.lengthscale[mm]"] != e.Log["k1.lengthscale[mm]"] || e.Log["k2.lengthscale[mm]"] == 0 {
		t.Errorf("tied: %v", e.Log)
	}
	// The slope of the first column in original units, by the delta method by hand.
	units := task.Sample.Scalings[0].YScale / task.Sample.Scalings[0].XScale[0]
	testcheck.Within(t, e.Original["mean_linear[mm]"]/e.Scaled["mean_linear[mm]"]/units, 1, 1e-9, "slope's units")
}

// TestStdErrorsFailure checks that there are no standard errors if the data do not
// determine a minimum of the objective, or if the fit did not reach it.
func TestStdErrorsFailure(t *testing.T) {
	d := synthetic(40)
	// Two variances of which only the sum matters, so that one eigenvalue is 0.
	o := problem.Options{Mean: "zero", Kernel: "rbf(lengthscale=1e-9) + matern12(lengthscale=1e-9)", StdErrors: true,
		Fix: []problem.Assignment{{Name: "k1.lengthscale"}, {Name: "k2.lengthscale"}, {Name: "noise_variance", Value: 1e-3, Given: true}}}
	r := mustFit(t, d, o).Report
	if e := r.StdErrors; !strings.Contains(e.Failure, "not positive definite") || e.Log != nil || e.Scaled != nil || len(e.Hessian) != 2 {
		t.Errorf("%+v", e)
	}
	testcheck.Words(t, r.Text(), "no standard errors")
	testcheck.Words(t, strings.Join(r.Warnings, "\n"), "no standard errors")
	all := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", StdErrors: true, Fix: []problem.Assignment{{Name: "lengthscale"}, {Name: "signal_variance"}, {Name: "noise_variance"}}}).Report
	testcheck.Words(t, all.StdErrors.Failure, "every parameter")
	bound := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", StdErrors: true, Bounds: []problem.Interval{{Name: "signal_variance", Lo: 1e-3, Hi: 1e-2}}}).Report
	if e := bound.StdErrors; strings.Join(e.LeftOut, " ") != "signal_variance" || len(e.Log) != 2 {
		t.Errorf("%+v", e)
	}
	early := problem.Options{Mean: "zero", StdErrors: true, Kernel: "rbf(ard)"}
	early.Settings.MaxEvaluations = 3
	testcheck.Words(t, strings.Join(mustFit(t, d, early).Report.Warnings, "\n"), "standard errors")
}

// TestScoresWithoutVariance checks a held-out row that repeats a training row and is
// therefore known exactly without noise. Its density is not finite: JSON has null,
// which is read back as NaN. All other numbers survive.
func TestScoresWithoutVariance(t *testing.T) {
	job := mustPrepare(t, synthetic(20), problem.Options{Kernel: "rbf", Mean: "zero"})
	exact := &gp.Prediction{Mean: []float64{1, 2}, Std: []float64{0, 0.5}, Lower95: []float64{1, 1}, Upper95: []float64{1, 3}}
	for _, c := range []struct {
		y    []float64
		nlpd float64
	}{{[]float64{1, 2}, math.Inf(-1)}, {[]float64{1.5, 2}, math.Inf(1)}} {
		rows, _ := residual.Of(exact, c.y)
		s := residual.Scores(rows, &gp.Model{Y: job.Sample.Y}, 2, false, false)
		if float64(s.NLPD) != c.nlpd {
			t.Errorf("targets %v: NLPD %v, want %v", c.y, float64(s.NLPD), c.nlpd)
		}
		text, err := json.Marshal(summary.Report{Test: s})
		if err != nil || !strings.Contains(string(text), `"nlpd":null,"nlpd_standardized":null`) || !strings.Contains(string(text), `"rmse":`) {
			t.Errorf("%s, %v", text, err)
		}
		var back summary.Report
		if err := json.Unmarshal(text, &back); err != nil || back.Test.RMSE != s.RMSE || !math.IsNaN(float64(back.Test.NLPD)) {
			t.Errorf("read back: %+v, %v", back.Test, err)
		}
	}
	rows, _ := residual.Of(exact, []float64{1, 2})
	finite := residual.Scores(rows, &gp.Model{Y: job.Sample.Y}, 1, false, false)
	finite.NLPD, finite.NLPDStandardized = 0.25, 0.5
	text := testcheck.Get(json.Marshal(finite))(t)
	var back summary.TestScores
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(&back, finite) {
		t.Errorf("%s read back as %+v, %v", text, back, err)
	}
	// A whole cross-validation of a table that contains each row twice.
	d := synthetic(12)
	d.X, d.Y, d.N = append(d.X, d.X...), append(d.Y, d.Y...), 24
	o := problem.Options{Mean: "zero", NoNoise: true, MaxJitter: 1e-4, Kernel: "matern12"}
	cv := testcheck.Get(CrossValidate(t.Context(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 4}))(t)
	if _, err := json.Marshal(summary.Scores{CrossValidation: cv}); err != nil {
		t.Error(err)
	}
}
