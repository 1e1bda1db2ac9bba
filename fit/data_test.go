package fit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
)

// synthetic makes n rows of three features in awkward units, the second
// constant, and a smooth target with noise of standard deviation 5.
func synthetic(n int) problem.Data {
	return drawn(12, 34, n, "mm const kelvin watt", func(_ int, uniform, normal random) []float64 {
		a, c := 1000*uniform(), 273+30*uniform()
		return []float64{a, 7, c, 500 + 80*math.Sin(a/150) + 3*(c-288) + 5*normal()}
	})
}

// random returns the next random number.
type random func() float64

// drawn returns n rows of the columns, of which the last one is the target. The function row
// makes them from random numbers, which the seeds determine.
func drawn(seed, stream uint64, n int, columns string, row func(i int, uniform, normal random) []float64) problem.Data {
	rng, names := rand.New(rand.NewPCG(seed, stream)), strings.Fields(columns)
	last := len(names) - 1
	d := problem.Data{N: n, D: last, FeatureNames: names[:last], TargetName: names[last]}
	for i := range n {
		cells := row(i, rng.Float64, rng.NormFloat64)
		d.X, d.Y = append(d.X, cells[:last]...), append(d.Y, cells[last])
	}
	return d
}

// smooth returns n rows of four features, the last of which has no effect.
func smooth(n int) problem.Data {
	return drawn(5, 6, n, "a b c d y", func(_ int, _, normal random) []float64 {
		a, b, c, d := 3*normal(), 3*normal(), 3*normal(), 3*normal()
		return []float64{a, b, c, d, math.Sin(a) + 0.5*b + 0.3*math.Cos(b*c/4) + 0.1*normal()}
	})
}

// twoOptima returns a target with a smooth and a rough explanation: a slow wave with
// a fast ripple, in few points.
func twoOptima(n int) problem.Data {
	return drawn(1, 9, n, "x y", func(i int, _, normal random) []float64 {
		x := float64(i) / float64(n)
		return []float64{x, math.Sin(6*x) + 0.5*math.Sin(40*x) + 0.05*normal()}
	})
}

// trend is a line with a smooth wiggle of small amplitude and noise.
func trend(n int) problem.Data {
	return drawn(3, 4, n, "x y", func(i int, _, normal random) []float64 {
		x := 10 * float64(i) / float64(n)
		return []float64{x, 5*x + 3*math.Sin(3*x) + 0.3*normal()}
	})
}

// white returns n targets of noise alone.
func white(n int) problem.Data {
	return drawn(6, 6, n, "x y", func(_ int, uniform, normal random) []float64 { return []float64{uniform(), 3 * normal()} })
}

// idle returns a table of n rows whose target depends only on the first column.
func idle(n, columns int) problem.Data {
	var names []string
	for c := range columns {
		names = append(names, fmt.Sprintf("c%d", c))
	}
	return drawn(4, 4, n, strings.Join(names, " ")+" y", func(_ int, uniform, normal random) []float64 {
		x := 4 * uniform()
		cells := []float64{x}
		for range columns - 1 {
			cells = append(cells, normal())
		}
		return append(cells, math.Sin(3*x)+0.1*normal())
	})
}

// nameless is a table of three columns, the second one constant, without names.
func nameless(n int) problem.Data {
	d := problem.Data{N: n, D: 3}
	for i := range n {
		x := float64(i) / 5
		d.X, d.Y = append(d.X, x, 7, math.Cos(x)), append(d.Y, math.Sin(x)+0.1*math.Cos(37*x))
	}
	return d
}

// TestNamesByDefault checks that data without names can be fitted, predicted for,
// saved and loaded, including a constant column.
func TestNamesByDefault(t *testing.T) {
	data := nameless(30)
	data.NoiseGroup = slices.Repeat([]string{"a", "b"}, 15)
	o := mustFit(t, data, problem.Options{Mean: "zero", Kernel: "rbf(ard) + linear(dims=2)", Settings: hyperopt.Settings{MaxEvaluations: 5}})
	if r := o.Report; r.Parameters["k1.lengthscale[2]"] == 0 || r.Kernel != "rbf(ard) + linear(dims=2)" || r.Columns["k1.lengthscale[2]"].Column != "x2" {
		t.Errorf("kernel %s, parameters %v, columns %v", r.Kernel, r.Parameters, r.Columns)
	}
	testcheck.Words(t, strings.Join(o.Report.Warnings, "\n"), `column "x1" is constant`)
	row := gp.RowNoise{Group: []string{"b"}}
	want := testcheck.Get(o.posterior.PredictNoise(t.Context(), []float64{1, 7, 0.5}, 1, row))(t)
	m := testcheck.Get(gp.Load(saved(t, o, false)))(t)
	if !slices.Equal(m.FeatureNames, []string{"x0", "x1", "x2"}) || m.TargetName != "y" || m.Noise.GroupColumn != "noise_group" {
		t.Errorf("features %q, target %q, noise groups %q", m.FeatureNames, m.TargetName, m.Noise.GroupColumn)
	}
	p := testcheck.Get(m.Condition(t.Context(), backend))(t)
	got, err := p.PredictNoise(t.Context(), []float64{1, 7, 0.5}, 1, row)
	if err != nil || got.Mean[0] != want.Mean[0] || got.Std[0] != want.Std[0] {
		t.Errorf("%v ± %v after loading, want %v ± %v (%v)", got.Mean, got.Std, want.Mean, want.Std, err)
	}
}

// TestShapes checks that parts that do not match N and D are errors before any work.
func TestShapes(t *testing.T) {
	for want, damage := range map[string]func(*problem.Data){
		"89 input values for 30 rows of 3 features":              func(d *problem.Data) { d.X = d.X[1:] },
		"90 input values for 30 rows of 0 features":              func(d *problem.Data) { d.D = 0 },
		"29 target values for 30 rows":                           func(d *problem.Data) { d.Y = d.Y[1:] },
		"2 feature names for 3 features":                         func(d *problem.Data) { d.FeatureNames = []string{"a", "b"} },
		`the feature "x1" of row 2 (from 0) is NaN`:              func(d *problem.Data) { d.X[7] = math.NaN() },
		"the target of row 5 (from 0) is -Inf":                   func(d *problem.Data) { d.Y[5] = math.Inf(-1) },
		"the split mask has 2 rows, but the table has 30":        func(d *problem.Data) { d.Test = make([]bool, 2) },
		"the list of row numbers has 1 rows":                     func(d *problem.Data) { d.Row = make([]int, 1) },
		"the list of noise variances has 31 rows, but the table": func(d *problem.Data) { d.NoiseVariance = make([]float64, 31) },
		"at least 2 training rows; this table has 1":             func(d *problem.Data) { d.N, d.X, d.Y = 1, d.X[:3], d.Y[:1] },
		"the split mask holds out every row":                     func(d *problem.Data) { d.Test = slices.Repeat([]bool{true}, 30) },
		"every feature column is constant":                       func(d *problem.Data) { d.X = slices.Repeat([]float64{3}, 90) },
	} {
		d := nameless(30)
		damage(&d)
		_, err := Prepare(d, problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{})
		testcheck.Fail[*problem.DataError](t, err, want)
	}
}

// splitData is a table whose columns tell the rows apart.
func splitData() problem.Data {
	d := problem.Data{N: 6, D: 2, FeatureNames: []string{"a", "b"}}
	for i := range d.N {
		v := float64(i)
		d.X, d.Y = append(d.X, v, 7), append(d.Y, v*v)
		d.Group = append(d.Group, string(rune('p'+i/2)))
		d.NoiseVariance, d.Test = append(d.NoiseVariance, v/10), append(d.Test, i == 4)
	}
	return d
}

func TestDataRows(t *testing.T) {
	got := splitData().Rows([]int{5, 1, 4})
	if got.N != 3 || !slices.Equal(got.X, []float64{5, 7, 1, 7, 4, 7}) || !slices.Equal(got.Y, []float64{25, 1, 16}) ||
		!slices.Equal(got.Group, []string{"r", "p", "r"}) || !slices.Equal(got.NoiseVariance, []float64{0.5, 0.1, 0.4}) ||
		!slices.Equal(got.Test, []bool{false, false, true}) || !slices.Equal(got.Row, []int{5, 1, 4}) {
		t.Errorf("the rows are %+v", got)
	}
	if again := got.Rows([]int{2, 0}); !slices.Equal(again.Row, []int{4, 5}) {
		t.Errorf("the numbers of rows of rows are %v", again.Row)
	}
}

func TestScaledRows(t *testing.T) {
	r := testcheck.Get(splitData().Scaled(gp.StandardizeXY))(t)
	// Column b is constant. The training rows are 0, 1, 2, 3 and 5, with mean 2.2.
	if r.N != 5 || r.D != 1 || !slices.Equal(r.Columns, []int{0}) || len(r.Warnings) != 1 {
		t.Fatalf("%d rows of %v, warnings %q", r.N, r.Columns, r.Warnings)
	}
	scale := math.Sqrt((2.2*2.2 + 1.2*1.2 + 0.2*0.2 + 0.8*0.8 + 2.8*2.8) / 5)
	in := r.Inputs([]float64{4, 7, 2.2, -1})
	if len(in) != 2 || math.Abs(in[0]-1.8/scale) > 1e-14 || math.Abs(in[1]) > 1e-14 {
		t.Errorf("the inputs are %v", in)
	}
	if math.Abs(r.X[0]+2.2/scale) > 1e-14 || math.Abs(r.Y[4]*r.Scaling.YScale+r.Scaling.YMean-25) > 1e-13 {
		t.Errorf("x %v, y %v", r.X, r.Y)
	}
	flat := splitData()
	flat.Y = make([]float64, flat.N)
	_, err := flat.Scaled(gp.StandardizeXY)
	testcheck.Fail[*problem.DataError](t, err)
}

// TestDataFolds compares the folds of data with the folds of a job.
func TestDataFolds(t *testing.T) {
	d := splitData()
	d.Test = nil
	folds := testcheck.Get(d.Folds(problem.CrossValidation{Folds: 3, Seed: 4}, false))(t)
	job := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"})
	want, err := job.Sample.Divide(problem.CrossValidation{Folds: 3, Seed: 4}, false)
	if err != nil || !slices.EqualFunc(folds, want, slices.Equal[[]int]) {
		t.Errorf("the folds are %v, those of a job %v (%v)", folds, want, err)
	}
	_, err = d.Folds(problem.CrossValidation{Folds: 3}, true) // blocks and groups
	testcheck.Fail[*problem.OptionError](t, err)
	_, err = d.WithHoldOut(problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: -1})
	testcheck.Fail[*problem.OptionError](t, err)
	held, err := d.WithHoldOut(problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 1})
	if count := len(slices.DeleteFunc(slices.Clone(held.Test), func(out bool) bool { return !out })); err != nil || count != 2 {
		t.Errorf("a hold-out of one group has %d rows, %v", count, err)
	}
}

// TestWildScales checks that columns at the limits of double precision are errors
// with advice before any work, and that columns near these limits are fitted.
func TestWildScales(t *testing.T) {
	for want, scale := range map[string][3]float64{
		`column "a" has the value`:               {1e160, 1, 1},
		`column "b" has a standard deviation of`: {1, 1e-160, 1},
		`target "y" has the value`:               {1, 1, 1e160},
		`target "y" has a standard deviation of`: {1, 1, 1e-300},
		"":                                       {1e140, 1e-140, 1e-140},
	} {
		data := drawn(1, 1, 6, "a b y", func(i int, _, _ random) []float64 {
			v := float64(i)
			return []float64{scale[0] * v, scale[1] * math.Sin(3*v), scale[2] * math.Cos(v)}
		})
		_, err := Prepare(data, problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{})
		var de *problem.DataError
		if want == "" && err != nil || want != "" && (!errors.As(err, &de) || !strings.Contains(err.Error(), want)) {
			t.Errorf("scales %v: error %v, want %q", scale, err, want)
		}
	}
}

// TestCheckFinite checks that a number in a report that is not finite is an error that names it.
func TestCheckFinite(t *testing.T) {
	for want, r := range map[string]summary.Report{
		"nlml is not":                    {NLML: math.NaN()},
		"parameters lengthscale is not":  {Parameters: map[string]float64{"lengthscale": math.Inf(1)}},
		"starts objective is not":        {Starts: []summary.StartReport{{Objective: new(0.0)}, {Objective: new(math.Inf(-1))}}},
		"test rmse is not":               {Test: &summary.TestScores{RMSE: math.NaN()}},
		"std_errors interval95 x is not": {StdErrors: &summary.StdErrors{Interval95: map[string][2]float64{"x": {0, math.NaN()}}}},
		"":                               {Test: &summary.TestScores{NLPD: summary.Number(math.Inf(1))}},
	} {
		err := r.CheckFinite()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// heldRows returns the rows that a job holds out.
func heldRows(t *testing.T, d problem.Data, o problem.Options) []int {
	t.Helper()
	job := mustPrepare(t, d, o)
	var rows []int
	for i, out := range job.Sample.Data.Test {
		if out {
			rows = append(rows, i)
		}
	}
	if !slices.Equal(rows, job.Held.Rows) {
		t.Errorf("the job holds out %v and describes %v", rows, job.Held.Rows)
	}
	return rows
}

func TestHoldOut(t *testing.T) {
	d := synthetic(50)
	seeded := func(h float64, seed uint64) problem.Options {
		return problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: h, Settings: hyperopt.Settings{Seed: seed}}
	}
	tenth := heldRows(t, d, seeded(0.1, 1))
	if len(tenth) != 5 || !slices.Equal(tenth, heldRows(t, d, seeded(5, 1))) || slices.Equal(tenth, heldRows(t, d, seeded(5, 2))) {
		t.Errorf("a tenth: %v; 5 rows: %v; another seed: %v", tenth, heldRows(t, d, seeded(5, 1)), heldRows(t, d, seeded(5, 2)))
	}
	if got := heldRows(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 0.06, Blocks: true}); !slices.Equal(got, []int{47, 48, 49}) {
		t.Errorf("the last rows: %v", got)
	}
	if got := heldRows(t, d, seeded(1e-9, 1)); len(got) != 1 {
		t.Errorf("a tiny share: %v", got)
	}
	// Every row is as likely as any other.
	counts := make([]int, 50)
	for seed := range uint64(400) {
		for _, i := range heldRows(t, d, seeded(10, seed)) {
			counts[i]++
		}
	}
	for i, c := range counts {
		// The standard deviation is √(400·0.2·0.8) = 8; no row is five of them away.
		if math.Abs(float64(c)-80) > 40 {
			t.Errorf("row %d was held out %d times of 400", i, c)
		}
	}
}

// TestHoldOutScores checks that a hold-out has the scores of the mask that it stands
// for, that report and model describe it, and that the same rows come from a file again.
func TestHoldOutScores(t *testing.T) {
	d := synthetic(60)
	for i := range d.N { // the rows of a larger table
		d.Row = append(d.Row, 3*i)
	}
	out := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 0.25, Settings: hyperopt.Settings{Seed: 7}})
	masked := d
	masked.Test = make([]bool, d.N)
	for _, row := range out.Model.HeldOut.Rows {
		masked.Test[row/3] = true
	}
	want := mustFit(t, masked, problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Seed: 7}})
	if out.Report.Test == nil || !reflect.DeepEqual(out.Report.Test, want.Report.Test) || out.Report.NLML != want.Report.NLML || out.Report.Test.N != 15 {
		t.Errorf("scores %+v, with a mask %+v", out.Report.Test, want.Report.Test)
	}
	if want.Report.HeldOut != nil || want.Model.HeldOut != nil {
		t.Errorf("a mask is not a drawn hold-out: %+v", want.Report.HeldOut)
	}
	m, err := gp.Load(saved(t, out, false))
	if err != nil || !reflect.DeepEqual(m.HeldOut, out.Report.HeldOut) || m.HeldOut.Seed != 7 || m.HeldOut.Of != 0.25 {
		t.Errorf("held out %+v, in the model %+v, %v", out.Report.HeldOut, m.HeldOut, err)
	}
}

// grouped returns a table with the labels of sites of different sizes.
func grouped(n int) problem.Data {
	d := synthetic(n)
	d.GroupColumn = "site"
	for i := range n {
		d.Group = append(d.Group, fmt.Sprint("s", i*i%13))
	}
	return d
}

// torn returns a label whose rows are not all in or all out of the rows, or "".
func torn(d problem.Data, rows []int) string {
	in := map[string]bool{}
	for _, i := range rows {
		in[d.Group[i]] = true
	}
	for i, label := range d.Group {
		if in[label] && !slices.Contains(rows, i) {
			return label
		}
	}
	return ""
}

func TestHoldOutGroups(t *testing.T) {
	d := grouped(70) // 7 sites
	for _, h := range []float64{0.3, 2} {
		rows := heldRows(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: h})
		labels := map[string]bool{}
		for _, i := range rows {
			labels[d.Group[i]] = true
		}
		if torn(d, rows) != "" || len(labels) != 2 {
			t.Errorf("%v: sites %v, torn %q", h, labels, torn(d, rows))
		}
	}
}

func TestFolds(t *testing.T) {
	d := grouped(70)
	d.Test = make([]bool, 70) // other rows are held out of everything
	for i, label := range d.Group {
		d.Test[i] = label == "s4"
	}
	job := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"})
	for seed := range uint64(5) {
		folds := testcheck.Get(job.Sample.Divide(problem.CrossValidation{Folds: 4, Seed: seed}, false))(t)
		var all, sizes []int
		for _, f := range folds {
			if label := torn(d, matrixrows.Values(job.Sample.Rows, f)); label != "" {
				t.Errorf("seed %d tears the site %s", seed, label)
			}
			all, sizes = append(all, f...), append(sizes, len(f))
		}
		slices.Sort(all)
		if len(all) != job.N() || len(slices.Compact(all)) != job.N() || slices.Max(sizes)-slices.Min(sizes) > 11 {
			t.Errorf("seed %d: folds of %v rows", seed, sizes)
		}
	}
	if cv, err := CrossValidate(t.Context(), job, backend, nil, problem.CrossValidation{}); err != nil || len(cv.Folds) != 6 || cv.Group != "site" {
		t.Errorf("by default %+v, %v", cv, err)
	}
	d = synthetic(11)
	folds, err := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Blocks: true}).Sample.Divide(problem.CrossValidation{Folds: 3}, true)
	if err != nil || !reflect.DeepEqual(folds, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}}) {
		t.Errorf("blocks %v, %v", folds, err)
	}
}

func TestHoldOutErrors(t *testing.T) {
	d, masked := synthetic(30), synthetic(30)
	masked.Test = make([]bool, 30)
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 1.5}, "option holdout 1.5: must be a share of the rows, less than 1, or a whole number of rows")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: math.NaN()}, "option holdout NaN")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: -1}, "option holdout -1")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 30}, "holds out all of the 30 rows")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 29}, "option holdout 29: leaves 1 of the 30 rows, but a fit needs at least 2 training rows")
	wantOption(t, masked, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 3}, "cannot be combined with a split mask")
	wantOption(t, grouped(30), problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 3, Blocks: true}, "option blocks")
	wantOption(t, grouped(30), problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 7}, "holds out all of the 7 groups")
	short := grouped(30)
	short.Group = short.Group[1:]
	if _, err := Prepare(short, problem.Options{Kernel: "rbf", Mean: "zero", HoldOut: 3}, problem.Events{}); err == nil || err.Error() != "the list of groups has 29 rows, but the table has 30" {
		t.Errorf("too few labels: %v", err)
	}
	_, err := mustPrepare(t, grouped(30), problem.Options{Kernel: "rbf", Mean: "zero"}).Sample.Divide(problem.CrossValidation{Folds: 8}, false)
	testcheck.Fail[error](t, err) // 7 groups
}
