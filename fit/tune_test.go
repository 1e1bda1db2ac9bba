package fit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/device"
	"gpfit/fit/internal/starts"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// TestCoarseReachesTheOptimum checks that coarse to fine ends at the optimum of the
// plain fit, by the same criteria, with fewer gradients at full size.
func TestCoarseReachesTheOptimum(t *testing.T) {
	for name, o := range map[string]problem.Options{
		"plain":  {},
		"mean":   {Mean: "linear"},
		"fixed":  {Fix: []problem.Assignment{{Name: "noise_variance", Value: 0.02, Given: true}, {Name: "lengthscale[2]"}}},
		"bounds": {Bounds: []problem.Interval{{Name: "lengthscale", Lo: 0.1, Hi: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			d := smooth(500)
			o.Kernel = "rbf(ard)"
			o.Settings.Coarse = hyperopt.CoarseOff
			plain := mustFit(t, d, o).Report
			o.Settings.Coarse = hyperopt.CoarseOn
			coarse := mustFit(t, d, o).Report
			// 1e-3 nats are far below what the data can resolve.
			if !(coarse.NLML <= plain.NLML+1e-3) || !strings.HasSuffix(coarse.Status, "-converged") {
				t.Errorf("NLML %v (%s), plain %v (%s)", coarse.NLML, coarse.Status, plain.NLML, plain.Status)
			}
			if coarse.Evaluations.FullSizeGradient >= plain.Evaluations.FullSizeGradient {
				t.Errorf("%+v, plain %+v", coarse.Evaluations, plain.Evaluations)
			}
			checkPath(t, coarse)
			if plain.Path != nil || plain.Evaluations.Value != plain.Evaluations.FullSizeValue {
				t.Errorf("the plain fit has path %v and %+v", plain.Path, plain.Evaluations)
			}
		})
	}
}

// TestCoarseOfEveryKind checks that coarse to fine ends at the optimum of the plain fit with
// priors, ties, noise of groups and of rows, several starts and leave-one-out.
func TestCoarseOfEveryKind(t *testing.T) {
	for name, c := range map[string]struct {
		data problem.Data
		o    problem.Options
	}{
		"groups":   {twoLabs(300), problem.Options{Kernel: "rbf", Mean: "zero"}},
		"rows":     {knownLabs(300), problem.Options{Kernel: "rbf", Mean: "zero"}},
		"prior":    {synthetic(300), problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "lognormal(0, 1)")}}}},
		"loo":      {synthetic(300), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.LOO}},
		"basis":    {synthetic(300), problem.Options{Kernel: "rbf", Mean: "linear + bumps(5, dims=0)"}},
		"restarts": {twoLabs(300), problem.Options{Kernel: "rbf", Settings: hyperopt.Settings{Restarts: 2}, Mean: "linear"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := c.o
			o.Kernel = "rbf(ard)"
			o.Settings.Coarse = hyperopt.CoarseOff
			plain := mustFit(t, c.data, o).Report
			o.Settings.Coarse = hyperopt.CoarseOn
			coarse := mustFit(t, c.data, o).Report
			if got, want := coarse.Objective, plain.Objective; !(got <= want+1e-3) || len(coarse.Path) < 2 {
				t.Errorf("objective %v in %d steps, plain %v", got, len(coarse.Path), want)
			}
		})
	}
}

// checkPath checks that the path ends at the result and that its evaluations add up.
func checkPath(t *testing.T, r summary.Report) {
	t.Helper()
	value, gradient := 0, 0
	for _, s := range r.Path {
		value += s.Value
		gradient += s.Gradient
	}
	last := r.Path[len(r.Path)-1]
	if len(r.Path) < 2 || last.Rows != r.N || math.Abs(last.Objective-r.NLML) > 1e-9*math.Abs(r.NLML) {
		t.Errorf("path of %d steps ends at %+v, result %v at %v", len(r.Path), last, r.NLML, r.Parameters)
	}
	for name, v := range last.Parameters {
		if r.Parameters[name] != v {
			t.Errorf("path ends with %s = %v, result %v", name, v, r.Parameters[name])
		}
	}
	// The evaluation of the best point adds one value.
	if gradient != r.Evaluations.Gradient || value > r.Evaluations.Value-1 {
		t.Errorf("the path has %d values and %d gradients, the report %+v", value, gradient, r.Evaluations)
	}
	if last.Gradient > r.Evaluations.FullSizeGradient {
		t.Errorf("%d gradients over all rows, the report has %+v", last.Gradient, r.Evaluations)
	}
}

// TestSubsets checks that a job on all rows is the job itself and that one on few rows has few.
func TestSubsets(t *testing.T) {
	d := synthetic(90)
	task := mustPrepare(t, d, problem.Options{Kernel: "rbf(ard)", Mean: "linear"})
	if m := task.On(task.Sample.WithRows([]int{1, 4, 9, 40, 89})); m.N() != 5 || m.D() != task.D() {
		t.Fatalf("%d rows, %d columns", m.N(), m.D())
	}
	rows := make([]int, 90)
	for i := range rows {
		rows[i] = i
	}
	all := testcheck.Get(Evaluate(t.Context(), task.On(task.Sample.WithRows(rows)), backend, nil))(t)
	whole := testcheck.Get(Evaluate(t.Context(), task, backend, nil))(t)
	if all.NLML != whole.NLML || !cmp.Equal(all.GradientLog, whole.GradientLog) {
		t.Errorf("NLML on all rows %v, of the job %v", all.NLML, whole.NLML)
	}
	_, err := Prepare(smooth(20), problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Coarse: "maybe"}}, problem.Events{})
	testcheck.Fail[error](t, err)
}

// TestLimits checks that ARD lengthscales, and no other parameters, are limited in
// proportion to the spread of their columns and to the root of a large signal variance.
func TestLimits(t *testing.T) {
	d := smooth(50)
	task := mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard) + matern32", Standardize: "none", Fix: []problem.Assignment{{Name: "k1.lengthscale[1]"}}})
	for _, factor := range []float64{0.1, 9} {
		z := task.Params.Start()
		for i, q := range task.Params.Free {
			if strings.HasSuffix(q.Indexed, "signal_variance") {
				z[i] = q.Z(factor / 2 * task.Model.TargetVariance(task.Sample))
			}
		}
		limits := (&tuning.Workplace{Job: task}).Limits(z)
		for i, p := range task.Params.Free {
			want := math.Inf(1)
			if p.Group == "k1.lengthscale" {
				c := task.Program().Params[0].Dims[i]
				want = starts.CutLengthscale + 0.5*math.Log(problem.MeanSquare(task.Sample.Points.Column(c))*max(1, factor))
			}
			if !(limits[i] == want || math.Abs(limits[i]-want) < 1e-12) {
				t.Errorf("%s: %v, want %v", p.Name, limits[i], want)
			}
		}
	}
}

// TestRestartsListOptima checks that the optima are distinct, that each is a stationary point with
// the NLML of a plain fit from there, and that every start ends at one of them.
func TestRestartsListOptima(t *testing.T) {
	for _, c := range []hyperopt.Coarse{hyperopt.CoarseAuto, hyperopt.CoarseOff} {
		d := twoOptima(240)
		o := problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Coarse: c, Restarts: 4, Seed: 2}}
		r := mustFit(t, d, o).Report
		if len(r.Optima) < 2 || !r.Optima[0].Best || r.Optima[0].Dropped || math.Abs(r.Optima[0].Objective-r.NLML) > 1e-9*math.Abs(r.NLML) {
			t.Fatalf("%s: optima %+v, NLML %v", c, r.Optima, r.NLML)
		}
		starts := 0
		for i, opt := range r.Optima {
			starts += opt.Starts
			if opt.Dropped {
				// This is no optimum, but a point above the best, or where a start was left on half of the rows.
				if opt.Best || opt.Rows != 0 && opt.Rows != 120 || opt.Rows == 0 && opt.Objective < r.Optima[0].Objective {
					t.Errorf("%s: dropped %+v", c, opt)
				}
				continue
			}
			if i > 0 && opt.Objective < r.Optima[i-1].Objective {
				t.Errorf("%s: optima not in order", c)
			}
			again := problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}, Set: assignments(opt.Parameters)}
			testcheck.Within(t, mustFit(t, d, again).Report.NLML, opt.Objective, hyperopt.DefaultToleranceNats, "%s: end of a fit from optimum %d", c, i)
		}
		// The data suggest eight starts, and each restart adds one; the first counts twice.
		if most := 13; starts < 5 || starts > most || c == hyperopt.CoarseOff && starts != 5 {
			t.Errorf("%s: %d starts led to an optimum", c, starts)
		}
	}
}

// TestHalves checks that on few rows every start begins on a half, that values over all
// rows choose among them, that the path adds up, and that the optimum equals the best of
// starts that all run to their end over all rows.
func TestHalves(t *testing.T) {
	d := smooth(300)
	o := problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: hyperopt.Settings{Restarts: 3}}
	r := mustFit(t, d, o).Report
	o.Settings.Coarse = hyperopt.CoarseOff
	plain := mustFit(t, d, o).Report
	if !(r.NLML <= plain.NLML+1e-6) || r.Evaluations.FullSizeGradient > plain.Evaluations.FullSizeGradient {
		t.Errorf("NLML %v with %+v, every start to its end %v with %+v", r.NLML, r.Evaluations, plain.NLML, plain.Evaluations)
	}
	checkPath(t, r)
	for i, want := range []struct {
		step   string
		starts int
	}{{"halves", 11}, {"values", 11}, {"descent", 2}} {
		if s := r.Path[i]; s.Step != want.step || s.Starts != want.starts || i == 0 && s.Rows != 150 {
			t.Errorf("step %d: %+v, want %+v", i, s, want)
		}
	}
	if v := r.Path[1]; v.Gradient != 0 || v.Value < 11 || v.Value > 22 {
		t.Errorf("%d values and %d gradients compare the starts", v.Value, v.Gradient)
	}
	o.Settings = hyperopt.Settings{}
	if r := mustFit(t, d, o).Report; r.Path[0].Starts < 2 || r.Optima != nil || r.Starts != nil || r.Search.Starts+r.Search.Stopped < r.Path[0].Starts {
		t.Errorf("without restarts: %+v, optima %+v, starts %+v", r.Path[0], r.Optima, r.Starts)
	}
}

// TestHalvesWithoutUse checks that the starts continue unchanged over all rows if
// halves do not determine the mean.
func TestHalvesWithoutUse(t *testing.T) {
	d := synthetic(220)
	for i := range d.N {
		d.X[i*d.D] = 0
	}
	d.X[0] = 1 // only this row determines the slope; a half without it does not
	o := problem.Options{Kernel: "rbf", Mean: "linear", Standardize: "none", Settings: hyperopt.Settings{Restarts: 2}}
	r := mustFit(t, d, o).Report
	o.Settings.Coarse = hyperopt.CoarseOff
	// A race gives up what it can improve by less than a quarter of a nat.
	if plain := mustFit(t, d, o).Report; !(r.NLML <= plain.NLML+0.25) {
		t.Errorf("NLML %v, every start to its end %v", r.NLML, plain.NLML)
	}
}

// renamed is a backend whose device has another name.
type renamed struct {
	device.Backend
	name string
}

func (r renamed) Info() device.Info {
	info := r.Backend.Info()
	info.Name = r.name
	return info
}

func (r renamed) For(w device.Workload) device.Backend {
	return renamed{device.For(r.Backend, w), r.name}
}

// TestFitsRepeat checks that the same fit has the same bits, on one or more backends.
func TestFitsRepeat(t *testing.T) {
	d := smooth(260)
	for _, o := range []problem.Options{
		{Kernel: "matern52(ard)", Settings: hyperopt.Settings{Restarts: 4, Seed: 3}},
		{Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}},
		{Kernel: "rbf(ard)", Settings: hyperopt.Settings{Restarts: 2}},
	} {
		first := bits(t, mustFit(t, d, o))
		if !bytes.Equal(first, bits(t, mustFit(t, d, o))) {
			t.Errorf("%+v: the same fit again has other bits", o.Settings)
		}
		out := testcheck.Get(Run(t.Context(), mustPrepare(t, d, o), backend, renamed{backend, "second"}, renamed{backend, "third"}))(t)
		if out.Report.Device != "cpu,second,third" && o.Settings.Restarts > 0 {
			t.Errorf("%+v: devices %s", o.Settings, out.Report.Device)
		}
		out.Report.Device = "cpu"
		if !bytes.Equal(first, bits(t, out)) {
			t.Errorf("%+v: the same fit on three devices has other bits", o.Settings)
		}
		out.Close()
	}
}

// bits returns the model file and the report without times.
func bits(t *testing.T, out *Outcome) []byte {
	t.Helper()
	var text bytes.Buffer
	saved := *out.Model
	saved.Record = nil // it has seconds
	testcheck.Do(t, saved.Write(&text))
	r := out.Report
	r.Seconds, r.EvaluationSeconds, r.Digits = 0, 0, nil // the factors of some backends here cannot be read
	r.Path = slices.Clone(r.Path)
	for i := range r.Path {
		r.Path[i].Seconds = 0
	}
	testcheck.Do(t, json.NewEncoder(&text).Encode(r))
	return text.Bytes()
}

// checkpointed lists fits of every kind that a checkpoint must support.
var checkpointed = map[string]problem.Options{
	"plain":    {Kernel: "rbf"},
	"robust":   {Kernel: "rbf", Robust: true},
	"coarse":   {Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}},
	"restarts": {Kernel: "rbf", Settings: hyperopt.Settings{Restarts: 2, Seed: 3}},
}

// TestResumeAtEveryEvaluation checks that a fit that fails permanently after few factorizations, in the long form at every single
// one, and is restarted each time, ends with the bits of an undisturbed fit.
func TestResumeAtEveryEvaluation(t *testing.T) {
	for name, o := range checkpointed {
		t.Run(name, func(t *testing.T) {
			d := synthetic(50)
			if o.Settings.Restarts > 0 {
				d = synthetic(205)
			}
			if o.Robust {
				d, _ = spoilt(50)
			}
			undisturbed := mustFit(t, d, o)
			want := bits(t, undisturbed)
			o.Checkpoint = filepath.Join(t.TempDir(), "ck")
			task := mustPrepare(t, d, o)
			lost := &device.LostError{Device: "cuda:0", Err: errors.New("gone")}
			runs, most := 0, 8
			if testcheck.Long() {
				// The first evaluation succeeds and the next one fails. The last run
				// needs two evaluations, because it evaluates the best point again.
				most = 3
			}
			for {
				k := most
				out, err := Run(t.Context(), task, failing{backend, &k, lost})
				if runs++; err == nil {
					out.Report.Device = "cpu"
					if got := bits(t, out); !bytes.Equal(got, want) {
						t.Errorf("after %d runs other bits:\n%s\nwant\n%s", runs, tail(got), tail(want))
					}
					testcheck.Do(t, out.RemoveCheckpoint())
					out.Close()
					break
				}
				if testcheck.Fail[*device.LostError](t, err, "continues from the checkpoint") == nil || runs > 2000 {
					t.Fatalf("run %d: %v", runs, err)
				}
			}
			if e := undisturbed.Report.Evaluations.Value; runs < e/(most+most/2) {
				t.Errorf("%d runs for %d evaluations: the test does not stop often", runs, e)
			}
			if _, err := os.Stat(o.Checkpoint); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the checkpoint is still there: %v", err)
			}
		})
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-1500):] }

// finishedCheckpoint runs a fit to its end and returns its bits, the task, and
// the checkpoint's text.
func finishedCheckpoint(t *testing.T, d problem.Data, o problem.Options) (want []byte, task *tuning.Job, text []byte) {
	t.Helper()
	task = mustPrepare(t, d, o)
	out := testcheck.Get(Run(t.Context(), task, backend))(t)
	want = bits(t, out)
	out.Close()
	text = testcheck.Get(os.ReadFile(o.Checkpoint))(t)
	return want, task, text
}

// sorted returns the lines of a log in a fixed order: starts on several threads write in any.
func sorted(text []byte) []string { return slices.Sorted(strings.Lines(string(text))) }

// TestTornCheckpoint checks that a fit continues from a log cut off anywhere, at more places in the long form.
func TestTornCheckpoint(t *testing.T) {
	o := problem.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.NoPosterior, Checkpoint: filepath.Join(t.TempDir(), "ck"), Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}
	want, task, text := finishedCheckpoint(t, synthetic(40), o)
	cuts := 29
	if testcheck.Long() {
		cuts = 67
	}
	for cut := 0; cut < len(text); cut += 1 + len(text)/cuts {
		for _, garbage := range []string{"", "\x00\x00\n\x00"} {
			if garbage != "" && cut < 200 {
				continue // the head itself
			}
			testcheck.Do(t, os.WriteFile(o.Checkpoint, append(text[:cut:cut], garbage...), 0o600))
			out := testcheck.Get(Run(t.Context(), task, backend))(t)
			if !bytes.Equal(bits(t, out), want) {
				t.Errorf("cut at %d: other bits", cut)
			}
			out.Close()
			if again, err := os.ReadFile(o.Checkpoint); err != nil || !slices.Equal(sorted(again), sorted(text)) {
				t.Fatalf("cut at %d: the checkpoint became another (%v)", cut, err)
			}
		}
	}
}

// TestForeignCheckpoint checks that a fit rejects another job's checkpoint, a damaged
// one and a file that is no checkpoint, and leaves them unchanged.
func TestForeignCheckpoint(t *testing.T) {
	d := synthetic(40)
	o := problem.Options{Kernel: "rbf", Mean: "zero", Checkpoint: filepath.Join(t.TempDir(), "ck")}
	_, _, text := finishedCheckpoint(t, d, o)
	other := synthetic(40)
	other.Y[7] += 1e-9
	middle := bytes.Clone(text)
	middle[len(text)/2] ^= 1
	prior := []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "lognormal(0, 1)")}}
	for name, c := range map[string]struct {
		data    problem.Data
		change  func(*problem.Options)
		text    []byte
		message string
	}{
		"data":    {other, func(*problem.Options) {}, text, "belongs to another job"},
		"kernel":  {d, func(o *problem.Options) { o.Kernel = "matern32" }, text, "belongs to another job"},
		"seed":    {d, func(o *problem.Options) { o.Settings.Seed = 2 }, text, "belongs to another job"},
		"start":   {d, func(o *problem.Options) { o.Set = []problem.Assignment{{Name: "lengthscale", Value: 2, Given: true}} }, text, "belongs to another job"},
		"prior":   {d, func(o *problem.Options) { o.Priors = prior }, text, "belongs to another job"},
		"damaged": {d, func(*problem.Options) {}, middle, "is damaged at line"},
		"version": {d, func(*problem.Options) {}, []byte("gpfit-checkpoint 0 abc\n"), "another version"},
		"none":    {d, func(*problem.Options) {}, []byte("x,y\n1,2\n"), "is not a checkpoint"},
	} {
		testcheck.Do(t, os.WriteFile(o.Checkpoint, c.text, 0o600))
		changed := o
		c.change(&changed)
		_, err := Run(t.Context(), mustPrepare(t, c.data, changed), backend)
		if name == "damaged" {
			testcheck.Fail[*problem.DataError](t, err, c.message)
		} else {
			testcheck.Fail[*problem.OptionError](t, err, c.message)
		}
		if now, err := os.ReadFile(o.Checkpoint); err != nil || !bytes.Equal(now, c.text) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
	// Events do not change the job.
	testcheck.Do(t, os.WriteFile(o.Checkpoint, text, 0o600))
	out := testcheck.Get(Run(t.Context(), watched(t, d, o, problem.Events{OnWarning: func(string) {}}), backend))(t)
	// No other fit can open a checkpoint in use.
	_, err := Run(t.Context(), mustPrepare(t, d, o), backend)
	testcheck.Fail[error](t, err, "another process")
	out.Close()
}

// TestCancelledCheckpoint checks that a cancelled fit returns its best model and continues from the
// checkpoint to the bits of an undisturbed fit, even if it was cancelled on few rows.
func TestCancelledCheckpoint(t *testing.T) {
	d := smooth(120)
	o := problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}
	want := bits(t, mustFit(t, d, o))
	o.Checkpoint = filepath.Join(t.TempDir(), "ck")
	for _, stop := range []int{1, 2, 5, 9, 20} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := 0
		out, err := Run(ctx, watched(t, d, o, problem.Events{OnIteration: func(descent.Iteration) {
			if seen++; seen == stop {
				cancel()
			}
		}}), backend)
		cancel()
		if out == nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "continues from the checkpoint") {
			t.Fatalf("stopped at %d: %v", stop, err)
		}
		if out.Report.Status != "cancelled" || out.Report.N != 120 || out.Model == nil {
			t.Errorf("stopped at %d: %+v", stop, out.Report)
		}
		out.Close()
	}
	if !bytes.Equal(bits(t, mustFit(t, d, o)), want) {
		t.Error("other bits after cancellations")
	}
}
