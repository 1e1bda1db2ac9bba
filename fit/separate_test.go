package fit

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/matrixrows"
	"gpfit/internal/must"
	"gpfit/kernel"
	"gpfit/method/experts"
)

// regions are rows of a plane, of which one half is smooth and the other rough and noisy.
func regions(n int, seed uint64) problem.Data {
	return drawn(seed, 9, n, "a b y", func(_ int, uniform, normal random) []float64 {
		a, b := 2*uniform()-1, uniform()
		y := math.Sin(2*a) + 0.5*b*b + 0.02*normal()
		if a > 0 {
			y = math.Sin(15*a)*math.Cos(6*b) + 0.2*normal()
		}
		return []float64{a, b, y}
	})
}

// separated are options of experts with parameters of their own.
func separated(clusters string) problem.Options {
	return problem.Options{Mean: "zero", Kernel: "rbf(ard)", Experts: clusters, ExpertParameters: experts.Separate}
}

// partBits returns the bits of a model without its record, whose times differ.
func partBits(t *testing.T, o *Outcome) []byte {
	t.Helper()
	m := *o.Model
	m.Record = nil
	var b bytes.Buffer
	must.Do(t, m.Write(&b))
	return b.Bytes()
}

// TestOneSeparateExpert checks that one expert with its own parameters is the exact process.
func TestOneSeparateExpert(t *testing.T) {
	d := synthetic(120)
	one, plain := mustFit(t, d, separated("kmeans:1")), mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"})
	shared := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Experts: "kmeans:1"})
	if !bytes.Equal(partBits(t, one), partBits(t, shared)) || one.Model.Locals != nil {
		t.Error("one expert with its own parameters is not the one with shared parameters")
	}
	rows := d.X[:20*d.D]
	sameNumbers(t, "std", predictAt(t, one.Model, rows).Std, predictAt(t, plain.Model, rows).Std)
	if one.Report.NLML != plain.Report.NLML {
		t.Errorf("NLML %v, of the exact process %v", one.Report.NLML, plain.Report.NLML)
	}
}

// alone fits the rows of each expert of an outcome as a table of their own.
func alone(t *testing.T, d problem.Data, out *Outcome, o problem.Options) []*Outcome {
	t.Helper()
	var all []*Outcome
	for _, rows := range out.Model.ExpertRows() {
		part := d
		part.N, part.X, part.Y = len(rows), matrixrows.Rows(d.X, rows, d.N, d.D), matrixrows.Rows(d.Y, rows, d.N, 1)
		all = append(all, mustFit(t, part, o))
	}
	return all
}

// TestSeparateExperts checks that each expert has the bits of a fit of its rows alone, and
// the predictions of both rules against formulas on the predictions of these fits.
func TestSeparateExperts(t *testing.T) {
	d := regions(240, 1)
	o := separated("kmeans:3")
	o.Mean, o.Standardize, o.LeaveOneOut = "constant", gp.StandardizeNone, true
	out := mustFit(t, d, o)
	plain := problem.Options{Kernel: o.Kernel, Mean: o.Mean, Standardize: o.Standardize, LeaveOneOut: true}
	single := alone(t, d, out, plain)
	nlml, loo, chance := 0.0, 0.0, 0.0
	for k, one := range single {
		chance += *one.Report.Search.Chance / 3
		each := out.Report.Experts.Each[k]
		nlml, loo = nlml+one.Report.NLML, loo+one.Report.Scores.LeaveOneOut.Sum
		if r := one.Report; !maps.Equal(each.Parameters, r.Parameters) || each.Evaluations != r.Evaluations || each.Rows != r.N {
			t.Errorf("expert %d: %+v, alone %v after %+v", k, each, r.Parameters, r.Evaluations)
		}
	}
	sameNumbers(t, "sums", []float64{out.Report.NLML, out.Report.Scores.LeaveOneOut.Sum, *out.Report.Search.Chance}, []float64{nlml, loo, chance})
	must.Words(t, out.Report.Search.Text, "3 experts were tuned alone, each from its own starts: on average about 1 in ", " such fits misses a lower one")
	rows := regions(40, 2).X
	out.Model.Experts.Trust = []experts.Trust{{Weight: 1, Temperature: 2}, {Weight: 0, Temperature: 1}, {Weight: 0.25, Temperature: 0.8}}
	home := out.Model.Experts.Assign(kernel.NewPoints(out.Model.Scaling.Inputs(rows), 40, 2))
	for _, rule := range experts.Rules() {
		out.Model.Experts.Combine = rule
		got := predictAt(t, out.Model, rows)
		for i, k := range home {
			mean, variance := committeeOf(t, out.Model, single, rows[2*i:2*i+2], k)
			if rule == experts.Nearest {
				p := predictAt(t, single[k].Model, rows[2*i:2*i+2])
				mean, variance = p.Mean[0], p.StdLatent[0]*p.StdLatent[0]
			}
			noise := single[k].Model.NoiseVariance
			sameNumbers(t, string(rule), []float64{got.Mean[i], got.StdLatent[i] * got.StdLatent[i], got.Std[i] * got.Std[i]}, []float64{mean, variance, variance + noise})
		}
	}
}

// committeeOf combines the predictions of single models for a row of expert home by the
// formulas of docs/experts.md. Their mean functions are constants by least squares.
func committeeOf(t *testing.T, m *gp.Model, single []*Outcome, row []float64, home int) (mean, variance float64) {
	t.Helper()
	base, prior := single[home].Model.Mean.Coefficients[0], single[home].Report.Parameters["signal_variance"]
	precision, weighted, trend := 0.0, 0.0, 0.0
	for k, one := range single {
		constant, own := one.Model.Mean.Coefficients[0], one.Report.Parameters["signal_variance"]
		// The same model without least squares has the variance at the coefficients.
		fixed := *one.Model
		fixed.Mean.LeastSquares = false
		at, with := predictAt(t, &fixed, row), predictAt(t, one.Model, row)
		s := at.StdLatent[0] * at.StdLatent[0]
		if k == home {
			trend = with.StdLatent[0]*with.StdLatent[0] - s
		}
		trust := m.Experts.Trust[home]
		beta := trust.Weight * 0.5 * (math.Log(own) - math.Log(s))
		if k == home {
			beta += 1 - trust.Weight
		}
		precision += beta * (1/s - 1/own)
		weighted += beta * ((at.Mean[0]-base)/s - (constant-base)/own)
	}
	return base + weighted/(precision+1/prior), 1/(precision/m.Experts.Trust[home].Temperature+1/prior) + trend
}

// TestSeparateFile checks that a model of experts with their own parameters is the same after
// it was saved and read, and that the other ways to predict agree with it.
func TestSeparateFile(t *testing.T) {
	d := regions(300, 3)
	for _, rule := range experts.Rules() {
		o := separated("kmeans:4")
		o.Combine, o.Mean = rule, "linear"
		d.NoiseGroup, d.NoiseGroupColumn = cycled(d.N, "one", "two"), "lab"
		out := mustFit(t, d, o)
		path := saved(t, out, false)
		m, info, err := gp.Inspect(path)
		if err != nil || info.SchemaVersion != 6 || len(m.Locals) != 4 {
			t.Fatalf("%v, version %d, %d experts", err, info.SchemaVersion, len(m.Locals))
		}
		rows, noise := regions(50, 4).X, gp.RowNoise{DefaultGroup: "two"}
		want := must.Get(out.Posterior().PredictNoise(t.Context(), rows, 50, noise))(t)
		p := must.Get(m.Condition(t.Context(), backend))(t)
		defer p.Close()
		got := must.Get(p.PredictNoise(t.Context(), rows, 50, noise))(t)
		means := must.Get(m.Means(t.Context(), backend))(t)
		defer means.Close()
		only := must.Get(means.Predict(t.Context(), rows, 50))(t)
		left := must.Get(p.LeaveOneOut(t.Context()))(t)
		for i := range 50 {
			if got.Mean[i] != want.Mean[i] || got.Std[i] != want.Std[i] || only[0][i] != want.Mean[i] {
				t.Fatalf("row %d: %v ± %v, mean only %v; before %v ± %v", i, got.Mean[i], got.Std[i], only[0][i], want.Mean[i], want.Std[i])
			}
		}
		if s := left.Summary(); s.N != 300 || s.Coverage95 < 0.9 || s.Coverage95 > 0.99 {
			t.Errorf("leave-one-out %+v", s)
		}
		m.Locals[1].Theta[0] = -1 // a negative lengthscale
		must.Fail[error](t, m.Save(path))
	}
}

// TestSeparateIntervals checks on two different regions that intervals hold in each of them
// what they say, by both rules, where intervals of shared parameters do not.
func TestSeparateIntervals(t *testing.T) {
	d, test := regions(900, 5), regions(2000, 6)
	covered := func(m *gp.Model) (smooth, rough float64) {
		p := predictAt(t, m, test.X)
		var count, inside [2]float64
		for i, y := range test.Y {
			half := 0
			if test.X[2*i] > 0 {
				half = 1
			}
			count[half]++
			if y >= p.Lower95[i] && y <= p.Upper95[i] {
				inside[half]++
			}
		}
		return inside[0] / count[0], inside[1] / count[1]
	}
	model := mustFit(t, d, separated("kmeans:4")).Model
	t.Logf("trust %+v", model.Experts.Trust)
	for _, rule := range experts.Rules() {
		model.Experts.Combine = rule
		smooth, rough := covered(model)
		t.Logf("%s: %.3f of the smooth half, %.3f of the rough half", rule, smooth, rough)
		if min(smooth, rough) < 0.9 || max(smooth, rough) > 0.99 {
			t.Errorf("%s: %.3f of the smooth half and %.3f of the rough half are in their 95 %% interval", rule, smooth, rough)
		}
	}
	smooth, rough := covered(mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Experts: "kmeans:4"}).Model)
	t.Logf("shared: %.3f of the smooth half, %.3f of the rough half", smooth, rough)
	if smooth < 0.99 {
		t.Errorf("shared parameters are right in the smooth half, too: %.3f", smooth)
	}
}

// TestSeparateResume checks that a fit that fails again and again, and is restarted each
// time, ends with the bits of an undisturbed one, on any number of threads.
func TestSeparateResume(t *testing.T) {
	d := regions(150, 7)
	o := separated("kmeans:3")
	o.Settings = hyperopt.Settings{Restarts: 1, Seed: 4}
	want := partBits(t, mustFit(t, d, o))
	for _, threads := range []int{1, 3} {
		b := must.Get(cpu.New(device.Options{Threads: threads}))(t)
		out, err := Run(t.Context(), mustPrepare(t, d, o), b)
		if err != nil || !bytes.Equal(partBits(t, out), want) {
			t.Errorf("%d threads: other bits, %v", threads, err)
		}
		out.Close()
		_ = b.Close()
	}
	o.Checkpoint = filepath.Join(t.TempDir(), "ck")
	job := mustPrepare(t, d, o)
	lost := &device.LostError{Device: "cuda:0", Err: errors.New("gone")}
	for runs := 1; ; runs++ {
		k := 40
		out, err := Run(t.Context(), job, failing{backend, &k, lost})
		if err == nil {
			if !bytes.Equal(partBits(t, out), want) || runs < 4 {
				t.Errorf("other bits after %d runs", runs)
			}
			out.Close()
			return
		}
		if must.Fail[*device.LostError](t, err, "local expert ", "continues from the checkpoint") == nil || runs > 200 {
			t.Fatalf("run %d: %v", runs, err)
		}
	}
}

// TestSeparateInterrupt checks that an interrupted fit has a model in which every expert has
// parameters, and that the fit then continues to the bits of an undisturbed one.
func TestSeparateInterrupt(t *testing.T) {
	d := regions(200, 8)
	o := separated("kmeans:4")
	want := partBits(t, mustFit(t, d, o))
	o.Checkpoint = filepath.Join(t.TempDir(), "ck")
	ctx, cancel := context.WithCancel(t.Context())
	var told []int
	stop := problem.Events{OnExpert: func(done, all int, _ time.Duration) {
		if told = append(told, done); done == 1 {
			cancel()
		}
		if all != 4 {
			t.Errorf("%d experts", all)
		}
	}}
	b := must.Get(cpu.New(device.Options{Threads: 1}))(t)
	defer b.Close()
	out, err := Run(ctx, watched(t, d, o, stop), b)
	if !errors.Is(err, context.Canceled) || out == nil || len(told) < 2 {
		t.Fatalf("told %v, error %v", told, err)
	}
	must.Words(t, strings.Join(out.Report.Warnings, "\n"), "it has its start values")
	if out.Report.Status != "cancelled" || out.Model.Status != "cancelled" {
		t.Errorf("status %s", out.Report.Status)
	}
	if predictAt(t, out.Model, d.X[:20]); len(out.Model.Locals) != 4 {
		t.Errorf("%d experts", len(out.Model.Locals))
	}
	out.Close()
	out = mustFit(t, d, o)
	if !bytes.Equal(partBits(t, out), want) {
		t.Error("the continued fit has other bits")
	}
	o.Checkpoint, o.DiscardCancelled = "", true
	if out, err := Run(ctx, mustPrepare(t, d, o), backend); out != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("discarded: %v", err)
	}
}

// TestSeparateOptions checks several targets, known noise and standard errors, and what
// needs shared parameters.
func TestSeparateOptions(t *testing.T) {
	d := regions(150, 9)
	d.NoiseVariance = cycled(d.N, 0.01, 0.02, 0.03)
	o := separated("kmeans:2")
	o.StdErrors = true
	out := mustFit(t, d, o)
	for k, one := range out.Report.Experts.Each {
		if one.StdErrors == nil {
			t.Errorf("expert %d has no standard errors", k)
		}
	}
	must.Words(t, out.Report.Text(), "of the experts, scaled")
	d.NoiseVariance, d.TargetName, d.TargetNames = nil, "", []string{"u", "v"}
	for _, y := range d.Y[:d.N] {
		d.Y = append(d.Y, 5-2*y)
	}
	o = separated("kmeans:2")
	o.Mean = "constant"
	two := mustFit(t, d, o)
	parts := must.Get(two.Posterior().PredictTargets(t.Context(), d.X[:20], 10, gp.RowNoise{}))(t)
	second := must.Get(two.Posterior().Target(1).Predict(t.Context(), d.X[:20], 10))(t)
	alone := predictAt(t, two.Model.Target(1), d.X[:20])
	sameNumbers(t, "second target", alone.Mean, parts[1].Mean)
	for i, v := range parts[0].Mean {
		if math.Abs(parts[1].Mean[i]-(5-2*v)) > 1e-6 || second.Mean[i] != parts[1].Mean[i] || second.Std[i] != parts[1].Std[i] {
			t.Errorf("row %d: %v, %v and %v", i, v, parts[1].Mean[i], second.Mean[i])
		}
	}
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", ExpertParameters: experts.Separate}, "option expert-parameters separate: needs option experts")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Experts: "kmeans:2", ExpertParameters: "own"}, "must be shared or separate")
	o.Posterior = problem.Laplace
	wantOption(t, d, o, "needs parameters that all experts share")
	flat := regions(120, 9)
	for i := range flat.N {
		flat.X[i], flat.X[flat.N+i] = flat.X[i]/20, float64(i%2) // one value of b in each cluster
	}
	o = separated("kmeans:2")
	o.Mean = "linear"
	wantOption(t, flat, o, "the rows do not determine its coefficients")
	job := mustPrepare(t, regions(60, 1), separated("kmeans:2"))
	_, cv := CrossValidate(t.Context(), job, backend, nil, problem.CrossValidation{Folds: 3})
	_, profile := Profile(t.Context(), job, ProfileOptions{}, backend)
	must.Fail[*problem.OptionError](t, cv, "option expert-parameters")
	must.Fail[*problem.OptionError](t, profile, "option expert-parameters")
	if job.NumFitted() != 8 || job.Expected() != nil {
		t.Errorf("%d parameters", job.NumFitted())
	}
}
