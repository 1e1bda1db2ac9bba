package fit

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt"
)

// TestObjectiveFolds compares the scores of the objectives on folds with one refit of the
// posterior for each fold, at the same parameters: random folds, blocks and groups, with a
// mean, several targets, noise groups and known noise.
func TestObjectiveFolds(t *testing.T) {
	noisy := grouped(70)
	for i := range noisy.N {
		noisy.NoiseVariance = append(noisy.NoiseVariance, float64(1+i%4)*0.01)
		noisy.NoiseGroup = append(noisy.NoiseGroup, string(rune('a'+i%2)))
	}
	two := synthetic(60)
	for i := range two.N {
		two.Y = append(two.Y, math.Cos(two.X[2*i]))
	}
	two.TargetName, two.TargetNames = "", []string{"a", "b"}
	held := synthetic(60)
	held.Test = make([]bool, 60)
	for i := range 60 {
		held.Test[i] = i%7 == 3
	}
	for name, c := range map[string]struct {
		data problem.Data
		o    problem.Options
	}{
		"random":        {synthetic(60), problem.Options{Folds: 7, FoldSeed: 3}},
		"by default":    {synthetic(60), problem.Options{Mean: "linear"}},
		"blocks":        {synthetic(61), problem.Options{Folds: 4, Blocks: true, Mean: "constant"}},
		"groups, noise": {noisy, problem.Options{Folds: 3, FoldSeed: 9}},
		"two targets":   {two, problem.Options{Folds: 5, Mean: "constant"}},
		"rows held out": {held, problem.Options{Folds: 5}},
	} {
		for _, criterion := range []problem.Criterion{problem.CV, problem.CVRMSE} {
			o := c.o
			o.Kernel, o.Objective = "rbf(ard)", criterion
			r := evaluate(t, c.data, o)
			got := r.Scores.Objective
			cv := problem.CrossValidation{Folds: o.Folds, Seed: o.FoldSeed}
			want, err := CrossValidate(context.Background(), mustPrepare(t, c.data, o), backend, nil, cv)
			if err != nil || got == nil {
				t.Fatalf("%s, %s: scores %v, error %v", name, criterion, got, err)
			}
			plain := o
			plain.Objective = problem.NLML
			other, err := CrossValidate(context.Background(), mustPrepare(t, c.data, plain), backend, nil, cv)
			if err != nil || !near(float64(other.NLPD), float64(want.NLPD), 1e-12) {
				t.Errorf("%s: NLPD by folds %v with another objective, %v with %s, error %v", name, other.NLPD, want.NLPD, criterion, err)
			}
			for what, pair := range map[string][2]float64{
				"NLPD": {got.NLPD, float64(want.NLPD)}, "standardized NLPD": {got.NLPDStandardized, float64(want.NLPDStandardized)},
				"RMSE": {got.RMSE, want.RMSE}, "standardized RMSE": {got.RMSEStandardized, want.RMSEStandardized},
			} {
				if !(math.Abs(pair[0]-pair[1]) <= 1e-9*max(1, math.Abs(pair[1]))) {
					t.Errorf("%s, %s: %s %v by the formula, %v by refits", name, criterion, what, pair[0], pair[1])
				}
			}
			if got.Folds != len(want.Folds) || got.Group != want.Group || got.Blocks != want.Blocks {
				t.Errorf("%s: %+v by the formula, %+v by refits", name, got, want)
			}
		}
	}
}

// TestFitByFolds checks that fits by cross-validation reach lower scores than fits by
// likelihood, that the model numbers its rows by the table, and that stages on subsets
// keep the folds.
func TestFitByFolds(t *testing.T) {
	d := grouped(90)
	for i := range d.N { // the model is wrong: sites differ by more than noise
		d.Y[i] += 0.4 * math.Sin(9*float64(i/10))
	}
	settings := hyperopt.Settings{Restarts: 2}
	ml := evaluateAt(t, d, problem.Options{Kernel: "rbf(ard)", Objective: problem.CV, Folds: 3}, mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Settings: settings}).Report.Parameters)
	for _, criterion := range []problem.Criterion{problem.CV, problem.CVRMSE} {
		o := problem.Options{Kernel: "rbf(ard)", Objective: criterion, Folds: 3, Settings: settings}
		out := mustFit(t, d, o)
		r := out.Report
		f := r.Scores.Objective
		switch {
		case !strings.HasSuffix(r.Status, "-converged") || r.ObjectiveName != string(criterion) || r.Starts[0].NLML != nil:
			t.Errorf("%s: status %s, objective %s", criterion, r.Status, r.ObjectiveName)
		case criterion == problem.CV && !(f.Sum < ml.Sum && near(f.Sum, r.Objective, 1e-12)):
			t.Errorf("density %v (objective %v), by likelihood %v", f.Sum, r.Objective, ml.Sum)
		case criterion == problem.CVRMSE && !(f.RMSE < ml.RMSE):
			t.Errorf("RMSE %v, by likelihood %v", f.RMSE, ml.RMSE)
		}
		text := r.Text()
		for _, want := range []string{"CV, RMSE", "(cross-validation)", `3 folds, groups of "site"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", criterion, want, text)
			}
		}
		// The model's rows are in another order than the table's and say which they are.
		m := out.Model
		for k, row := range m.Rows {
			if m.Y[k] != d.Y[int(row)] {
				t.Fatalf("row %d of the model is said to be row %v of the table: target %v, %v", k, row, m.Y[k], d.Y[int(row)])
			}
		}
		if len(m.Rows) != d.N || slices.IsSorted(m.Rows) {
			t.Errorf("rows %v", m.Rows)
		}
		refit, err := CrossValidate(context.Background(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 2, Refit: true})
		if err != nil || !(refit.RMSE > 0) {
			t.Errorf("refits of folds: %+v, %v", refit, err)
		}
	}
	large := mustFit(t, synthetic(260), problem.Options{Objective: problem.CVRMSE, Folds: 5, Settings: hyperopt.Settings{Restarts: 2, Coarse: hyperopt.CoarseOn}}).Report
	if !strings.HasSuffix(large.Status, "-converged") || len(large.Path) < 2 {
		t.Errorf("status %s in %d stages", large.Status, len(large.Path))
	}
}

// evaluateAt returns the scores of folds at parameters.
func evaluateAt(t *testing.T, d problem.Data, o problem.Options, parameters map[string]float64) *summary.ObjectiveFolds {
	t.Helper()
	for name, v := range parameters {
		o.Set = append(o.Set, problem.Assignment{Name: name, Value: v, Given: true})
	}
	return evaluate(t, d, o).Scores.Objective
}

// TestFoldOptions checks wrong options, the plan of the memory and that folds without an
// objective that needs them change nothing.
func TestFoldOptions(t *testing.T) {
	d := synthetic(30)
	wantOption(t, d, problem.Options{Objective: problem.CV, Folds: 31}, "31 folds of 30 rows")
	wantOption(t, d, problem.Options{Objective: problem.CV, Folds: 1}, "option folds 1: must be at least 2")
	wantOption(t, d, problem.Options{Objective: problem.CVRMSE, StdErrors: true}, "option objective nlml")
	wantOption(t, grouped(20), problem.Options{Objective: problem.CV, Folds: 19}, "groups of rows")
	if a, b := mustPrepare(t, d, problem.Options{Folds: 5, FoldSeed: 1}), mustPrepare(t, d, problem.Options{}); a.ID() != b.ID() {
		t.Error("folds change the identity of a fit by likelihood")
	}
	if a, b := mustPrepare(t, d, problem.Options{Objective: problem.CV, FoldSeed: 1}), mustPrepare(t, d, problem.Options{Objective: problem.CV}); a.ID() == b.ID() {
		t.Error("the seed of the folds does not change the identity of a fit by cross-validation")
	}
	d = synthetic(500)
	ends := problem.EvenFolds(500, 5)
	if !slices.Equal(ends, []int{100, 200, 300, 400, 500}) {
		t.Errorf("folds end at %v", ends)
	}
	job, bytes := mustPrepare(t, d, problem.Options{Objective: problem.CV, Folds: 5}), backend.Plan(device.Workload{N: 500, D: 2, Blocks: ends}).HostBytes()
	var memory *device.MemoryError
	if err := job.CheckMemory(freeMemory{backend, bytes - 1}); !errors.As(err, &memory) {
		t.Errorf("error %v, want a MemoryError", err)
	}
	if err := job.CheckMemory(freeMemory{backend, bytes}); err != nil {
		t.Error(err)
	}
	r := evaluate(t, synthetic(40), problem.Options{Objective: problem.CV, Folds: 4})
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"objective_folds":{"folds":4,"seed":0,"sum":`) {
		t.Errorf("JSON %s, %v", text, err)
	}
}
