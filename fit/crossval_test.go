package fit

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
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
	task := mustPrepare(t, d, problem.Options{Mean: "constant", MeanFit: problem.MeanFree})
	at := map[string]float64{"lengthscale": 0.8, "signal_variance": 1.2, "noise_variance": 0.05, "mean_constant": 0.3}
	got := must.Get(CrossValidate(context.Background(), task, backend, at, problem.CrossValidation{Folds: 7, Seed: 5}))(t)
	nlpd, squares := 0.0, 0.0
	seen := map[int]bool{}
	for k, held := range must.Get(task.Sample.Divide(problem.CrossValidation{Folds: 7, Seed: 5}, false))(t) {
		a, b := bruteFold(task, held, 0.8, 1.2, 0.05, 0.3)
		nlpd, squares = nlpd+a, squares+b
		f := got.Folds[k]
		if math.Abs(float64(f.NLPD)-a/float64(len(held))) > 1e-9 || math.Abs(f.RMSE-math.Sqrt(b/float64(len(held)))) > 1e-9*f.RMSE || f.N != len(held) || f.N < 8 || f.N > 9 {
			t.Errorf("fold %d: %+v, by brute force %v, %v", k, f, a/float64(len(held)), math.Sqrt(b/float64(len(held))))
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
	again, err := CrossValidate(context.Background(), task, backend, at, problem.CrossValidation{Folds: 7, Seed: 5})
	if err != nil || float64(again.NLPD) != float64(got.NLPD) {
		t.Errorf("again %v, %v", float64(again.NLPD), err)
	}
	other, err := CrossValidate(context.Background(), task, backend, at, problem.CrossValidation{Folds: 7, Seed: 6})
	if err != nil || float64(other.NLPD) == float64(got.NLPD) {
		t.Errorf("another seed: %v, %v", float64(other.NLPD), err)
	}
}

// TestCrossValidateRefit checks that every fold has the parameters of a fit to the
// other rows and that the task keeps its start values.
func TestCrossValidateRefit(t *testing.T) {
	d := synthetic(80)
	task := mustPrepare(t, d, problem.Options{})
	start := task.Params.Start()
	var folds []int
	got := must.Get(CrossValidate(context.Background(), task, backend, nil, problem.CrossValidation{Folds: 4, Refit: true, OnFold: func(k, _ int) { folds = append(folds, k) }}))(t)
	if !slices.Equal(task.Params.Start(), start) || !slices.Equal(folds, []int{0, 1, 2, 3}) {
		t.Errorf("start values %v, before %v; folds %v", task.Params.Start(), start, folds)
	}
	for k, held := range must.Get(task.Sample.Divide(problem.CrossValidation{Folds: 4}, false))(t) {
		f := got.Folds[k]
		p := f.Parameters
		want, _ := bruteFold(task, held, p["lengthscale"], p["signal_variance"], p["noise_variance"], 0)
		if math.Abs(float64(f.NLPD)-want/20) > 1e-8 {
			t.Errorf("fold %d: NLPD %v, at its parameters %v", k, float64(f.NLPD), want/20)
		}
		// The same rows as a separate table, on the same scale.
		sub := problem.Data{X: nil, D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y"}
		s := task.Sample.Without(held)
		for i := range s.Targets {
			sub.X = append(sub.X, s.Points.Column(0)[i], s.Points.Column(1)[i])
		}
		sub.Y, sub.N = s.Targets, len(s.Targets)
		r := mustFit(t, sub, problem.Options{Standardize: gp.StandardizeNone}).Report
		if math.Abs(r.Parameters["lengthscale"]/p["lengthscale"]-1) > 1e-3 {
			t.Errorf("fold %d: lengthscale %v, fitted alone %v", k, p["lengthscale"], r.Parameters["lengthscale"])
		}
	}
}

// TestCrossValidateWarnings checks that a jitter in a fold is reported.
func TestCrossValidateWarnings(t *testing.T) {
	d := synthetic(30)
	copy(d.X[3:], d.X[:45]) // rows repeat
	o := problem.Options{MaxJitter: 1, Set: []problem.Assignment{{Name: "noise_variance", Value: 1e-30, Given: true}, {Name: "lengthscale", Value: 50, Given: true}}}
	s, err := CrossValidate(context.Background(), mustPrepare(t, d, o), backend, nil, problem.CrossValidation{Folds: 3})
	if err != nil || len(s.Warnings) != 3 || !strings.HasPrefix(s.Warnings[0], "fold 1 of the cross-validation: a jitter of") {
		t.Errorf("%v, %v", s, err)
	}
}

func TestCrossValidateErrors(t *testing.T) {
	task := mustPrepare(t, synthetic(20), problem.Options{})
	for _, folds := range []int{-1, 1, 21} {
		var oe *problem.OptionError
		if _, err := CrossValidate(context.Background(), task, backend, nil, problem.CrossValidation{Folds: folds}); !errors.As(err, &oe) {
			t.Errorf("%d folds: %v", folds, err)
		}
	}
	if _, err := CrossValidate(context.Background(), task, backend, map[string]float64{"lengthscale": 1}, problem.CrossValidation{}); err == nil {
		t.Error("missing parameters accepted")
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := CrossValidate(ctx, task, backend, nil, problem.CrossValidation{OnFold: func(k, _ int) {
		if k == 3 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// With as many folds as rows, cross-validation is leave-one-out.
	if s, err := CrossValidate(context.Background(), task, backend, nil, problem.CrossValidation{Folds: 20}); err != nil || len(s.Folds) != 20 {
		t.Errorf("%v", err)
	}
}

// TestCrossValidateTargets checks that every target has the scores of a fit to it
// alone, with a mean by least squares and noise groups, too. The totals are means.
func TestCrossValidateTargets(t *testing.T) {
	d := twoTargets(60)
	d.NoiseGroupColumn = "lab"
	for i := range d.N {
		d.NoiseGroup = append(d.NoiseGroup, []string{"a", "b"}[i%2])
	}
	o := problem.Options{Kernel: "rbf(ard)", Mean: "linear"}
	cv := problem.CrossValidation{Folds: 4, Seed: 3}
	task := mustPrepare(t, d, o)
	at := map[string]float64{}
	for i, name := range task.FreeNames() {
		at[name] = 0.1 + 0.2*float64(i)
	}
	got := must.Get(CrossValidate(context.Background(), task, backend, at, cv))(t)
	nlpd, standardized, squares := 0.0, 0.0, 0.0
	for i, name := range d.TargetNames {
		one := d
		one.TargetNames, one.TargetName, one.Y = nil, name, d.Y[i*d.N:(i+1)*d.N]
		want := must.Get(CrossValidate(context.Background(), mustPrepare(t, one, o), backend, at, cv))(t)
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
