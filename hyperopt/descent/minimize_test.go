package descent

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/internal/testcheck"
)

// minimize runs Minimize and checks what must hold for every run on obj.
func minimize(t *testing.T, p arrays, s how) (*Result, error) {
	t.Helper()
	obj, _ := p.Objective.(*smooth)
	obj.calls = nil
	r, err := minimizeArrays(t.Context(), p, s)
	if r == nil {
		return r, err
	}
	if values, gradients := obj.counts(); r.Evaluations.Value != values || r.Evaluations.Gradient != gradients {
		t.Errorf("evaluations are %+v, the objective saw %d values and %d gradients", r.Evaluations, values, gradients)
	}
	var sum Evaluations
	for _, st := range r.Starts {
		sum.Add(st.Evaluations)
	}
	if sum != r.Evaluations {
		t.Errorf("the starts' evaluations add up to %+v, not %+v", sum, r.Evaluations)
	}
	for i, c := range obj.calls {
		if c.gradient && (i == 0 || obj.calls[i-1].gradient || !slices.Equal(obj.calls[i-1].z, c.z)) {
			t.Fatalf("call %d: ValueGradient not directly after Value at the same point", i)
		}
		for j, z := range c.z {
			if p.Fixed != nil && p.Fixed[j] {
				if z != p.Start[j] {
					t.Fatalf("call %d: fixed parameter %d is %g, not %g", i, j, z, p.Start[j])
				}
				continue
			}
			if p.Lower != nil && z < p.Lower[j] || p.Upper != nil && z > p.Upper[j] {
				t.Fatalf("call %d: parameter %d out of bounds: %g", i, j, z)
			}
		}
	}
	if r.Status == StatusGradientConverged && !(r.GradientNorm <= DefaultGradientTolerance) {
		t.Errorf("status %v with gradient norm %g", r.Status, r.GradientNorm)
	}
	return r, err
}

func mustMinimize(t *testing.T, p arrays, s how) *Result {
	t.Helper()
	return testcheck.Get(minimize(t, p, s))(t)
}

func wantNear(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, tol)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func constant(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

func TestUnconstrained(t *testing.T) {
	for _, c := range []struct {
		name       string
		f          func(z, grad []float64) float64
		from, want []float64
		tol        float64
	}{
		{"rosenbrock-2", rosenbrock, []float64{-1.2, 1}, constant(2, 1), 1e-4},
		{"rosenbrock-2-far", rosenbrock, []float64{-30, 20}, constant(2, 1), 1e-4},
		{"rosenbrock-10", rosenbrock, constant(10, 0.5), constant(10, 1), 1e-4},
		{"quadratic-1", quadratic([]float64{3}, 1), []float64{-3}, []float64{3}, 1e-4},
		{"quadratic-1e2", quadratic(constant(5, 2), 1e2), constant(5, -1), constant(5, 2), 1e-4},
		{"quadratic-1e4", quadratic(constant(10, 2), 1e4), constant(10, -1), constant(10, 2), 2e-4},
		{"quadratic-1e6", quadratic(constant(20, 2), 1e6), constant(20, -1), constant(20, 2), 2e-4},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := mustMinimize(t, arrays{Objective: total(c.f), Start: c.from}, how{RelativeTolerance: -1})
			if r.Status != StatusGradientConverged {
				t.Fatalf("status %v, gradient norm %g, warnings %v", r.Status, r.GradientNorm, r.Warnings)
			}
			wantNear(t, "minimum", r.X, c.want, c.tol)
			if len(r.Warnings) > 0 || len(r.AtBound) > 0 {
				t.Errorf("warnings %v, at bound %v", r.Warnings, r.AtBound)
			}
		})
	}
}

// A constant of 1e5 hides the last decreases of f in rounding, but not the gradient.
func TestOffsetDoesNotStopEarly(t *testing.T) {
	q := quadratic(constant(6, 1), 1e3)
	for _, offset := range []float64{1e3, 1e5, -1e5} {
		r := mustMinimize(t, arrays{Objective: total(func(z, g []float64) float64 { return offset + q(z, g) }),
			Start: constant(6, -2)}, how{})
		if r.Status != StatusGradientConverged {
			t.Errorf("offset %g: status %v, gradient norm %g after %+v", offset, r.Status, r.GradientNorm, r.Evaluations)
		}
	}
}

func TestFirstStepIsLimited(t *testing.T) {
	obj := total(quadratic(constant(3, 30), 1e4))
	mustMinimize(t, arrays{Objective: obj, Start: constant(3, 0)}, how{})
	prev, first := obj.calls[0].z, true
	for _, c := range obj.calls[1:] {
		d := 0.0
		for i := range c.z {
			d = math.Max(d, math.Abs(c.z[i]-prev[i]))
		}
		limit := float64(stepMax)
		if first {
			limit = firstMax
		}
		if d > limit+1e-9 {
			t.Fatalf("a trial moves %g, more than %g", d, limit)
		}
		if c.gradient {
			prev, first = c.z, first && d == 0
		}
	}
}

func TestGP(t *testing.T) {
	for i, d := range []int{1, 2, 3} {
		g := newGP(30, d, 0.2, uint64(i))
		p := g.problem()
		checkSlopes(t, func(z, grad []float64) float64 { return testcheck.Get(g.nlml(z, grad))(t) }, p.Start, 1e-8)
		r := mustMinimize(t, p, how{Restarts: 6, Seed: 7})
		for k, st := range r.Starts {
			if !st.Status.Converged() {
				t.Errorf("d = %d, start %d: %v, gradient norm %g", d, k, st.Status, st.GradientNorm)
			}
			if st.F < r.F {
				t.Errorf("start %d is better than the result: %g < %g", k, st.F, r.F)
			}
		}
		// No point nearby is better.
		for j := range r.X {
			for _, h := range []float64{-1e-2, 1e-2} {
				z := slices.Clone(r.X)
				z[j] = math.Min(math.Max(z[j]+h, p.Lower[j]), p.Upper[j])
				if f, err := g.nlml(z, nil); err == nil && f < r.F-1e-9 {
					t.Errorf("d = %d: %s moved by %g is better: %.12g < %.12g", d, p.Names[j], h, f, r.F)
				}
			}
		}
		t.Logf("d = %d: F %.6g, %+v, at bound %v", d, r.F, r.Evaluations, r.AtBound)
	}
}

// Separable f = Σ ½λᵢ(zᵢ−cᵢ)²: the constrained minimum is c moved into the box.
func TestBoundsActive(t *testing.T) {
	c := []float64{-3, 0.2, 5, 1, -0.995, 2.02}
	lambda := []float64{1, 100, 10, 1e4, 50, 3}
	f := func(z, grad []float64) float64 {
		v := 0.0
		for i := range z {
			d := z[i] - c[i]
			v += 0.5 * lambda[i] * d * d
			if grad != nil {
				grad[i] = lambda[i] * d
			}
		}
		return v
	}
	for _, from := range [][]float64{{0, 0, 0, 0, 0, 0}, {1.9, -0.9, -0.9, 1.9, 1.9, -0.9}, {-7, 3, 9, -1, 2, 2}} {
		r := mustMinimize(t, arrays{
			Objective: total(f), Start: from, Lower: constant(6, -1), Upper: constant(6, 2),
			Names: []string{"noise_variance", "a", "lengthscale", "b", "c", "d"},
		}, how{})
		if r.Status != StatusGradientConverged {
			t.Errorf("status %v: %v", r.Status, r.Warnings)
		}
		wantNear(t, "minimum", r.X, []float64{-1, 0.2, 2, 1, -0.995, 2}, 1e-4)
		if r.X[0] != -1 || r.X[2] != 2 || r.X[5] != 2 {
			t.Errorf("active parameters are not exactly at their bounds: %v", r.X)
		}
		want := []Bound{{0, "noise_variance", Lower}, {2, "lengthscale", Upper}, {5, "d", Upper}}
		if diff := cmp.Diff(want, r.AtBound); diff != "" {
			t.Errorf("at bound (-want +got):\n%s", diff)
		}
		t.Logf("from %v: %+v", from, r.Evaluations)
	}
}

// With correlations the minimum on the bound differs from the projected free one: Rosenbrock with
// z₀ ≤ 0.5 has it at (0.5, 0.25); with z₁ ≥ 1.5 at the root of its cubic.
func TestBoundsCoupled(t *testing.T) {
	p := arrays{Objective: total(rosenbrock), Start: []float64{-1.2, 1}, Upper: []float64{0.5, math.Inf(1)}}
	r := mustMinimize(t, p, how{})
	wantNear(t, "minimum", r.X, []float64{0.5, 0.25}, 1e-5)
	if r.Status != StatusGradientConverged || len(r.AtBound) != 1 {
		t.Errorf("status %v, at bound %v", r.Status, r.AtBound)
	}
	p = arrays{Objective: total(rosenbrock), Start: []float64{1.2, 3}, Lower: []float64{math.Inf(-1), 1.5}}
	r = mustMinimize(t, p, how{})
	x := 1.2
	for range 50 { // 400x³ + (2 − 600)x − 2 = 0
		x -= (400*x*x*x - 598*x - 2) / (1200*x*x - 598)
	}
	wantNear(t, "minimum", r.X, []float64{x, 1.5}, 1e-5)
}

// A parameter first driven deep into its bound's tail must come back when the
// others have moved: f = (z₀ + 4 − exp(z₁))² + (z₁ − 2)² from z₁ small.
func TestBoundIsLeftAgain(t *testing.T) {
	f := func(z, grad []float64) float64 {
		a, b := z[0]+4-math.Exp(z[1]), z[1]-2
		copy(grad, []float64{200 * a, -200*a*math.Exp(z[1]) + 2*b})
		return 100*a*a + b*b
	}
	want := []float64{math.Exp(2) - 4, 2}
	for _, from := range [][]float64{{0, -3}, {5, -5}, {-0.999, -8}, {-1, 0}} {
		r := mustMinimize(t, arrays{Objective: total(f), Start: from,
			Lower: []float64{-1, math.Inf(-1)}, Upper: []float64{9, math.Inf(1)}}, how{})
		if r.Status != StatusGradientConverged || len(r.AtBound) > 0 {
			t.Errorf("from %v: status %v, X %v, at bound %v", from, r.Status, r.X, r.AtBound)
		}
		wantNear(t, "minimum", r.X, want, 1e-4)
		t.Logf("from %v: %+v", from, r.Evaluations)
	}
}

func TestNarrowBounds(t *testing.T) {
	f := total(func(z, g []float64) float64 {
		copy(g, z)
		return 0.5 * z[0] * z[0]
	})
	for _, w := range []float64{1e-1, 1e-3, 1e-6} {
		r := mustMinimize(t, arrays{Objective: f, Start: []float64{1 + w/2}, Lower: []float64{1}, Upper: []float64{1 + w}}, how{})
		if r.X[0] != 1 || r.Status != StatusGradientConverged {
			t.Errorf("width %g: X %v, %v", w, r.X, r.Status)
		}
	}
	r := mustMinimize(t, arrays{Objective: f, Start: []float64{3}, Lower: []float64{1}, Upper: []float64{1}}, how{})
	if r.X[0] != 1 || r.Status != StatusAllFixed || len(r.Warnings) != 1 {
		t.Errorf("equal bounds: X %v, %v, %v", r.X, r.Status, r.Warnings)
	}
}

func TestFixed(t *testing.T) {
	r := mustMinimize(t, arrays{Objective: total(rosenbrock), Start: []float64{0.1 + 0.2, 2}, Fixed: []bool{true, false}}, how{Restarts: 2})
	if r.X[0] != 0.1+0.2 {
		t.Errorf("the fixed parameter moved: %.17g", r.X[0])
	}
	wantNear(t, "minimum", r.X, []float64{0.3, 0.09}, 1e-5)

	obj := total(rosenbrock)
	r = mustMinimize(t, arrays{Objective: obj, Start: []float64{0.5, 2}, Fixed: []bool{true, true},
		Lower: []float64{1, 0}}, how{Restarts: 3})
	if r.Status != StatusAllFixed || len(obj.calls) != 1 || r.F != rosenbrock([]float64{0.5, 2}, nil) || !slices.Equal(r.X, []float64{0.5, 2}) {
		t.Errorf("all fixed: %+v after %d calls", r, len(obj.calls))
	}
	if len(r.Warnings) != 2 { // outside its bounds; no restarts were run
		t.Errorf("warnings: %v", r.Warnings)
	}
}

// The first steps lead into a region beside the minimum where f is infinite, NaN or not PD.
func TestInfeasibleRegion(t *testing.T) {
	npd := fmt.Errorf("evaluation: %w", &notPD{3, 9})
	for name, bad := range map[string]func() (float64, error){
		"inf":     func() (float64, error) { return math.Inf(1), nil },
		"minus":   func() (float64, error) { return math.Inf(-1), nil },
		"nan":     func() (float64, error) { return math.NaN(), nil },
		"not-pd":  func() (float64, error) { return 0, npd },
		"not-pd0": func() (float64, error) { return math.NaN(), npd },
	} {
		wall := func(at float64) *smooth {
			return &smooth{f: func(z, grad []float64) (float64, error) {
				if z[0] > at {
					return bad()
				}
				return rosenbrock(z, grad), nil
			}}
		}
		r := mustMinimize(t, arrays{Objective: wall(1.05), Start: []float64{-1.2, 1}}, how{})
		if r.Status != StatusGradientConverged {
			t.Errorf("%s: %v", name, r.Status)
		}
		wantNear(t, name, r.X, []float64{1, 1}, 1e-4)

		// With the minimum beyond the wall, f cannot be decreased there.
		r = mustMinimize(t, arrays{Objective: wall(0.5), Start: []float64{-1.2, 1}}, how{})
		if r.Status != StatusStalled || r.Evaluations.Infeasible == 0 || r.X[0] > 0.5 {
			t.Errorf("%s: wall: %v, %+v, X %v", name, r.Status, r.Evaluations, r.X)
		}
		t.Logf("%s: wall: %v at %v, gradient norm %g, %+v", name, r.Status, r.X, r.GradientNorm, r.Evaluations)
	}
}

func TestNaNGradientInTrial(t *testing.T) {
	obj := total(func(z, grad []float64) float64 {
		f := rosenbrock(z, grad)
		if grad != nil && z[0] > 1.01 {
			grad[1] = math.NaN()
		}
		return f
	})
	r := mustMinimize(t, arrays{Objective: obj, Start: []float64{-1.2, 1}}, how{})
	wantNear(t, "minimum", r.X, []float64{1, 1}, 1e-4)
}

func TestStalled(t *testing.T) {
	// The gradient is wrong, so no step decreases the function.
	r := mustMinimize(t, arrays{Objective: total(func(z, g []float64) float64 {
		copy(g, []float64{-1})
		return math.Abs(z[0])
	}), Start: []float64{0}}, how{})
	if r.Status != StatusStalled || r.F != 0 || r.GradientNorm != 1 {
		t.Errorf("%v, F %g, gradient norm %g", r.Status, r.F, r.GradientNorm)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "stalled") {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

func TestFunctionConverged(t *testing.T) {
	r := mustMinimize(t, arrays{Objective: total(rosenbrock), Start: []float64{-1.2, 1}}, how{GradientTolerance: -1})
	if r.Status != StatusFunctionConverged && r.Status != StatusStalled {
		t.Errorf("status %v", r.Status)
	}
	wantNear(t, "minimum", r.X, []float64{1, 1}, 1e-6)
}

func TestMaxEvaluations(t *testing.T) {
	full := mustMinimize(t, arrays{Objective: total(rosenbrock), Start: []float64{-1.2, 1}}, how{})
	prev := math.Inf(1)
	for n := 1; n < full.Evaluations.Value; n++ {
		obj := total(rosenbrock)
		r := mustMinimize(t, arrays{Objective: obj, Start: []float64{-1.2, 1}}, how{MaxEvaluations: n})
		if r.Status != StatusMaxEvaluations || r.Evaluations.Value != n {
			t.Fatalf("limit %d: %v, %+v", n, r.Status, r.Evaluations)
		}
		low := math.Inf(1)
		for _, c := range obj.calls {
			low = math.Min(low, rosenbrock(c.z, nil))
		}
		if r.F != low || rosenbrock(r.X, nil) != low || low > prev {
			t.Fatalf("limit %d: F = %g, lowest evaluated %g, with one less %g", n, r.F, low, prev)
		}
		if (r.Gradient == nil) != math.IsNaN(r.GradientNorm) {
			t.Errorf("limit %d: gradient %v, norm %g", n, r.Gradient, r.GradientNorm)
		}
		if len(r.Warnings) != 1 {
			t.Errorf("warnings: %v", r.Warnings)
		}
		prev = low
	}
}

func TestInvalid(t *testing.T) {
	for want, change := range map[string]func(p *Search, s *Options){
		"no objective is given":      func(p *Search, _ *Options) { p.Objectives = nil },
		"no parameters are given":    func(p *Search, _ *Options) { p.Parameters = nil },
		"start 0 has 1":              func(p *Search, _ *Options) { p.Starts = []Start{{Z: []float64{1}}} },
		"metric of 3":                func(p *Search, _ *Options) { p.Starts = []Start{{Z: []float64{1, 1}, Metric: make(Metric, 3)}} },
		"start of b is not a finite": func(p *Search, _ *Options) { p.Parameters[1].Start = math.NaN() },
		"start of a is not a finite": func(p *Search, _ *Options) { p.Parameters[0].Log, p.Parameters[0].Start = true, 0 },
		"lower bound of a is NaN":    func(p *Search, _ *Options) { p.Parameters[0].Lower = math.NaN() },
		"upper bound of a is NaN":    func(p *Search, _ *Options) { p.Parameters[0].Upper = math.NaN() },
		"upper bound of b is -Inf":   func(p *Search, _ *Options) { p.Parameters[1].Upper = math.Inf(-1) },
		"lower bound of b is +Inf":   func(p *Search, _ *Options) { p.Parameters[1].Lower = math.Inf(1) },
		"of b is above its upper":    func(p *Search, _ *Options) { p.Parameters[1].Lower = 2 },
		"MaxEvaluations is negative": func(_ *Search, s *Options) { s.MaxEvaluations = -1 },
		"Precision is negative":      func(_ *Search, s *Options) { s.Precision = -1 },
		"Reach is NaN":               func(_ *Search, s *Options) { s.Reach = math.NaN() },
		"GradientTolerance is NaN":   func(_ *Search, s *Options) { s.GradientTolerance = math.NaN() },
		"RelativeTolerance is NaN":   func(_ *Search, s *Options) { s.RelativeTolerance = math.NaN() },
	} {
		p, s := arrays{Objective: total(rosenbrock), Start: []float64{0, 0}, Names: []string{"a", "b"},
			Lower: []float64{-1, -1}, Upper: []float64{1, 1}}.problem(how{}), Options{}
		p.Starts = nil
		change(&p, &s)
		if r, err := Minimize(t.Context(), p, s); r != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v, %v", want, r, err)
		}
	}
}

// TestNaturalValues checks that messages use natural values while the search uses logarithms.
func TestNaturalValues(t *testing.T) {
	p := Search{
		Objectives: []Func{total(func(z, g []float64) float64 {
			copy(g, []float64{2 * (z[0] + 3), 2 * (z[1] - 1)})
			return (z[0]+3)*(z[0]+3) + (z[1]-1)*(z[1]-1)
		})},
		Parameters: []Parameter{
			{Name: "noise_variance", Log: true, Start: 7, Lower: 0.5, Upper: 5},
			{Name: "mean", Start: -1, Lower: math.Inf(-1), Upper: math.Inf(1)},
		},
	}
	r, err := Minimize(t.Context(), p, Options{})
	if err != nil || r.X[0] != math.Log(0.5) || math.Abs(r.X[1]-1) > 1e-4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if want := "the start of noise_variance, 7, is outside its bounds [0.5, 5]: moved to 5"; !strings.Contains(strings.Join(r.Warnings, "\n"), want) {
		t.Errorf("no %q in %q", want, r.Warnings)
	}
	if diff := cmp.Diff([]Bound{{0, "noise_variance", Lower}}, r.AtBound); diff != "" {
		t.Errorf("at bound (-want +got):\n%s", diff)
	}
}

func TestStartMovedInside(t *testing.T) {
	p := arrays{Objective: total(rosenbrock), Start: []float64{-9, 1}, Lower: []float64{-2, -2}, Upper: []float64{2, 1}, Names: []string{"a", "b"}}
	r := mustMinimize(t, p, how{})
	// A point at a bound is within the bounds.
	if all := strings.Join(r.Warnings, "\n"); strings.Contains(all, "start of b") || !strings.HasPrefix(all, "the start of a, -9, is outside its bounds [-2, 2]: moved to -2") {
		t.Errorf("warnings: %v", r.Warnings)
	}
	if st := r.Starts[0].Start; st[0] != -2 || st[1] != 1 {
		t.Errorf("start %v", st)
	}
	if !slices.Equal(p.Start, []float64{-9, 1}) {
		t.Error("Problem.Start was changed")
	}
}

func TestStatusText(t *testing.T) {
	for s := StatusNone; s <= StatusFailed; s++ {
		if text := s.String(); text == "" || strings.Contains(text, "Status(") {
			t.Errorf("%d: %q", s, text)
		}
	}
	if got := Status(99).String(); got != "Status(99)" {
		t.Error(got)
	}
}
