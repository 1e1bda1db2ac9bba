package fit

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/stat"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/mean"
)

func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*(1e-300+math.Abs(want)) }

// TestMeanUnits checks that y and a·y + b have the same scaled problem, and that the latter's
// coefficients in original units are a times as large; its constant also moves by b.
func TestMeanUnits(t *testing.T) {
	d := synthetic(80)
	e := d
	const a, b = -40, 700
	e.Y = nil
	for _, y := range d.Y {
		e.Y = append(e.Y, a*y+b)
	}
	o := problem.Options{Kernel: "rbf(ard)", Mean: "poly(3, dims=0) + linear + bumps(4, dims=2)"}
	r, s := evaluate(t, d, o), evaluate(t, e, o)
	if r.MeanFit != problem.MeanGLS || len(r.MeanCoefficients) != 9 || r.Mean != "poly(3, dims=mm) + linear + bumps(4, dims=kelvin)" {
		t.Fatalf("mean %s by %s with %d coefficients", r.Mean, r.MeanFit, len(r.MeanCoefficients))
	}
	if !near(s.NLML, r.NLML, 1e-10) || !near(s.NLMLOriginalUnits, r.NLMLOriginalUnits+float64(d.N)*math.Log(40), 1e-10) {
		t.Errorf("NLML %v, of a·y + b %v", r.NLML, s.NLML)
	}
	for i, c := range r.MeanCoefficients {
		k := s.MeanCoefficients[i]
		want, scale := a*c.OriginalUnits, math.Abs(a*c.OriginalUnits)+40**c.StandardErrorOriginalUnits
		if c.Name == mean.Constant {
			want += b
		}
		// β is accurate to cond(HᵀΣ⁻¹H)·ε, about 1e-10 in units of its error.
		if math.Abs(k.OriginalUnits-want) > 1e-8*scale || math.Abs(k.Value+c.Value) > 1e-8*(math.Abs(c.Value)+*c.StandardError) {
			t.Errorf("%s: %v and %v, of a·y + b %v and %v", c.Name, c.Value, c.OriginalUnits, k.Value, k.OriginalUnits)
		}
		if !near(*k.StandardErrorOriginalUnits, 40**c.StandardErrorOriginalUnits, 1e-8) || !near(*k.StandardError, *c.StandardError, 1e-8) {
			t.Errorf("%s: standard errors %v and %v, of a·y + b %v and %v", c.Name, *c.StandardError, *c.StandardErrorOriginalUnits, *k.StandardError, *k.StandardErrorOriginalUnits)
		}
		if r.Parameters[c.Name] != c.Value || r.ParametersOriginalUnits[c.Name] != c.OriginalUnits {
			t.Errorf("%s is not among the parameters", c.Name)
		}
	}
	testcheck.Words(t, r.Text(), "std. error", "mean_power[mm,3]", "mean_bump[kelvin,1]", ", width ", "poly(3, dims=mm)")
}

// TestMeanOriginal evaluates at the reported parameters on raw data, which gives the
// coefficients of the original inputs directly.
func TestMeanOriginal(t *testing.T) {
	d := synthetic(80)
	o := problem.Options{Kernel: "rbf(ard)", Mean: "poly(2, dims=2) + bumps(3, dims=0) + seasonal(7, 2, by=90, dims=2)"}
	r := evaluate(t, d, o)
	raw := o
	raw.Standardize = gp.StandardizeNone
	for _, name := range r.NamesOriginal { // without the coefficients
		raw.Set = append(raw.Set, problem.Assignment{Name: name, Value: r.ParametersOriginalUnits[name], Given: true})
	}
	s := evaluate(t, d, raw)
	// Raw kelvins squared make H ill-conditioned: 273² against a spread of 30.
	const tol = 1e-5
	if !near(s.NLML, r.NLMLOriginalUnits, 1e-9) {
		t.Errorf("NLML %v, on raw data %v", r.NLMLOriginalUnits, s.NLML)
	}
	for i, c := range r.MeanCoefficients {
		k := s.MeanCoefficients[i]
		if !near(k.Value, c.OriginalUnits, tol) || !near(*k.StandardError, *c.StandardErrorOriginalUnits, tol) {
			t.Errorf("%s: %v ± %v, on raw data %v ± %v", c.Name, c.OriginalUnits, *c.StandardErrorOriginalUnits, k.Value, *k.StandardError)
		}
		if (c.Centre == nil) != (k.Centre == nil) || c.Centre != nil && (!near(*k.Centre, *c.Centre, 1e-9) || !near(*k.Width, *c.Width, 1e-9)) {
			t.Errorf("%s: bumps at different places", c.Name)
		}
		if (c.Period == nil) != (k.Period == nil) || c.Period != nil && *c.Period != *k.Period {
			t.Errorf("%s: waves of different periods", c.Name)
		}
	}
}

// TestMeanFit checks that naming a coefficient makes the coefficients parameters, and
// that the free fit at its optimum equals the fit by least squares.
func TestMeanFit(t *testing.T) {
	d := synthetic(80)
	gls := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "linear"}).Report
	for name, o := range map[string]problem.Options{
		"free":   {Kernel: "rbf", Mean: "linear", MeanFit: problem.MeanFree},
		"set":    {Kernel: "rbf", Mean: "linear", Set: []problem.Assignment{{Name: "mean_linear[2]", Value: 0.1, Given: true}}},
		"bounds": {Kernel: "rbf", Mean: "linear", Bounds: []problem.Interval{{Name: "mean_constant", Lo: -9, Hi: 9}}},
	} {
		free := mustFit(t, d, o).Report
		if free.MeanFit != problem.MeanFree || gls.MeanFit != problem.MeanGLS {
			t.Errorf("%s: coefficients by %s and %s", name, free.MeanFit, gls.MeanFit)
		}
		testcheck.Within(t, free.NLML, gls.NLML, 1e-4, "%s: NLML, and by least squares", name)
		for i, c := range gls.MeanCoefficients {
			if f := free.MeanCoefficients[i]; math.Abs(f.Value-c.Value) > 0.02**c.StandardError || f.StandardError != nil {
				t.Errorf("%s: %s = %v, by least squares %v ± %v", name, c.Name, f.Value, c.Value, *c.StandardError)
			}
		}
	}
	fixed := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "linear", Fix: []problem.Assignment{{Name: "mean_linear", Value: 0.25, Given: true}}}).Report
	if fixed.Parameters["mean_linear[mm]"] != 0.25 || fixed.Parameters["mean_linear[kelvin]"] != 0.25 {
		t.Errorf("fixed coefficients %v", fixed.Parameters)
	}
	bounded := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "constant", Bounds: []problem.Interval{{Name: "mean_constant", Lo: 2, Hi: 3}}}).Report
	if c := bounded.Parameters["mean_constant"]; c < 2 || c > 3 {
		t.Errorf("mean_constant = %v, bounds 2 and 3", c)
	}
}

// TestMeanStart checks that the start values of variances are relative to the
// residuals of the mean, computed here by the formula for a line.
func TestMeanStart(t *testing.T) {
	d := problem.Data{N: 50, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	for i := range d.N {
		x := float64(i)
		d.X, d.Y = append(d.X, x), append(d.Y, 3+40*x+math.Sin(x*x))
	}
	r := stat.Correlation(d.X, d.Y, nil)
	for text, want := range map[string]float64{"zero": 1, "constant": 1, "linear": 1 - r*r} {
		// The difference 1 − r² loses six digits here.
		got := evaluate(t, d, problem.Options{Kernel: "rbf", Mean: text}).Parameters["signal_variance"]
		testcheck.Within(t, got, want, 1e-8*want, "%s: start of the signal variance", text)
	}
}

func TestMeanErrors(t *testing.T) {
	d := synthetic(30)
	for _, c := range map[string]struct {
		o    problem.Options
		word string
	}{
		"column": {problem.Options{Kernel: "rbf", Mean: "linear(dims=3)"}, "column 3 does not exist"},
		"many":   {problem.Options{Kernel: "rbf", Mean: "bumps(40, dims=0)"}, "41 coefficients cannot be determined from 30 rows"},
		"both":   {problem.Options{Kernel: "rbf", Mean: "constant", MeanFit: problem.MeanGLS, Fix: []problem.Assignment{{Name: "mean_constant", Value: 0, Given: true}}}, "option mean-fit gls finds by least squares"},
		"fit":    {problem.Options{Kernel: "rbf", Mean: "constant", MeanFit: "ols"}, `option mean-fit "ols": must be gls or free`},
		"name":   {problem.Options{Kernel: "rbf", Mean: "constant", Set: []problem.Assignment{{Name: "mean_linear", Value: 0, Given: true}}}, "no such parameter"},
	} {
		wantOption(t, d, c.o, c.word)
	}
	_, err := Prepare(d, problem.Options{Kernel: "rbf", Mean: "cubic"}, problem.Events{})
	testcheck.Fail[*mean.ParseError](t, err)
}

// krigingCase is the part of testdata/kriging.json for one target.
type krigingCase struct {
	NLML      float64   `json:"nlml_original_units"`
	Beta      []float64 `json:"beta"`
	Error     []float64 `json:"standard_error"`
	Mean      []float64 `json:"mean"`
	StdLatent []float64 `json:"std_latent"`
	Std       []float64 `json:"std"`
}

// kriging is testdata/kriging.json, written by kriging.py beside it.
type kriging struct {
	Lengthscale    float64     `json:"lengthscale"`
	SignalVariance float64     `json:"signal_variance"`
	NoiseVariance  []float64   `json:"noise_variance"`
	X              []float64   `json:"x"`
	Y              [][]float64 `json:"y"`
	Known          []float64   `json:"known"`
	Group          []int       `json:"group"`
	New            []float64   `json:"new"`
	NewKnown       []float64   `json:"new_known"`
	NewGroup       []int       `json:"new_group"`
	One            krigingCase
	Several        []krigingCase
}

func readKriging(t *testing.T) (k kriging, o problem.Options) {
	t.Helper()
	testcheck.Do(t, json.Unmarshal(testcheck.Get(os.ReadFile("testdata/kriging.json"))(t), &k))
	return k, problem.Options{Kernel: "rbf", Mean: "poly(2, dims=0)", Set: []problem.Assignment{
		{Name: "lengthscale", Value: k.Lengthscale, Given: true}, {Name: "signal_variance", Value: k.SignalVariance, Given: true},
		{Name: "noise_variance[g0]", Value: k.NoiseVariance[0], Given: true}, {Name: "noise_variance[g1]", Value: k.NoiseVariance[1], Given: true},
	}}
}

func labels(group []int) (out []string) {
	for _, g := range group {
		out = append(out, fmt.Sprint("g", g))
	}
	return out
}

// check compares a report and a prediction with NumPy's. The condition numbers
// are at most 1e4 there.
func (c *krigingCase) check(t *testing.T, nlml float64, coefficients []summary.Coefficient, p *gp.Prediction) {
	t.Helper()
	const tol = 1e-9
	testcheck.Within(t, nlml, c.NLML, tol*math.Abs(c.NLML), "NLML")
	for i, k := range coefficients {
		if !near(k.OriginalUnits, c.Beta[i], tol) || !near(*k.StandardErrorOriginalUnits, c.Error[i], tol) {
			t.Errorf("%s: %v ± %v, NumPy %v ± %v", k.Name, k.OriginalUnits, *k.StandardErrorOriginalUnits, c.Beta[i], c.Error[i])
		}
	}
	for i := range c.Mean {
		if !near(p.Mean[i], c.Mean[i], tol) || !near(p.StdLatent[i], c.StdLatent[i], tol) || !near(p.Std[i], c.Std[i], tol) {
			t.Errorf("row %d: %v, %v, %v, NumPy %v, %v, %v", i, p.Mean[i], p.StdLatent[i], p.Std[i], c.Mean[i], c.StdLatent[i], c.Std[i])
		}
	}
}

// measure calls check with the report and the posterior at the start values.
func measure(t *testing.T, d problem.Data, o problem.Options, check func(summary.Report, *gp.Posterior)) {
	t.Helper()
	testcheck.Do(t, Measure(t.Context(), mustPrepare(t, d, o), backend, func(p *Parts) error {
		check(testcheck.Get(p.Evaluate(t.Context()))(t), testcheck.Get(p.Posterior(p.Start))(t))
		return nil
	}))
}

func TestKriging(t *testing.T) {
	k, o := readKriging(t)
	d := problem.Data{
		X: k.X, Y: k.Y[0], N: len(k.Known), D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y",
		NoiseVariance: k.Known, NoiseGroup: labels(k.Group), NoiseColumn: "variance", NoiseGroupColumn: "lab",
	}
	measure(t, d, o, func(r summary.Report, posterior *gp.Posterior) {
		noise := gp.RowNoise{Known: k.NewKnown, Group: labels(k.NewGroup)}
		k.One.check(t, r.NLMLOriginalUnits, r.MeanCoefficients, testcheck.Get(posterior.PredictNoise(t.Context(), k.New, len(k.NewKnown), noise))(t))
	})
}

// TestKrigingTargets compares two targets with NumPy's results for each alone.
func TestKrigingTargets(t *testing.T) {
	k, o := readKriging(t)
	d := problem.Data{
		X: k.X, Y: slices.Concat(k.Y...), N: len(k.Known), D: 2, FeatureNames: []string{"a", "b"}, TargetNames: []string{"y1", "y2"},
		NoiseGroup: labels(k.Group), NoiseGroupColumn: "lab",
	}
	measure(t, d, o, func(r summary.Report, posterior *gp.Posterior) {
		noise := gp.RowNoise{Group: labels(k.NewGroup)}
		preds := testcheck.Get(posterior.PredictTargets(t.Context(), k.New, len(k.NewKnown), noise))(t)
		sum := 0.0
		for i, want := range k.Several {
			want.check(t, r.Targets[i].NLMLOriginalUnits, r.Targets[i].MeanCoefficients, preds[i])
			sum += want.NLML
			alone := testcheck.Get(posterior.Target(i).PredictNoise(t.Context(), k.New, len(k.NewKnown), noise))(t)
			if diff := cmp.Diff(preds[i], alone, cmpopts.EquateApprox(1e-13, 0)); diff != "" {
				t.Errorf("target %d, alone:\n%s", i, diff)
			}
		}
		testcheck.Within(t, r.NLMLOriginalUnits, sum, 1e-9*math.Abs(sum), "NLML")
	})
}

// twoTargets returns two smooth functions of the same inputs in different units.
func twoTargets(n int) problem.Data {
	d := synthetic(n)
	for i := range n {
		d.Y = append(d.Y, 1e-3*(math.Cos(d.X[3*i]/150)+0.1*(d.X[3*i+2]-288))+1e-4*math.Sin(float64(i*i)))
	}
	d.TargetName, d.TargetNames = "", []string{"watt", "volt"}
	d.Test = every(5, 0, n)
	return d
}

func TestTargets(t *testing.T) {
	d := twoTargets(150)
	o := problem.Options{Kernel: "rbf(ard)", Mean: "linear"}
	out := mustFit(t, d, o)
	r := out.Report
	if len(r.Targets) != 2 || r.Test != nil || len(r.MeanCoefficients) != 0 {
		t.Fatalf("report %+v", r)
	}
	if _, ok := r.ParametersOriginalUnits["signal_variance"]; ok || r.ParametersOriginalUnits["lengthscale[mm]"] == 0 {
		t.Errorf("shared parameters in original units: %v", r.ParametersOriginalUnits)
	}
	// Each target alone, at the parameters found.
	nlml, original := 0.0, 0.0
	for i, part := range r.Targets {
		one := d
		one.TargetNames, one.TargetName, one.Y = nil, d.TargetNames[i], d.Y[i*d.N:(i+1)*d.N]
		fixed := o
		fixed.Fix = assignments(r.Parameters)
		s := mustFit(t, one, fixed).Report
		nlml, original = nlml+s.NLML, original+s.NLMLOriginalUnits
		if part.Name != one.TargetName || !near(part.NLML, s.NLML, 1e-10) || !near(part.DataFit, s.DataFit, 1e-10) {
			t.Errorf("%s: NLML %v, alone %v", part.Name, part.NLML, s.NLML)
		}
		for name, v := range s.ParametersOriginalUnits {
			if !near(part.ParametersOriginalUnits[name], v, 1e-6) {
				t.Errorf("%s: %s is %v in original units, alone %v", part.Name, name, part.ParametersOriginalUnits[name], v)
			}
		}
		if part.Test == nil || !near(part.Test.RMSE, s.Test.RMSE, 1e-8) || !near(float64(part.Test.NLPD), float64(s.Test.NLPD), 1e-8) {
			t.Errorf("%s: scores %+v, alone %+v", part.Name, part.Test, s.Test)
		}
	}
	if !near(r.NLML, nlml, 1e-10) || !near(r.NLMLOriginalUnits, original, 1e-10) || !near(r.DataFit+r.Complexity+r.Constant, r.NLML, 1e-12) {
		t.Errorf("NLML %v and %v, sums %v and %v", r.NLML, r.NLMLOriginalUnits, nlml, original)
	}
	if strings.Contains(r.Text(), "mean coefficient") {
		t.Errorf("a table of coefficients without any:\n%s", r.Text())
	}
	testcheck.Words(t, r.Text(), `target "volt": NLML`, "by target:", "held-out rows (30)")
	checkTargetsSaved(t, out, d)
}

// TestTargetsLeaveOneOut checks that the score of two targets is the mean of their
// separate scores at the same parameters. Standard errors in original units exist
// only for parameters that the targets share.
func TestTargetsLeaveOneOut(t *testing.T) {
	d := twoTargets(80)
	o := problem.Options{Kernel: "rbf", Mean: "linear", LeaveOneOut: true, StdErrors: true}
	r := mustFit(t, d, o).Report
	if _, ok := r.StdErrors.Original["signal_variance"]; ok || len(r.StdErrors.Original) != 2 || r.StdErrors.Failure != "" {
		t.Errorf("standard errors %v, failure %q", r.StdErrors.Original, r.StdErrors.Failure)
	}
	nlpd, standardized := 0.0, 0.0
	for i := range 2 {
		one := d
		one.TargetNames, one.TargetName, one.Y = nil, d.TargetNames[i], d.Y[i*d.N:(i+1)*d.N]
		set := o
		set.Set = assignments(r.Parameters)
		alone := evaluate(t, one, set).Scores.LeaveOneOut
		nlpd, standardized = nlpd+float64(alone.NLPD)/2, standardized+float64(alone.NLPDStandardized)/2
	}
	if l := r.Scores.LeaveOneOut; !near(float64(l.NLPD), nlpd, 1e-8) || !near(float64(l.NLPDStandardized), standardized, 1e-8) {
		t.Errorf("leave-one-out %v and %v, mean of both alone %v and %v", float64(l.NLPD), float64(l.NLPDStandardized), nlpd, standardized)
	}
}

// checkTargetsSaved saves and loads the model and predicts with both, with and without the factor.
func checkTargetsSaved(t *testing.T, out *Outcome, d problem.Data) {
	t.Helper()
	predict := func(m *gp.Model) []*gp.Prediction {
		p := testcheck.Get(m.Condition(t.Context(), backend))(t)
		defer p.Close()
		return testcheck.Get(p.PredictTargets(t.Context(), d.X, d.N, gp.RowNoise{}))(t)
	}
	want := predict(out.Model)
	for _, factor := range []bool{false, true} {
		again := testcheck.Get(gp.Load(saved(t, out, factor)))(t)
		if diff := cmp.Diff(out.Model, again, cmpopts.IgnoreUnexported(gp.Model{})); diff != "" {
			t.Errorf("saved and loaded models differ:\n%s", diff)
		}
		if diff := cmp.Diff(want, predict(again)); diff != "" {
			t.Errorf("predictions differ:\n%s", diff)
		}
	}
}

// TestWithRows checks that a task on some rows equals the task of these rows alone,
// at the scaling of all.
func TestWithRows(t *testing.T) {
	d := twoTargets(60)
	d.Test = nil
	d.NoiseGroupColumn, d.NoiseGroup = "lab", cycled(d.N, "a", "b")
	o := problem.Options{Kernel: "rbf", Standardize: gp.StandardizeNone, Mean: "linear", Set: []problem.Assignment{{Name: "lengthscale", Value: 100, Given: true}}}
	rows := []int{40, 3, 7, 8, 21, 22, 50, 51, 5, 0}
	task := mustPrepare(t, d, o)
	for i := range task.Params.Free {
		o.Set = append(o.Set, problem.Assignment{Name: task.Params.Free[i].Name, Value: task.Params.Free[i].Start, Given: true})
	}
	part := problem.Data{N: len(rows), D: 3, FeatureNames: d.FeatureNames, TargetNames: d.TargetNames, NoiseGroupColumn: "lab"}
	for k := range 2 {
		for _, i := range rows {
			part.Y = append(part.Y, d.Y[k*d.N+i])
		}
	}
	for _, i := range rows {
		part.X = append(part.X, d.X[3*i:3*i+3]...)
		part.NoiseGroup = append(part.NoiseGroup, d.NoiseGroup[i])
	}
	sub := testcheck.Get(Evaluate(t.Context(), task.On(task.Sample.WithRows(rows)), backend, nil))(t)
	want := evaluate(t, part, o)
	if sub.N != 10 || !near(sub.NLML, want.NLML, 1e-12) || !near(sub.GradientLog["noise_variance[b]"], want.GradientLog["noise_variance[b]"], 1e-9) {
		t.Errorf("NLML %v of %d rows, want %v", sub.NLML, sub.N, want.NLML)
	}
}

func TestTargetErrors(t *testing.T) {
	refuses(t, func() problem.Data { return twoTargets(50) }, map[string]refusal{
		"short":    {func(d *problem.Data) { d.Y = d.Y[1:] }, problem.Options{Kernel: "rbf", Mean: "zero"}, "99 target values for 50 rows"},
		"one name": {func(d *problem.Data) { d.TargetNames, d.Y = d.TargetNames[:1], d.Y[:50] }, problem.Options{Kernel: "rbf", Mean: "zero"}, "target values"},
		"free":     {func(*problem.Data) {}, problem.Options{Kernel: "rbf", Mean: "constant", MeanFit: problem.MeanFree}, "cannot be set, fixed, bounded or free"},
		"named":    {func(*problem.Data) {}, problem.Options{Kernel: "rbf", Mean: "constant", Fix: []problem.Assignment{{Name: "mean_constant", Value: 1, Given: true}}}, "cannot be set"},
		"known":    {func(d *problem.Data) { d.NoiseVariance = make([]float64, 50) }, problem.Options{Kernel: "rbf", Mean: "zero"}, "cannot be combined with several"},
	})
	d := twoTargets(50)
	for i := range 50 {
		d.Y[50+i] = 7
	}
	_, err := Run(t.Context(), mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}), backend)
	testcheck.Fail[*problem.DataError](t, err, `the target "volt" is constant`)
}
