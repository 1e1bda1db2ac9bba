package merged

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/kernel"
)

// workspace implements [device.Workspace] for n points on a dense workspace for the u different
// ones. It has the capabilities of that one, except for its factor.
type workspace struct {
	inner  device.DenseWorkspace
	x      *kernel.Points
	groups *groups
	// weights belong to the last Form; nil before it and after Close.
	weights *weights
	// diagonal is the diagonal of Σ_u⁻¹; nil until a call needs it.
	diagonal []float64
	// blocks are blocks of Σ_u⁻¹; nil until a call needs them.
	blocks *device.Blocks
}

var (
	_ device.InverseDiagonal    = (*workspace)(nil)
	_ device.JointCovariance    = (*workspace)(nil)
	_ device.DerivativeProducts = (*workspace)(nil)
	_ device.ThreadLimiter      = (*workspace)(nil)
	_ device.Consuming          = (*workspace)(nil)
)

// checked is a workspace on one that can check its factor.
type checked struct {
	*workspace
	device.ResidualChecker
}

// NewWorkspace implements [device.Backend].
func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if err := errors.Join(ctx.Err(), device.CheckInputs(x)); err != nil {
		return nil, err
	}
	g := groupsOf(x)
	inner, err := b.on.NewWorkspace(ctx, g.points(x))
	if err != nil {
		return nil, err
	}
	w := &workspace{inner: inner, x: x, groups: g}
	if checker, ok := inner.(device.ResidualChecker); ok {
		return checked{w, checker}, nil
	}
	return w, nil
}

// Inner returns the workspace of the different points if w is one of this method, and w itself otherwise.
func Inner(w device.Workspace) device.Workspace {
	switch w := w.(type) {
	case *workspace:
		return w.inner
	case checked:
		return w.inner
	}
	return w
}

// Method implements [device.Workspace].
func (*workspace) Method() string { return Name }

// N implements [device.Workspace].
func (w *workspace) N() int { return w.groups.n() }

// LimitThreads implements [device.ThreadLimiter].
func (w *workspace) LimitThreads(n int) {
	if limiter, ok := w.inner.(device.ThreadLimiter); ok {
		limiter.LimitThreads(n)
	}
}

// Consumes implements [device.Consuming].
func (w *workspace) Consumes() bool { return device.Consumes(w.inner) }

// OnProgress implements [device.Workspace].
func (w *workspace) OnProgress(f func(device.Progress)) { w.inner.OnProgress(f) }

// Work implements [device.Workspace].
func (w *workspace) Work() device.Work {
	work := w.inner.Work()
	work.Bytes += rowBytes * int64(w.N())
	return work
}

// Close implements [device.Workspace].
func (w *workspace) Close() error {
	w.weights, w.diagonal, w.blocks = nil, nil, nil
	return w.inner.Close()
}

// Form implements [device.Workspace].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (err error) {
	if err := device.Invalid(Name, device.CheckNoise(noise, w.N())); err != nil {
		return err
	}
	w.diagonal, w.blocks = nil, nil
	if w.weights, err = w.groups.weigh(noise); err != nil {
		return err
	}
	if err := w.inner.Form(ctx, prog, theta, w.weights.merged); err != nil {
		w.weights = nil
		return w.ofRows(err)
	}
	return nil
}

// ofRows returns an error of the inner workspace with the numbers of the rows.
func (w *workspace) ofRows(err error) error {
	first := func(k int) int { return w.groups.rows[k][0] }
	if e, ok := errors.AsType[*device.NotPDError](err); ok {
		return &device.NotPDError{Minor: first(e.Minor-1) + 1, N: w.N()}
	}
	if e, ok := errors.AsType[*device.NonFiniteError](err); ok && e.Row >= 0 && e.Col >= 0 {
		return &device.NonFiniteError{What: e.What, Row: first(e.Row), Col: first(e.Col)}
	}
	return err
}

// LogDet implements [device.Workspace]. By Sylvester's theorem log|Σ| = log|Σ_u| + Σ_i log d_i +
// Σ_g log W_g.
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if value, stdErr, err = w.inner.LogDet(); err != nil {
		return 0, 0, err
	}
	return value + w.weights.logDet, stdErr, nil
}

// Solve implements [device.Workspace].
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := w.ready(device.CheckColumns(b, w.N(), m)); err != nil {
		return err
	}
	means := w.weights.divide(b, m)
	if err := w.inner.Solve(ctx, means, m); err != nil {
		return err
	}
	w.weights.add(b, means, m)
	return nil
}

// ready returns an error if a call cannot begin: Σ is not there, or the arguments are invalid.
func (w *workspace) ready(invalid error) error {
	if w.weights == nil {
		return device.ErrStage
	}
	return device.Invalid(Name, invalid)
}

// Predict implements [device.Workspace]. The covariances of the points of a group with another one
// are equal, so that their weights add up, and k*ᵀΣ⁻¹k* = k*_uᵀΣ_u⁻¹k*_u.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if err := device.Invalid(Name, device.CheckPrediction(w.x, xs, alpha, mean, reduction)); err != nil {
		return err
	}
	return w.inner.Predict(ctx, prog, theta, w.groups.sums(alpha), xs, mean, reduction)
}

// PredictCovariance implements [device.JointCovariance]. As in Predict, the different points give the
// reduction.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	return w.inner.PredictCovariance(ctx, prog, theta, xs, reduction)
}

// MultiplyDerivatives implements [device.DerivativeProducts]: a product has equal elements in the
// rows of a group, and the elements of a vector add up.
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if err := device.Invalid(Name, device.CheckProducts(prog, w.N(), vectors, m, dst)); err != nil {
		return err
	}
	products := make([]float64, w.groups.u()*m*prog.NumParams)
	if err := w.inner.MultiplyDerivatives(ctx, prog, theta, w.groups.sums(vectors), m, products); err != nil {
		return err
	}
	w.groups.spread(dst, products)
	return nil
}

// Whiten implements [device.DerivativeProducts]. L⁻¹ has the rows of L_u⁻¹Eᵀ and the contrasts of
// [weights.contrasts], which are independent of the weighted means: L⁻¹ΣL⁻ᵀ = I.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if err := w.ready(device.CheckColumns(b, w.N(), m)); err != nil {
		return err
	}
	n, u := w.N(), w.groups.u()
	if !transposed {
		means := w.weights.contrasts(b, m)
		if err := w.inner.Whiten(ctx, means, m, false); err != nil {
			return err
		}
		for c := range m {
			for k, a := range w.weights.anchors {
				b[c*n+a] = means[c*u+k]
			}
		}
		return nil
	}
	means := make([]float64, u*m)
	for c := range m {
		for k, a := range w.weights.anchors {
			means[c*u+k] = b[c*n+a]
		}
	}
	if err := w.inner.Whiten(ctx, means, m, true); err != nil {
		return err
	}
	w.weights.transposed(b, means, m)
	return nil
}
