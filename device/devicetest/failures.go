package devicetest

import (
	"context"
	"errors"
	"math"
	"testing"

	"gpfit/device"
	"gpfit/kernel"
)

// testNotPD makes points so far apart that K is the identity, but for one that
// repeats the first: the leading minor of its order is exactly zero.
func testNotPD(t *testing.T, b device.ExactDevice) {
	const n = 300
	for _, bad := range []int{1, 63, 64, 65, 128, 200, n - 1} {
		p := newProblem(t, "rbf", n, 1, 6)
		for i := range n {
			p.x.X[i] = float64(1000 * i)
		}
		p.x.X[bad] = 0
		p.theta, p.noise = []float64{1, 1}, []float64{0}
		w := newWorkspace(t, b, p.x)
		_, err := evaluate(context.Background(), w, p)
		var npd *device.NotPDError
		if !errors.As(err, &npd) || npd.Minor != bad+1 || npd.N != n {
			t.Errorf("duplicate at %d: error %v, want a NotPDError of order %d", bad, err, bad+1)
		}
		if err := w.Solve(context.Background(), make([]float64, n), 1); !errors.Is(err, device.ErrStage) {
			t.Errorf("Solve after a failed factorisation: %v, want ErrStage", err)
		}
		p.noise[0] = 0.5
		compareOutcome(t, mustEvaluate(t, w, p), reference(t, p))
	}
}

// testNotPDAfterPredict: a prediction with another program between Fill and
// Factor does not change what a failure is explained by.
func testNotPDAfterPredict(t *testing.T, b device.ExactDevice) {
	const n, bad = 80, 70
	p := newProblem(t, "rbf", n, 1, 6)
	for i := range n {
		p.x.X[i] = float64(1000 * i)
	}
	p.x.X[bad] = 0
	p.theta, p.noise = []float64{1, 1}, []float64{0}
	other := newProblem(t, "rbf(ard) + matern32", n, 1, 7)
	w, ctx := newWorkspace(t, b, p.x), context.Background()
	if err := w.Fill(ctx, p.prog, p.theta, p.noise); err != nil {
		t.Fatal(err)
	}
	if err := w.Predict(ctx, other.prog, other.theta, p.r, other.x, make([]float64, n), nil); err != nil {
		t.Fatal(err)
	}
	var npd *device.NotPDError
	if err := w.Factor(ctx); !errors.As(err, &npd) || npd.Minor != bad+1 {
		t.Errorf("error %v, want a NotPDError of order %d", err, bad+1)
	}
}

func testBadInput(t *testing.T, b device.ExactDevice) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		p := newProblem(t, "rbf", 70, 3, 7)
		p.x.Column(2)[66] = v
		_, err := b.NewWorkspace(context.Background(), p.x)
		var nf *device.NonFiniteError
		if !errors.As(err, &nf) || nf.Row != 66 || nf.Col != 2 {
			t.Errorf("input %v: error %v, want a NonFiniteError at row 66, column 2", v, err)
		}
	}
	p := newProblem(t, "rbf", 70, 3, 7)
	w := newWorkspace(t, b, p.x)
	p.noise[0] = math.NaN()
	var nf *device.NonFiniteError
	if _, err := evaluate(context.Background(), w, p); !errors.As(err, &nf) {
		t.Errorf("NaN noise: error %v, want a NonFiniteError", err)
	}
	p.noise[0], p.theta[0] = 0.1, -1
	if _, err := evaluate(context.Background(), w, p); err == nil {
		t.Error("negative lengthscale accepted")
	}
	p.theta[0] = 1
	p.noise = []float64{1, 2}
	if _, err := evaluate(context.Background(), w, p); err == nil {
		t.Error("two noise variances for 70 points accepted")
	}
}

func testCancel(t *testing.T, b device.ExactDevice) {
	p := newProblem(t, "rbf(ard)", 300, 3, 8)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.NewWorkspace(done, p.x); !errors.Is(err, context.Canceled) {
		t.Errorf("NewWorkspace: error %v, want context.Canceled", err)
	}
	w := newWorkspace(t, b, p.x)
	if _, err := evaluate(done, w, p); !errors.Is(err, context.Canceled) {
		t.Errorf("Fill: error %v, want context.Canceled", err)
	}
	for name, call := range laterCalls(w, p) {
		mustEvaluate(t, w, p)
		if err := call(done); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want context.Canceled", name, err)
		}
		checkEmpty(t, w, name)
	}
	want := reference(t, p)
	// Cancel in the middle of each stage, from the progress function.
	calls := laterCalls(w, p)
	run := func(ctx context.Context) error { _, err := evaluate(ctx, w, p); return err }
	for _, c := range []struct {
		what, stage string
		call        func(context.Context) error
	}{
		{"factor", "factor", run}, {"gradient", "gradient", run},
		{"middle term", "gradient", calls["Contract with a middle term"]}, {"covariance", "predict", calls["PredictCovariance"]},
	} {
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

// checkEmpty: after a call that was cancelled the workspace is back before Fill.
func checkEmpty(t *testing.T, w device.ExactWorkspace, what string) {
	t.Helper()
	if _, _, err := w.LogDet(); !errors.Is(err, device.ErrStage) {
		t.Errorf("LogDet after a cancelled %s: error %v, want ErrStage", what, err)
	}
	if err := w.Factor(context.Background()); !errors.Is(err, device.ErrStage) {
		t.Errorf("Factor after a cancelled %s: error %v, want ErrStage", what, err)
	}
}

// laterCalls are the calls that need a factor and leave it as it is.
func laterCalls(w device.ExactWorkspace, p *problem) map[string]func(context.Context) error {
	n, m := w.N(), p.x.N
	return map[string]func(context.Context) error{
		"Contract with a middle term": func(ctx context.Context) error {
			adj := device.Adjoint{Middle: make([]float64, n)}
			return w.Contract(ctx, adj, p.prog, p.theta, make([]float64, len(p.theta)), make([]float64, n))
		},
		"Solve":           func(ctx context.Context) error { return w.Solve(ctx, make([]float64, n), 1) },
		"InverseDiagonal": func(ctx context.Context) error { return w.InverseDiagonal(ctx, make([]float64, n)) },
		"Predict": func(ctx context.Context) error {
			return w.Predict(ctx, p.prog, p.theta, p.r, p.x, make([]float64, m), make([]float64, m))
		},
		"PredictCovariance": func(ctx context.Context) error {
			return w.PredictCovariance(ctx, p.prog, p.theta, p.x, make([]float64, m*m))
		},
	}
}

func testStages(t *testing.T, b device.ExactDevice) {
	p := newProblem(t, "rbf", 10, 3, 9)
	w := newWorkspace(t, b, p.x)
	ctx := context.Background()
	calls := map[string]func() error{
		"Factor":     func() error { return w.Factor(ctx) },
		"LogDet":     func() error { _, _, err := w.LogDet(); return err },
		"Contract":   func() error { return w.Contract(ctx, device.Adjoint{}, p.prog, p.theta, nil, nil) },
		"ReadFactor": func() error { return w.ReadFactor(0, 1, make([]float64, 10)) },
	}
	for name, call := range laterCalls(w, p) {
		calls[name] = func() error { return call(ctx) }
	}
	check := func(when string) {
		for name, call := range calls {
			if err := call(); !errors.Is(err, device.ErrStage) {
				t.Errorf("%s %s: error %v, want ErrStage", name, when, err)
			}
		}
	}
	check("before Fill")
	if err := w.Fill(ctx, p.prog, p.theta, p.noise); err != nil {
		t.Fatal(err)
	}
	delete(calls, "Factor")
	check("before Factor")
	calls["Fill"] = func() error { return w.Fill(ctx, p.prog, p.theta, p.noise) }
	w.Close()
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	check("after Close")
}

// testRefuse asks for more memory than any machine has.
func testRefuse(t *testing.T, b device.ExactDevice) {
	if b.Info().MemoryFree == 0 {
		t.Skip("free memory is not known on this system")
	}
	const n = 20_000_000 // 3 PB
	_, err := b.NewWorkspace(context.Background(), &kernel.Points{N: n, D: 1, X: make([]float64, n)})
	var mem *device.MemoryError
	if !errors.As(err, &mem) || mem.Need < 8*n*n {
		t.Errorf("error %v, want a MemoryError", err)
	}
}
