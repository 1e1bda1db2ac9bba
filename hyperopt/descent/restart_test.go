package descent

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// twoWells has minima near −2 (f = −1) and 3 (f = −2).
func twoWells(z, grad []float64) float64 {
	a := math.Exp(-(z[0] + 2) * (z[0] + 2))
	b := 2 * math.Exp(-(z[0]-3)*(z[0]-3))
	if grad != nil {
		grad[0] = 2*(z[0]+2)*a + 2*(z[0]-3)*b + 0.002*z[0]
	}
	return -a - b + 0.001*z[0]*z[0]
}

func TestRestartsFindTheBetterMinimum(t *testing.T) {
	p := arrays{Objective: total(twoWells), Start: []float64{-1}}
	if r := mustMinimize(t, p, how{}); r.X[0] > 0 {
		t.Fatalf("start 0 went to %v", r.X)
	}
	r := mustMinimize(t, p, how{Restarts: 8, RestartStd: 3, Seed: 1})
	if r.X[0] < 2.5 || r.BestStart == 0 || len(r.Starts) != 9 {
		t.Errorf("X %v from start %d of %d", r.X, r.BestStart, len(r.Starts))
	}
}

func TestDeterminism(t *testing.T) {
	g := newGP(25, 2, 0.3, 3)
	run := func(restarts int) *Result {
		return mustMinimize(t, g.problem(), how{Restarts: restarts, Seed: 42})
	}
	a, b, more := run(3), run(3), run(5)
	same := cmp.Options{cmpopts.EquateNaNs()}
	if diff := cmp.Diff(a, b, same); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if diff := cmp.Diff(a.Starts, more.Starts[:4], same); diff != "" {
		t.Errorf("more restarts change earlier ones:\n%s", diff)
	}
	other := mustMinimize(t, g.problem(), how{Restarts: 1, Seed: 43})
	if slices.Equal(other.Starts[1].Start, a.Starts[1].Start) {
		t.Error("the seed does not matter")
	}
}

func notPDWhere(bad func(z []float64) bool) *smooth {
	return &smooth{f: func(z, grad []float64) (float64, error) {
		if bad(z) {
			return 0, &notPD{1, 5}
		}
		return twoWells(z, grad), nil
	}}
}

func TestNotPDAtStart(t *testing.T) {
	// Start 0 only.
	obj := notPDWhere(func(z []float64) bool { return z[0] == 0.25 })
	r := mustMinimize(t, arrays{Objective: obj, Start: []float64{0.25}}, how{Restarts: 4})
	if r.BestStart < 1 || r.Starts[0].Status != StatusFailed || r.Starts[0].X != nil || !isNotPD(r.Starts[0].Err) {
		t.Errorf("best start %d, start 0 %+v", r.BestStart, r.Starts[0])
	}
	if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, "start 0: covariance matrix is not positive definite") {
		t.Errorf("warnings: %s", all)
	}

	// Another one only.
	first := math.NaN()
	obj = notPDWhere(func(z []float64) bool { return z[0] == first })
	r = mustMinimize(t, arrays{Objective: obj, Start: []float64{0.25}}, how{Restarts: 2})
	first = r.Starts[1].Start[0]
	r = mustMinimize(t, arrays{Objective: obj, Start: []float64{0.25}}, how{Restarts: 2})
	if r.Starts[0].Err != nil || r.Starts[1].Err == nil || r.Starts[2].Err != nil || !r.Status.Converged() {
		t.Errorf("%+v", r.Starts)
	}

	// All.
	obj = notPDWhere(func([]float64) bool { return true })
	r, err := minimize(t, arrays{Objective: obj, Start: []float64{0.25}}, how{Restarts: 2})
	if !isNotPD(err) || r.Status != StatusFailed || r.BestStart != -1 || r.X != nil || !math.IsInf(r.F, 1) || len(r.Starts) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, want := range []string{"start 0", "start 2", "duplicate rows", "lengthscale", "noise variance or its lower bound"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error: %v", want, err)
		}
	}
	if r.Evaluations.Infeasible != 3 {
		t.Errorf("%+v", r.Evaluations)
	}
}

func TestNaNAtStart(t *testing.T) {
	for _, grad := range []bool{false, true} {
		obj := total(func(z, g []float64) float64 {
			if !grad {
				return math.NaN()
			}
			if g != nil {
				g[0] = math.NaN()
			}
			return 0
		})
		r, err := minimize(t, arrays{Objective: obj, Start: []float64{0}}, how{})
		var begin *StartError
		if !errors.As(err, &begin) || begin.Start != 0 || !strings.Contains(err.Error(), "NaN") || r.X != nil {
			t.Errorf("gradient %v: %+v, %v", grad, r, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	mine := errors.New("enough")
	for _, after := range []int{0, 1, 2, 3, 10, 21} {
		ctx, cancel := context.WithCancelCause(context.Background())
		obj := total(rosenbrock)
		f := obj.f
		obj.f = func(z, g []float64) (float64, error) {
			if len(obj.calls) > after {
				cancel(mine)
				return 0, ctx.Err() // as a backend that polls the context does
			}
			return f(z, g)
		}
		if after == 0 {
			cancel(mine)
		}
		r, err := minimizeArrays(ctx, arrays{Objective: obj, Start: []float64{-1.2, 1}}, how{Restarts: 3})
		cancel(nil)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, mine) || r.Status != StatusCancelled || len(r.Starts) != 1 {
			t.Fatalf("after %d: %+v, %v", after, r, err)
		}
		low := math.Inf(1)
		for _, c := range obj.calls[:min(after, len(obj.calls))] {
			low = math.Min(low, rosenbrock(c.z, nil))
		}
		if r.F != low || (after > 0) != (r.X != nil) {
			t.Errorf("after %d: F = %g, lowest evaluated %g", after, r.F, low)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	if r, err := minimizeArrays(ctx, arrays{Objective: total(rosenbrock), Start: []float64{-1.2, 1}}, how{}); !errors.Is(err, context.DeadlineExceeded) || r.Status != StatusCancelled {
		t.Errorf("deadline: %+v, %v", r, err)
	}
}

func TestCancelledInSecondStartKeepsTheFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := minimizeArrays(ctx, arrays{Objective: total(twoWells), Start: []float64{-1}}, how{Restarts: 3,
		Callback: func(it Iteration) {
			if it.Start == 1 {
				cancel()
			}
		}})
	if !errors.Is(err, context.Canceled) || r.Status != StatusCancelled || len(r.Starts) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Starts[0].Status != StatusGradientConverged || r.X == nil || r.F > r.Starts[0].F {
		t.Errorf("%+v", r)
	}
}

func TestFatalError(t *testing.T) {
	lost := errors.New("device lost")
	obj := total(rosenbrock)
	f := obj.f
	obj.f = func(z, g []float64) (float64, error) {
		if len(obj.calls) > 9 {
			return 0, lost
		}
		return f(z, g)
	}
	r, err := minimize(t, arrays{Objective: obj, Start: []float64{-1.2, 1}}, how{Restarts: 3})
	if !errors.Is(err, lost) || r.Status != StatusFailed || len(obj.calls) != 10 || r.X == nil || !errors.Is(r.Starts[0].Err, lost) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPanic(t *testing.T) {
	boom := errors.New("boom")
	for _, inGradient := range []bool{false, true} {
		obj := total(func(z, g []float64) float64 {
			if z[0] > -1 && (g != nil) == inGradient {
				panic(boom)
			}
			return rosenbrock(z, g)
		})
		r, err := minimize(t, arrays{Objective: obj, Start: []float64{-1.2, 1}}, how{})
		var p *PanicError
		if !errors.As(err, &p) || !errors.Is(err, boom) || !strings.Contains(string(p.Stack), "rosenbrock") && !strings.Contains(string(p.Stack), "TestPanic") {
			t.Fatalf("got %v", err)
		}
		if r.Status != StatusFailed || r.X == nil {
			t.Errorf("%+v", r)
		}
	}
}

func TestCallback(t *testing.T) {
	var its []Iteration
	r := mustMinimize(t, arrays{Objective: total(twoWells), Start: []float64{-1}},
		how{Restarts: 3, Callback: func(it Iteration) { its = append(its, it) }})
	seen, best := map[int]int{}, math.Inf(1)
	for _, it := range its {
		if it.Iteration != seen[it.Start] {
			t.Fatalf("start %d: iteration %d, want %d", it.Start, it.Iteration, seen[it.Start])
		}
		seen[it.Start]++
		if it.Best > best || it.Best > it.F || it.F != twoWells(it.Z, nil) {
			t.Errorf("%+v", it)
		}
		best = it.Best
		if it.Total.Value < it.Evaluations.Value || it.Start == 0 && it.Total != it.Evaluations {
			t.Errorf("%+v", it)
		}
	}
	sum := 0
	for k, st := range r.Starts {
		if seen[k] != st.Iterations+1 {
			t.Errorf("start %d: %d calls, %d iterations", k, seen[k], st.Iterations)
		}
		sum += st.Iterations
	}
	if r.Iterations != sum || best > r.F {
		t.Errorf("iterations %d, want %d; best %g, F %g", r.Iterations, sum, best, r.F)
	}
}
