package fit

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/must"
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
		if !(b.Sum < a.Sum) || !(loo.NLML > ml.NLML) || loo.Objective != b.Sum || loo.ObjectiveName != "loo" || loo.Starts[0].NLML != nil {
			t.Errorf("by leave-one-out: %v, NLML %v; by likelihood: %v, NLML %v; objective %s %v", b.Sum, loo.NLML, a.Sum, ml.NLML, loo.ObjectiveName, loo.Objective)
		}
		if !strings.HasSuffix(loo.Status, "-converged") {
			t.Errorf("status %s", loo.Status)
		}
		task := mustPrepare(t, d, o)
		cv := must.Get(CrossValidate(context.Background(), task, backend, loo.Parameters, problem.CrossValidation{Folds: 60}))(t)
		// The noise of a fitted model is small: condition about 1e4.
		if math.Abs(float64(cv.NLPD)-float64(b.NLPD)) > 1e-9*math.Abs(float64(b.NLPD)) || math.Abs(float64(cv.NLPDStandardized)-float64(b.NLPDStandardized)) > 1e-9*math.Abs(float64(b.NLPDStandardized)) {
			t.Errorf("mean %q: NLPD %v by 60 folds, %v by the formula", mean, float64(cv.NLPD), float64(b.NLPD))
		}
		if text := loo.Text(); !strings.Contains(text, "LOO ") || !strings.Contains(text, "∂LOO/∂log") || !strings.Contains(text, "(leave-one-out)") {
			t.Errorf("text:\n%s", text)
		}
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
		cv, err := CrossValidate(context.Background(), mustPrepare(t, d, o), backend, r.Parameters, problem.CrossValidation{Folds: 60})
		if err != nil || !near(cv.RMSE, r.Scores.LeaveOneOut.RMSE, 1e-8) || !near(cv.RMSEStandardized, r.Scores.LeaveOneOut.RMSEStandardized, 1e-8) {
			t.Errorf("%s: RMSE %v by 60 folds, %+v by the formula, %v", c, cv, r.Scores.LeaveOneOut, err)
		}
		if c != problem.LOORMSE {
			continue
		}
		if !strings.HasSuffix(r.Status, "-converged") || r.ObjectiveName != "loo-rmse" || r.Starts[0].NLML != nil || !strings.Contains(r.Text(), "∂LOO-RMSE/∂log") {
			t.Errorf("%s, %s:\n%s", r.Status, r.ObjectiveName, r.Text())
		}
		// At the best size of the variances, the objective is the density of the errors
		// under one variance.
		m := r.Scores.LeaveOneOut.RMSEStandardized
		if want := 30 * (1 + math.Log(2*math.Pi*m*m)); math.Abs(r.Objective-want) > 2*hyperopt.DefaultToleranceNats {
			t.Errorf("objective %v, want %v", r.Objective, want)
		}
	}
	if !(rmse[problem.LOORMSE] < rmse[problem.LOO]) || !(rmse[problem.LOORMSE] < rmse[problem.NLML]) {
		t.Errorf("RMSE by objective: %v", rmse)
	}
}

func TestObjectiveOptions(t *testing.T) {
	d := synthetic(30)
	wantOption(t, d, problem.Options{Objective: "mse"}, "must be nlml, loo, loo-rmse, cv or cv-rmse")
	wantOption(t, d, problem.Options{Objective: problem.LOO, StdErrors: true}, "option objective nlml")
	r := evaluate(t, d, problem.Options{})
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "scores") || strings.Contains(string(text), "priors") {
		t.Errorf("%s, %v", text, err)
	}
	// A coefficient that one row alone determines.
	d = problem.Data{N: 12, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	for i := range 12 {
		d.X, d.Y = append(d.X, float64(i%2)), append(d.Y, math.Sin(float64(i)))
	}
	d.X[11] = 2
	lacking := mustFit(t, d, problem.Options{Mean: "poly(2)", LeaveOneOut: true}).Report
	if lacking.Scores.LeaveOneOut != nil || !strings.Contains(strings.Join(lacking.Warnings, ";"), "no leave-one-out score") {
		t.Errorf("score %v, warnings %q", lacking.Scores.LeaveOneOut, lacking.Warnings)
	}
	task := mustPrepare(t, d, problem.Options{Mean: "poly(2)", Objective: problem.LOO})
	_, err = Run(context.Background(), task, backend)
	var le *graph.LeverageError
	if !errors.As(err, &le) || le.Index != 11 {
		t.Errorf("error %v, want a LeverageError of row 11", err)
	}
}

// TestCrossValidateNoise checks that the known noise of rows goes with them into
// training and held-out parts.
func TestCrossValidateNoise(t *testing.T) {
	d := synthetic(40)
	d.NoiseColumn, d.NoiseGroupColumn = "v", "g"
	for i := range d.N {
		d.NoiseVariance = append(d.NoiseVariance, float64(1+i%4)*20)
		d.NoiseGroup = append(d.NoiseGroup, string(rune('a'+i%2)))
	}
	o := problem.Options{Mean: "constant", LeaveOneOut: true, Fix: []problem.Assignment{{Name: "noise_variance[a]", Value: 0.3, Given: true}, {Name: "noise_variance[b]", Value: 0.01, Given: true}}}
	r := evaluate(t, d, o)
	cv := must.Get(CrossValidate(context.Background(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 40}))(t)
	if want := float64(r.Scores.LeaveOneOut.NLPD); math.Abs(float64(cv.NLPD)-want) > 1e-9*math.Abs(want) {
		t.Errorf("NLPD %v by folds of one row, %v by the formula", float64(cv.NLPD), want)
	}
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
// objective, beside the matrix, counts before any allocation.
func TestCheckMemory(t *testing.T) {
	d := synthetic(500)
	plan, middle := backend.Plan(device.Workload{N: 500, D: 2}), backend.Plan(device.Workload{N: 500, D: 2, Diagonal: true})
	for _, c := range []struct {
		objective problem.Criterion
		free      int64
		fits      bool
	}{
		{problem.NLML, plan.HostBytes(), true}, {problem.NLML, plan.HostBytes() - 1, false}, {problem.NLML, 0, true},
		{problem.LOO, plan.HostBytes(), false}, {problem.LOO, middle.HostBytes(), true},
	} {
		task := mustPrepare(t, d, problem.Options{Objective: c.objective})
		err := task.CheckMemory(freeMemory{backend, c.free})
		var me *device.MemoryError
		if errors.As(err, &me) == c.fits {
			t.Errorf("%s with %d bytes: error %v", c.objective, c.free, err)
		}
	}
}
