package fit

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
)

// checkpointed lists fits of every kind that a checkpoint must support.
var checkpointed = map[string]problem.Options{
	"plain":       {Kernel: "rbf(ard)"},
	"coarse":      {Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}},
	"restarts":    {Kernel: "rbf", Settings: hyperopt.Settings{Restarts: 2, Seed: 3}},
	"adam":        {Kernel: "rbf", Settings: hyperopt.Settings{Method: descent.Adam{}, MaxEvaluations: 25}},
	"nelder-mead": {Kernel: "rbf", Settings: hyperopt.Settings{Method: descent.NelderMead{}, MaxEvaluations: 40}},
}

// TestResumeAtEveryEvaluation checks that a fit that fails permanently at every single
// factorisation, and is restarted each time, ends with the bits of an undisturbed fit.
func TestResumeAtEveryEvaluation(t *testing.T) {
	for name, o := range checkpointed {
		t.Run(name, func(t *testing.T) {
			d := synthetic(50)
			if o.Settings.Restarts > 0 {
				d = synthetic(205)
			}
			undisturbed := mustFit(t, d, o)
			want := bits(t, undisturbed)
			o.Checkpoint = filepath.Join(t.TempDir(), "ck")
			task := mustPrepare(t, d, o)
			lost := &device.LostError{Device: "cuda:0", Err: errors.New("gone")}
			runs := 0
			for {
				// The first evaluation succeeds and the next one fails. The last run
				// needs two evaluations, because it evaluates the best point again.
				k := 3
				out, err := Run(t.Context(), task, failing{backend, &k, lost})
				if runs++; err == nil {
					out.Report.Device = "cpu"
					if got := bits(t, out); !bytes.Equal(got, want) {
						t.Errorf("after %d runs other bits:\n%s\nwant\n%s", runs, tail(got), tail(want))
					}
					must.Do(t, out.RemoveCheckpoint())
					out.Close()
					break
				}
				var l *device.LostError
				if !errors.As(err, &l) || !strings.Contains(err.Error(), "continues from the checkpoint") || runs > 2000 {
					t.Fatalf("run %d: %v", runs, err)
				}
			}
			if e := undisturbed.Report.Evaluations.Value; runs < e/4 {
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
	out := must.Get(Run(t.Context(), task, backend))(t)
	want = bits(t, out)
	out.Close()
	text = must.Get(os.ReadFile(o.Checkpoint))(t)
	return want, task, text
}

// TestTornCheckpoint checks that a fit continues from a log cut off anywhere.
func TestTornCheckpoint(t *testing.T) {
	o := problem.Options{Checkpoint: filepath.Join(t.TempDir(), "ck"), Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}
	want, task, text := finishedCheckpoint(t, synthetic(40), o)
	for cut := 0; cut < len(text); cut += 1 + len(text)/97 {
		for _, garbage := range []string{"", "\x00\x00\n\x00"} {
			if garbage != "" && cut < 200 {
				continue // the head itself
			}
			must.Do(t, os.WriteFile(o.Checkpoint, append(text[:cut:cut], garbage...), 0o600))
			out, err := Run(t.Context(), task, backend)
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if !bytes.Equal(bits(t, out), want) {
				t.Errorf("cut at %d: other bits", cut)
			}
			out.Close()
			if again, err := os.ReadFile(o.Checkpoint); err != nil || !bytes.Equal(again, text) {
				t.Fatalf("cut at %d: the checkpoint became another (%v)", cut, err)
			}
		}
	}
}

// TestForeignCheckpoint checks that a fit rejects another job's checkpoint, a damaged
// one and a file that is no checkpoint, and leaves them unchanged.
func TestForeignCheckpoint(t *testing.T) {
	d := synthetic(40)
	o := problem.Options{Checkpoint: filepath.Join(t.TempDir(), "ck")}
	_, _, text := finishedCheckpoint(t, d, o)
	other := synthetic(40)
	other.Y[7] += 1e-9
	middle := bytes.Clone(text)
	middle[len(text)/2] ^= 1
	for name, c := range map[string]struct {
		data    problem.Data
		change  func(*problem.Options)
		text    []byte
		message string
	}{
		"data":   {other, func(*problem.Options) {}, text, "belongs to another job"},
		"kernel": {d, func(o *problem.Options) { o.Kernel = "matern32" }, text, "belongs to another job"},
		"seed":   {d, func(o *problem.Options) { o.Settings.Seed = 2 }, text, "belongs to another job"},
		"start":  {d, func(o *problem.Options) { o.Set = []problem.Assignment{{Name: "lengthscale", Value: 2, Given: true}} }, text, "belongs to another job"},
		"prior": {d, func(o *problem.Options) {
			o.Priors = []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "lognormal(0, 1)")}}
		}, text, "belongs to another job"},
		"damaged": {d, func(*problem.Options) {}, middle, "is damaged at line"},
		"version": {d, func(*problem.Options) {}, []byte("gpfit-checkpoint 0 abc\n"), "another version"},
		"none":    {d, func(*problem.Options) {}, []byte("x,y\n1,2\n"), "is not a checkpoint"},
	} {
		must.Do(t, os.WriteFile(o.Checkpoint, c.text, 0o600))
		changed := o
		c.change(&changed)
		_, err := Run(t.Context(), mustPrepare(t, c.data, changed), backend)
		var option *problem.OptionError
		var data *problem.DataError
		if err == nil || !strings.Contains(err.Error(), c.message) || errors.As(err, &option) == (name == "damaged") || errors.As(err, &data) != (name == "damaged") {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.ReadFile(o.Checkpoint); err != nil || !bytes.Equal(now, c.text) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}
	// Events do not change the job.
	must.Do(t, os.WriteFile(o.Checkpoint, text, 0o600))
	out := must.Get(Run(t.Context(), watched(t, d, o, problem.Events{OnWarning: func(string) {}}), backend))(t)
	// No other fit can open a checkpoint in use.
	if _, err := Run(t.Context(), mustPrepare(t, d, o), backend); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a checkpoint in use: %v", err)
	}
	out.Close()
}

// TestCancelledCheckpoint checks that a cancelled fit returns its best model and continues from the
// checkpoint to the bits of an undisturbed fit, even if it was cancelled on few rows.
func TestCancelledCheckpoint(t *testing.T) {
	d := smooth(120)
	o := problem.Options{Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}
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
	// Before the first evaluation there is no model to return.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := Run(ctx, mustPrepare(t, d, problem.Options{Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}), backend); out != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %v, %v", out, err)
	}
	out := must.Get(Run(t.Context(), mustPrepare(t, d, o), backend))(t)
	defer out.Close()
	if !bytes.Equal(bits(t, out), want) {
		t.Error("other bits after cancellations")
	}
}
