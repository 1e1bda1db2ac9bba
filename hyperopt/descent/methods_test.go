package descent

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"gpfit/internal/testcheck"
)

// bowl is strictly convex, with its minimum at a and curvatures 1 to 10, and counts its evaluations.
type bowl struct {
	a                []float64
	values, gradient int
	lo, hi           float64
	outside          bool
}

func (b *bowl) Value(_ context.Context, z []float64) (float64, error) {
	b.values++
	return b.f(z), nil
}

func (b *bowl) f(z []float64) float64 {
	f := 0.0
	for i, v := range z {
		f += float64(1+i*9/len(z)) * (math.Cosh(v-b.a[i]) - 1)
		b.outside = b.outside || v < b.lo || v > b.hi
	}
	return f
}

func (b *bowl) ValueGradient(_ context.Context, z, g []float64) (float64, error) {
	b.gradient++
	for i, v := range z {
		g[i] = float64(1+i*9/len(z)) * math.Sinh(v-b.a[i])
	}
	return b.f(z), nil
}

// TestWithinBounds checks that a descent finds the minimum inside the bounds, never
// evaluates a point outside them, and does not change fixed parameters.
func TestWithinBounds(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := rapid.IntRange(2, 4).Draw(r, "p")
		b := &bowl{lo: -2, hi: 2}
		problem := arrays{Objective: b}
		for i := range p {
			b.a = append(b.a, rapid.Float64Range(-3, 3).Draw(r, "minimum"))
			problem.Start = append(problem.Start, rapid.Float64Range(-1.9, 1.9).Draw(r, "start"))
			problem.Lower, problem.Upper = append(problem.Lower, b.lo), append(problem.Upper, b.hi)
			problem.Fixed = append(problem.Fixed, i == 0 && p > 2)
		}
		result := testcheck.Get(minimizeArrays(t.Context(), problem, how{MaxEvaluations: 5000}))(r)
		if b.outside {
			r.Fatalf("evaluated outside the bounds")
		}
		for i, z := range result.X {
			want := math.Max(b.lo, math.Min(b.a[i], b.hi))
			if problem.Fixed[i] {
				if z != problem.Start[i] {
					r.Fatalf("fixed parameter moved from %v to %v", problem.Start[i], z)
				}
				continue
			}
			if tol := 2e-4; math.Abs(z-want) > tol { // twice the gradient's tolerance, with curvatures from 1 on
				r.Fatalf("component %d is %v, want %v (%v after %+v)", i, z, want, result.Status, result.Evaluations)
			}
		}
		if e := result.Evaluations; e.Value != b.values || e.Gradient != b.gradient {
			r.Fatalf("%+v counted, %d and %d requested", e, b.values, b.gradient)
		}
	})
}

// TestEnds checks that the evaluation limit, a cancellation and an error of
// the objective end a descent correctly.
func TestEnds(t *testing.T) {
	for _, limit := range []int{1, 2, 7} {
		b := &bowl{a: []float64{1, 2, -1}, lo: -9, hi: 9}
		r, err := minimizeArrays(t.Context(), arrays{Objective: b, Start: []float64{0, 0, 0}}, how{MaxEvaluations: limit})
		if err != nil || r.Status != StatusMaxEvaluations || r.X == nil || b.values > limit {
			t.Errorf("limit %d: %v, %v, %d values", limit, r.Status, err, b.values)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls, plain := 0, &bowl{a: []float64{1, 2}, lo: -9, hi: 9}
	p := arrays{Start: []float64{0, 0}, Objective: hooked{plain, func() error {
		if calls++; calls == 4 {
			cancel()
		}
		return nil
	}}}
	if r, err := minimizeArrays(ctx, p, how{}); !errors.Is(err, context.Canceled) || r.Status != StatusCancelled {
		t.Errorf("cancelled: %v, %v", r.Status, err)
	}
	broken := errors.New("broken")
	calls = 0
	p.Objective = hooked{plain, func() error {
		if calls++; calls > 4 {
			return broken
		}
		return nil
	}}
	if r, err := minimizeArrays(t.Context(), p, how{}); !errors.Is(err, broken) || r.Status != StatusFailed {
		t.Errorf("broken: %v, %v", r.Status, err)
	}
}

// hooked calls a function before every value.
type hooked struct {
	Func
	before func() error
}

func (h hooked) Value(ctx context.Context, z []float64) (float64, error) {
	if err := h.before(); err != nil {
		return 0, err
	}
	return h.Func.Value(ctx, z)
}

// TestHessian compares the Hessian of the bowl with its known second derivatives.
func TestHessian(t *testing.T) {
	b := &bowl{a: []float64{0.5, -1, 2}, lo: -9, hi: 9}
	z := []float64{0, 0.3, 1}
	h := testcheck.Get(Hessian(t.Context(), NewOracle(b, nil), z, HessianOptions{Fixed: []bool{false, true, false}}))(t)
	for i := range 3 {
		for j := range 3 {
			want := 0.0
			if i == j && i != 1 {
				want = float64(1+i*9/3) * math.Cosh(z[i]-b.a[i])
			}
			// The truncation error is h²/6 times the third derivative of the gradient.
			if math.Abs(h[i*3+j]-want) > 1e-4*math.Max(1, want) {
				t.Errorf("H[%d,%d] = %v, want %v", i, j, h[i*3+j], want)
			}
		}
	}
}

// TestMetric checks that a descent with the Hessian at the minimum as its metric takes fewer
// evaluations, and that a misleading metric costs evaluations but not the minimum.
func TestMetric(t *testing.T) {
	minimum := testcheck.Slice(8, func(i int) float64 { return 0.3 * float64(i%3) })
	problem := arrays{Start: make([]float64, 8)}
	counts := map[string]int{}
	for name, scale := range map[string]float64{"none": 0, "exact": 1, "large": 1e6, "small": 1e-6, "negative": -1} {
		b := &bowl{a: minimum, lo: -9, hi: 9}
		problem.Objective, problem.Metric = b, nil
		if scale != 0 {
			problem.Metric = make([]float64, 64)
			for i := range 8 {
				problem.Metric[i*9] = scale * float64(1+i*9/8)
			}
		}
		r, err := minimizeArrays(t.Context(), problem, how{GradientTolerance: 1e-6})
		if err != nil || r.Status != StatusGradientConverged || r.F > 1e-10 {
			t.Errorf("metric %s: %v, %v, f = %v", name, r.Status, err, r.F)
		}
		counts[name] = r.Evaluations.Gradient
	}
	if counts["exact"] >= counts["none"] {
		t.Errorf("the exact metric needs %d gradients, none %d", counts["exact"], counts["none"])
	}
}

// TestFurther checks that given starts replace random ones and are moved inside the bounds.
func TestFurther(t *testing.T) {
	b := &bowl{a: []float64{1, 1}, lo: -5, hi: 5}
	r, err := minimizeArrays(t.Context(), arrays{
		Objective: b, Start: []float64{0, 0}, Lower: []float64{-5, -5}, Upper: []float64{5, 5},
		Further: []Start{{Z: []float64{2, 9}}, {Z: []float64{-1, -1}, Metric: []float64{1, 0, 0, 5}}},
	}, how{Restarts: 7})
	if err != nil || len(r.Starts) != 3 || b.outside {
		t.Fatalf("%d starts, %v, outside %v", len(r.Starts), err, b.outside)
	}
	for k, s := range r.Starts {
		if s.F > 1e-8 || s.Metric == nil {
			t.Errorf("start %d ends at %v with metric %v", k, s.F, s.Metric)
		}
	}
	if _, err := minimizeArrays(t.Context(), arrays{Objective: b, Start: []float64{0, 0}, Metric: []float64{1}}, how{}); err == nil {
		t.Error("a metric of the wrong size was taken")
	}
}

// twoWells has minima near −2 (f = −1) and 3 (f = −2).
func twoWells(z, grad []float64) float64 {
	a := math.Exp(-(z[0] + 2) * (z[0] + 2))
	b := 2 * math.Exp(-(z[0]-3)*(z[0]-3))
	copy(grad, []float64{2*(z[0]+2)*a + 2*(z[0]-3)*b + 0.002*z[0]})
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
	run := func(restarts int) *Result { return mustMinimize(t, g.problem(), how{Restarts: restarts, Seed: 42}) }
	a, b, more := run(3), run(3), run(5)
	same := cmp.Options{cmpopts.EquateNaNs()}
	if diff := cmp.Diff(a, b, same); diff != "" {
		t.Errorf("two runs differ:\n%s", diff)
	}
	if diff := cmp.Diff(a.Starts, more.Starts[:4], same); diff != "" {
		t.Errorf("more restarts change earlier ones:\n%s", diff)
	}
	other := mustMinimize(t, g.problem(), how{Restarts: 1, Seed: 43})
	if cmp.Equal(other.Starts[1].Start, a.Starts[1].Start) {
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

// stoppedAfter minimizes f up to a number of calls, and returns the lowest value evaluated, too.
func stoppedAfter(p arrays, f func(z, grad []float64) float64, s how, after int, cause error) (r *Result, low float64, err error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	obj := total(f)
	obj.f = func(z, g []float64) (float64, error) {
		if len(obj.calls) > after {
			cancel(cause)
			return 0, ctx.Err() // as a backend that polls the context does
		}
		return f(z, g), nil
	}
	if after == 0 {
		cancel(cause)
	}
	p.Objective = obj
	r, err = minimizeArrays(ctx, p, s)
	low = math.Inf(1)
	for _, c := range obj.calls[:min(after, len(obj.calls))] {
		low = min(low, f(c.z, nil))
	}
	return r, low, err
}

func TestCancelled(t *testing.T) {
	mine := errors.New("enough")
	for _, after := range []int{0, 1, 2, 3, 10, 21} {
		r, low, err := stoppedAfter(arrays{Start: []float64{-1.2, 1}}, rosenbrock, how{Restarts: 3}, after, mine)
		if !errors.Is(err, context.Canceled) || !errors.Is(err, mine) || r.Status != StatusCancelled || len(r.Starts) != 1 {
			t.Fatalf("after %d: %+v, %v", after, r, err)
		}
		if r.F != low || (after > 0) != (r.X != nil) {
			t.Errorf("after %d: F = %g, lowest evaluated %g", after, r.F, low)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	if r, err := minimizeArrays(ctx, arrays{Objective: total(rosenbrock), Start: []float64{-1.2, 1}}, how{}); !errors.Is(err, context.DeadlineExceeded) || r.Status != StatusCancelled {
		t.Errorf("deadline: %+v, %v", r, err)
	}
}

// TestSideBySideCancelled checks that call 0 runs whatever the other calls return before it.
func TestSideBySideCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 300_000 { // it once did not in 7 of 200,000
		first := false
		err := SideBySide(ctx, 4, make([]struct{}, 2), func(ctx context.Context, _ struct{}, k int) error {
			if k == 0 {
				first = true
			}
			return ctx.Err()
		})
		if !first || !errors.Is(err, context.Canceled) {
			t.Fatalf("call 0 ran: %v; error %v", first, err)
		}
	}
}

func TestCancelledInSecondStartKeepsTheFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
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
