package fit

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// stopped are fits that TestStop interrupts.
var stopped = map[string]struct {
	data problem.Data
	o    problem.Options
}{
	"stages":   {smooth(150), problem.Options{Mean: "zero", Kernel: "rbf(ard)", StdErrors: true, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}},
	"restarts": {smooth(100), problem.Options{Mean: "linear", Kernel: "matern52(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, Restarts: 2}}},
	"loo":      {smooth(90), problem.Options{Mean: "zero", Kernel: "rbf(ard)", Objective: problem.LOO}},
	"robust":   {first(spoilt(80)), problem.Options{Mean: "zero", Kernel: "rbf(ard)", Robust: true}},
	"choice":   {smooth(1020), problem.Options{Settings: hyperopt.Settings{MaxEvaluations: 4}}},
}

func first(d problem.Data, _ []int) problem.Data { return d }

// TestStop cancels fits within the operations on matrices of every step. With and without time to go on, a model is
// in the outcome that is read from its file and predicts as a dense computation with its parameters and rows does, and the
// report says what is missing.
func TestStop(t *testing.T) {
	for name, c := range stopped {
		t.Run(name, func(t *testing.T) {
			all, _, _ := stopAt(t, c.data, c.o, math.MaxInt64, 0)
			moments, parts := int64(4), 0
			if testcheck.Long() {
				moments = 8
			}
			for k := range moments {
				at := 1 + k*(all-1)/(moments-1)
				for _, notice := range []time.Duration{0, time.Hour} {
					_, out, err := stopAt(t, c.data, c.o, at, notice)
					if out == nil {
						if k > 2 || !problem.IsCancelled(err) || !strings.Contains(err.Error(), "there is no model") && !strings.Contains(err.Error(), "best parameters") {
							t.Errorf("moment %d of %d: %v", at, all, err)
						}
						continue
					}
					r := out.Report
					if r.OfRows > 0 {
						parts++
					}
					if err != nil && notice > 0 && r.OfRows > 0 || r.OfRows > 0 && (r.OfRows != c.data.N || r.N >= c.data.N || r.N != out.Model.N()) {
						t.Errorf("moment %d: %d rows of %d", at, r.N, r.OfRows)
					}
					checkStopped(t, out, err)
					out.Close()
				}
			}
			if parts == 0 && name == "stages" {
				t.Error("no moment leaves a model of a part of the rows")
			}
		})
	}
}

// stopAt runs a fit and cancels it at a report of progress. It returns the number of reports.
func stopAt(t *testing.T, d problem.Data, o problem.Options, at int64, notice time.Duration) (int64, *Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen atomic.Int64
	j := watched(t, d, o, problem.Events{OnProgress: func(device.Progress) {
		if seen.Add(1) == at {
			cancel()
			time.Sleep(time.Millisecond) // the timer of a notice of 0 has a goroutine of its own
		}
	}})
	j.Notice = notice
	out, err := Run(ctx, j, backend)
	if err != nil && !problem.IsCancelled(err) {
		t.Fatalf("moment %d: %v", at, err)
	}
	return seen.Load(), out, err
}

// checkStopped compares the model with a dense computation, and its report with what there is.
func checkStopped(t *testing.T, out *Outcome, cancelled error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m")
	testcheck.Do(t, out.SaveModel(path, true))
	m := testcheck.Get(gp.Load(path))(t)
	testcheck.Do(t, m.CheckWeights(t.Context()))
	x, n := m.X[:5*len(m.Scaling.XMean)], m.N()
	want := denseMeans(t, m, x)
	p := testcheck.Get(m.Means(t.Context(), backend))(t)
	defer p.Close()
	if got := testcheck.Get(p.PredictMeans(t.Context(), x, 5))(t)[0]; !floats.EqualApprox(got, want, 1e-6*m.Scaling.YScale) {
		t.Errorf("%d rows: means %v, dense %v", n, got, want)
	}
	r := out.Report
	if cancelled == nil {
		return
	}
	r.Interrupted = true
	r.Judge()
	lacks := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "the report lacks") })
	if r.Scores.LeaveOneOut == nil && (r.Verdict.Level != summary.Unknown || !lacks) || r.Verdict.Level == summary.Good {
		t.Errorf("%s, warnings %q", r.Verdict.Headline, r.Warnings)
	}
	if r.OfRows > 0 && !strings.Contains(strings.Join(r.Verdict.Warnings, "\n"), "was interrupted before it had a value on all of them") {
		t.Errorf("%q", r.Verdict.Warnings)
	}
}

// denseMeans returns predictions with the parameters and the rows of a model, and weights of its own.
func denseMeans(t *testing.T, m *gp.Model, x []float64) []float64 {
	t.Helper()
	n, e := m.N(), kernel.NewEvaluator(testcheck.Get(m.Program())(t))
	e.Bind(m.Theta)
	k, points, noise := mat.NewSymDense(n, nil), m.Points(), m.NoiseDiagonal()
	row, residual := make([]float64, n), m.Scaling.Targets(m.Y)
	for i := range n {
		e.Row(row, points, i, points, 0, n)
		for j := i; j < n; j++ {
			k.SetSym(i, j, row[j])
		}
		k.SetSym(i, i, row[i]+noise[i%len(noise)])
	}
	meanOf := func(at *kernel.Points, i int) (sum float64) {
		h := m.Mean.Basis.Evaluate(at)
		for j, b := range m.Mean.Coefficients {
			sum += b * h[j*at.N+i]
		}
		return sum
	}
	for i := range n {
		residual[i] -= meanOf(points, i)
	}
	var factor mat.Cholesky
	if !factor.Factorize(k) {
		t.Fatal("the covariance has no factor")
	}
	var alpha mat.VecDense
	testcheck.Do(t, factor.SolveVecTo(&alpha, mat.NewVecDense(n, residual)))
	at := kernel.NewPoints(m.Scaling.Inputs(x), len(x)/len(m.Scaling.XMean), len(m.Scaling.XMean))
	out := make([]float64, at.N)
	for i := range out {
		e.Row(row, at, i, points, 0, n)
		out[i] = m.Scaling.YMean + m.Scaling.YScale*(meanOf(at, i)+floats.Dot(row, alpha.RawVector().Data))
	}
	return out
}
