package devicetest

import (
	"context"
	"errors"
	"math"
	"testing"

	"gpfit/device"
)

// Tests of the failures of every method.

func testBadInput(t *testing.T, s suite) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		p := s.problem(t, "rbf", 70, 3, 7)
		p.x.Column(2)[66] = v
		_, err := s.b.NewWorkspace(context.Background(), p.x)
		var nf *device.NonFiniteError
		if !errors.As(err, &nf) || nf.Row != 66 || nf.Col != 2 {
			t.Errorf("input %v: error %v, want a NonFiniteError at row 66, column 2", v, err)
		}
	}
	p := s.problem(t, "rbf", 70, 3, 7)
	w := s.workspace(t, p.x)
	for what, bad := range map[string]problem{
		"a noise of NaN":                    {noise: []float64{math.NaN()}, theta: p.theta},
		"a negative lengthscale":            {noise: []float64{0.1}, theta: []float64{-1, p.theta[1]}},
		"two noise variances for 70 points": {noise: []float64{1, 2}, theta: p.theta},
	} {
		bad.prog, bad.r = p.prog, p.r
		_, err := evaluate(context.Background(), w, &bad)
		if err == nil || math.IsNaN(bad.noise[0]) && !errors.As(err, new(*device.NonFiniteError)) {
			t.Errorf("%s: error %v", what, err)
		}
	}
}

func testCancel(t *testing.T, s suite) {
	p := s.problem(t, "rbf(ard)", 300, 3, 8)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.b.NewWorkspace(done, p.x); !errors.Is(err, context.Canceled) {
		t.Errorf("NewWorkspace: error %v, want context.Canceled", err)
	}
	w := s.workspace(t, p.x)
	if _, err := evaluate(done, w, p); !errors.Is(err, context.Canceled) {
		t.Errorf("Form: error %v, want context.Canceled", err)
	}
	calls := s.laterCalls(w, p)
	for name, call := range calls {
		mustForm(t, w, p)
		if err := call(done); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", name, err)
		}
		checkEmpty(t, w, name)
	}
	want := newReference(t, p).outcome(t)
	mustForm(t, w, p)
	// Cancel in the middle of each stage, from the progress function.
	run := func(ctx context.Context) error { _, err := evaluate(ctx, w, p); return err }
	for _, c := range []struct {
		what, stage string
		call        func(context.Context) error
	}{
		{"factor", "factor", run}, {"gradient", "gradient", run},
		{"middle term", "gradient", calls["Contract a diagonal"]}, {"covariance", "predict", calls["PredictCovariance"]},
	} {
		if c.call == nil {
			continue // the method has no such capability
		}
		restore(t, w, p)
		ctx, cancel := context.WithCancel(context.Background())
		w.OnProgress(func(pr device.Progress) {
			if pr.Stage == c.stage && pr.Done > pr.Total/2 {
				cancel()
			}
		})
		if err := c.call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", c.what, err)
		}
		checkEmpty(t, w, c.what)
		w.OnProgress(nil)
		compareOutcome(t, mustEvaluate(t, w, p), want)
	}
}

// checkEmpty checks that a cancelled call leaves the workspace in its state before Form.
func checkEmpty(t *testing.T, w device.Workspace, what string) {
	t.Helper()
	if _, _, err := w.LogDet(); !errors.Is(err, device.ErrStage) {
		t.Errorf("LogDet after a cancelled %s: error %v, want ErrStage", what, err)
	}
	if e, ok := w.(device.DenseWorkspace); ok {
		if err := e.Factor(context.Background()); !errors.Is(err, device.ErrStage) {
			t.Errorf("Factor after a cancelled %s: error %v, want ErrStage", what, err)
		}
	}
}

// laterCalls returns the calls that need Σ and keep it, including the calls of w's capabilities.
func (s suite) laterCalls(w device.Workspace, p *problem) map[string]func(context.Context) error {
	n, m := w.N(), p.x.N
	calls := map[string]func(context.Context) error{
		"Solve": func(ctx context.Context) error { return w.Solve(ctx, make([]float64, n), 1) },
		"Predict": func(ctx context.Context) error {
			return w.Predict(ctx, p.prog, p.theta, p.r, p.x, make([]float64, m), make([]float64, m))
		},
	}
	if c, ok := w.(device.InverseDiagonal); ok {
		calls["InverseDiagonal"] = func(ctx context.Context) error { return c.InverseDiagonal(ctx, make([]float64, n)) }
	}
	if c, ok := w.(device.BlockInverse); ok {
		calls["InverseBlocks"] = func(ctx context.Context) error { return c.InverseBlocks(ctx, device.NewBlocks([]int{n})) }
	}
	for name, adj := range map[string]device.Adjoint{"Contract a diagonal": {Diagonal: make([]float64, n)}, "Contract blocks": {Blocks: device.NewBlocks([]int{n})}} {
		if s.takesMiddle(p, adj) {
			calls[name] = func(ctx context.Context) error { return contractAdjoint(ctx, w, p, adj) }
		}
	}
	if c, ok := w.(device.Whitener); ok {
		calls["Whiten"] = func(ctx context.Context) error { return c.Whiten(ctx, make([]float64, n), 1, true) }
	}
	if c, ok := w.(device.JointCovariance); ok {
		calls["PredictCovariance"] = func(ctx context.Context) error {
			return c.PredictCovariance(ctx, p.prog, p.theta, p.x, make([]float64, m*m))
		}
	}
	return calls
}

// testStages tests calls before Form and after Close.
func testStages(t *testing.T, s suite) {
	p := s.problem(t, "rbf", 10, 3, 9)
	w, ctx := s.workspace(t, p.x), context.Background()
	calls := s.stagedCalls(w, p)
	checkStage(t, calls, "before Form")
	mustForm(t, w, p)
	for name, call := range s.laterCalls(w, p) {
		restore(t, w, p)
		if err := call(ctx); err != nil {
			t.Errorf("%s after Form: %v", name, err)
		}
	}
	calls["Form"] = func(ctx context.Context) error { return w.Form(ctx, p.prog, p.theta, p.noise) }
	w.Close()
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	checkStage(t, calls, "after Close")
}

// checkStage checks that calls come too early, or too late.
func checkStage(t *testing.T, calls map[string]func(context.Context) error, when string) {
	t.Helper()
	for name, call := range calls {
		if err := call(context.Background()); !errors.Is(err, device.ErrStage) {
			t.Errorf("%s %s: error %v, want ErrStage", name, when, err)
		}
	}
}

// stagedCalls returns all calls that require an earlier Form.
func (s suite) stagedCalls(w device.Workspace, p *problem) map[string]func(context.Context) error {
	calls := s.laterCalls(w, p)
	calls["LogDet"] = func(context.Context) error { _, _, err := w.LogDet(); return err }
	calls["Contract"] = func(ctx context.Context) error {
		return w.Contract(ctx, device.Adjoint{}, p.prog, p.theta, nil, nil)
	}
	if c, ok := w.(device.FactorStore); ok {
		calls["ReadFactor"] = func(context.Context) error { return c.ReadFactor(0, 1, make([]float64, w.N())) }
	}
	return calls
}
