package fit

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// bruteFold predicts the held-out rows by solving with the training rows' dense
// covariance, rbf on scaled inputs. It uses only the fold's rows from the package. It
// returns the sums of −log density and squared error in original units.
func bruteFold(t *tuning.Job, held []int, rho, tau, noise, mean float64) (nlpd, squares float64) {
	n := t.N()
	kernel := func(i, j int) float64 {
		s := 0.0
		for c := range t.D() {
			d := t.Sample.Points.Column(c)[i] - t.Sample.Points.Column(c)[j]
			s += d * d
		}
		return tau * math.Exp(-s/(2*rho*rho))
	}
	var train []int
	for i := range n {
		if !slices.Contains(held, i) {
			train = append(train, i)
		}
	}
	m := len(train)
	sigma, r := mat.NewSymDense(m, nil), mat.NewVecDense(m, nil)
	for a, i := range train {
		for b, j := range train[:a+1] {
			sigma.SetSym(a, b, kernel(i, j))
		}
		sigma.SetSym(a, a, tau+noise)
		r.SetVec(a, t.Sample.Targets[i]-mean)
	}
	var chol mat.Cholesky
	chol.Factorize(sigma)
	for _, i := range held {
		k, w := mat.NewVecDense(m, nil), mat.NewVecDense(m, nil)
		for a, j := range train {
			k.SetVec(a, kernel(i, j))
		}
		if err := chol.SolveVecTo(w, k); err != nil {
			panic(err)
		}
		scale := t.Sample.Scalings[0].YScale
		mu := (mat.Dot(w, r)+mean)*scale + t.Sample.Scalings[0].YMean
		v := (tau + noise - mat.Dot(w, k)) * scale * scale
		e := t.Sample.Y[i] - mu
		nlpd += 0.5*math.Log(2*math.Pi*v) + e*e/(2*v)
		squares += e * e
	}
	return nlpd, squares
}

func TestCrossValidate(t *testing.T) {
	d := synthetic(61)
	d.Test = make([]bool, 61) // rows held out of everything
	d.Test[3], d.Test[40] = true, true
	task := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "constant", MeanFit: problem.MeanFree})
	at := map[string]float64{"lengthscale": 0.8, "signal_variance": 1.2, "noise_variance": 0.05, "mean_constant": 0.3}
	got := testcheck.Get(CrossValidate(t.Context(), task, backend, at, problem.CrossValidation{Folds: 7, Seed: 5}))(t)
	nlpd, squares := 0.0, 0.0
	seen := map[int]bool{}
	for k, held := range testcheck.Get(task.Sample.Divide(problem.CrossValidation{Folds: 7, Seed: 5}, false))(t) {
		a, b := bruteFold(task, held, 0.8, 1.2, 0.05, 0.3)
		nlpd, squares = nlpd+a, squares+b
		f, n := got.Folds[k], float64(len(held))
		if math.Abs(float64(f.NLPD)-a/n) > 1e-9 || math.Abs(f.RMSE-math.Sqrt(b/n)) > 1e-9*f.RMSE || f.N != len(held) || f.N < 8 || f.N > 9 {
			t.Errorf("fold %d: %+v, by brute force %v, %v", k, f, a/n, math.Sqrt(b/n))
		}
		for _, i := range held {
			seen[i] = true
		}
	}
	if len(seen) != 59 || math.Abs(float64(got.NLPD)-nlpd/59) > 1e-9 || math.Abs(got.RMSE-math.Sqrt(squares/59)) > 1e-9*got.RMSE {
		t.Errorf("NLPD %v, RMSE %v, want %v, %v", float64(got.NLPD), got.RMSE, nlpd/59, math.Sqrt(squares/59))
	}
	if s := gp.NewScaling(gp.StandardizeY, nil, task.Sample.Y, 0).YScale; math.Abs(got.RMSEStandardized*s-got.RMSE) > 1e-9 || math.Abs(float64(got.NLPDStandardized)+math.Log(s)-float64(got.NLPD)) > 1e-9 {
		t.Errorf("standardized %+v", got)
	}
	for _, seed := range []uint64{5, 6} {
		again := testcheck.Get(CrossValidate(t.Context(), task, backend, at, problem.CrossValidation{Folds: 7, Seed: seed}))(t)
		if (again.NLPD == got.NLPD) != (seed == 5) {
			t.Errorf("seed %d: NLPD %v, with seed 5 %v", seed, again.NLPD, got.NLPD)
		}
	}
}

// TestCrossValidateRefit checks that every fold has the parameters of a fit to the
// other rows and that the task keeps its start values.
func TestCrossValidateRefit(t *testing.T) {
	d := synthetic(80)
	task := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"})
	start := task.Params.Start()
	var folds []int
	got := testcheck.Get(CrossValidate(t.Context(), task, backend, nil, problem.CrossValidation{Folds: 4, Refit: true, OnFold: func(k, _ int) { folds = append(folds, k) }}))(t)
	if !slices.Equal(task.Params.Start(), start) || !slices.Equal(folds, []int{0, 1, 2, 3}) {
		t.Errorf("start values %v, before %v; folds %v", task.Params.Start(), start, folds)
	}
	for k, held := range testcheck.Get(task.Sample.Divide(problem.CrossValidation{Folds: 4}, false))(t) {
		f := got.Folds[k]
		p := f.Parameters
		want, _ := bruteFold(task, held, p["lengthscale"], p["signal_variance"], p["noise_variance"], 0)
		testcheck.Within(t, float64(f.NLPD), want/20, 1e-8, "fold %d: NLPD", k)
		// The same rows as a separate table, on the same scale.
		s := task.Sample.Without(held)
		sub := problem.Data{N: len(s.Targets), D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y", Y: s.Targets}
		for i := range s.Targets {
			sub.X = append(sub.X, s.Points.Column(0)[i], s.Points.Column(1)[i])
		}
		r := mustFit(t, sub, problem.Options{Kernel: "rbf", Mean: "zero", Standardize: gp.StandardizeNone}).Report
		testcheck.Within(t, r.Parameters["lengthscale"], p["lengthscale"], 1e-3*p["lengthscale"], "fold %d: lengthscale", k)
	}
}

// meeting is a backend whose workspaces wait until another backend of the same meeting has one, for at most ten seconds.
type meeting struct {
	device.Backend
	there *atomic.Int32
	two   chan struct{}
}

func (m meeting) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if m.there.Add(1) == 2 {
		close(m.two)
	}
	select {
	case <-m.two:
	case <-time.After(10 * time.Second):
	}
	return m.Backend.NewWorkspace(ctx, x)
}

// TestCrossValidateSideBySide checks that folds on several backends run at the same time and have the bits of folds on one.
func TestCrossValidateSideBySide(t *testing.T) {
	task, cv := mustPrepare(t, synthetic(80), problem.Options{Kernel: "rbf", Mean: "zero"}), problem.CrossValidation{Folds: 5, Refit: true}
	want := testcheck.Get(CrossValidate(t.Context(), task, backend, nil, cv))(t)
	one := meeting{backend, new(atomic.Int32), make(chan struct{})}
	told := 0
	cv.OnFold = func(int, int) { told++ }
	got := testcheck.Get(CrossValidate(t.Context(), task, one, nil, cv, one, one))(t)
	select {
	case <-one.two:
	default:
		t.Error("no two folds ran at the same time")
	}
	if !reflect.DeepEqual(got, want) || told != 5 || one.there.Load() != 5 {
		t.Errorf("%+v, on one backend %+v; %d folds were told, %d workspaces", got, want, told, one.there.Load())
	}
}

// TestCrossValidateWarnings checks that a jitter in a fold is reported.
func TestCrossValidateWarnings(t *testing.T) {
	d := synthetic(30)
	copy(d.X[3:], d.X[:45]) // rows repeat
	o := problem.Options{Kernel: "rbf", Mean: "zero", MaxJitter: 1, Set: []problem.Assignment{{Name: "noise_variance", Value: 1e-30, Given: true}, {Name: "lengthscale", Value: 50, Given: true}}}
	s, err := CrossValidate(t.Context(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 3})
	if err != nil || len(s.Warnings) != 3 || !strings.HasPrefix(s.Warnings[0], "fold 1 of the cross-validation: a jitter of") {
		t.Errorf("%v, %v", s, err)
	}
}

func TestCrossValidateErrors(t *testing.T) {
	task := mustPrepare(t, synthetic(20), problem.Options{Kernel: "rbf", Mean: "zero"})
	for _, folds := range []int{-1, 1, 21} {
		_, err := CrossValidate(t.Context(), task, backend, nil, problem.CrossValidation{Folds: folds})
		testcheck.Fail[*problem.OptionError](t, err)
	}
	_, err := CrossValidate(t.Context(), task, backend, map[string]float64{"lengthscale": 1}, problem.CrossValidation{})
	testcheck.Fail[error](t, err) // parameters are missing
	ctx, cancel := context.WithCancel(t.Context())
	_, err = CrossValidate(ctx, task, backend, nil, problem.CrossValidation{OnFold: func(k, _ int) {
		if k == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// With as many folds as rows, cross-validation is leave-one-out.
	if s, err := CrossValidate(t.Context(), task, backend, nil, problem.CrossValidation{Folds: 20}); err != nil || len(s.Folds) != 20 {
		t.Errorf("%v", err)
	}
}

// TestCrossValidateTargets checks that every target has the scores of a fit to it
// alone, with a mean by least squares and noise groups, too. The totals are means.
func TestCrossValidateTargets(t *testing.T) {
	d := twoTargets(60)
	d.NoiseGroupColumn, d.NoiseGroup = "lab", cycled(d.N, "a", "b")
	o := problem.Options{Kernel: "rbf(ard)", Mean: "linear"}
	cv := problem.CrossValidation{Folds: 4, Seed: 3}
	task := mustPrepare(t, d, o)
	at := map[string]float64{}
	for i, name := range task.FreeNames() {
		at[name] = 0.1 + 0.2*float64(i)
	}
	got := testcheck.Get(CrossValidate(t.Context(), task, backend, at, cv))(t)
	nlpd, standardized, squares := 0.0, 0.0, 0.0
	for i, name := range d.TargetNames {
		one := d
		one.TargetNames, one.TargetName, one.Y = nil, name, d.Y[i*d.N:(i+1)*d.N]
		want := testcheck.Get(CrossValidate(t.Context(), mustPrepare(t, one, o), backend, at, cv))(t)
		p := got.Targets[i]
		for _, v := range [][2]float64{{float64(p.NLPD), float64(want.NLPD)}, {float64(p.NLPDStandardized), float64(want.NLPDStandardized)}, {p.RMSE, want.RMSE}, {p.RMSEStandardized, want.RMSEStandardized}, {p.Coverage95, want.Coverage95}, {float64(p.NLPDStdError), float64(want.NLPDStdError)}} {
			if !near(v[0], v[1], 1e-9) {
				t.Errorf("%s: %+v, alone %+v", name, p, want)
				break
			}
		}
		nlpd, standardized, squares = nlpd+float64(want.NLPD)/2, standardized+float64(want.NLPDStandardized)/2, squares+want.RMSEStandardized*want.RMSEStandardized/2
	}
	if !near(float64(got.NLPD), nlpd, 1e-9) || !near(float64(got.NLPDStandardized), standardized, 1e-9) || !near(got.RMSEStandardized, math.Sqrt(squares), 1e-9) || got.RMSE != 0 {
		t.Errorf("all: %+v", got)
	}
}

// TestObjectiveFolds compares the scores of the objectives on folds with one refit of the
// posterior for each fold, at the same parameters: random folds, blocks and groups, with a
// mean, several targets, noise groups and known noise.
func TestObjectiveFolds(t *testing.T) {
	noisy, held, two := grouped(70), synthetic(60), twoTargets(60)
	noisy.NoiseVariance, noisy.NoiseGroup = cycled(70, 0.01, 0.02, 0.03, 0.04), cycled(70, "a", "b")
	held.Test, two.Test = every(7, 3, 60), nil
	for name, c := range map[string]struct {
		data problem.Data
		o    problem.Options
	}{
		"random":        {synthetic(60), problem.Options{Kernel: "rbf", Mean: "zero", Folds: 7, FoldSeed: 3}},
		"by default":    {synthetic(60), problem.Options{Kernel: "rbf", Mean: "linear"}},
		"blocks":        {synthetic(61), problem.Options{Kernel: "rbf", Folds: 4, Blocks: true, Mean: "constant"}},
		"groups, noise": {noisy, problem.Options{Kernel: "rbf", Mean: "zero", Folds: 3, FoldSeed: 9}},
		"two targets":   {two, problem.Options{Kernel: "rbf", Folds: 5, Mean: "constant"}},
		"rows held out": {held, problem.Options{Kernel: "rbf", Mean: "zero", Folds: 5}},
	} {
		for _, criterion := range []problem.Criterion{problem.CV, problem.CVRMSE} {
			o := c.o
			o.Kernel, o.Objective = "rbf(ard)", criterion
			r := evaluate(t, c.data, o)
			got := r.Scores.Objective
			cv := problem.CrossValidation{Folds: o.Folds, Seed: o.FoldSeed}
			want, err := CrossValidate(t.Context(), mustPrepare(t, c.data, o), backend, nil, cv)
			if err != nil || got == nil {
				t.Fatalf("%s, %s: scores %v, error %v", name, criterion, got, err)
			}
			plain := o
			plain.Objective = problem.NLML
			other, err := CrossValidate(t.Context(), mustPrepare(t, c.data, plain), backend, nil, cv)
			if err != nil || !near(float64(other.NLPD), float64(want.NLPD), 1e-12) {
				t.Errorf("%s: NLPD by folds %v with another objective, %v with %s, error %v", name, other.NLPD, want.NLPD, criterion, err)
			}
			for what, pair := range map[string][2]float64{
				"NLPD": {got.NLPD, float64(want.NLPD)}, "standardized NLPD": {got.NLPDStandardized, float64(want.NLPDStandardized)},
				"RMSE": {got.RMSE, want.RMSE}, "standardized RMSE": {got.RMSEStandardized, want.RMSEStandardized},
			} {
				testcheck.Within(t, pair[0], pair[1], 1e-9*max(1, math.Abs(pair[1])), "%s, %s: %s by the formula, and by refits", name, criterion, what)
			}
			if got.Folds != len(want.Folds) || got.Group != want.Group || got.Blocks != want.Blocks {
				t.Errorf("%s: %+v by the formula, %+v by refits", name, got, want)
			}
		}
	}
}

// TestFitByFolds checks that fits by cross-validation reach lower scores than fits by likelihood,
// that the model numbers its rows by the table, and that stages on subsets keep the folds.
func TestFitByFolds(t *testing.T) {
	d := grouped(90)
	for i := range d.N { // the model is wrong: sites differ by more than noise
		d.Y[i] += 0.4 * math.Sin(9*float64(i/10))
	}
	settings := hyperopt.Settings{Restarts: 2}
	ml := evaluateAt(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Objective: problem.CV, Folds: 3}, mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: settings}).Report.Parameters)
	for _, criterion := range []problem.Criterion{problem.CV, problem.CVRMSE} {
		o := problem.Options{Mean: "zero", Kernel: "rbf(ard)", Objective: criterion, Folds: 3, Settings: settings}
		out := mustFit(t, d, o)
		r := out.Report
		f := r.Scores.Objective
		switch {
		case !strings.HasSuffix(r.Status, "-converged") || r.ObjectiveName != string(criterion) || r.Path[0].NLML != nil:
			t.Errorf("%s: status %s, objective %s", criterion, r.Status, r.ObjectiveName)
		case criterion == problem.CV && !(f.Sum < ml.Sum && near(f.Sum, r.Objective, 1e-12)):
			t.Errorf("density %v (objective %v), by likelihood %v", f.Sum, r.Objective, ml.Sum)
		case criterion == problem.CVRMSE && !(f.RMSE < ml.RMSE):
			t.Errorf("RMSE %v, by likelihood %v", f.RMSE, ml.RMSE)
		}
		testcheck.Words(t, r.Text(), "CV, RMSE", "(cross-validation)", `3 folds, groups of "site"`)
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
		refit, err := CrossValidate(t.Context(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 2, Refit: true})
		if err != nil || !(refit.RMSE > 0) {
			t.Errorf("refits of folds: %+v, %v", refit, err)
		}
	}
	large := mustFit(t, synthetic(260), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CVRMSE, Folds: 5, Settings: hyperopt.Settings{Restarts: 2, Coarse: hyperopt.CoarseOn}}).Report
	if !strings.HasSuffix(large.Status, "-converged") || len(large.Path) < 2 {
		t.Errorf("status %s in %d stages", large.Status, len(large.Path))
	}
}

// evaluateAt returns the scores of folds at parameters.
func evaluateAt(t *testing.T, d problem.Data, o problem.Options, parameters map[string]float64) *summary.ObjectiveFolds {
	t.Helper()
	o.Set = assignments(parameters)
	return evaluate(t, d, o).Scores.Objective
}

// TestFoldOptions checks wrong options, the plan of the memory and that folds without an
// objective that needs them change nothing.
func TestFoldOptions(t *testing.T) {
	d := synthetic(30)
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV, Folds: 31}, "31 folds of 30 rows")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV, Folds: 1}, "option folds 1: must be at least 2")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CVRMSE, StdErrors: true}, "option objective nlml")
	wantOption(t, grouped(20), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV, Folds: 19}, "groups of rows")
	if a, b := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Folds: 5, FoldSeed: 1}), mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}); a.ID() != b.ID() {
		t.Error("folds change the identity of a fit by likelihood")
	}
	if a, b := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV, FoldSeed: 1}), mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV}); a.ID() == b.ID() {
		t.Error("the seed of the folds does not change the identity of a fit by cross-validation")
	}
	d = synthetic(500)
	ends := problem.EvenFolds(500, 5)
	if !slices.Equal(ends, []int{100, 200, 300, 400, 500}) {
		t.Errorf("folds end at %v", ends)
	}
	job := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV, Folds: 5})
	bytes := job.Plan(backend).HostBytes()
	if least := backend.Plan(device.Workload{N: 500, D: 2, Blocks: ends}).HostBytes(); bytes < least {
		t.Errorf("the plan is %d bytes, and an evaluation takes %d", bytes, least)
	}
	var memory *device.MemoryError
	if err := job.CheckMemory(freeMemory{backend, bytes - 1}); !errors.As(err, &memory) {
		t.Errorf("error %v, want a MemoryError", err)
	}
	testcheck.Do(t, job.CheckMemory(freeMemory{backend, bytes}))
	r := evaluate(t, synthetic(40), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV, Folds: 4})
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"objective_folds":{"folds":4,"seed":0,"sum":`) {
		t.Errorf("JSON %s, %v", text, err)
	}
}
