package fit

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/must"
)

// TestKrigingTargets compares two targets with NumPy's results for each alone.
func TestKrigingTargets(t *testing.T) {
	k, o := readKriging(t)
	d := problem.Data{
		X: k.X, Y: slices.Concat(k.Y...), N: len(k.Known), D: 2, FeatureNames: []string{"a", "b"}, TargetNames: []string{"y1", "y2"},
		NoiseGroup: labels(k.Group), NoiseGroupColumn: "lab",
	}
	measure(t, d, o, func(r summary.Report, posterior *gp.Posterior) error {
		preds, err := posterior.PredictTargets(t.Context(), k.New, len(k.NewKnown), gp.RowNoise{Group: labels(k.NewGroup)})
		if err != nil {
			return err
		}
		sum := 0.0
		for i, want := range k.Several {
			want.check(t, r.Targets[i].NLMLOriginalUnits, r.Targets[i].MeanCoefficients, preds[i])
			sum += want.NLML
			alone, err := posterior.Target(i).PredictNoise(t.Context(), k.New, len(k.NewKnown), gp.RowNoise{Group: labels(k.NewGroup)})
			if diff := cmp.Diff(preds[i], alone, cmpopts.EquateApprox(1e-13, 0)); diff != "" || err != nil {
				t.Errorf("target %d, alone: %v\n%s", i, err, diff)
			}
		}
		if !near(r.NLMLOriginalUnits, sum, 1e-9) {
			t.Errorf("NLML %v, NumPy %v", r.NLMLOriginalUnits, sum)
		}
		return nil
	})
}

// twoTargets returns two smooth functions of the same inputs in different units.
func twoTargets(n int) problem.Data {
	d := synthetic(n)
	for i := range n {
		d.Y = append(d.Y, 1e-3*(math.Cos(d.X[3*i]/150)+0.1*(d.X[3*i+2]-288))+1e-4*math.Sin(float64(i*i)))
	}
	d.TargetName, d.TargetNames = "", []string{"watt", "volt"}
	d.Test = every(5, n)
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
		for _, name := range r.Names {
			fixed.Fix = append(fixed.Fix, problem.Assignment{Name: name, Value: r.Parameters[name], Given: true})
		}
		alone := mustFit(t, one, fixed)
		s := alone.Report
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
	wantWords(t, r.Text(), `target "volt": NLML`, "by target:", "held-out rows (30)")
	checkTargetsSaved(t, out, d)
}

// TestTargetsLeaveOneOut checks that the score of two targets is the mean of their
// separate scores at the same parameters. Standard errors in original units exist
// only for parameters that the targets share.
func TestTargetsLeaveOneOut(t *testing.T) {
	d := twoTargets(80)
	o := problem.Options{Mean: "linear", LeaveOneOut: true, StdErrors: true}
	r := mustFit(t, d, o).Report
	if _, ok := r.StdErrors.Original["signal_variance"]; ok || len(r.StdErrors.Original) != 2 || r.StdErrors.Failure != "" {
		t.Errorf("standard errors %v, failure %q", r.StdErrors.Original, r.StdErrors.Failure)
	}
	nlpd, standardized := 0.0, 0.0
	for i := range 2 {
		one := d
		one.TargetNames, one.TargetName, one.Y = nil, d.TargetNames[i], d.Y[i*d.N:(i+1)*d.N]
		set := o
		for _, name := range r.Names {
			set.Set = append(set.Set, problem.Assignment{Name: name, Value: r.Parameters[name], Given: true})
		}
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
		p := must.Get(m.Condition(t.Context(), backend))(t)
		defer p.Close()
		return must.Get(p.PredictTargets(t.Context(), d.X, d.N, gp.RowNoise{}))(t)
	}
	want := predict(out.Model)
	for _, factor := range []bool{false, true} {
		again := must.Get(gp.Load(saved(t, out, factor)))(t)
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
	d.NoiseGroupColumn, d.NoiseGroup = "lab", make([]string, d.N)
	for i := range d.N {
		d.NoiseGroup[i] = [...]string{"a", "b"}[i%2]
	}
	o := problem.Options{Standardize: gp.StandardizeNone, Mean: "linear", Set: []problem.Assignment{{Name: "lengthscale", Value: 100, Given: true}}}
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
	sub := must.Get(Evaluate(t.Context(), task.On(task.Sample.WithRows(rows)), backend, nil))(t)
	want := evaluate(t, part, o)
	if sub.N != 10 || !near(sub.NLML, want.NLML, 1e-12) || !near(sub.GradientLog["noise_variance[b]"], want.GradientLog["noise_variance[b]"], 1e-9) {
		t.Errorf("NLML %v of %d rows, want %v", sub.NLML, sub.N, want.NLML)
	}
}

func TestTargetErrors(t *testing.T) {
	refuses(t, func() problem.Data { return twoTargets(50) }, map[string]refusal{
		"short":    {func(d *problem.Data) { d.Y = d.Y[1:] }, problem.Options{}, "99 target values for 50 rows"},
		"one name": {func(d *problem.Data) { d.TargetNames, d.Y = d.TargetNames[:1], d.Y[:50] }, problem.Options{}, "target values"},
		"free":     {func(*problem.Data) {}, problem.Options{Mean: "constant", MeanFit: problem.MeanFree}, "cannot be set, fixed, bounded or free"},
		"named":    {func(*problem.Data) {}, problem.Options{Mean: "constant", Fix: []problem.Assignment{{Name: "mean_constant", Value: 1, Given: true}}}, "cannot be set"},
		"known":    {func(d *problem.Data) { d.NoiseVariance = make([]float64, 50) }, problem.Options{}, "cannot be combined with several"},
	})
	d := twoTargets(50)
	for i := range 50 {
		d.Y[50+i] = 7
	}
	task := mustPrepare(t, d, problem.Options{})
	if _, err := Run(t.Context(), task, backend); err == nil || !strings.Contains(err.Error(), `the target "volt" is constant`) {
		t.Errorf("error %v, want one about volt", err)
	}
}
