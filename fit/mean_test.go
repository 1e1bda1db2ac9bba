package fit

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/must"
	"gpfit/mean"
)

func near(got, want, tol float64) bool { return math.Abs(got-want) <= tol*(1e-300+math.Abs(want)) }

// TestMeanUnits checks that y and a·y + b have the same scaled problem, and that the latter's
// coefficients in original units are a times as large; its constant also moves by b.
func TestMeanUnits(t *testing.T) {
	d := synthetic(80)
	e := d
	const a, b = -40, 700
	e.Y = make([]float64, d.N)
	for i, y := range d.Y {
		e.Y[i] = a*y + b
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
	text := r.Text()
	wantWords(t, text, "std. error", "mean_power[mm,3]", "mean_bump[kelvin,1]", ", width ", "poly(3, dims=mm)")
}

// TestMeanOriginal evaluates at the reported parameters on raw data, which gives the
// coefficients of the original inputs directly.
func TestMeanOriginal(t *testing.T) {
	d := synthetic(80)
	o := problem.Options{Kernel: "rbf(ard)", Mean: "poly(2, dims=2) + bumps(3, dims=0)"}
	r := evaluate(t, d, o)
	raw := o
	raw.Standardize = gp.StandardizeNone
	for _, name := range r.NamesOriginal {
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
	}
}

// TestMeanFit checks that naming a coefficient makes the coefficients parameters, and
// that the free fit at its optimum equals the fit by least squares.
func TestMeanFit(t *testing.T) {
	d := synthetic(80)
	gls := mustFit(t, d, problem.Options{Mean: "linear"}).Report
	for name, o := range map[string]problem.Options{
		"free":   {Mean: "linear", MeanFit: problem.MeanFree},
		"set":    {Mean: "linear", Set: []problem.Assignment{{Name: "mean_linear[2]", Value: 0.1, Given: true}}},
		"bounds": {Mean: "linear", Bounds: []problem.Interval{{Name: "mean_constant", Lo: -9, Hi: 9}}},
	} {
		free := mustFit(t, d, o).Report
		if free.MeanFit != problem.MeanFree || gls.MeanFit != problem.MeanGLS {
			t.Errorf("%s: coefficients by %s and %s", name, free.MeanFit, gls.MeanFit)
		}
		if math.Abs(free.NLML-gls.NLML) > 1e-4 {
			t.Errorf("%s: NLML %v, by least squares %v", name, free.NLML, gls.NLML)
		}
		for i, c := range gls.MeanCoefficients {
			if f := free.MeanCoefficients[i]; math.Abs(f.Value-c.Value) > 0.02**c.StandardError || f.StandardError != nil {
				t.Errorf("%s: %s = %v, by least squares %v ± %v", name, c.Name, f.Value, c.Value, *c.StandardError)
			}
		}
	}
	fixed := mustFit(t, d, problem.Options{Mean: "linear", Fix: []problem.Assignment{{Name: "mean_linear", Value: 0.25, Given: true}}}).Report
	if fixed.Parameters["mean_linear[mm]"] != 0.25 || fixed.Parameters["mean_linear[kelvin]"] != 0.25 {
		t.Errorf("fixed coefficients %v", fixed.Parameters)
	}
	bounded := mustFit(t, d, problem.Options{Mean: "constant", Bounds: []problem.Interval{{Name: "mean_constant", Lo: 2, Hi: 3}}}).Report
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
	mx, _ := meanAndStd(d.X)
	my, sy := meanAndStd(d.Y)
	sxx, sxy, syy := 0.0, 0.0, 0.0
	for i := range d.N {
		u, v := d.X[i]-mx, d.Y[i]-my
		sxx, sxy, syy = sxx+u*u, sxy+u*v, syy+v*v
	}
	left := (syy - sxy*sxy/sxx) / 50 / (sy * sy)
	for text, want := range map[string]float64{"zero": 1, "constant": 1, "linear": left} {
		r := evaluate(t, d, problem.Options{Mean: text})
		// The difference syy − sxy²/sxx loses six digits here.
		if got := r.Parameters["signal_variance"]; !near(got, want, 1e-8) {
			t.Errorf("%s: signal variance starts at %v, want %v", text, got, want)
		}
	}
}

func TestMeanErrors(t *testing.T) {
	d := synthetic(30)
	for i := range d.N {
		d.X[3*i+1] = 5 - 2*d.X[3*i] // no longer constant, but collinear
	}
	for _, c := range map[string]struct {
		o    problem.Options
		word string
	}{
		"collinear": {problem.Options{Mean: "linear"}, "mean_linear[mm] is a linear combination of mean_linear[const]"},
		"column":    {problem.Options{Mean: "linear(dims=3)"}, "column 3 does not exist"},
		"many":      {problem.Options{Mean: "bumps(40, dims=0)"}, "41 coefficients cannot be determined from 30 rows"},
		"both":      {problem.Options{Mean: "constant", MeanFit: problem.MeanGLS, Fix: []problem.Assignment{{Name: "mean_constant", Value: 0, Given: true}}}, "option mean-fit gls finds by least squares"},
		"fit":       {problem.Options{Mean: "constant", MeanFit: "ols"}, `option mean-fit "ols": must be gls or free`},
		"name":      {problem.Options{Mean: "constant", Set: []problem.Assignment{{Name: "mean_linear", Value: 0, Given: true}}}, "no such parameter"},
	} {
		wantOption(t, d, c.o, c.word)
	}
	var pe *mean.ParseError
	if _, err := Prepare(d, problem.Options{Mean: "cubic"}, problem.Events{}); !errors.As(err, &pe) {
		t.Errorf("error %v, want a ParseError", err)
	}
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
	text, err := os.ReadFile("testdata/kriging.json")
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k, problem.Options{Mean: "poly(2, dims=0)", Set: []problem.Assignment{
		{Name: "lengthscale", Value: k.Lengthscale, Given: true}, {Name: "signal_variance", Value: k.SignalVariance, Given: true},
		{Name: "noise_variance[g0]", Value: k.NoiseVariance[0], Given: true}, {Name: "noise_variance[g1]", Value: k.NoiseVariance[1], Given: true},
	}}
}

func labels(group []int) []string {
	out := make([]string, len(group))
	for i, g := range group {
		out[i] = [...]string{"g0", "g1"}[g]
	}
	return out
}

// check compares a report and a prediction with NumPy's. The condition numbers
// are at most 1e4 there.
func (c *krigingCase) check(t *testing.T, nlml float64, coefficients []summary.Coefficient, p *gp.Prediction) {
	t.Helper()
	const tol = 1e-9
	if !near(nlml, c.NLML, tol) {
		t.Errorf("NLML %v, NumPy %v", nlml, c.NLML)
	}
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
func measure(t *testing.T, d problem.Data, o problem.Options, check func(summary.Report, *gp.Posterior) error) {
	t.Helper()
	must.Do(t, Measure(t.Context(), mustPrepare(t, d, o), backend, func(p *Parts) error {
		r, err := p.Evaluate(t.Context())
		if err != nil {
			return err
		}
		posterior, err := p.Posterior(p.Start)
		if err != nil {
			return err
		}
		return check(r, posterior)
	}))
}

func TestKriging(t *testing.T) {
	k, o := readKriging(t)
	d := problem.Data{
		X: k.X, Y: k.Y[0], N: len(k.Known), D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y",
		NoiseVariance: k.Known, NoiseGroup: labels(k.Group), NoiseColumn: "variance", NoiseGroupColumn: "lab",
	}
	measure(t, d, o, func(r summary.Report, posterior *gp.Posterior) error {
		pred, err := posterior.PredictNoise(t.Context(), k.New, len(k.NewKnown), gp.RowNoise{Known: k.NewKnown, Group: labels(k.NewGroup)})
		if err != nil {
			return err
		}
		k.One.check(t, r.NLMLOriginalUnits, r.MeanCoefficients, pred)
		return nil
	})
}
