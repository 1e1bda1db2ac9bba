package fit

import (
	"errors"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/device/devicetest/testmethod"
	"gpfit/device/textbook"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/method/tree"
)

// nearly returns a backend of the method with a bound, on plain formulas.
func nearly(t *testing.T, m testmethod.Nearly) device.Backend {
	t.Helper()
	b, _ := testcheck.Get2(device.Dispatch(t.Context(), device.Request{Device: textbook.Name, Method: testmethod.NearlyName}, []device.Driver{textbook.Driver()}, m))(t)
	return b[0]
}

// fitNearly fits by a method with a bound.
func fitNearly(t *testing.T, m testmethod.Nearly, d problem.Data, o problem.Options) *Outcome {
	t.Helper()
	out := testcheck.Get(Run(t.Context(), testcheck.Get(Prepare(d, o, problem.Events{}))(t), nearly(t, m)))(t)
	t.Cleanup(out.Close)
	return out
}

// exactly evaluates the parameters of a report by the dense method.
func exactly(t *testing.T, d problem.Data, o problem.Options, r *summary.Report) *summary.Report {
	t.Helper()
	kernel := maps.Clone(r.Parameters)
	for _, c := range r.MeanCoefficients { // by least squares
		delete(kernel, c.Name)
	}
	o.Set = problem.FoundValues(kernel)
	return testcheck.Get(Evaluate(t.Context(), testcheck.Get(Prepare(d, o, problem.Events{}))(t), backend, nil))(t)
}

// TestApproximation checks that the NLML of a method with a bound is corrected, is within its bound of the value of the dense
// method at the same parameters, and that report and model say how far it may be off.
func TestApproximation(t *testing.T) {
	d := synthetic(80)
	several := d
	several.Y, several.TargetNames, several.TargetName = append(append([]float64{}, d.Y...), d.X[:80]...), []string{"a", "b"}, ""
	for name, c := range map[string]struct {
		data problem.Data
		o    problem.Options
	}{
		"one":     {d, problem.Options{Kernel: "rbf", Mean: "linear", Posterior: problem.NoPosterior}},
		"several": {several, problem.Options{Kernel: "matern32", Posterior: problem.NoPosterior}},
	} {
		out := fitNearly(t, testmethod.Nearly{Error: 1e-4}, c.data, c.o)
		r, a := &out.Report, out.Report.Approximation
		want := exactly(t, c.data, c.o, r)
		off := math.Abs(r.NLML - want.NLML)
		if a == nil || a.Method != testmethod.NearlyName || a.RowsVerified != 80 || a.Tightened != 0 || a.Unknown() || !(*a.Bound <= device.DefaultTolerance) || a.Tolerance != device.DefaultTolerance {
			t.Fatalf("%s: %+v", name, a)
		}
		if off > *a.Bound || off < 1e-12 {
			t.Errorf("%s: NLML %v, exactly %v, bound %v", name, r.NLML, want.NLML, *a.Bound)
		}
		// The correction leaves of the data fit a rest of the second order.
		if fit := math.Abs(r.DataFit - want.DataFit); fit > *a.Bound/100 {
			t.Errorf("%s: data fit %v, exactly %v", name, r.DataFit, want.DataFit)
		}
		if math.Abs(r.NLML-r.DataFit-r.Complexity-r.Constant) > 1e-9 || math.Abs(out.Model.NLML-r.NLML) > 1e-9 {
			t.Errorf("%s: the terms of %v do not add up, or the model has another NLML, %v", name, r.NLML, out.Model.NLML)
		}
		testcheck.Words(t, r.Text(), "method                 nearly: blocks of low rank, NLML within ", " nats of exact")
		if r.Verdict == nil || strings.Contains(r.Text(), "may be off") {
			t.Errorf("%s: %s", name, r.Text())
		}
		path := filepath.Join(t.TempDir(), "m.gpfit")
		testcheck.Do(t, out.SaveModel(path, false))
		m := testcheck.Get(gp.Load(path))(t)
		if m.Approximation == nil || !reflect.DeepEqual(m.Approximation, a) {
			t.Errorf("%s: the model has %+v, want %+v", name, m.Approximation, a)
		}
		testcheck.Get(gp.Check(t.Context(), path, nil))(t)
		w := testcheck.Get(m.Workload())(t)
		if w.State.Method != testmethod.NearlyName || w.Tolerance != device.DefaultTolerance/float64(2*m.T()) {
			t.Errorf("%s: predictions have the workload %+v", name, w)
		}
		if name == "one" {
			nlml := testcheck.Get(Evaluate(t.Context(), out.Job.With(func(p *problem.Prepared) {}), nearly(t, testmethod.Nearly{Error: 1e-4}), nil))(t)
			if nlml.Approximation == nil {
				t.Error("an evaluation does not say how far it may be off")
			}
		}
	}
}

// TestTightened checks that a bound above the wanted one makes the method begin again with a tenth of the tolerance, twice at most,
// and that the verdict says what is still not reached.
func TestTightened(t *testing.T) {
	d, o := synthetic(80), problem.Options{Kernel: "rbf", Posterior: problem.NoPosterior, LeaveOneOut: true}
	first := fitNearly(t, testmethod.Nearly{Error: 1e-4}, d, o).Report
	share := *first.Approximation.Bound / device.DefaultTolerance // of a tolerance, with an error of 1e-4
	for _, c := range []struct {
		size      float64 // of the bound at the first tolerance
		m         testmethod.Nearly
		tightened int
		words     string
	}{
		{0.5, testmethod.Nearly{}, 0, ""},
		{5, testmethod.Nearly{}, 1, ""},
		{50, testmethod.Nearly{}, 2, ""},
		{500, testmethod.Nearly{}, 2, "the NLML may be off by 0.00"},
		{0.5, testmethod.Nearly{Miss: 4.1}, 0, ""}, // all rows were compared
		{0.5, testmethod.Nearly{Miss: 4.1, Rows: 0.5}, 2, "nobody knows how far the method nearly is off"},
		{0.5, testmethod.Nearly{Slope: 0.04}, 0, ""},
		{0.5, testmethod.Nearly{Slope: 0.05}, 2, "the derivatives of the NLML may be off by 0.05, so that a search"},
		{0.5, testmethod.Nearly{Miss: math.NaN()}, 2, "nobody knows"},
		{0.5, testmethod.Nearly{Miss: 3.9}, 0, ""},
		{1e-10, testmethod.Nearly{Miss: 9, Rows: 0.5}, 0, ""}, // rounding errors
	} {
		c.m.Error = 1e-4 * c.size / share
		out := fitNearly(t, c.m, d, o)
		r, a := &out.Report, out.Report.Approximation
		if a.Tightened != c.tightened {
			t.Errorf("%+v: tightened %d times, want %d: %+v", c, a.Tightened, c.tightened, a)
		}
		want := exactly(t, d, o, r)
		if off := math.Abs(r.NLML - want.NLML); !a.Unknown() && off > *a.Bound+1e-12*math.Abs(want.NLML) {
			t.Errorf("%+v: off by %v, bound %v", c, off, *a.Bound)
		}
		if got := strings.Join(r.Verdict.Warnings, "\n"); !strings.Contains(got, c.words) || c.words == "" && strings.Contains(got, "method") {
			t.Errorf("%+v: warnings %s", c, got)
		}
		if c.words != "" && r.Verdict.Level != summary.Fair {
			t.Errorf("%+v: verdict %s", c, r.Verdict.Headline)
		}
	}
	// Where not all rows are compared, the bound of the data fit stands in for the rest.
	if a := fitNearly(t, testmethod.Nearly{Error: 1e-6, Rows: 0.5}, d, o).Report.Approximation; a.RowsVerified != 40 || a.Unknown() || !(*a.Bound > 0) {
		t.Errorf("of half of the rows: %+v", a)
	}
}

// brittle refuses tolerances below the first, as a method does whose blocks would have too large ranks.
type brittle struct{ device.Backend }

func (b brittle) For(w device.Workload) device.Backend {
	if w.Tolerance < device.DefaultTolerance/2 {
		return refusing(b)
	}
	return device.For(b.Backend, w)
}

type refusing struct{ device.Backend }

func (refusing) Supports(device.Workload) error {
	return &device.UnsupportedError{Method: testmethod.NearlyName, What: "so small an error"}
}

// TestNotTightened checks that a fit whose method cannot reach a smaller error keeps its result.
func TestNotTightened(t *testing.T) {
	d, o := synthetic(80), problem.Options{Kernel: "rbf", Posterior: problem.NoPosterior, LeaveOneOut: true}
	out := testcheck.Get(Run(t.Context(), testcheck.Get(Prepare(d, o, problem.Events{}))(t), brittle{nearly(t, testmethod.Nearly{Error: 1})}))(t)
	defer out.Close()
	r := &out.Report
	if a := r.Approximation; a == nil || a.Tightened != 0 || !a.Loose() || r.Verdict.Level != summary.Fair {
		t.Errorf("%+v: %s", a, r.Verdict.Headline)
	}
	want := exactly(t, d, o, r)
	if off := math.Abs(r.NLML - want.NLML); off > *r.Approximation.Bound {
		t.Errorf("off by %v, bound %v", off, *r.Approximation.Bound)
	}
}

// TestToleranceOption checks the values of option tolerance and the methods that have a use for it.
func TestToleranceOption(t *testing.T) {
	for _, wrong := range []float64{-1, math.Inf(1), math.NaN()} {
		_, err := Prepare(synthetic(20), problem.Options{Kernel: "rbf", Tolerance: wrong}, problem.Events{})
		if e, ok := errors.AsType[*problem.OptionError](err); !ok || e.Option != "tolerance" {
			t.Errorf("tolerance %v: %v", wrong, err)
		}
	}
	methods := []device.Method{device.Dense{}, testmethod.Nearly{}}
	for name, fine := range map[string]bool{"": true, device.Chosen: true, testmethod.NearlyName: true, device.DenseName: false} {
		if _, err := problem.FindMethod(name, methods, problem.Options{Tolerance: 0.1}); (err == nil) != fine {
			t.Errorf("method %s: %v", name, err)
		}
	}
	if len(problem.MethodsOf(nil, methods, problem.Options{})) != 2 {
		t.Error("a method with a bound may not be chosen")
	}
}

// costly is an exact method that says that it takes hours.
type costly struct{ testmethod.Method }

func (costly) Backends(devices []device.Device) ([]device.Backend, error) {
	all, err := testmethod.Method{}.Backends(devices)
	for i := range all {
		all[i] = costlyBackend{all[i]}
	}
	return all, err
}

type costlyBackend struct{ device.Backend }

func (b costlyBackend) Plan(w device.Workload) device.Plan {
	p := b.Backend.Plan(w)
	p.FlopsGradient = 1e13
	return p
}

// TestContinuesExactly checks that a fit that took a method with a bound unasked goes on by an exact one where that method refuses
// the parameters, or has no digits for the first ones, and says so; and that it ends with an error if it was asked for.
func TestContinuesExactly(t *testing.T) {
	d, o := synthetic(60), problem.Options{Kernel: "rbf", Posterior: problem.NoPosterior, LeaveOneOut: true, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}}
	exact := mustFit(t, d, o)
	job := testcheck.Get(Prepare(d, o, problem.Events{}))(t)
	least := exact.Report.Parameters["lengthscale"] * 1.01
	if start := job.Params.Start()[0]; math.Exp(start) < least {
		t.Fatalf("the fit begins with the lengthscale %v, below %v", math.Exp(start), least)
	}
	open := func(name string, blind bool) device.Backend {
		if blind {
			least = 1e9
		}
		req := device.Request{Device: textbook.Name, Method: name, Workload: tuning.Workload(job)}
		b, _ := testcheck.Get2(device.Dispatch(t.Context(), req, []device.Driver{textbook.Driver()}, costly{}, testmethod.Nearly{Error: 1e-5, Share: 1e-9, Least: least, Blind: blind}))(t)
		return b[0]
	}
	for _, blind := range []bool{false, true} {
		out := testcheck.Get(Run(t.Context(), job, open("", blind)))(t)
		defer out.Close()
		r := &out.Report
		if r.Approximation != nil || r.Method != "textbook" || !strings.Contains(strings.Join(r.Warnings, "\n"), "continued with the method textbook from evaluation") {
			t.Errorf("method %s, %+v, warnings %q", r.Method, r.Approximation, r.Warnings)
		}
		testcheck.Within(t, r.NLML, exact.Report.NLML, 1e-4, "NLML")
		_, err := Run(t.Context(), job, open(testmethod.NearlyName, blind))
		if _, ok := errors.AsType[*device.UnsupportedError](err); ok == blind || device.IsNotPD(err) != blind {
			t.Errorf("asked for: %v", err)
		}
	}
}

// TestLostByExperts compares what local experts lose with the NLML of the dense method at their parameters.
func TestLostByExperts(t *testing.T) {
	d, o := synthetic(90), problem.Options{Kernel: "rbf", Posterior: problem.NoPosterior}
	with := o
	with.Experts = "kmeans:3"
	out := mustFit(t, d, with)
	want := out.Report.NLML - exactly(t, d, o, &out.Report).NLML
	z := make([]float64, out.Job.Params.NumFree())
	for i, p := range out.Job.Params.Free {
		z[i] = math.Log(out.Report.Parameters[p.Name])
	}
	lost := testcheck.Get(lostByExperts(t.Context(), out.Job, backend, z, out.Report.NLML, []device.Method{device.Dense{}, testmethod.Nearly{Error: 1e-5}}))(t)
	if lost == nil || math.Abs(lost.Nats-want) > *lost.Approximation.Bound+1e-9 || want < 1 {
		t.Fatalf("lost %+v, want %v", lost, want)
	}
	out.Report.Experts.Lost = lost
	testcheck.Words(t, out.Report.Text(), "one process of all rows has an NLML that is ", "lower at these parameters (method nearly: blocks of low rank, NLML within")
	for name, m := range map[string]testmethod.Nearly{"dear": {Share: 1e12}, "refused": {Least: 1e9}} {
		if lost, err := lostByExperts(t.Context(), out.Job, backend, z, 0, []device.Method{m}); lost != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, lost, err)
		}
	}
}

// TestWithoutNoise checks that a fit by a tree has a model, a fair one, where no digits are left for a bound.
func TestWithoutNoise(t *testing.T) {
	d := problem.Data{N: 300, D: 2}
	for i := range d.N {
		a, b := math.Mod(float64(i)*0.754877666, 1), math.Mod(float64(i)*0.569840291, 1)
		d.X, d.Y = append(d.X, a, b), append(d.Y, math.Sin(3*a)*math.Exp(b))
	}
	job := testcheck.Get(Prepare(d, problem.Options{Kernel: "matern52", LeaveOneOut: true}, problem.Events{}))(t)
	out := testcheck.Get(Run(t.Context(), job, methodtest.Open(t, tree.Method{})))(t)
	defer out.Close()
	if r := &out.Report; r.Approximation == nil || !r.Approximation.Loose() || r.Verdict.Level != summary.Fair || r.Verdict.Next == nil || r.Verdict.Next.Options["method"] != device.DenseName {
		t.Errorf("%+v, %+v", r.Approximation, r.Verdict)
	}
}
