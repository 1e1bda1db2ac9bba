package hostmethod

import (
	"context"
	"errors"
	"io"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
)

// Engine computes with Σ. A [Workspace] calls it with arguments that fit the points, and after Form, which all calls need
// unless [Limits] names them. The calls have the arguments and the errors of the interfaces of package device, poll ctx,
// and return its error; a new Form follows. An engine may implement [device.DerivativeProducts], whose products do not need
// Form, and [io.Closer].
type Engine interface {
	// Form also returns log|Σ|.
	Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (logDet float64, err error)
	Solve(ctx context.Context, b []float64, m int) error
	// Contract contracts an adjoint with a middle term that the method does not refuse. diag is 0.
	Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error
	Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error
	device.InverseDiagonal
	device.JointCovariance
	// Held returns the memory that the engine holds, and the part of it in matrices, in bytes.
	Held() (bytes, matrices int64)
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

// Workspace implements [device.Workspace], and capabilities, by an engine. It checks the order of the calls and their arguments.
type Workspace struct {
	*State
	limits Limits
	engine Engine // nil after Close
	// formed means that the engine has Σ for the kernel prog at theta.
	formed bool
	logDet float64
	prog   *kernel.Program
	theta  []float64
}

// NewWorkspace returns the workspace of an engine for a method. A method hides the capabilities that its engine lacks.
func NewWorkspace(s *State, limits Limits, engine Engine) *Workspace {
	return &Workspace{State: s, limits: limits, engine: engine}
}

var (
	_ device.InverseDiagonal    = (*Workspace)(nil)
	_ device.JointCovariance    = (*Workspace)(nil)
	_ device.DerivativeProducts = (*Workspace)(nil)
	_ device.ThreadLimiter      = (*Workspace)(nil)
	_ device.QuickForming       = (*Workspace)(nil)
)

// Method implements [device.Workspace].
func (w *Workspace) Method() string { return w.limits.Method }

// N implements [device.Workspace].
func (w *Workspace) N() int { return w.State.N }

// FormsQuickly implements [device.QuickForming], for methods that need no covariance matrix.
func (w *Workspace) FormsQuickly() bool { return true }

// LimitThreads implements [device.ThreadLimiter].
func (w *Workspace) LimitThreads(n int) { w.Threads = max(1, min(n, w.Host.Info().Threads)) }

// Work implements [device.Workspace].
func (w *Workspace) Work() device.Work {
	work := device.Work{Flops: w.Flops}
	if w.engine != nil {
		work.Bytes, work.MatrixBytes = w.engine.Held()
	}
	return work
}

// Close implements [device.Workspace].
func (w *Workspace) Close() (err error) {
	if c, ok := w.engine.(io.Closer); ok {
		err = c.Close()
	}
	w.engine, w.formed = nil, false
	return err
}

// Formed reports whether the engine has Σ.
func (w *Workspace) Formed() bool { return w.formed }

// SetFormed says whether the engine has Σ, with log|Σ|, after calls that did not go by this workspace.
func (w *Workspace) SetFormed(formed bool, logDet float64) { w.formed, w.logDet = formed, logDet }

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
	if err := device.Invalid(w.Method(), invalid); err != nil {
		return err
	}
	if prog != nil {
		if err := device.CheckProgram(prog, theta, w.Points.D); err != nil {
			return err
		}
	}
	return w.ended(ctx, nil)
}

// ended returns the error of a call that has ended, or the context's, which leaves the workspace as before Form, as do the
// errors of a device.
func (w *Workspace) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if _, noRoom := errors.AsType[*device.MemoryError](err); err != nil && !noRoom && !device.IsOfMethod(err) && !errors.Is(err, device.ErrStage) {
		w.formed = false
	}
	return err
}

// Form implements [device.Workspace].
func (w *Workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (err error) {
	if err := w.CheckForm(ctx, prog, theta, noise); err != nil {
		return err
	}
	w.logDet, err = w.engine.Form(ctx, prog, theta, noise)
	w.formed, w.prog, w.theta = err == nil, prog, slices.Clone(theta)
	return w.ended(ctx, err)
}

// CheckForm returns an error if the arguments of Form do not fit the points or the method. Σ is not there afterwards.
func (w *Workspace) CheckForm(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	w.formed = false
	if err := w.ready(ctx, false, device.CheckNoise(noise, w.N()), prog, theta); err != nil {
		return err
	}
	if i := slices.IndexFunc(noise, func(v float64) bool { return v-v != 0 }); i >= 0 {
		return &device.NonFiniteError{What: "noise variance", Row: i, Col: -1}
	}
	differs := slices.ContainsFunc(noise, func(v float64) bool { return v != noise[0] })
	return w.limits.Refuse(device.Workload{NoiseByRow: differs})
}

// Solve implements [device.Workspace].
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := w.ready(ctx, true, device.CheckColumns(b, w.N(), m), nil, nil); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.Solve(ctx, b, m))
}

// Whiten implements [device.Whitener].
func (w *Workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if err := w.ready(ctx, true, device.CheckColumns(b, w.N(), m), nil, nil); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.(device.Whitener).Whiten(ctx, b, m, transposed))
}

// InverseDiagonal implements [device.InverseDiagonal].
func (w *Workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if err := w.ready(ctx, true, device.CheckColumns(dst, w.N(), 1), nil, nil); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.InverseDiagonal(ctx, dst))
}

// Contract implements [device.Workspace].
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.ready(ctx, true, adj.CheckSizes(w.N(), diag, grad, prog), prog, theta); err != nil {
		return err
	}
	middle := device.Workload{Diagonal: adj.Diagonal != nil}
	if adj.Blocks != nil {
		middle.Blocks = adj.Blocks.Ends
	}
	if err := w.limits.Refuse(middle); err != nil {
		return err
	}
	if w.limits.AtForm && (!w.prog.Same(prog) || !slices.Equal(w.theta, theta)) {
		return &device.UnsupportedError{Method: w.Method(), What: "a contraction at other parameters than those of Form"}
	}
	clear(diag)
	return w.ended(ctx, w.engine.Contract(ctx, adj, prog, theta, grad, diag))
}

// Predict implements [device.Workspace].
func (w *Workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if err := w.ready(ctx, w.limits.AtForm || reduction != nil, device.CheckPrediction(w.Points, xs, alpha, mean, reduction), prog, theta); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.Predict(ctx, prog, theta, alpha, xs, mean, reduction))
}

// PredictCovariance implements [device.JointCovariance].
func (w *Workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	if err := w.ready(ctx, true, device.CheckCovariance(w.Points, xs, reduction), prog, theta); err != nil || xs.N == 0 {
		return err
	}
	return w.ended(ctx, w.engine.PredictCovariance(ctx, prog, theta, xs, reduction))
}

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *Workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if err := w.ready(ctx, false, device.CheckProducts(prog, w.N(), vectors, m, dst), prog, theta); err != nil {
		return err
	}
	return w.ended(ctx, w.engine.(device.DerivativeProducts).MultiplyDerivatives(ctx, prog, theta, vectors, m, dst))
}
