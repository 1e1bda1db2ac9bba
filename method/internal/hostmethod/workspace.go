package hostmethod

import (
	"context"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
)

// Engine computes with Σ. A [Workspace] calls it with arguments that fit the points, and after Form, which all calls need
// except MultiplyDerivatives. The calls have the arguments and the errors of the interfaces of package device, poll ctx, and
// return its error; a new Form follows.
type Engine interface {
	// Form also returns log|Σ|.
	Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (logDet float64, err error)
	Solve(ctx context.Context, b []float64, m int) error
	// Contract contracts adj, whose middle term has no blocks, at the parameters of Form. diag is 0.
	Contract(ctx context.Context, adj device.Adjoint, grad, diag []float64) error
	Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error
	device.InverseDiagonal
	device.JointCovariance
	device.DerivativeProducts
	// Numbers returns how many numbers the engine holds in memory.
	Numbers() int
}

// State holds the data that a [Workspace] and its [Engine] share.
type State struct {
	device.Meter
	// Points are the N points.
	Points *kernel.Points
	N      int
	Host   device.Device
	// Threads is the number of threads that calls may use.
	Threads int
}

// Step counts the operations of a step, reports them and polls ctx.
func (s *State) Step(ctx context.Context, flops float64) error {
	s.Worked(flops)
	return ctx.Err()
}

// CheckNeed returns a [*device.MemoryError] if the host has too little memory for the need of a call.
func (s *State) CheckNeed(need device.Need) error {
	return device.Plan{N: s.N, D: s.Points.D, Needs: []device.Need{need}}.Check(s.Host.Info())
}

// Workspace implements [device.Workspace] by an engine. It checks the order of the calls and their arguments.
type Workspace struct {
	*State
	of     Method
	engine Engine // nil after Close
	// formed means that the engine has Σ for the kernel prog at theta.
	formed bool
	logDet float64
	prog   *kernel.Program
	theta  []float64
}

var (
	_ device.Workspace          = (*Workspace)(nil)
	_ device.InverseDiagonal    = (*Workspace)(nil)
	_ device.JointCovariance    = (*Workspace)(nil)
	_ device.DerivativeProducts = (*Workspace)(nil)
	_ device.ThreadLimiter      = (*Workspace)(nil)
	_ device.QuickForming       = (*Workspace)(nil)
)

// Method implements [device.Workspace].
func (w *Workspace) Method() string { return w.of.Words.Name }

// N implements [device.Workspace].
func (w *Workspace) N() int { return w.State.N }

// FormsQuickly implements [device.QuickForming].
func (w *Workspace) FormsQuickly() bool { return true }

// LimitThreads implements [device.ThreadLimiter].
func (w *Workspace) LimitThreads(n int) { w.Threads = max(1, min(n, w.Host.Info().Threads)) }

// Work implements [device.Workspace].
func (w *Workspace) Work() device.Work {
	if w.engine == nil {
		return device.Work{Flops: w.Flops}
	}
	return device.Work{Flops: w.Flops, Bytes: 8 * int64(w.engine.Numbers())}
}

// Close implements [device.Workspace].
func (w *Workspace) Close() error {
	w.engine, w.formed = nil, false
	return nil
}

// LogDet implements [device.Workspace].
func (w *Workspace) LogDet() (value, stdErr float64, err error) {
	if !w.formed {
		return 0, 0, device.ErrStage
	}
	return w.logDet, 0, nil
}

// ready returns an error if a call cannot begin: it needs Σ, its arguments are invalid, or the kernel, unless it is nil, does
// not fit the points. A context that is done leaves the workspace as before Form.
func (w *Workspace) ready(ctx context.Context, formed bool, invalid error, prog *kernel.Program, theta []float64) error {
	if w.engine == nil || formed && !w.formed {
		return device.ErrStage
	}
	if invalid == nil && prog != nil && prog.D != w.Points.D {
		invalid = fmt.Errorf("kernel for %d columns on points of %d", prog.D, w.Points.D)
	}
	if invalid != nil {
		return fmt.Errorf("%s: %w", w.Method(), invalid)
	}
	if prog != nil {
		if err := prog.CheckTheta(theta); err != nil {
			return err
		}
	}
	return w.ended(ctx, nil)
}

// ended returns the error of a call that has ended, or the context's, which leaves the workspace as before Form.
func (w *Workspace) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		w.formed = false
		return ctx.Err()
	}
	return err
}

// Form implements [device.Workspace].
func (w *Workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (err error) {
	w.formed = false
	var invalid error
	if len(noise) != 1 && len(noise) != w.N() {
		invalid = fmt.Errorf("%d noise variances for %d points", len(noise), w.N())
	}
	if err := w.ready(ctx, false, invalid, prog, theta); err != nil {
		return err
	}
	if i := slices.IndexFunc(noise, func(v float64) bool { return v-v != 0 }); i >= 0 {
		return &device.NonFiniteError{What: "noise variance", Row: i, Col: -1}
	}
	if w.of.OneNoise && slices.ContainsFunc(noise, func(v float64) bool { return v != noise[0] }) {
		return &device.UnsupportedError{Method: w.Method(), What: unequalNoise}
	}
	w.logDet, err = w.engine.Form(ctx, prog, theta, noise)
	w.formed, w.prog, w.theta = err == nil, prog, slices.Clone(theta)
	return w.ended(ctx, err)
}

// checkColumns returns an error if b does not have m columns.
func (w *Workspace) checkColumns(b []float64, m int) error {
	if m < 0 || len(b) != m*w.N() {
		return fmt.Errorf("%d numbers for %d columns of %d points", len(b), m, w.N())
	}
	return nil
}

// Solve implements [device.Workspace].
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := w.ready(ctx, true, w.checkColumns(b, m), nil, nil); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.Solve(ctx, b, m))
}

// Whiten implements [device.DerivativeProducts].
func (w *Workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if err := w.ready(ctx, true, w.checkColumns(b, m), nil, nil); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.Whiten(ctx, b, m, transposed))
}

// InverseDiagonal implements [device.InverseDiagonal].
func (w *Workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if err := w.ready(ctx, true, w.checkColumns(dst, 1), nil, nil); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.InverseDiagonal(ctx, dst))
}

// Contract implements [device.Workspace].
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.ready(ctx, true, adj.CheckSizes(w.N(), diag, grad, prog), prog, theta); err != nil {
		return err
	}
	switch {
	case adj.Blocks != nil:
		return &device.UnsupportedError{Method: w.Method(), What: noBlocks}
	case !w.prog.Same(prog) || !slices.Equal(w.theta, theta):
		return &device.UnsupportedError{Method: w.Method(), What: "a contraction at other parameters than those of Form"}
	}
	clear(diag)
	return w.ended(ctx, w.engine.Contract(ctx, adj, grad, diag))
}

// Predict implements [device.Workspace].
func (w *Workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if err := w.ready(ctx, true, device.CheckPrediction(w.Points, xs, alpha, mean, reduction), prog, theta); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.Predict(ctx, prog, theta, alpha, xs, mean, reduction))
}

// PredictCovariance implements [device.JointCovariance].
func (w *Workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	var invalid error
	if xs.D != w.Points.D || len(reduction) != xs.N*xs.N {
		invalid = fmt.Errorf("covariance of %d points of %d columns in %d elements, d = %d", xs.N, xs.D, len(reduction), w.Points.D)
	}
	if err := w.ready(ctx, true, invalid, prog, theta); err != nil || xs.N == 0 {
		return err
	}
	return w.ended(ctx, w.engine.PredictCovariance(ctx, prog, theta, xs, reduction))
}

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *Workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if err := w.ready(ctx, false, device.CheckProducts(prog, w.N(), vectors, m, dst), prog, theta); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.MultiplyDerivatives(ctx, prog, theta, vectors, m, dst))
}
