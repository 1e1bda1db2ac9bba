package auto_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
	"gpfit/table/feature"
)

// TestTransformed checks that a fit takes a transform only where the density of the targets in original units gains by it. An
// option given by the user stays, and a held-out target need not be positive.
func TestTransformed(t *testing.T) {
	d := table(120, 2, 0.3, func(x []float64) float64 { return math.Sin(2*x[0]) + x[1] })
	normal := d
	d.Y = nil
	for _, y := range normal.Y {
		d.Y = append(d.Y, 30*math.Exp(2*y))
	}
	bic := func(d problem.Data, o problem.Options) float64 {
		r := run(t, d, o).Report
		return 2*r.NLMLOriginalUnits + float64(r.Choice.Models[0].Parameters)*math.Log(120)
	}
	out := run(t, d, problem.Options{})
	chosen := out.Report.TargetTransform
	if chosen == nil || chosen.Kind != transform.Log || out.Job.Options.TargetTransform != transform.Log || len(chosen.Candidates) != 4 {
		t.Fatalf("log-normal targets: %+v", chosen)
	}
	testcheck.Words(t, out.Report.Text(), "target transform       log, the lowest BIC of 4 transforms")
	none := problem.Options{TargetTransform: transform.None}
	if gain := bic(d, none) - bic(d, problem.Options{}); gain < 100 {
		t.Errorf("the logarithm gains %g", gain)
	}
	for _, o := range []problem.Options{none, {Kernel: "rbf"}, {Mean: "linear"}, {Robust: true}, {Fix: []problem.Assignment{{Name: "noise_variance"}}}, {Objective: problem.LOO}} {
		if r := run(t, d, o).Report; r.TargetTransform != nil {
			t.Errorf("%+v: %+v", o, r.TargetTransform)
		}
	}
	plain, r := run(t, normal, none).Report, run(t, normal, problem.Options{}).Report
	if r.TargetTransform.Kind != transform.None || r.NLML != plain.NLML || r.Kernel != plain.Kernel {
		t.Errorf("normal targets: %+v, NLML %g and %g", r.TargetTransform, r.NLML, plain.NLML)
	}
	d.Test = make([]bool, d.N)
	d.Test[3], d.Y[3] = true, -1
	for _, o := range []problem.Options{{}, {TargetTransform: transform.Auto}} {
		if r := run(t, d, o).Report; r.TargetTransform.Kind != transform.YeoJohnson {
			t.Errorf("with a held-out negative target: %+v", r.TargetTransform)
		}
	}
}

// TestGrowingSeason checks that a season that grows with the level of its series is one of the logarithm, with a line, and that forecasts then
// miss less. A series without seasons gets no transform.
func TestGrowingSeason(t *testing.T) {
	d := table(144, 1, 0.03, func([]float64) float64 { return 0 })
	d.Test = make([]bool, d.N)
	errors := slices.Clone(d.Y)
	for i, noise := range errors {
		m := float64(i)
		d.X[i], d.Test[i] = 1950+m/12, i >= 120
		d.Y[i] = 100 * math.Exp(m/60+0.2*math.Sin(m*math.Pi/6)+0.1*math.Abs(math.Cos(m*math.Pi/6+1))+noise)
	}
	r, plain := run(t, d, problem.Options{}).Report, run(t, d, problem.Options{TargetTransform: transform.None}).Report
	if r.TargetTransform == nil || r.TargetTransform.Kind != transform.Log || !strings.HasPrefix(r.Mean, "linear") || r.Test.RMSE > 0.7*plain.Test.RMSE {
		t.Errorf("%+v, %s, mean %s, RMSE %g; without a transform %g", r.TargetTransform, r.Kernel, r.Mean, r.Test.RMSE, plain.Test.RMSE)
	}
	for i := range d.Y { // a wave of 15 steps, whose turns are too few to say that it is no cycle
		d.Y[i] = 100 * math.Exp(float64(i)/70+0.3*math.Sin(float64(i)*2*math.Pi/15+1)+errors[i])
	}
	if r := run(t, d, problem.Options{}).Report; r.TargetTransform == nil || r.TargetTransform.Kind != transform.Log || r.Mean != "linear" || !strings.Contains(r.Kernel, "periodic") {
		t.Errorf("a cycle: %+v, %s, mean %s", r.TargetTransform, r.Kernel, r.Mean)
	}
	for i := range d.Y { // on a level
		d.Y[i] = 100 * math.Exp(math.Sin(float64(i)*2*math.Pi/15+1)+3*errors[i])
	}
	if r := run(t, d, problem.Options{}).Report; r.TargetTransform != nil && r.TargetTransform.Kind != transform.None {
		t.Errorf("a cycle on a level: %+v, %s, mean %s", r.TargetTransform, r.Kernel, r.Mean)
	}
	for i := range d.Y {
		d.Y[i] = math.Exp(float64(i)/60 + errors[i])
	}
	if r := run(t, d, problem.Options{}).Report; r.TargetTransform != nil {
		t.Errorf("without seasons: %+v", r.TargetTransform)
	}
}

// TestOneColumn checks that a fit of one column takes a transform unless the rows are a series: a date, or regular steps in order.
func TestOneColumn(t *testing.T) {
	d := table(100, 1, 0.3, func(x []float64) float64 { return math.Sin(2 * x[0]) })
	for i, y := range d.Y {
		d.Y[i] = 30 * math.Exp(y)
	}
	kind := func(d problem.Data) transform.Name {
		if r := run(t, d, problem.Options{}).Report.TargetTransform; r != nil {
			return r.Kind
		}
		return ""
	}
	if got := kind(d); got != transform.Log {
		t.Errorf("rows without order: %q", got)
	}
	slices.Sort(d.X)
	for i, x := range d.X {
		d.Y[i] = 30 * math.Exp(math.Sin(2*x)+0.3*math.Cos(float64(i*i)))
	}
	if got := kind(d); got == transform.None || got == "" {
		t.Errorf("concentrations in order: %q", got)
	}
	dates := d
	dates.FeatureNames = []string{"day"}
	dates.Encoding = &feature.Encoding{Columns: []feature.Coding{{Name: "day", Kind: feature.Date, Unit: feature.Days, Origin: feature.DefaultOrigin}}}
	if got := kind(dates); got != "" {
		t.Errorf("dates: %q", got)
	}
	for i := range d.X {
		d.X[i] = float64(i)
	}
	if got := kind(d); got != "" {
		t.Errorf("regular steps: %q", got)
	}
}

// TestLongTails checks that a fit transforms columns with long tails where the targets follow their logarithms, also beside a transform
// of the target, and not where they follow the columns. With a given kernel, the fit equals a fit of values transformed before.
func TestLongTails(t *testing.T) {
	d := table(120, 3, 0.05, func(x []float64) float64 { return math.Sin(3*x[0]) + x[0]*x[1] })
	logs := slices.Clone(d.X)
	for i, x := range d.X {
		if i%3 < 2 {
			d.X[i] = math.Exp(3 * x)
		}
	}
	r := run(t, d, problem.Options{}).Report
	if len(r.InputTransforms) != 2 || r.InputTransforms["x2"] != nil || !strings.Contains(r.Text(), "columns transformed    x0 (log(1 + x/") {
		t.Errorf("logarithms: %+v, %s", r.InputTransforms, r.Text())
	}
	skewed := problem.Options{Kernel: "rbf(ard)", InputTransform: transform.Skewed}
	given, before := run(t, d, skewed), d
	before.X = slices.Clone(d.X)
	for i, x := range d.X {
		if i%3 < 2 {
			before.X[i] = math.Log1p(x / given.Job.Sample.Scalings[0].XTransforms[i%3].Unit)
		}
	}
	same := run(t, before, problem.Options{Kernel: "rbf(ard)"})
	testcheck.Within(t, given.Report.NLML, same.Report.NLML, 1e-6, "NLML with a given kernel")
	for _, o := range []problem.Options{{InputTransform: transform.None}, {Kernel: "rbf(ard)"}, {Mean: "linear"}, {Robust: true}} {
		if r := run(t, d, o).Report; r.InputTransforms != nil {
			t.Errorf("%+v: %+v", o, r.InputTransforms)
		}
	}
	skewed.Kernel, skewed.InputTransform, skewed.From = "", "", given.Model
	fewer := d
	fewer.N, fewer.X, fewer.Y = 60, d.X[:180], d.Y[:60]
	if kept := run(t, fewer, skewed).Model.Scaling.XTransforms; *kept[0] != *given.Model.Scaling.XTransforms[0] || kept[2] != nil {
		t.Errorf("from a model: %+v", kept)
	}
	target := d
	target.Y = nil
	for _, y := range d.Y {
		target.Y = append(target.Y, 30*math.Exp(3*y))
	}
	if r := run(t, target, problem.Options{}).Report; r.InputTransforms == nil || r.TargetTransform.Kind == transform.None {
		t.Errorf("log-normal targets: %+v, %+v", r.InputTransforms, r.TargetTransform)
	}
	for i := range d.Y {
		d.Y[i] += math.Sin(d.X[3*i]) + 0.3*d.X[3*i+1] - math.Sin(3*logs[3*i]) - logs[3*i]*logs[3*i+1]
	}
	if r := run(t, d, problem.Options{}).Report; r.InputTransforms != nil {
		t.Errorf("the columns themselves: %+v", r.InputTransforms)
	}
}
