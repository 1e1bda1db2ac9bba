package gpfit_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"gpfit"
	"gpfit/compare"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// manyTasks returns fits of small tables with several options; the last of them cannot be fitted.
func manyTasks() (tasks []gpfit.Task) {
	for i, kernel := range []string{"rbf", "matern52(ard)", "", "rq", "rbf(ard)", "no such kernel"} {
		x, y := waves(24 + 5*i)
		o := gpfit.Options{Kernel: kernel, Settings: hyperopt.Settings{Restarts: i % 2}}
		tasks = append(tasks, gpfit.Task{Data: gpfit.Data{X: slices.Concat(x...), Y: y, N: len(x), D: 2}, Options: o})
	}
	tasks[4].Data.Y = tasks[4].Data.Y[:3]
	return tasks
}

// TestFitMany compares the fits of many tables with fits alone, bit by bit, with errors in their places.
func TestFitMany(t *testing.T) {
	tasks := manyTasks()
	var ended []int
	var last gpfit.ManyProgress
	iterations := 0
	devices := gpfit.Devices{Name: "cpu", Threads: 1, Events: problem.Events{OnIteration: func(descent.Iteration) { iterations++ }}}
	results := testcheck.Get(devices.FitMany(t.Context(), tasks, gpfit.ManyOptions{
		OnResult: func(r gpfit.Fitted) { ended = append(ended, r.Task) }, OnProgress: func(p gpfit.ManyProgress) { last = p },
	}))(t)
	slices.Sort(ended)
	if !slices.Equal(ended, []int{0, 1, 2, 3, 4, 5}) || last.Done != 6 || last.Total != 6 || last.Failed != 2 || last.Running != 0 || iterations == 0 {
		t.Errorf("ended %v, progress %+v, %d iterations", ended, last, iterations)
	}
	for i, task := range tasks {
		r := results[i]
		alone, err := gpfit.Devices{Name: "cpu", Threads: 1}.FitData(t.Context(), task.Data, task.Options)
		if r.Task != i || fmt.Sprint(r.Err) != fmt.Sprint(err) {
			t.Fatalf("task %d: %+v, alone %v", i, r, err)
		}
		if err != nil {
			continue
		}
		many := testcheck.Get(gpfit.Condition(t.Context(), r.Model))(t)
		at := [][]float64{{1, 0.2}, {9.5, -0.7}}
		got, want := testcheck.Get(many.Predict(t.Context(), at))(t), testcheck.Get(alone.Predict(t.Context(), at))(t)
		if math.Float64bits(r.Report.NLML) != math.Float64bits(alone.Report().NLML) || !slices.Equal(got.Mean, want.Mean) || !slices.Equal(got.Std, want.Std) {
			t.Errorf("task %d: NLML %v, alone %v; predictions %v, alone %v", i, r.Report.NLML, alone.Report().NLML, got.Mean, want.Mean)
		}
		testcheck.Do(t, errors.Join(many.Close(), alone.Close()))
	}
}

// TestFitManyCancelled checks that the results before the end of the context are complete, and that
// the others name it.
func TestFitManyCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tasks := slices.Repeat(manyTasks()[:4], 4)
	results, err := gpfit.Devices{Name: "cpu"}.FitMany(ctx, tasks, gpfit.ManyOptions{Cores: 1, OnResult: func(r gpfit.Fitted) {
		if r.Err == nil {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(results) != len(tasks) {
		t.Fatalf("%d results, %v", len(results), err)
	}
	done := 0
	for _, r := range results {
		if r.Err == nil && r.Model != nil && r.Report.NLML != 0 {
			done++
		} else if !errors.Is(r.Err, context.Canceled) {
			t.Errorf("task %d: %v", r.Task, r.Err)
		}
	}
	if done == 0 || done == len(tasks) {
		t.Errorf("%d of %d are done", done, len(tasks))
	}
	none, err := gpfit.FitMany(t.Context(), nil, gpfit.ManyOptions{})
	if len(none) != 0 || err != nil {
		t.Errorf("no tasks: %v, %v", none, err)
	}
}

// TestContextErrors checks that the public functions return the error of a context that ended, by its
// cancellation and by its deadline.
func TestContextErrors(t *testing.T) {
	x, y := waves(40)
	data := gpfit.Data{X: slices.Concat(x...), Y: y, N: 40, D: 2}
	m := mustFit(t, x, y, gpfit.Options{Kernel: "rbf"})
	opened := testcheck.Get(gpfit.Devices{Name: "cpu"}.Open(t.Context(), testcheck.Get(gpfit.Devices{}.Workload(m.Posterior().Model()))(t)))(t)
	defer opened.Close()
	job := testcheck.Get(fit.Prepare(data, gpfit.Options{Kernel: "rbf"}, problem.Events{}))(t)
	path := t.TempDir() + "/model.gpfit"
	testcheck.Do(t, m.Save(path))
	// A call that ended leaves no factor, which some calls need.
	fresh := func() *gpfit.Model {
		m := testcheck.Get(gpfit.Condition(t.Context(), m.Posterior().Model()))(t)
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
	calls := map[string]func(ctx context.Context) error{
		"Fit": func(ctx context.Context) error {
			_, err := gpfit.Fit(ctx, x, y, gpfit.Options{Kernel: "rbf"})
			return err
		},
		"Fit, auto": func(ctx context.Context) error { _, err := gpfit.Fit(ctx, x, y, gpfit.Options{}); return err },
		"FitMany": func(ctx context.Context) error {
			_, err := gpfit.FitMany(ctx, manyTasks(), gpfit.ManyOptions{})
			return err
		},
		"Load":        func(ctx context.Context) error { _, err := gpfit.Load(ctx, path); return err },
		"Predict":     func(ctx context.Context) error { _, err := fresh().Predict(ctx, x); return err },
		"PredictMean": func(ctx context.Context) error { _, err := fresh().PredictMean(ctx, x); return err },
		"Sample":      func(ctx context.Context) error { _, err := fresh().Sample(ctx, x, 2, 1); return err },
		"LeaveOneOut": func(ctx context.Context) error { _, err := fresh().LeaveOneOut(ctx); return err },
		"Update":      func(ctx context.Context) error { _, _, err := fresh().Update(ctx, x, y); return err },
		"CrossValidate": func(ctx context.Context) error {
			_, err := fit.CrossValidate(ctx, job, opened.Backends[0], m.Parameters(), problem.CrossValidation{Folds: 3})
			return err
		},
		"Select": func(ctx context.Context) error {
			_, err := fit.Select(ctx, data, gpfit.Options{}, problem.Events{}, fit.SelectOptions{Kernels: []string{"rbf", "matern32"}}, opened.Backends...)
			return err
		},
		"Profile": func(ctx context.Context) error {
			_, err := fit.Profile(ctx, job, fit.ProfileOptions{Along: []string{"lengthscale"}}, opened.Backends...)
			return err
		},
		"compare": func(ctx context.Context) error {
			_, err := compare.Run(ctx, data, gpfit.Options{}, compare.Options{}, opened.Backends...)
			return err
		},
	}
	for name, call := range calls {
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := call(cancelled); !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s, cancelled: %v", name, err)
		}
		late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		if err := call(late); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			t.Errorf("%s, after the deadline: %v", name, err)
		}
		cancel()
	}
}

// passing is a context whose deadline passes when the channel closes.
type passing struct {
	context.Context
	passed chan struct{}
}

func (p passing) Done() <-chan struct{} { return p.passed }

func (p passing) Err() error {
	select {
	case <-p.passed:
		return context.DeadlineExceeded
	default:
		return p.Context.Err()
	}
}

// TestDeadlineWithin ends a fit during its tuning: the model is the best so far.
func TestDeadlineWithin(t *testing.T) {
	x, y := waves(60)
	ctx := passing{t.Context(), make(chan struct{})}
	pass := sync.OnceFunc(func() { close(ctx.passed) })
	devices := gpfit.Devices{Name: "cpu", Events: problem.Events{OnIteration: func(it descent.Iteration) { pass() }}}
	m, err := devices.Fit(ctx, x, y, gpfit.Options{Kernel: "rbf(ard)"})
	if m == nil || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Fatalf("%v, %v", m, err)
	}
	testcheck.Do(t, m.Close())
}

// TestProgressOfFit checks the end of the progress of a fit in Go.
func TestProgressOfFit(t *testing.T) {
	x, y := waves(60)
	var all []hyperopt.FitProgress
	devices := gpfit.Devices{Name: "cpu", Events: problem.Events{OnFit: func(p hyperopt.FitProgress) { all = append(all, p) }}}
	m := testcheck.Get(devices.Fit(t.Context(), x, y, gpfit.Options{Kernel: "rbf(ard)"}))(t)
	defer m.Close()
	if last := all[len(all)-1]; !last.Begun || last.Share != 1 || last.Left != 0 || last.Best != m.Report().NLML {
		t.Errorf("last %+v, NLML %v after %v", last, m.Report().NLML, m.Report().Evaluations)
	}
}
