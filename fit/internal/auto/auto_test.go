package auto_test

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// table returns n rows of d uniform columns with targets f and normal noise.
func table(n, d int, noise float64, f func(x []float64) float64) problem.Data {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	out := problem.Data{N: n, D: d}
	for range n {
		var x []float64
		for range d {
			x = append(x, 2*rng.Float64()-1)
		}
		out.X, out.Y = append(out.X, x...), append(out.Y, f(x)+noise*rng.NormFloat64())
	}
	return out
}

func run(t *testing.T, d problem.Data, o problem.Options) *fit.Outcome {
	t.Helper()
	job := testcheck.Get(fit.Prepare(d, o, problem.Events{}))(t)
	out := testcheck.Get(fit.Run(t.Context(), job, backend))(t)
	t.Cleanup(out.Close)
	return out
}

var backend, _ = cpu.New(device.Options{})

// TestChoice compares every model of a choice with a fit of it alone. The order must be the order
// of BIC, computed from that fit, and the choice must have the lowest.
func TestChoice(t *testing.T) {
	d := table(90, 2, 0.1, func(x []float64) float64 { return math.Abs(x[0]) + 0.5*x[1] })
	out := run(t, d, problem.Options{})
	c := out.Report.Choice
	if len(c.Models) != 8 || c.Rows != 90 || c.Models[0].Kernel != out.Report.Kernel || c.Models[0].Mean != out.Report.Mean || out.Job.KernelText() != out.Report.Kernel {
		t.Fatalf("%d models on %d rows, the first is %s with mean %s; the fit has %s, %s", len(c.Models), c.Rows, c.Models[0].Kernel, c.Models[0].Mean, out.Report.Kernel, out.Report.Mean)
	}
	last := math.Inf(-1)
	for _, m := range c.Models {
		alone := run(t, d, problem.Options{Kernel: m.Kernel, Mean: m.Mean}).Report
		bic := 2*alone.NLML + float64(m.Parameters)*math.Log(90)
		// A model of the choice begins at another's optimum and may end 0.5 nats above its own, or above that if it has lost.
		if m.BIC < bic-0.01 || m.BIC > bic+1 && bic < c.Models[0].BIC+1 || m.BIC < last {
			t.Errorf("%s, %s: BIC %g after %g, alone %g", m.Kernel, m.Mean, m.BIC, last, bic)
		}
		last = m.BIC
	}
	if text := c.Text(); !strings.Contains(text, "the lowest BIC of 8 models, tuned on 90 rows") || !strings.Contains(text, "with a linear mean") {
		t.Error(text)
	}
}

// TestExact checks that exact targets keep every model in the choice: from the little noise of a rough
// kernel, the covariance of a smooth one is singular.
func TestExact(t *testing.T) {
	branin := func(x []float64) float64 {
		u, v := 7.5*x[0]+2.5, 7.5*x[1]+7.5
		return math.Pow(v-0.129*u*u+1.592*u-6, 2) + 9.602*math.Cos(u)
	}
	d := table(250, 2, 0.001, branin)
	r := run(t, d, problem.Options{}).Report
	if len(r.Choice.Models) != 8 || !strings.HasPrefix(r.Kernel, "rbf(ard)") {
		t.Errorf("%s of %d models", r.Kernel, len(r.Choice.Models))
	}
}

// TestChoiceOfRows checks that a larger table is compared on some rows and tuned on all.
func TestChoiceOfRows(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("compares kernels on 750 rows: GPFIT_LONG=1 runs it")
	}
	d := table(1300, 1, 0.1, func(x []float64) float64 { return math.Sin(3 * x[0]) })
	r := run(t, d, problem.Options{}).Report
	if r.N != 1300 || r.Choice.Rows != 750 || !slices.Contains([]string{"rbf(ard)", "matern52(ard)"}, r.Kernel) {
		t.Errorf("%d rows, %d of them for the choice of %s", r.N, r.Choice.Rows, r.Kernel)
	}
}

// TestCost checks that a fit of 2,000 rows with a choice takes at most three and a half times the values of a fit
// of the first kernel; the kernel that it chooses is a sum. A value over fewer rows counts in proportion to the cube of their number.
func TestCost(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("takes minutes; GPFIT_LONG=1 runs it")
	}
	const n = 2000
	d := table(n, 3, 0.1, func(x []float64) float64 { return math.Abs(x[0]) + math.Sin(3*x[1])*x[2] })
	work := func(o problem.Options) float64 {
		r := run(t, d, o).Report
		sum, rest, each := float64(r.Evaluations.FullSizeValue), r.Evaluations.Value-r.Evaluations.FullSizeValue, 0.125
		for _, s := range r.Path {
			if s.Rows < n {
				sum += float64(s.Value) * math.Pow(float64(s.Rows)/n, 3)
				rest -= s.Value
			}
		}
		if r.Choice != nil {
			each = math.Pow(float64(r.Choice.Rows)/n, 3)
		}
		t.Logf("%s: %d values over all rows, %d in all; work %.1f", r.Kernel, r.Evaluations.FullSizeValue, r.Evaluations.Value, sum+each*float64(rest))
		return sum + each*float64(rest)
	}
	one := work(problem.Options{Kernel: problem.DefaultKernel})
	if choice := work(problem.Options{}); choice > 3.5*one {
		t.Errorf("%.1f values with a choice, %.1f without", choice, one)
	}
}

// TestPeriod checks that a series with a period gets a periodic kernel, and a random column none.
func TestPeriod(t *testing.T) {
	wave := func(x []float64) float64 { return math.Sin(12*x[0]) + 0.3*math.Sin(24*x[0]) }
	d := table(80, 1, 0.1, wave)
	for _, m := range run(t, d, problem.Options{}).Report.Choice.Models {
		if strings.Contains(m.Kernel, "periodic") {
			t.Errorf("random rows: %s", m.Kernel)
		}
	}
	for i := range d.N {
		x := float64(2*i)/float64(d.N) - 1
		d.Y[i] += wave([]float64{x}) - wave(d.X[i:i+1])
		d.X[i] = x
	}
	if k := run(t, d, problem.Options{}).Report.Kernel; !strings.Contains(k, "periodic") {
		t.Errorf("a series: %s", k)
	}
}

// TestLinearMean checks that a linear mean leaves out columns that depend on others, and that the
// options decide about the mean.
func TestLinearMean(t *testing.T) {
	d := table(60, 2, 0.01, func(x []float64) float64 { return 3*x[0] - x[1] })
	wide := problem.Data{N: d.N, D: 3, Y: d.Y}
	for i := range d.N {
		a, b := d.X[2*i], d.X[2*i+1]
		wide.X = append(wide.X, a, b, a-2*b)
	}
	r := run(t, wide, problem.Options{}).Report
	if len(r.MeanCoefficients) != 3 || len(r.Choice.LeftOut) != 1 {
		t.Errorf("mean %s without %v", r.Mean, r.Choice.LeftOut)
	}
	if r := run(t, wide, problem.Options{Mean: "zero"}).Report; r.Mean != "zero" || len(r.Choice.Models) != 7 {
		t.Errorf("mean %s, %d models", r.Mean, len(r.Choice.Models))
	}
}

// TestContinue interrupts choices at several iterations and continues them: the end has the same
// bits as without interruption, and each interruption leaves a model. With many rows the choice has fewer.
func TestContinue(t *testing.T) {
	rows := []int{70}
	if testcheck.Long() {
		rows = append(rows, 1001)
	}
	for _, n := range rows {
		d := table(n, 2, 0.1, func(x []float64) float64 { return math.Sin(3*x[0]) * x[1] })
		want := run(t, d, problem.Options{}).Report
		o := problem.Options{Checkpoint: filepath.Join(t.TempDir(), "log")}
		for _, after := range []int{1, 30, 60, 120} {
			ctx, cancel := context.WithCancel(t.Context())
			count := 0
			job := testcheck.Get(fit.Prepare(d, o, problem.Events{OnIteration: func(descent.Iteration) {
				if count++; count == after {
					cancel()
				}
			}}))(t)
			out, err := fit.Run(ctx, job, backend)
			if !problem.IsCancelled(err) || out == nil {
				t.Fatalf("%d rows, after %d iterations: %v", n, after, err)
			}
			out.Close()
			cancel()
		}
		if got := run(t, d, o).Report; got.NLML != want.NLML || got.Kernel != want.Kernel || got.Evaluations != want.Evaluations {
			t.Errorf("%s %v %+v, without interruption %s %v %+v", got.Kernel, got.NLML, got.Evaluations, want.Kernel, want.NLML, want.Evaluations)
		}
	}
}

// TestFewRows checks that the number of parameters of the chosen kernel decides whether predictions average
// over draws, as it does if that kernel is given, and that few rows have no linear mean.
func TestFewRows(t *testing.T) {
	d := table(100, 3, 0.3, func(x []float64) float64 { return x[0] + x[1] + x[2] })
	chosen := run(t, d, problem.Options{})
	o := problem.Options{Kernel: chosen.Job.KernelText(), Mean: chosen.Job.MeanText()}
	if given := run(t, d, o); chosen.Job.Averaging != given.Job.Averaging || chosen.Job.Options.Posterior != given.Job.Options.Posterior {
		t.Errorf("chosen %q, given %q", chosen.Job.Averaging, given.Job.Averaging)
	}
	d = table(30, 15, 0.1, func(x []float64) float64 { return x[0] + x[1]*x[1] })
	if r := run(t, d, problem.Options{}).Report; r.Mean != problem.DefaultMean {
		t.Errorf("30 rows, 15 columns: mean %s", r.Mean)
	}
}

// TestOwnStarts checks that with few rows for many columns, where the objective has several optima, each
// kernel is compared at an optimum no worse than the optimum from the default starts.
func TestOwnStarts(t *testing.T) {
	d := table(45, 16, 0.1, func(x []float64) float64 { return 2*x[0] + 3*x[1]*x[1] + x[2] })
	o := problem.Options{NoiseFloor: problem.NoNoiseFloor, Posterior: problem.NoPosterior}
	for _, m := range run(t, d, o).Report.Choice.Models {
		o.Kernel, o.Mean, o.Settings.Restarts = m.Kernel, m.Mean, 1 // few rows have 20
		if m.Kernel != "matern52(ard)" && m.Kernel != "rbf(ard)" {
			continue
		}
		if alone := run(t, d, o).Report.NLML; m.Objective > alone+0.01 {
			t.Errorf("%s: %g, alone %g", m.Kernel, m.Objective, alone)
		}
	}
}

// TestManyColumns checks that with few rows for many columns, whose kernels lose by BIC, the choice takes hardly more
// Hessians than a fit of the kernel that wins, and that options which only the others suit do not end it.
func TestManyColumns(t *testing.T) {
	d := table(90, 30, 0.1, func(x []float64) float64 { return floats.Dot(x, x) / 3 })
	o := problem.Options{NoiseFloor: problem.NoNoiseFloor, Posterior: problem.NoPosterior}
	chosen := run(t, d, o).Report
	o.Kernel, o.Mean = chosen.Kernel, chosen.Mean
	if given := run(t, d, o).Report; chosen.NLML > given.NLML+0.01 || chosen.Evaluations.Hessian > given.Evaluations.Hessian+20 {
		t.Errorf("%s: %v after %+v, given %v after %+v", chosen.Kernel, chosen.NLML, chosen.Evaluations, given.NLML, given.Evaluations)
	}
	o.Kernel, o.Mean, o.Fix = "", "", []problem.Assignment{{Name: "lengthscale[1]", Value: 2, Given: true}}
	if r := run(t, d, o).Report; r.Parameters["lengthscale[1]"] != 2 {
		t.Errorf("%s: %v", r.Kernel, r.Parameters)
	}
}

// TestOptions checks that options on parameters leave models that have them.
func TestOptions(t *testing.T) {
	d := table(50, 2, 0.1, func(x []float64) float64 { return x[0] * x[1] })
	r := run(t, d, problem.Options{Fix: []problem.Assignment{{Name: "lengthscale[1]", Value: 2, Given: true}}}).Report
	if r.Parameters["lengthscale[1]"] != 2 || len(r.Choice.Models) != 4 {
		t.Errorf("%v of %d models", r.Parameters, len(r.Choice.Models))
	}
	_, err := fit.Prepare(d, problem.Options{Fix: []problem.Assignment{{Name: "period"}}}, problem.Events{})
	testcheck.Fail[*problem.OptionError](t, err, "no such parameter")
}
