package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/must"
)

func mustFit(t *testing.T, d problem.Data, o problem.Options) *Outcome {
	t.Helper()
	task := mustPrepare(t, d, o)
	out := must.Get(Run(t.Context(), task, backend))(t)
	t.Cleanup(out.Close)
	return out
}

func TestFit(t *testing.T) {
	d := synthetic(200)
	d.Test = every(5, 200)
	var iterations []descent.Iteration
	out := must.Get(Run(t.Context(), watched(t, d, problem.Options{Kernel: "rbf(ard)"}, problem.Events{OnIteration: func(it descent.Iteration) { iterations = append(iterations, it) }}), backend))(t)
	defer out.Close()
	r := out.Report
	if r.Type != "fit" || r.N != 160 || r.D != 2 || !strings.HasSuffix(r.Status, "-converged") || r.Device != "cpu" || r.Kernel != "rbf(ard)" {
		t.Errorf("report %+v", r)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], `"const" is constant`) {
		t.Errorf("warnings %q", r.Warnings)
	}
	if len(iterations) < 5 || r.Iterations != len(iterations)-1 {
		t.Errorf("%d callbacks, %d iterations", len(iterations), r.Iterations)
	}
	// The noise is known; its estimate from 160 rows is within a quarter.
	if s := math.Sqrt(r.ParametersOriginalUnits["noise_variance"]); math.Abs(s/5-1) > 0.25 {
		t.Errorf("noise %v, true value 5", s)
	}
	if sum := r.DataFit + r.Complexity + r.Constant; math.Abs(sum-r.NLML) > 1e-9*math.Abs(r.NLML) {
		t.Errorf("terms sum to %v, NLML %v", sum, r.NLML)
	}
	for name, g := range r.GradientLog {
		// A millionth of a nat is left at a gradient g with a curvature of g²/2e-6.
		if math.Abs(g) > 1e-2 {
			t.Errorf("gradient of %s is %v at the optimum", name, g)
		}
	}
	if _, ok := r.Parameters["lengthscale[kelvin]"]; !ok || len(r.Parameters) != 4 {
		t.Errorf("parameters %v: the third feature is lengthscale[kelvin] though the second is left out", r.Parameters)
	}
	if r.Test.N != 40 || r.Test.RMSE > 8 || r.Test.RMSEStandardized > 0.15 || r.Test.Coverage95 < 0.8 {
		t.Errorf("test scores %+v", *r.Test)
	}
	checkScores(t, out, d)
	text := r.Text()
	wantWords(t, text, "NLML", "lengthscale[mm]", "held-out rows (40)", "-converged")
}

// checkScores recomputes the scores from the model's predictions.
func checkScores(t *testing.T, out *Outcome, d problem.Data) {
	t.Helper()
	p := must.Get(out.Model.Condition(t.Context(), backend))(t)
	defer p.Close()
	pred := must.Get(p.Predict(t.Context(), d.X, d.N))(t)
	var se, nlpd, n float64
	for i, y := range d.Y {
		if d.Test[i] {
			z := (y - pred.Mean[i]) / pred.Std[i]
			se += (y - pred.Mean[i]) * (y - pred.Mean[i])
			nlpd += z*z/2 + math.Log(pred.Std[i]*math.Sqrt(2*math.Pi))
			n++
		}
	}
	s := out.Report.Test
	if math.Abs(s.RMSE-math.Sqrt(se/n)) > 1e-12*s.RMSE || math.Abs(float64(s.NLPD)-nlpd/n) > 1e-9 {
		t.Errorf("scores %+v, from predictions RMSE %v, NLPD %v", *s, math.Sqrt(se/n), nlpd/n)
	}
}

// TestUnits checks that the same model in scaled and in original units has the same NLML
// of the original targets, and that the reported original parameters belong to the latter.
func TestUnits(t *testing.T) {
	d := synthetic(120)
	scaled := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Mean: "linear"}).Report
	var set []problem.Assignment
	for name, v := range scaled.ParametersOriginalUnits {
		set = append(set, problem.Assignment{Name: name, Value: v, Given: true})
	}
	task := mustPrepare(t, d, problem.Options{Kernel: "rbf(ard)", Mean: "linear", Standardize: gp.StandardizeNone, Set: set})
	raw := must.Get(Evaluate(t.Context(), task, backend, nil))(t)
	// Moving the means into the intercept costs a few digits.
	if math.Abs(raw.NLML-scaled.NLMLOriginalUnits) > 1e-8*math.Abs(raw.NLML) {
		t.Errorf("NLML in original units %v, at the reported parameters on raw data %v", scaled.NLMLOriginalUnits, raw.NLML)
	}
	// An isotropic lengthscale has one value per column.
	iso := mustFit(t, d, problem.Options{}).Report
	ratio := iso.ParametersOriginalUnits["lengthscale[mm]"] / iso.ParametersOriginalUnits["lengthscale[kelvin]"]
	s := gp.NewScaling(gp.StandardizeX, d.X, d.Y, 3)
	if math.Abs(ratio/(s.XScale[0]/s.XScale[2])-1) > 1e-12 {
		t.Errorf("original lengthscales %v", iso.ParametersOriginalUnits)
	}
}

func TestMean(t *testing.T) {
	d := synthetic(150)
	for i := range d.Y {
		d.Y[i] = 10 + 0.02*d.X[3*i] - 2*d.X[3*i+2] + math.Sin(d.X[3*i]/20) + 0.1*float64(i%7)
	}
	r := mustFit(t, d, problem.Options{Mean: "linear"}).Report
	if w := r.ParametersOriginalUnits["mean_linear[kelvin]"]; math.Abs(w+2) > 0.1 {
		t.Errorf("slope %v, true value −2: %v", w, r.ParametersOriginalUnits)
	}
	c := mustFit(t, d, problem.Options{Mean: "constant", Standardize: gp.StandardizeX}).Report
	if _, ok := c.Parameters["mean_constant"]; !ok {
		t.Errorf("parameters %v", c.Parameters)
	}
}

func TestFixAndBounds(t *testing.T) {
	d := synthetic(80)
	r := mustFit(t, d, problem.Options{
		Kernel: "rbf(ard)",
		Fix:    []problem.Assignment{{Name: "noise_variance", Value: 0.25, Given: true}, {Name: "lengthscale[2]"}},
		Set:    []problem.Assignment{{Name: "lengthscale", Value: 0.5, Given: true}},
		Bounds: []problem.Interval{{Name: "signal_variance", Lo: 0.01, Hi: 0.1}},
	}).Report
	p := r.Parameters
	if math.Abs(p["noise_variance"]-0.25) > 1e-15 || math.Abs(p["lengthscale[kelvin]"]-0.5) > 1e-15 {
		t.Errorf("fixed parameters moved: %v", p)
	}
	if math.Abs(p["signal_variance"]-0.1) > 1e-6 || len(r.AtBound) != 1 || r.AtBound[0] != "signal_variance" {
		t.Errorf("signal_variance %v with upper bound 0.1, at bound %v", p["signal_variance"], r.AtBound)
	}
	wantWords(t, strings.Join(r.Warnings, "\n"), "signal_variance is at its upper bound")
}

func TestRestartsAndDeterminism(t *testing.T) {
	d := synthetic(60)
	o := problem.Options{Kernel: "matern52(ard)", Settings: hyperopt.Settings{Restarts: 3, Seed: 9}}
	a, b := mustFit(t, d, o), mustFit(t, d, o)
	a.Report.Seconds, b.Report.Seconds = 0, 0
	a.Report.EvaluationSeconds, b.Report.EvaluationSeconds = 0, 0
	if diff := cmp.Diff(a.Report, b.Report); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if diff := cmp.Diff(a.Model.Alpha, b.Model.Alpha); diff != "" {
		t.Errorf("weights differ:\n%s", diff)
	}
	if len(a.Report.Starts) != 4 || *a.Report.Seed != 9 {
		t.Errorf("starts %+v", a.Report.Starts)
	}
	best := 0
	for _, s := range a.Report.Starts {
		if s.Best {
			best++
		}
		if *s.NLML < a.Report.NLML-1e-9*math.Abs(a.Report.NLML) {
			t.Errorf("a start reached %v, the result is %v", *s.NLML, a.Report.NLML)
		}
	}
	if best != 1 {
		t.Errorf("%d best starts", best)
	}
}

// TestCancel checks that an interrupted fit returns the best model so far.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	best := math.Inf(1)
	task := watched(t, synthetic(100), problem.Options{Kernel: "rbf(ard)"}, problem.Events{OnIteration: func(it descent.Iteration) {
		best = it.Best
		if it.Iteration == 3 {
			cancel()
		}
	}})
	out, err := Run(ctx, task, backend)
	if !errors.Is(err, context.Canceled) || out == nil {
		t.Fatalf("outcome %v, error %v", out, err)
	}
	defer out.Close()
	if out.Report.Status != "cancelled" || math.Abs(out.Report.NLML-best) > 1e-9*math.Abs(best) {
		t.Errorf("status %s, NLML %v, best seen %v", out.Report.Status, out.Report.NLML, best)
	}
	must.Do(t, out.SaveModel(t.TempDir()+"/m", false))
	// Before the first value there is no model to keep.
	if out, err := Run(ctx, task, backend); out != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("outcome %v, error %v", out, err)
	}
}

func TestNotPDAtStart(t *testing.T) {
	d := synthetic(40)
	copy(d.X[3:], d.X[:60]) // rows repeat
	_, err := Prepare(d, problem.Options{Standardize: "zz"}, problem.Events{})
	if err == nil {
		t.Error("standardize zz accepted")
	}
	o := problem.Options{Standardize: gp.StandardizeX, Set: []problem.Assignment{{Name: "noise_variance", Value: 1e-30, Given: true}, {Name: "lengthscale", Value: 1e3, Given: true}}}
	task := mustPrepare(t, d, o)
	if _, err := Evaluate(t.Context(), task, backend, nil); !device.IsNotPD(err) || !strings.Contains(err.Error(), "raise noise_variance") {
		t.Errorf("error %v, want a NotPDError with advice", err)
	}
	if out, err := Run(t.Context(), task, backend); out != nil || !device.IsNotPD(err) {
		t.Errorf("fit from there: %v", err)
	}
	o.MaxJitter = 10
	task = mustPrepare(t, d, o)
	r, err := Evaluate(t.Context(), task, backend, nil)
	if err != nil || r.Jitter <= 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), "a jitter of") {
		t.Errorf("report %+v, error %v: the jitter must be reported", r, err)
	}
}

func TestBadData(t *testing.T) {
	ok := synthetic(20)
	cases := map[string]func(*problem.Data){
		"one row":       func(d *problem.Data) { d.N, d.X, d.Y = 1, d.X[:3], d.Y[:1] },
		"all held out":  func(d *problem.Data) { d.Test = make([]bool, 20); setAll(d.Test) },
		"mask too long": func(d *problem.Data) { d.Test = make([]bool, 21) },
		"constant inputs": func(d *problem.Data) {
			for i := range d.X {
				d.X[i] = 3
			}
		},
	}
	for what, change := range cases {
		d := ok
		d.X, d.Y = append([]float64(nil), ok.X...), append([]float64(nil), ok.Y...)
		change(&d)
		_, err := Prepare(d, problem.Options{}, problem.Events{})
		var de *problem.DataError
		if !errors.As(err, &de) {
			t.Errorf("%s: error %v, want a DataError", what, err)
		}
	}
	d := ok
	d.Y = make([]float64, 20)
	task := mustPrepare(t, d, problem.Options{})
	var de *problem.DataError
	if _, err := Run(t.Context(), task, backend); !errors.As(err, &de) {
		t.Errorf("constant target: error %v, want a DataError", err)
	}
}

func setAll(b []bool) {
	for i := range b {
		b[i] = true
	}
}

func TestBadOptions(t *testing.T) {
	d := synthetic(20)
	for _, o := range map[string]problem.Options{
		"unknown start":   {Set: []problem.Assignment{{Name: "lenghtscale", Value: 1, Given: true}}},
		"unknown fix":     {Fix: []problem.Assignment{{Name: "sigma", Value: 1, Given: true}}},
		"negative":        {Set: []problem.Assignment{{Name: "lengthscale", Value: -1, Given: true}}},
		"NaN":             {Fix: []problem.Assignment{{Name: "lengthscale", Value: math.NaN(), Given: true}}},
		"crossed bounds":  {Bounds: []problem.Interval{{Name: "lengthscale", Lo: 2, Hi: 1}}},
		"zero bound":      {Bounds: []problem.Interval{{Name: "lengthscale", Lo: 0, Hi: 1}}},
		"unknown bound":   {Bounds: []problem.Interval{{Name: "x", Lo: 1, Hi: 2}}},
		"bad standardize": {Standardize: "yx"},
	} {
		wantOption(t, d, o, "")
	}
	for _, text := range []string{"rbv", "rbf(dims=1)", "rbf(dims=9)"} { // column 1 is constant
		if _, err := Prepare(d, problem.Options{Kernel: text}, problem.Events{}); err == nil {
			t.Errorf("kernel %s accepted", text)
		}
	}
}

// TestTextStartValues checks that a fit uses start values in the kernel's text.
func TestTextStartValues(t *testing.T) {
	task := mustPrepare(t, synthetic(20), problem.Options{Kernel: "rbf(ard, lengthscale=[2, 3], signal_variance=4)"})
	r := must.Get(Evaluate(t.Context(), task, backend, nil))(t)
	want := map[string]float64{"lengthscale[mm]": 2, "lengthscale[kelvin]": 3, "signal_variance": 4}
	for name, v := range want {
		if math.Abs(r.Parameters[name]-v) > 1e-14 {
			t.Errorf("%s starts at %v, want %v", name, r.Parameters[name], v)
		}
	}
}

// flagText matches a Go string that contains a command-line flag.
var flagText = regexp.MustCompile("[\"`][^\"`]*--[a-z]")

// TestNoFlags checks that the texts of library packages name options instead of
// flags. The texts of the listed files belong to other programs.
func TestNoFlags(t *testing.T) {
	others := []string{"internal/slurm/", "internal/cuda/bindings/", "internal/cuda/emulator/", "internal/rundir/rundir.go", "internal/spec/spec.go"}
	cmd := exec.Command("git", "ls-files", "fit", "gp", "graph", "hyperopt", "device", "kernel", "mean", "batch", "cpu")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("needs a git checkout: %v", err)
	}
files:
	for _, path := range strings.Fields(string(out)) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, other := range others {
			if strings.HasPrefix(path, other) {
				continue files
			}
		}
		text, err := os.ReadFile("../" + path)
		if err != nil {
			continue // removed and not yet committed
		}
		for i, line := range strings.Split(string(text), "\n") {
			if flagText.MatchString(line) {
				t.Errorf("%s:%d: names a flag: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// series returns n values of one feature from f, and targets from g.
func series(n int, f func(i int) float64, g func(x float64) float64) problem.Data {
	d := problem.Data{N: n, D: 1}
	for i := range n {
		x := f(i)
		d.X, d.Y = append(d.X, x), append(d.Y, g(x))
	}
	return d
}

// TestFindsPeriod checks that a fit without restarts finds a period far from its start
// value, a third of the range.
func TestFindsPeriod(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	d := series(240, func(i int) float64 { return float64(i) / 10 }, func(x float64) float64 {
		return math.Sin(2*math.Pi*x/1.3) + 0.1*rng.NormFloat64()
	})
	r := mustFit(t, d, problem.Options{Kernel: "periodic", Standardize: "none"}).Report
	turns := 1.3 / r.Parameters["period"]
	if math.Abs(turns-math.Round(turns)) > 0.01 && math.Abs(1/turns-math.Round(1/turns)) > 0.01 {
		t.Errorf("period %v, want 1.3 or a multiple", r.Parameters["period"])
	}
	if r.Parameters["noise_variance"] > 0.02 {
		t.Errorf("noise %v: the wave counts as noise", r.Parameters["noise_variance"])
	}
}

// TestRepeatedRows checks that tuning finds an optimum that only repeated rows show:
// fast waves and little noise, of which random halves of the rows part most pairs.
func TestRepeatedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	d := series(240, func(i int) float64 { return float64(i/3) + 0.3*math.Sin(float64(i/3)) }, func(x float64) float64 {
		return math.Sin(2.5*x) + 0.02*rng.NormFloat64()
	})
	for _, restarts := range []int{0, 5} {
		r := mustFit(t, d, problem.Options{Settings: hyperopt.Settings{Restarts: restarts}}).Report
		if r.Parameters["noise_variance"] > 0.01 {
			t.Errorf("%d restarts: noise %v, want 0.0008", restarts, r.Parameters["noise_variance"])
		}
	}
}
