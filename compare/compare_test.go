package compare

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
	"gpfit/internal/testcheck"
	"gpfit/internal/textform"
)

var backend, _ = cpu.New(device.Options{})

// tol is far above the rounding of sums of a few numbers, and far below any mistake.
const tol = 1e-12

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= tol*max(1, math.Abs(want))) {
		t.Errorf("%s: got %v, want %.17g", what, textform.Optional(got, "%.17g"), want)
	}
}

// fixed is a method that predicts a·x₀ + b, with a variance unless it is 0. before, if not
// nil, is called with the number of training rows before each fit.
type fixed struct {
	a, b, variance float64
	before         func(rows int) error
}

func (f fixed) Fit(x mat.Matrix, _ []float64) (baseline.Model, error) {
	n, _ := x.Dims()
	if f.before != nil {
		if err := f.before(n); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f fixed) Predict(x mat.Matrix) (baseline.Prediction, error) {
	var p baseline.Prediction
	n, _ := x.Dims()
	for i := range n {
		p.Mean = append(p.Mean, f.a*x.At(i, 0)+f.b)
		if f.variance > 0 {
			p.Variance = append(p.Variance, f.variance)
		}
	}
	return p, nil
}

// only compares own methods.
func only(own ...NamedMethod) Options { return Options{Methods: []string{}, Own: own} }

// asIs leaves the numbers of a table as they are.
var asIs = problem.Options{Kernel: "rbf", Mean: "zero", Standardize: gp.StandardizeNone}

// waves is a table of n rows with a nonlinear target.
func waves(n int) problem.Data {
	r := rand.New(rand.NewPCG(3, 4))
	d := problem.Data{N: n, D: 2}
	for range n {
		a, b := 6*r.Float64(), r.NormFloat64()
		d.X = append(d.X, a, b)
		d.Y = append(d.Y, math.Sin(a)+0.3*b+0.1*r.NormFloat64())
	}
	return d
}

// TestScores compares scores with numbers worked out by hand: the held-out targets are 4, 7
// and 1, the predictions 3, 4 and 5 with variance 4.
func TestScores(t *testing.T) {
	data := problem.Data{
		X: []float64{0, 1, 2, 3, 4, 5}, Y: []float64{1, 2, 3, 4, 7, 1}, N: 6, D: 1,
		Test: []bool{false, false, false, true, true, true},
	}
	r := testcheck.Get(Run(t.Context(), data, asIs, only(NamedMethod{"line", fixed{a: 1, variance: 4}}, NamedMethod{"far", fixed{a: 1, b: 2, variance: 4}})))(t)
	line, far := r.Methods[0], r.Methods[1]
	if line.Method != "line" || far.Method != "far" || line.Rank != 1 || far.Rank != 2 {
		t.Fatalf("the order is %s %d, %s %d", line.Method, line.Rank, far.Method, far.Rank)
	}
	near(t, "RMSE", line.RMSE, math.Sqrt((1+9+16)/3.0))
	near(t, "NLPD", line.NLPD, 0.5*math.Log(2*math.Pi*4)+(1+9+16)/(3.0*8))
	near(t, "coverage", line.Coverage95, 2/3.0) // 4 > 1.96·2
	scale := math.Sqrt(2 / 3.0)                 // of the training targets 1, 2, 3
	near(t, "standardized RMSE", line.RMSEStandardized, math.Sqrt((1+9+16)/3.0)/scale)
	near(t, "standardized NLPD", line.NLPDStandardized, *line.NLPD-math.Log(scale))
	if line.Difference != nil {
		t.Error("the best method has a difference from itself")
	}
	// far predicts 5, 6, 7: squared errors 1, 1, 36.
	near(t, "difference", &far.Difference.Value, math.Sqrt(38/3.0)-math.Sqrt(26/3.0))
	if d := far.Difference; d.Better != 1 || d.Worse != 1 || d.Equal != 1 {
		t.Errorf("far is better in %d, worse in %d, equal in %d rows", d.Better, d.Worse, d.Equal)
	}
}

// TestProcess compares the scores of the Gaussian process with the scores of the same fit.
func TestProcess(t *testing.T) {
	data := waves(60)
	o := problem.Options{Mean: "zero", Kernel: "matern52", ARD: true, HoldOut: 0.25, Settings: hyperopt.Settings{Seed: 5}}
	job := testcheck.Get(fit.Prepare(data, o, problem.Events{}))(t)
	out := testcheck.Get(fit.Run(t.Context(), job, backend))(t)
	defer out.Close()
	r := testcheck.Get(Run(t.Context(), data, o, Options{}, backend))(t)
	i := slices.IndexFunc(r.Methods, func(e Ranked) bool { return e.Method == "gp matern52(ard)" })
	if i < 0 || len(r.Methods) != len(Methods()) {
		t.Fatalf("the methods are %v", r.Methods)
	}
	e, want := r.Methods[i], out.Report.Test
	near(t, "RMSE", e.RMSE, want.RMSE)
	near(t, "NLPD", e.NLPD, float64(want.NLPD))
	near(t, "coverage", e.Coverage95, want.Coverage95)
	near(t, "standardized RMSE", e.RMSEStandardized, want.RMSEStandardized)
	for _, trial := range r.Trials {
		switch {
		case trial.Method == e.Method:
			if !maps.Equal(trial.Parameters, out.Report.Parameters) {
				t.Errorf("the parameters are %v, those of the fit %v", trial.Parameters, out.Report.Parameters)
			}
		case len(trial.Parameters) == 0 && trial.Method != "mean":
			t.Errorf("%s has no parameters", trial.Method)
		}
	}
	if e.Rank != 1 {
		t.Errorf("the Gaussian process has rank %d on waves", e.Rank)
	}
	if last := r.Methods[len(r.Methods)-1]; last.Method != "mean" {
		t.Errorf("%s is worse than the mean", last.Method)
	}
}

// TestRanking tests the order by both scores, with methods that have no density or fail.
func TestRanking(t *testing.T) {
	data := problem.Data{N: 20, D: 1}
	for i := range data.N {
		data.X, data.Y = append(data.X, float64(i)), append(data.Y, float64(i)+0.5*math.Cos(float64(i)))
	}
	o := only(
		NamedMethod{"fails", fixed{before: func(int) error { return errors.New("no\nsolution") }}},
		NamedMethod{"sharp", fixed{a: 1, variance: 0.001}},
		NamedMethod{"off", fixed{a: 1, b: 2, variance: 1}},
		NamedMethod{"plain", fixed{a: 1, b: 0.5}},
		NamedMethod{"honest", fixed{a: 1, b: 1, variance: 1}},
	)
	o.Folds = 4
	for by, want := range map[RankBy]string{
		ByRMSE: "sharp plain honest off fails",
		ByNLPD: "honest off sharp plain fails",
	} {
		o.RankBy = by
		r := testcheck.Get(Run(t.Context(), data, asIs, o))(t)
		var got []string
		for i, e := range r.Methods {
			got = append(got, e.Method)
			if want := map[bool]int{true: i + 1}[e.Status == Done]; e.Rank != want {
				t.Errorf("%s: %s has rank %d, want %d", by, e.Method, e.Rank, want)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: the order is %v, want %s", by, got, want)
		}
		last := r.Methods[4]
		if last.Status != Failed || last.Error != "no\nsolution" || last.RMSE != nil {
			t.Errorf("%s: the failed method is %+v", by, last)
		}
		testcheck.Words(t, r.Text(), "\nfailed\n  fails: no\n", "ranked by "+strings.ToUpper(string(by)), "4 folds, seed 0", "20 rows, 1 column")
		if by == ByNLPD && r.Methods[3].Difference != nil {
			t.Error("a method without density has a difference of NLPDs")
		}
	}
	_, err := Run(t.Context(), data, asIs, only(o.Own[0]))
	testcheck.Fail[error](t, err, "fails: no")
}

// TestSizes checks that subsets are nested, random, and have no rows to predict.
func TestSizes(t *testing.T) {
	data := waves(50)
	o, held := Options{Sizes: []int{20, 5, 20, 400, 10}}, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 0.2, Settings: hyperopt.Settings{Seed: 2}}
	r := testcheck.Get(newRunner(data, held, o, []device.Backend{backend}))(t)
	if !slices.Equal(r.sizes, []int{5, 10, 20}) {
		t.Errorf("the sizes are %v", r.sizes)
	}
	if len(r.warnings) != 1 || !strings.Contains(r.warnings[0], "400 rows are left out") {
		t.Errorf("the warnings are %q", r.warnings)
	}
	smaller := map[int]bool{}
	for i, m := range append(r.sizes, 0) {
		part := r.folds[0].part(data, m)
		train := map[int]bool{}
		for k, row := range part.Row {
			if !part.Test[k] {
				train[row] = true
			} else if !slices.Contains(r.folds[0].test, row) {
				t.Errorf("%d rows: row %d is to be predicted", m, row)
			}
		}
		if want := append(r.sizes, 40)[i]; len(train) != want || part.N != want+10 {
			t.Errorf("%d rows to train on of %d, want %d", len(train), part.N, want)
		}
		for row := range smaller {
			if !train[row] {
				t.Errorf("row %d is in a smaller subset than %d, and not in this", row, m)
			}
		}
		smaller = train
	}
	if first := r.folds[0].order[:5]; slices.IsSorted(first) {
		t.Errorf("the subset %v is not random", first)
	}
	var steps []Step
	o.Methods, o.OnStep = []string{"mean", "ridge"}, func(s Step) { steps = append(steps, s) }
	result := testcheck.Get(Run(t.Context(), data, held, o))(t)
	var rows []int
	for _, g := range result.Sizes {
		rows = append(rows, g.Train)
	}
	if !slices.Equal(rows, []int{5, 10, 20, 40}) || len(result.Trials) != 8 || len(steps) != 8 {
		t.Errorf("sizes %v, %d fits, %d steps", rows, len(result.Trials), len(steps))
	}
	if s := steps[7]; s.Done != 7 || s.Total != 8 || s.Rows != 20 || s.Left == 0 {
		t.Errorf("the last step is %+v", s)
	}
	testcheck.Words(t, result.Text(), "RMSE by the number of training rows")
}

// TestFolds checks that groups stay together and that blocks are consecutive.
func TestFolds(t *testing.T) {
	data := waves(30)
	for i := range data.N {
		data.Group = append(data.Group, fmt.Sprint(i%7))
	}
	r := testcheck.Get(Run(t.Context(), data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"mean", "ridge"}, Folds: 3}))(t)
	if r.Split.Folds != 3 || r.Split.Group != "group" || *r.Methods[1].Difference.StdError <= 0 {
		t.Errorf("split %v, difference %+v", r.Split, r.Methods[1].Difference)
	}
	folds, _ := testcheck.Get2(newFolds(data, problem.Options{Kernel: "rbf", Mean: "zero"}, 3))(t)
	for _, f := range folds {
		for _, i := range f.test {
			for _, k := range f.train {
				if data.Group[i] == data.Group[k] {
					t.Fatalf("the group %s is on both sides", data.Group[i])
				}
			}
		}
	}
	data.Group = nil
	folds, split, err := newFolds(data, problem.Options{Kernel: "rbf", Mean: "zero", Blocks: true}, 4)
	if err != nil || split.Seed != nil {
		t.Fatal(err, split)
	}
	for _, f := range folds {
		if f.test[len(f.test)-1]-f.test[0] != len(f.test)-1 {
			t.Errorf("the fold %v is no block", f.test)
		}
	}
	// A hold-out of consecutive rows is their end.
	folds, _, err = newFolds(data, problem.Options{Kernel: "rbf", Mean: "zero", Blocks: true, HoldOut: 4}, 0)
	if err != nil || !slices.Equal(folds[0].test, []int{26, 27, 28, 29}) {
		t.Errorf("the hold-out is %v, %v", folds, err)
	}
}

// TestInterruption cancels a comparison in the third of five folds.
func TestInterruption(t *testing.T) {
	data := waves(40)
	run := func(after int) (*Result, error) {
		ctx, cancel := context.WithCancel(t.Context())
		fits := 0
		stop := func(int) error {
			if fits++; fits > after {
				cancel()
				<-ctx.Done()
			}
			return nil
		}
		o := only(NamedMethod{"a", fixed{a: 1}}, NamedMethod{"b", fixed{a: 2, before: stop}})
		o.Folds = 5
		return Run(ctx, data, asIs, o)
	}
	r, err := run(2)
	var cancelled *problem.CancelledError
	if !errors.As(err, &cancelled) || !errors.Is(err, context.Canceled) || r == nil {
		t.Fatalf("result %v, error %v", r, err)
	}
	if r.Stopped != "interrupted after 5 of 10 fits" || len(r.Trials) != 5 {
		t.Errorf("%q with %d fits", r.Stopped, len(r.Trials))
	}
	for _, e := range r.Methods {
		if e.Status != Done || e.Folds != 2 || e.Rows != 16 {
			t.Errorf("%s: %s, %d folds, %d rows", e.Method, e.Status, e.Folds, e.Rows)
		}
	}
	testcheck.Words(t, r.Text(), r.Stopped)
	r, err = run(0)
	if !errors.As(err, &cancelled) || r == nil || r.Methods[0].Method != "a" || r.Methods[1].Status != Unfinished || r.Methods[1].Rank != 0 {
		t.Errorf("interrupted in the first fold: %+v, %v", r, err)
	}
	if one, err := Run(t.Context(), problem.Data{X: []float64{0, 1, 2}, Y: []float64{0, 2, 1}, N: 3, D: 1}, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 1}, Options{Methods: []string{"mean", "ridge"}}); err != nil || !strings.Contains(one.Verdict, "too few rows or folds") {
		t.Errorf("one held-out row: %v, %v", one, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Run(ctx, data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"mean"}}); r != nil || !errors.As(err, &cancelled) {
		t.Errorf("cancelled before the first fit: %v, %v", r, err)
	}
}

// TestMistakes checks the errors before any fit.
func TestMistakes(t *testing.T) {
	data := waves(12)
	masked, both, targets, flat, gap := data, data, data, data, data
	masked.Test, both.Test = make([]bool, data.N), slices.Repeat([]bool{true, false}, 6)
	targets.TargetNames = []string{"a", "b"}
	flat.Y, gap.X = make([]float64, data.N), slices.Clone(data.X)
	gap.X[5] = math.NaN()
	process := []string{"gp"}
	for name, c := range map[string]struct {
		data problem.Data
		opts problem.Options
		o    Options
		want string
	}{
		"method":    {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"rigde"}}, `option methods "rigde": must be some of [mean ridge`},
		"twice":     {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"ridge", "ridge"}}, "option methods ridge: is given twice"},
		"none":      {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{}}, "names no method"},
		"kernel":    {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: process, Kernels: []string{"rbff"}}, `unknown kernel "rbff"`},
		"kernels":   {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: process, Kernels: []string{"rbf", "rbf"}}, "option kernel gp rbf: is given twice"},
		"parameter": {data, problem.Options{Kernel: "rbf", Mean: "zero", Set: []problem.Assignment{{Name: "length", Value: 1}}}, Options{Methods: process}, "length"},
		"score":     {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{RankBy: "mae"}, `option score "mae": must be rmse or nlpd`},
		"size":      {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"mean"}, Sizes: []int{0}}, "option sizes 0: must be numbers of rows, from 1"},
		"folds":     {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Folds: 13}, "13 folds of 12 rows"},
		"both":      {both, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Folds: 3}, "option folds 3: cannot be combined with held-out rows"},
		"mask":      {masked, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{}, "holds out no row"},
		"targets":   {targets, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{}, "compare each target separately"},
		"flat":      {flat, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"mean"}}, "is constant over the training rows"},
		"gap":       {gap, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"mean"}}, "is NaN, not a finite number"},
		"curves":    {data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: []string{"mean"}, Curves: true}, "curves run over one input, but the table has 2"},
		"objective": {data, problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV}, Options{Methods: process}, "cannot have folds in a comparison"},
		"hold-out":  {data, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 12}, Options{}, "nothing is left to train on"},
	} {
		r, err := Run(t.Context(), c.data, c.opts, c.o, backend)
		if testcheck.Fail[error](t, err, c.want); r != nil {
			t.Errorf("%s: a result beside an error", name)
		}
	}
	_, err := Run(t.Context(), data, problem.Options{Kernel: "rbf", Mean: "zero"}, Options{Methods: process})
	testcheck.Fail[error](t, err, "needs an open device")
}

// TestBadPredictions checks that predictions without a meaning are failures of their method.
func TestBadPredictions(t *testing.T) {
	data := waves(20)
	o := only(NamedMethod{"good", fixed{a: 1}}, NamedMethod{"nan", fixed{a: math.NaN()}}, NamedMethod{"huge", fixed{b: 1e200}}, NamedMethod{"short", short{}})
	r := testcheck.Get(Run(t.Context(), data, asIs, o))(t)
	for _, e := range r.Methods[1:] {
		if e.Status != Failed || e.Error == "" {
			t.Errorf("%s: %s %q", e.Method, e.Status, e.Error)
		}
	}
}

// short predicts too few rows.
type short struct{}

func (short) Fit(mat.Matrix, []float64) (baseline.Model, error) { return short{}, nil }

func (short) Predict(mat.Matrix) (baseline.Prediction, error) {
	return baseline.Prediction{Mean: []float64{1}}, nil
}

// TestMatrices checks that a method whose matrices do not fit says so before it allocates.
func TestMatrices(t *testing.T) {
	testcheck.Do(t, checkMatrix(1000, 8_000_000), checkMatrix(1000, 0)) // 0: the free memory is unknown
	testcheck.Fail[error](t, checkMatrix(1001, 8_000_000), "a matrix of 1001 × 1001 takes ", "option subsample")
}

// TestCurves compares curves with the method that draws them.
func TestCurves(t *testing.T) {
	data := problem.Data{N: 20, D: 1}
	for i := range data.N {
		data.X, data.Y = append(data.X, float64(i)), append(data.Y, math.Sin(float64(i)))
	}
	o := only(NamedMethod{"line", fixed{a: 0.5, variance: 4}}, NamedMethod{"plain", fixed{a: 0.1}}, NamedMethod{"none", short{}})
	o.Curves = true
	opts := asIs
	opts.HoldOut = 0.2
	r := testcheck.Get(Run(t.Context(), data, opts, o))(t)
	c := r.Curves
	if len(c.Curves) != 2 || len(c.TrainX) != 16 || len(c.TestY) != 4 {
		t.Fatalf("%d curves, %d and %d rows", len(c.Curves), len(c.TrainX), len(c.TestY))
	}
	line := c.Curves[0]
	if line.Method != "line" || c.Curves[1].Lower != nil {
		t.Errorf("the curves are %+v", c.Curves)
	}
	for i, x := range c.X {
		near(t, "mean", &line.Mean[i], 0.5*x)
		near(t, "lower", &line.Lower[i], 0.5*x-2*score.Z95)
		near(t, "upper", &line.Upper[i], 0.5*x+2*score.Z95)
	}
	if first, last := c.X[0], c.X[len(c.X)-1]; first >= 0 || last <= 19 {
		t.Errorf("the curves run from %v to %v", first, last)
	}
	// With folds the fits are to all rows.
	o.Folds = 4
	r = testcheck.Get(Run(t.Context(), data, asIs, o))(t)
	if len(r.Curves.TrainX) != 20 || r.Curves.TestX != nil {
		t.Errorf("%d rows to train on, %d held out", len(r.Curves.TrainX), len(r.Curves.TestX))
	}
}

// TestTrainingErrors compares the training errors with predictions of the training rows by the models that the
// comparison hands over: of regressions, and of processes with a linear mean and with noise for each row.
func TestTrainingErrors(t *testing.T) {
	d := waves(40)
	d.Test = make([]bool, d.N)
	for i := range d.N {
		d.Test[i] = i%4 == 0
	}
	train := d.Rows(matrixrows.Marked(d.Test, d.N, false))
	for _, noisy := range []bool{false, true} {
		if noisy {
			for i := range d.N {
				d.NoiseVariance = append(d.NoiseVariance, 0.01+0.001*float64(i))
			}
			train = d.Rows(matrixrows.Marked(d.Test, d.N, false))
		}
		want := map[string]float64{}
		c := Options{Methods: []string{"mean", "ridge", "spline", "gp"}, Kernels: []string{"rbf", "matern32"}, OnModel: func(m *Fitted) error {
			var p *gp.Prediction
			var err error
			if m.Process != nil {
				p, err = m.Process.Posterior().Predict(t.Context(), train.X, train.N)
			} else {
				p, err = m.Regression.Predict(train.X, train.N)
			}
			sum := 0.0
			for i, y := range train.Y {
				sum += (y - p.Mean[i]) * (y - p.Mean[i]) / float64(train.N)
			}
			want[m.Method] = math.Sqrt(sum)
			return err
		}}
		r := testcheck.Get(Run(t.Context(), d, problem.Options{Mean: "linear"}, c, backend))(t)
		if len(want) != 5 {
			t.Errorf("models of %v", want)
		}
		for _, e := range r.Methods {
			testcheck.Within(t, *e.TrainingRMSE, want[e.Method], 1e-7, "training RMSE of %s, noise by row %v", e.Method, noisy)
		}
	}
}
