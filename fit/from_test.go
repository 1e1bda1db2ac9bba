package fit

import (
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
)

// firstRowsOf returns the first n rows of a table.
func firstRowsOf(d problem.Data, n int) problem.Data {
	d.X, d.Y, d.N = d.X[:n*d.D], d.Y[:n], n
	return d
}

// modelOf returns the model of a fit with its record, as a file has it.
func modelOf(t *testing.T, o *Outcome) *gp.Model {
	t.Helper()
	testcheck.Do(t, o.record())
	return o.Model
}

// saved writes the model of a fit and returns the path of the file.
func saved(t *testing.T, o *Outcome, withFactor bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gpfit")
	testcheck.Do(t, o.SaveModel(path, withFactor))
	return path
}

// TestFrom checks that a fit from a model takes what describes it, starts at its
// parameters in the units of the new table, and ends where a fit from scratch does.
func TestFrom(t *testing.T) {
	all := synthetic(240)
	o := problem.Options{Kernel: "rbf(ard, dims=[mm, kelvin]) + matern12(dims=kelvin)", Mean: "linear(dims=mm)", StdErrors: true,
		Ties:   []problem.Tie{{Name: "k2.lengthscale", Source: "k1.lengthscale[kelvin]"}},
		Priors: []problem.ParameterPrior{{Name: "noise_variance", Density: density(t, "lognormal(-4, 2)")}, {Name: "k2.signal_variance", Density: density(t, "lognormal(-2, 1)")}}}
	first := mustFit(t, firstRowsOf(all, 200), o)
	if e := first.Report.StdErrors; e.Failure != "" {
		t.Fatal(e.Failure)
	}
	m := modelOf(t, first)
	warm := mustPrepare(t, all, problem.Options{From: m})
	cold := mustPrepare(t, all, problem.Options{Kernel: o.Kernel, Mean: o.Mean, Ties: o.Ties, Priors: o.Priors})
	if warm.Kernel() != cold.Kernel() || warm.MeanText() != cold.MeanText() || warm.ObjectiveName() != cold.ObjectiveName() || len(warm.Params.Free) != len(cold.Params.Free) {
		t.Errorf("kernel %s, mean %s, objective %s", warm.Kernel(), warm.MeanText(), warm.ObjectiveName())
	}
	// In original units the start values equal the model's parameters.
	was, is := first.Report.ParametersOriginalUnits, warm.OriginalUnits(0, warm.Params.Values(warm.Params.Start())).Values
	for name, v := range is {
		testcheck.Within(t, v/was[name], 1, 1e-12, "start value of %s by the model's", name)
	}
	if metric, want := warm.Options.Settings.Metric, first.Report.StdErrors.Hessian[0][0]*240/200; len(metric) == 0 || math.Abs(metric[0]/want-1) > 1e-14 {
		t.Errorf("metric %v, want %v first", metric, want)
	}
	ends := [2]summary.Report{}
	for i, j := range []*tuning.Job{warm, cold} {
		out := testcheck.Get(Run(t.Context(), j, backend))(t)
		out.Close()
		ends[i] = out.Report
	}
	w, c := ends[0], ends[1]
	if math.Abs(w.Objective-c.Objective) > 1e-4 || w.Evaluations.Gradient >= c.Evaluations.Gradient {
		t.Errorf("from the model %v after %d gradients, from scratch %v after %d", w.Objective, w.Evaluations.Gradient, c.Objective, c.Evaluations.Gradient)
	}
}

// TestFromAgain checks that ten updates in a row, each tuned again from the model before, keep
// the default bounds and the condition where the noise ends at its bound: targets without noise.
func TestFromAgain(t *testing.T) {
	all := drawn(1, 2, 60, "x y", func(i int, _, _ random) []float64 {
		x := float64(i) / 10
		return []float64{x, math.Sin(x) + 0.3*math.Cos(2.3*x)}
	})
	job := mustPrepare(t, firstRowsOf(all, 50), problem.Options{Kernel: "rbf", Mean: "zero"})
	condition := 0.0
	for n := 50; ; n++ {
		for _, q := range job.Params.Free {
			fresh := mustPrepare(t, firstRowsOf(all, n), problem.Options{Kernel: "rbf", Mean: "zero"}).Params
			if d := fresh.Free[fresh.Find(q.Name)[0]]; q.Lower != d.Lower || q.Upper != d.Upper {
				t.Fatalf("%d rows: the bounds of %s are %v:%v, of a fit from scratch %v:%v", n, q.Name, q.Lower, q.Upper, d.Lower, d.Upper)
			}
		}
		out := testcheck.Get(Run(t.Context(), job, backend))(t)
		defer out.Close()
		i := out.Report.Interpolation
		if i == nil || !i.AtBound || n > 50 && *i.Condition > 3*condition { // more rows raise it a little
			t.Fatalf("%d rows: %+v, condition at first %.2g", n, i, condition)
		}
		if n == 60 {
			return
		}
		if n == 50 {
			condition = *i.Condition
		}
		p, _ := testcheck.Get2(modelOf(t, out).Extend(t.Context(), backend, gp.Addition{X: all.X[n : n+1], Y: all.Y[n : n+1], N: 1}))(t)
		defer p.Close()
		whole := p.Whole()
		whole.Record = out.Model.Record
		job = mustPrepare(t, testcheck.Get(problem.TrainingData(whole))(t), problem.Options{From: whole})
	}
}

// TestFromOptions checks that the options given with a model count, and which models do not suit.
func TestFromOptions(t *testing.T) {
	d := synthetic(60)
	m := modelOf(t, mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Standardize: gp.StandardizeX, NoNoise: false}))
	j := mustPrepare(t, d, problem.Options{From: m, Kernel: "matern52(ard)", Set: []problem.Assignment{{Name: "noise_variance", Value: 7, Given: true}}})
	if j.Kernel() != "matern52(ard)" || j.Options.Standardize != gp.StandardizeX {
		t.Errorf("kernel %s, scaling %s", j.Kernel(), j.Options.Standardize)
	}
	start := j.Params.Named(j.Params.Start())
	if start["noise_variance"] != 7 || math.Abs(start["lengthscale[mm]"]/m.Parameters()["lengthscale[mm]"]-1) > 1e-12 {
		t.Errorf("start %v", start)
	}
	// A lengthscale for all columns starts each of them.
	one := modelOf(t, mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}))
	ard := mustPrepare(t, d, problem.Options{From: one, ARD: true})
	if start := ard.Params.Named(ard.Params.Start()); math.Abs(start["lengthscale[kelvin]"]/one.Theta[0]-1) > 1e-12 {
		t.Errorf("start %v, model %v", start, one.Parameters())
	}
	none := modelOf(t, mustFit(t, d, problem.Options{Mean: "zero", NoNoise: true, Kernel: "matern12"}))
	if j := mustPrepare(t, d, problem.Options{From: none}); !j.Options.NoNoise {
		t.Error("a model without noise starts a fit with noise")
	}
	if j := mustPrepare(t, d, problem.Options{From: none, Set: []problem.Assignment{{Name: "noise_variance", Value: 0.1, Given: true}}}); j.Options.NoNoise {
		t.Error("option set names the noise, but the fit has none")
	}
	testcheck.Words(t, strings.Join(mustPrepare(t, d, problem.Options{From: m, Kernel: "rq(ard)"}).Warnings(), "\n"), "no value of alpha")
	wantOption(t, d, problem.Options{From: m, Kernel: "rbf + matern12", NoNoise: true}, "kernel is rbf(ard)")
	other := d
	other.FeatureNames = []string{"mm", "const", "celsius"}
	wantOption(t, other, problem.Options{From: m, Kernel: "rbf(ard)"}, "celsius")
}

// TestFromIdentity checks that a checkpoint of a fit from a model is one of its start values.
func TestFromIdentity(t *testing.T) {
	d := synthetic(60)
	m := modelOf(t, mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}))
	a, b := mustPrepare(t, d, problem.Options{From: m}), mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"})
	changed := *m
	changed.Theta = append([]float64{m.Theta[0] * 1.01}, m.Theta[1:]...)
	c := mustPrepare(t, d, problem.Options{From: &changed})
	if a.ID() == b.ID() || a.ID() == c.ID() || a.ID() != mustPrepare(t, d, problem.Options{From: m}).ID() {
		t.Error("the identity of a job does not follow its start values")
	}
}

// TestTrainingData checks that a fit of the rows of a model, from the model, is the fit
// that made it.
func TestTrainingData(t *testing.T) {
	plain := synthetic(60)
	known, groups, several, weighted := plain, plain, plain, plain
	weighted.Weight = cycled(60, 0.5, 1, 4)
	known.NoiseVariance, groups.NoiseGroup = cycled(60, 1.0, 2, 3, 4), cycled(60, "a", "b")
	several.TargetName, several.TargetNames = "", []string{"one", "two"}
	for i := range 60 {
		several.Y = append(several.Y, several.Y[i]+float64(i%5))
	}
	for name, d := range map[string]problem.Data{"plain": plain, "known": known, "groups": groups, "targets": several, "weights": weighted} {
		d.Test = every(60, 7, 60)
		first := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "constant"})
		data := testcheck.Get(problem.TrainingData(modelOf(t, first)))(t)
		if data.N != 59 || data.Row[7] != 8 {
			t.Errorf("%s: %d rows, %v", name, data.N, data.Row)
		}
		again := evaluate(t, data, problem.Options{From: first.Model})
		testcheck.Within(t, again.NLML, first.Report.NLML, 1e-8*math.Abs(again.NLML), "%s: NLML", name)
	}
	d, off := spoilt(60)
	d.NoiseGroup = groups.NoiseGroup
	first := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Robust: true})
	data := testcheck.Get(problem.TrainingData(modelOf(t, first)))(t)
	again := evaluate(t, data, problem.Options{From: modelOf(t, first)})
	testcheck.Within(t, again.NLML, first.Report.NLML, 0.1, "NLML of a robust model") // less is no reason to search on
	if len(again.Robust.Rows) != len(off) || !slices.Equal(data.NoiseGroup, d.NoiseGroup) {
		t.Errorf("%d rows of %d, groups %v", len(again.Robust.Rows), len(off), data.NoiseGroup)
	}
	both := known
	both.NoiseGroup = groups.NoiseGroup
	_, err := problem.TrainingData(modelOf(t, mustFit(t, both, problem.Options{Kernel: "rbf", Mean: "zero"})))
	testcheck.Fail[*problem.DataError](t, err, "starting from this model")
}

// TestUpdateReport checks the advice: none for rows that the model expects, and reasons
// for large errors, small errors and many rows.
func TestUpdateReport(t *testing.T) {
	all := synthetic(300)
	m := modelOf(t, mustFit(t, firstRowsOf(all, 150), problem.Options{Mean: "zero", Kernel: "rbf(ard)"}))
	advice := func(first, last int, shift func(i int) float64) string {
		add := gp.Addition{X: all.X[3*first : 3*last], N: last - first}
		for i := first; i < last; i++ {
			add.Y = append(add.Y, all.Y[i]+shift(i))
		}
		p, e := testcheck.Get2(m.Extend(t.Context(), backend, add))(t)
		defer p.Close()
		r := testcheck.Get(summary.NewUpdateReport(m, p.Model(), e))(t)
		if r.Tuned != 150 || r.N != 150+last-first {
			t.Errorf("report %+v", r)
		}
		return strings.Join(r.Advice, ";")
	}
	none := func(int) float64 { return 0 }
	if a := advice(150, 200, none); a != "" {
		t.Errorf("advice %q for rows like the others", a)
	}
	testcheck.Words(t, advice(150, 200, func(i int) float64 { return 40 * float64(i%2) }), "larger than the model expects")
	testcheck.Words(t, advice(150, 300, none), "tuned on 150 rows, and the model has 300 now")
	robust := *m
	robust.Noise.Outlying = []int{7}
	for outlying, want := range map[int]int{1: 0, 6: 1} { // about 0.4 are expected, and 6 come by chance twice in a million updates
		e := &gp.Extension{Targets: []gp.ExtensionScores{{Name: "watt", Outlying: outlying, PValue: 0.5}}}
		after := *m
		after.Y = append(slices.Clone(m.Y), make([]float64, 30)...)
		if r := testcheck.Get(summary.NewUpdateReport(&robust, &after, e))(t); len(r.Advice) != want {
			t.Errorf("%d outlying rows: %q", outlying, r.Advice)
		}
	}
}

// named is synthetic data whose columns have the given names; the second is constant.
func named(n int, names ...string) problem.Data {
	d := synthetic(n)
	d.FeatureNames = names
	return d
}

// TestNames checks that every part of a report calls parameters by the names of columns,
// that the report maps them to indices, and that its names read back as options.
func TestNames(t *testing.T) {
	d := named(60, "wind speed", "const", "3")
	o := problem.Options{Kernel: "rbf(ard) + rbf(dims=[\"3\", 0])", Mean: "linear", StdErrors: true, MeanFit: problem.MeanFree, Settings: hyperopt.Settings{ToleranceNats: -1},
		Priors: []problem.ParameterPrior{{Name: `k1.lengthscale["wind speed"]`, Density: density(t, "gamma(3, 3)")}},
		Ties:   []problem.Tie{{Name: "k2.lengthscale", Source: `k1.lengthscale["3"]`}}}
	out := mustFit(t, d, o)
	r := &out.Report
	text := testcheck.Get(json.Marshal(r))(t)
	if strings.Contains(r.Text(), "lengthscale[0]") || strings.Contains(r.Text(), "lengthscale[2]") {
		t.Errorf("the text has an index:\n%s", r.Text())
	}
	if r.Kernel != `rbf(ard) + rbf(dims=["3", "wind speed"])` {
		t.Errorf("kernel %s", r.Kernel)
	}
	wind, three := `k1.lengthscale["wind speed"]`, `k1.lengthscale["3"]`
	for what, has := range map[string]bool{
		"parameter":     r.Parameters[wind] > 0 && r.Parameters[three] > 0,
		"original":      r.ParametersOriginalUnits[wind] > 0,
		"of the mean":   r.ParametersOriginalUnits[`mean_linear["wind speed"]`] != 0,
		"gradient":      r.GradientLog[wind] != 0,
		"std. error":    r.StdErrors.Log[wind] > 0 && r.StdErrors.Original[wind] > 0,
		"names":         r.StdErrors.Names[0] == wind,
		"prior":         r.Priors[wind] != "",
		"tie":           r.Tied["k2.lengthscale"] == three,
		"column":        r.Columns[wind] == summary.ParameterColumn{Indexed: "k1.lengthscale[0]", Index: 0, Column: "wind speed"} && r.Columns[three] == summary.ParameterColumn{Indexed: "k1.lengthscale[2]", Index: 2, Column: "3"},
		"mean's column": r.Columns[`mean_linear["3"]`].Index == 2,
	} {
		if !has {
			t.Errorf("%s: no name of a column in %s", what, text)
		}
	}
	if got := out.Model.Parameters(); !reflect.DeepEqual(got[wind], r.Parameters[wind]) || got[three] != r.Parameters[three] {
		t.Errorf("parameters of the model %v", got)
	}

	again := o
	again.StdErrors = false
	again.Set = slices.DeleteFunc(assignments(r.Parameters), func(a problem.Assignment) bool { return r.Tied[a.Name] != "" })
	testcheck.Within(t, evaluate(t, d, again).NLML, r.NLML, 1e-9, "NLML at the reported parameters")
}

// TestNamesMeanIndices checks that options by name and by index are the same fit.
func TestNamesMeanIndices(t *testing.T) {
	d := named(50, "a.b", "const", "c=d")
	byName := problem.Options{Kernel: `rbf(ard)*matern32(dims="c=d")`, Mean: "poly(2, dims=a.b)",
		Set: []problem.Assignment{{Name: `k1.lengthscale["c=d"]`, Value: 0.7, Given: true}}, Fix: []problem.Assignment{{Name: "mean_power[a.b,2]", Value: 0.1, Given: true}},
		Bounds: []problem.Interval{{Name: "k1.lengthscale[a.b]", Lo: 0.2, Hi: 3}}, Priors: []problem.ParameterPrior{{Name: `k1.lengthscale["c=d"]`, Density: density(t, "gamma(2, 2)")}}}
	byIndex := problem.Options{Kernel: "rbf(ard)*matern32(dims=2)", Mean: "poly(2, dims=0)",
		Set: []problem.Assignment{{Name: "k1.lengthscale[2]", Value: 0.7, Given: true}}, Fix: []problem.Assignment{{Name: "mean_power[0,2]", Value: 0.1, Given: true}},
		Bounds: []problem.Interval{{Name: "k1.lengthscale[0]", Lo: 0.2, Hi: 3}}, Priors: []problem.ParameterPrior{{Name: "k1.lengthscale[2]", Density: density(t, "gamma(2, 2)")}}}
	a, b := mustFit(t, d, byName), mustFit(t, d, byIndex)
	if a.Report.Objective != b.Report.Objective || !reflect.DeepEqual(a.Report.Parameters, b.Report.Parameters) || a.Model.Kernel != byIndex.Kernel || b.Model.Kernel != byIndex.Kernel {
		t.Errorf("by name %v, by index %v, kernel %s", a.Report.Parameters, b.Report.Parameters, a.Model.Kernel)
	}
	// Start values of the search for kernels go from leaf to leaf by name.
	s := testcheck.Get(Select(t.Context(), d, problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{}, SelectOptions{Kernels: []string{"rbf(ard)", "linear(dims=a.b)"}, Greedy: true, MaxTerms: 2, Budget: 6, Score: ByNLML}, backend))(t)
	d.FeatureNames = nil
	plain := testcheck.Get(Select(t.Context(), d, problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{}, SelectOptions{Kernels: []string{"rbf(ard)", "linear(dims=0)"}, Greedy: true, MaxTerms: 2, Budget: 6, Score: ByNLML}, backend))(t)
	for i, c := range s.Candidates {
		if p := plain.Candidates[i]; *c.NLML != *p.NLML || c.Kernel != strings.ReplaceAll(p.Kernel, "dims=0", "dims=a.b") {
			t.Errorf("candidate %d is %s with NLML %v; without names %s with %v", i, c.Kernel, *c.NLML, p.Kernel, *p.NLML)
		}
	}
}

func TestNameMistakes(t *testing.T) {
	d := named(30, "temp", "const", "temperature")
	for want, o := range map[string]problem.Options{
		`did you mean "lengthscale[temp]"`:               {Kernel: "rbf(ard)", Set: []problem.Assignment{{Name: "lengthscale[tmep]", Value: 1, Given: true}}},
		"is one number for all columns":                  {Kernel: "rbf", Set: []problem.Assignment{{Name: "lengthscale[temp]", Value: 1, Given: true}}},
		"prior lengthscale[0]: is given twice":           {Kernel: "rbf(ard)", Priors: []problem.ParameterPrior{{Name: "lengthscale[temp]", Density: density(t, "gamma(2, 2)")}, {Name: "lengthscale[0]", Density: density(t, "gamma(2, 2)")}}},
		"coefficient of the mean, which option mean-fit": {Mean: "linear", MeanFit: problem.MeanGLS, Set: []problem.Assignment{{Name: "mean_linear[temp]", Value: 1, Given: true}}},
	} {
		wantOption(t, d, o, want)
	}
	_, err := Prepare(d, problem.Options{Mean: "zero", Kernel: "rbf(dims=[temp, temperatur])"}, problem.Events{})
	testcheck.Fail[error](t, err, `no column is called "temperatur" (did you mean "temperature"?)`)
	d.FeatureNames = []string{"temp", "const", "temp"}
	if r := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}).Report; r.Parameters["lengthscale[2]"] == 0 {
		t.Errorf("two columns of the same name: %v", r.Parameters)
	}
	wantOption(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Set: []problem.Assignment{{Name: "lengthscale[temp]", Value: 1, Given: true}}}, "no such parameter")
}

// TestNoiseLabels checks that labels of noise groups read back, quoted where necessary.
func TestNoiseLabels(t *testing.T) {
	d := synthetic(40)
	d.NoiseGroup = cycled(d.N, "a b", "1")
	r := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: `noise_variance["a b"]`, Value: 0.25, Given: true}, {Name: "noise_variance[1]", Value: 0.5, Given: true}}}).Report
	if r.Parameters[`noise_variance["a b"]`] != 0.25 || r.Parameters["noise_variance[1]"] != 0.5 {
		t.Errorf("parameters %v", r.Parameters)
	}
}

// TestModelColumns checks that dims by name means the same column for a model whose table
// of predictions has another order: rows are in the order of the model's features.
func TestModelColumns(t *testing.T) {
	d := named(50, "a", "const", "b")
	out := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(dims=b)"})
	m := testcheck.Get(gp.Load(saved(t, out, false)))(t)
	pred := predictAt(t, m, []float64{1, 0, 290, 99, 0, 290, 1, 0, 291})
	if pred.Mean[0] != pred.Mean[1] || pred.Mean[0] == pred.Mean[2] {
		t.Errorf("means %v: only b matters", pred.Mean)
	}
}

// TestCheckpointOfIndices checks that the names of columns in results do not change what
// a checkpoint is for: the hash is computed with indices, as gpfit 0.1.0 did. It has changed since
// with the default upper bounds of the lengthscales of single columns. A program that names the optimizer has
// another hash, as then.
func TestCheckpointOfIndices(t *testing.T) {
	d := problem.Data{X: []float64{0, 1, 2, 5, 3, 4, 1, 7, 5, 2}, Y: []float64{1, 2, 4, 3, 5}, N: 5, D: 2, FeatureNames: []string{"wind speed", "temp"}, TargetName: "y"}
	for method, want := range map[hyperopt.Method]string{
		"":             "4789307cd2cdde2d05b62cb5f96d394f6528c1f6ec58092d1a4b2206d33eaaaa",
		hyperopt.LBFGS: "1a18728fd7a407809eaada926cbc6fbb7c2c7c068f529f51bacd2019c61d95fd",
	} {
		job := mustPrepare(t, d, problem.Options{Kernel: "rbf(ard) + linear(dims=1)", Mean: "linear(dims=1)", MeanFit: problem.MeanFree, Settings: hyperopt.Settings{Method: method},
			Set: []problem.Assignment{{Name: "k1.lengthscale[1]", Value: 2, Given: true}}, Bounds: []problem.Interval{{Name: "k1.lengthscale[0]", Lo: 0.1, Hi: 9}}})
		if got := job.ID(); got != want {
			t.Errorf("with the method %q the hash is %s, want %s", method, got, want)
		}
	}
}

// TestFromExact checks that a fit from a model of exact targets ends on more rows, where the covariance at
// the model's parameters has no factor.
func TestFromExact(t *testing.T) {
	all := drawn(3, 3, 200, "a b c y", func(_ int, uniform, _ random) []float64 {
		a, b, c := uniform(), uniform(), uniform()
		return []float64{a, b, c, math.Cos(3*a) + b*c}
	})
	o := problem.Options{Kernel: "rbf(ard) + matern12"}
	first := mustFit(t, firstRowsOf(all, 100), o)
	r := mustFit(t, all, problem.Options{From: modelOf(t, first)}).Report
	if l := r.Scores.LeaveOneOut; l == nil || l.RMSEStandardized > 1e-3 {
		t.Errorf("%s, %+v", r.Status, l)
	}
}
