package fit

import (
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/must"
)

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
	text := must.Get(json.Marshal(r))(t)
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
	for name, v := range r.Parameters {
		if r.Tied[name] == "" {
			again.Set = append(again.Set, problem.Assignment{Name: name, Value: v, Given: true})
		}
	}
	if e := evaluate(t, d, again); math.Abs(e.NLML-r.NLML) > 1e-9 {
		t.Errorf("NLML %v at the reported parameters, %v in the fit", e.NLML, r.NLML)
	}
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
	if a.Report.Objective != b.Report.Objective || !reflect.DeepEqual(a.Report.Parameters, b.Report.Parameters) || a.Model.Kernel != b.Model.Kernel {
		t.Errorf("by name %v, by index %v", a.Report.Parameters, b.Report.Parameters)
	}
	if a.Model.Kernel != "rbf(ard)*matern32(dims=2)" {
		t.Errorf("the model's kernel is %s", a.Model.Kernel)
	}
	// Start values of the search for kernels go from leaf to leaf by name.
	s := must.Get(Select(t.Context(), d, problem.Options{}, problem.Events{}, SelectOptions{Kernels: []string{"rbf(ard)", "linear(dims=a.b)"}, Greedy: true, MaxTerms: 2, Budget: 6, Score: ByNLML}, backend))(t)
	d.FeatureNames = nil
	plain := must.Get(Select(t.Context(), d, problem.Options{}, problem.Events{}, SelectOptions{Kernels: []string{"rbf(ard)", "linear(dims=0)"}, Greedy: true, MaxTerms: 2, Budget: 6, Score: ByNLML}, backend))(t)
	for i, c := range s.Candidates {
		if p := plain.Candidates[i]; *c.NLML != *p.NLML || c.Kernel != strings.ReplaceAll(p.Kernel, "dims=0", "dims=a.b") {
			t.Errorf("candidate %d is %s with NLML %v; without names %s with %v", i, c.Kernel, *c.NLML, p.Kernel, *p.NLML)
		}
	}
}

// TestUnnamedColumns checks that data without names keeps indices.
func TestUnnamedColumns(t *testing.T) {
	d := synthetic(40)
	d.FeatureNames = nil
	r := mustFit(t, d, problem.Options{Kernel: "rbf(ard) + linear(dims=2)"}).Report
	if r.Parameters["k1.lengthscale[2]"] == 0 || r.Kernel != "rbf(ard) + linear(dims=2)" || r.Columns["k1.lengthscale[2]"].Column != "x2" {
		t.Errorf("kernel %s, parameters %v, columns %v", r.Kernel, r.Parameters, r.Columns)
	}
}

func TestNameMistakes(t *testing.T) {
	d := named(30, "temp", "const", "temperature")
	for want, o := range map[string]problem.Options{
		`did you mean "lengthscale[temp]"`:               {Kernel: "rbf(ard)", Set: []problem.Assignment{{Name: "lengthscale[tmep]", Value: 1, Given: true}}},
		"is one number for all columns":                  {Set: []problem.Assignment{{Name: "lengthscale[temp]", Value: 1, Given: true}}},
		"prior lengthscale[0]: is given twice":           {Kernel: "rbf(ard)", Priors: []problem.ParameterPrior{{Name: "lengthscale[temp]", Density: density(t, "gamma(2, 2)")}, {Name: "lengthscale[0]", Density: density(t, "gamma(2, 2)")}}},
		"coefficient of the mean, which option mean-fit": {Mean: "linear", MeanFit: problem.MeanGLS, Set: []problem.Assignment{{Name: "mean_linear[temp]", Value: 1, Given: true}}},
	} {
		wantOption(t, d, o, want)
	}
	_, err := Prepare(d, problem.Options{Kernel: "rbf(dims=[temp, temperatur])"}, problem.Events{})
	if err == nil || !strings.Contains(err.Error(), `no column is called "temperatur" (did you mean "temperature"?)`) {
		t.Errorf("a typo in dims: %v", err)
	}
	d.FeatureNames = []string{"temp", "const", "temp"}
	if r := mustFit(t, d, problem.Options{Kernel: "rbf(ard)"}).Report; r.Parameters["lengthscale[2]"] == 0 {
		t.Errorf("two columns of the same name: %v", r.Parameters)
	}
	wantOption(t, d, problem.Options{Kernel: "rbf(ard)", Set: []problem.Assignment{{Name: "lengthscale[temp]", Value: 1, Given: true}}}, "no such parameter")
}

// TestNoiseLabels checks that labels of noise groups read back, quoted where necessary.
func TestNoiseLabels(t *testing.T) {
	d := synthetic(40)
	for i := range d.N {
		d.NoiseGroup = append(d.NoiseGroup, []string{"a b", "1"}[i%2])
	}
	r := mustFit(t, d, problem.Options{Fix: []problem.Assignment{{Name: `noise_variance["a b"]`, Value: 0.25, Given: true}, {Name: "noise_variance[1]", Value: 0.5, Given: true}}}).Report
	if r.Parameters[`noise_variance["a b"]`] != 0.25 || r.Parameters["noise_variance[1]"] != 0.5 {
		t.Errorf("parameters %v", r.Parameters)
	}
}

// TestModelColumns checks that dims by name means the same column for a model whose table
// of predictions has another order: rows are in the order of the model's features.
func TestModelColumns(t *testing.T) {
	d := named(50, "a", "const", "b")
	out := mustFit(t, d, problem.Options{Kernel: "rbf(dims=b)"})
	path := filepath.Join(t.TempDir(), "m.gpfit")
	must.Do(t, out.SaveModel(path, false))
	m := must.Get(gp.Load(path))(t)
	p := must.Get(m.Condition(t.Context(), backend))(t)
	defer p.Close()
	pred := must.Get(p.Predict(t.Context(), []float64{1, 0, 290, 99, 0, 290, 1, 0, 291}, 3))(t)
	if pred.Mean[0] != pred.Mean[1] || pred.Mean[0] == pred.Mean[2] {
		t.Errorf("means %v: only b matters", pred.Mean)
	}
}

// TestCheckpointOfIndices checks that the names of columns in results do not change what
// a checkpoint is for: the hash is what gpfit 0.1.0 and its successors computed when
// parameters had indices.
func TestCheckpointOfIndices(t *testing.T) {
	d := problem.Data{X: []float64{0, 1, 2, 5, 3, 4, 1, 7, 5, 2}, Y: []float64{1, 2, 4, 3, 5}, N: 5, D: 2, FeatureNames: []string{"wind speed", "temp"}, TargetName: "y"}
	job, err := Prepare(d, problem.Options{Kernel: "rbf(ard) + linear(dims=1)", Mean: "linear(dims=1)", MeanFit: problem.MeanFree,
		Set: []problem.Assignment{{Name: "k1.lengthscale[1]", Value: 2, Given: true}}, Bounds: []problem.Interval{{Name: "k1.lengthscale[0]", Lo: 0.1, Hi: 9}}}, problem.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := job.ID(), "6a79a327aeae66e6f67787335b66826123909ac4fa6a9ac785054e8c3afb2248"; got != want {
		t.Errorf("the hash is %s, want %s", got, want)
	}
}
