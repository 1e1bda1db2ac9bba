package descent

import (
	"context"
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"gpfit/internal/must"
)

// bowl is a strictly convex function with its minimum at a, and curvatures 1 to 10.
// It counts its evaluations.
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

// TestMethodsWithinBounds checks that every method finds the minimum inside the
// bounds, never evaluates a point outside them, and does not change fixed
// parameters.
func TestMethodsWithinBounds(t *testing.T) {
	for _, m := range Methods() {
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
			result, err := minimizeArrays(context.Background(), problem, how{Method: m, MaxEvaluations: 5000})
			if err != nil {
				r.Fatal(err)
			}
			if b.outside {
				r.Fatalf("%s: evaluated outside the bounds", m.Name())
			}
			for i, z := range result.X {
				want := math.Max(b.lo, math.Min(b.a[i], b.hi))
				if problem.Fixed[i] {
					if z != problem.Start[i] {
						r.Fatalf("%s: fixed parameter moved from %v to %v", m.Name(), problem.Start[i], z)
					}
					continue
				}
				// Adam's last steps and a simplex end near the minimum.
				if tol := 0.02; math.Abs(z-want) > tol {
					r.Fatalf("%s: component %d is %v, want %v (%v after %+v)", m.Name(), i, z, want, result.Status, result.Evaluations)
				}
			}
			if e := result.Evaluations; e.Value != b.values || e.Gradient != b.gradient {
				r.Fatalf("%s: %+v counted, %d and %d requested", m.Name(), e, b.values, b.gradient)
			}
		})
	}
}

// TestMethodsEnd checks that the evaluation limit, a cancellation and an error of
// the objective end every method correctly.
func TestMethodsEnd(t *testing.T) {
	for _, m := range Methods() {
		for _, limit := range []int{1, 2, 7} {
			b := &bowl{a: []float64{1, 2, -1}, lo: -9, hi: 9}
			r, err := minimizeArrays(context.Background(), arrays{Objective: b, Start: []float64{0, 0, 0}}, how{Method: m, MaxEvaluations: limit})
			// Nelder-Mead evaluates the best point again for its gradient.
			if err != nil || r.Status != StatusMaxEvaluations || r.X == nil || b.values > limit+1 {
				t.Errorf("%s: limit %d: %v, %v, %d values", m.Name(), limit, r.Status, err, b.values)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		calls := 0
		p := arrays{Objective: &bowl{a: []float64{1, 2}, lo: -9, hi: 9}, Start: []float64{0, 0}}
		p.Wrap = func(_ int, o Func) Func {
			return hooked{o, func() error { calls++; stopAt(calls, cancel); return nil }}
		}
		if r, err := minimizeArrays(ctx, p, how{Method: m}); !errors.Is(err, context.Canceled) || r.Status != StatusCancelled {
			t.Errorf("%s: cancelled: %v, %v", m.Name(), r.Status, err)
		}
		broken := errors.New("broken")
		calls = 0
		p.Wrap = func(_ int, o Func) Func {
			return hooked{o, func() error {
				if calls++; calls > 4 {
					return broken
				}
				return nil
			}}
		}
		if r, err := minimizeArrays(context.Background(), p, how{Method: m}); !errors.Is(err, broken) || r.Status != StatusFailed {
			t.Errorf("%s: broken: %v, %v", m.Name(), r.Status, err)
		}
	}
}

func stopAt(calls int, cancel func()) {
	if calls == 4 {
		cancel()
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
	h := must.Get(Hessian(context.Background(), NewOracle(b, nil), z, HessianOptions{Fixed: []bool{false, true, false}}))(t)
	for i := range 3 {
		for j := range 3 {
			want := 0.0
			if i == j && i != 1 {
				want = float64(1+i*9/3) * math.Cosh(z[i]-b.a[i])
			}
			// The truncation error is h²/6 times the third derivative of the
			// gradient.
			if math.Abs(h[i*3+j]-want) > 1e-4*math.Max(1, want) {
				t.Errorf("H[%d,%d] = %v, want %v", i, j, h[i*3+j], want)
			}
		}
	}
}

// TestMetric checks that a descent with the Hessian at the minimum as its metric
// takes fewer evaluations, and that a misleading metric costs evaluations but not
// the minimum.
func TestMetric(t *testing.T) {
	minimum := make([]float64, 8)
	for i := range minimum {
		minimum[i] = 0.3 * float64(i%3)
	}
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
		r, err := minimizeArrays(context.Background(), problem, how{GradientTolerance: 1e-6})
		if err != nil || r.Status != StatusGradientConverged || r.F > 1e-10 {
			t.Errorf("metric %s: %v, %v, f = %v", name, r.Status, err, r.F)
		}
		counts[name] = r.Evaluations.Gradient
	}
	if counts["exact"] >= counts["none"] {
		t.Errorf("the exact metric needs %d gradients, none %d", counts["exact"], counts["none"])
	}
}

// TestFurther checks that given starts replace random ones and are moved inside the
// bounds.
func TestFurther(t *testing.T) {
	b := &bowl{a: []float64{1, 1}, lo: -5, hi: 5}
	r, err := minimizeArrays(context.Background(), arrays{
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
	if _, err := minimizeArrays(context.Background(), arrays{Objective: b, Start: []float64{0, 0}, Metric: []float64{1}}, how{}); err == nil {
		t.Error("a metric of the wrong size was taken")
	}
}
