package tiles

import (
	"context"
	"errors"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// tiled is a workspace as callers see it, by an engine that is a [workspace].
type tiled struct {
	checked
	device.FactorExtender
	device.ThreadLimiter
}

// checked are the calls that a [hostmethod.Workspace] checks.
type checked interface {
	device.Workspace
	device.InverseDiagonal
	device.JointCovariance
	device.Whitener
}

// workspace is the [hostmethod.Engine]. A contraction replaces L by U = L⁻ᵀ; what needs L afterwards computes it again.
type workspace struct {
	*machine
	*hostmethod.State
	checked *hostmethod.Workspace
	a       arrangement
	means   device.MeanPredictor
	// inverted says that the tiles held L until a contraction, and now hold U. diagonal is the diagonal of L.
	inverted bool
	diagonal []float64
	filled   tiling.Binding
	// written is the number of rows of L that WriteFactor has set, and block has the rows of the last block.
	written int
	block   []float64
}

var (
	_ device.ThreadLimiter  = (*workspace)(nil)
	_ device.FactorExtender = (*workspace)(nil)
)

// limits list the abilities that the method lacks.
var limits = func() hostmethod.Limits {
	const middle = "leave-one-out or folds as an objective; the method dense does"
	return hostmethod.Limits{Method: Name, Blocks: middle, Diagonal: middle}
}()

// newWorkspace makes a workspace on devices, in whose memory the arrangement fits. It predicts only means by means if that is
// not nil.
func newWorkspace(ctx context.Context, x *kernel.Points, a arrangement, devices []tiling.Device, means device.MeanPredictor) (device.Workspace, error) {
	m, err := newMachine(ctx, x, a, devices)
	if err != nil {
		return nil, err
	}
	w := &workspace{machine: m, State: &hostmethod.State{Points: x, N: x.N, Host: devices[0]}, a: a, means: means}
	w.checked = hostmethod.NewWorkspace(w.State, limits, w)
	m.worked = w.Worked
	return tiled{w.checked, w, w}, nil
}

// LimitThreads implements [device.ThreadLimiter].
func (w *workspace) LimitThreads(n int) {
	w.limit = len(w.workers)
	if !w.owned() {
		w.limit = max(1, min(n, w.limit))
	}
}

// restore forms L again if a contraction has used it up. It returns [device.ErrStage] if WriteFactor has set L.
func (w *workspace) restore(ctx context.Context) error {
	switch {
	case !w.inverted:
		return nil
	case w.filled.Program == nil:
		return device.ErrStage
	}
	return w.form(ctx, w.filled.Program, w.filled.Theta, w.filled.Noise, 0)
}

// Form implements [hostmethod.Engine].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (logDet float64, err error) {
	w.written = 0
	err = w.form(ctx, prog, theta, noise, 0)
	return w.logDet(), err
}

// form forms Σ and factors it, from a block of rows on.
func (w *workspace) form(ctx context.Context, prog *kernel.Program, theta, noise []float64, first int) error {
	w.inverted = false
	w.filled = tiling.Binding{Program: prog, Theta: slices.Clone(theta), Noise: slices.Clone(noise)}
	if err := w.bind(w.filled); err != nil {
		return err
	}
	w.Begin("factor", (w.cubeOf(w.side)-w.cubeOf(first))/3)
	if first == 0 {
		w.diagonal = make([]float64, w.N)
	}
	err := w.factor(ctx, first, w.diagonal)
	if errors.Is(err, errMinor) {
		return device.ExplainMinor(min(w.minor, w.N), w.Points, prog, theta, noise)
	}
	return err
}

// cubeOf returns the third power of the rows of some blocks.
func (w *workspace) cubeOf(blocks int) float64 { return math.Pow(float64(blocks*w.order), 3) }

// logDet returns 2·Σ log L_ii.
func (w *workspace) logDet() float64 {
	sum := 0.0
	for _, v := range w.diagonal {
		sum += math.Log(v)
	}
	return 2 * sum
}

// Solve implements [hostmethod.Engine].
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := w.restore(ctx); err != nil {
		return err
	}
	return w.substitute(ctx, b, m, tiling.Forward, tiling.Backward)
}

// Whiten implements [device.Whitener].
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if err := w.restore(ctx); err != nil {
		return err
	}
	op := tiling.Forward
	if transposed {
		op = tiling.Backward
	}
	return w.substitute(ctx, b, m, op)
}

// Contract implements [hostmethod.Engine].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	ready := w.inverted
	if err := w.bind(tiling.Binding{Program: prog, Theta: theta, Noise: w.noise(), Adjoint: &adj}); err != nil {
		return err
	}
	w.Begin("gradient", w.cubeOf(w.side)/3)
	if !ready {
		w.Begin("gradient", 2*w.cubeOf(w.side)/3)
		if err := w.invert(ctx); err != nil {
			return err
		}
		w.inverted = true
	}
	return w.contract(ctx, grad, diag)
}

// Predict implements [hostmethod.Engine]. Only variances need the factor.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if w.means != nil {
		if err := w.means.PredictMeans(ctx, w.Points, prog, theta, alpha, xs, mean); err != nil || reduction == nil {
			return err
		}
		mean = nil
	}
	if reduction != nil {
		if err := w.restore(ctx); err != nil {
			return err
		}
	}
	p := prediction{machine: w.machine, xs: xs, reduction: reduction}
	clear(reduction)
	if mean != nil {
		clear(mean)
		p.mean, p.alpha = mean, newVectors(w.layout, alpha, len(alpha)/w.N)
	}
	return w.predict(ctx, prog, theta, p)
}

// noise returns the noise of the last Form. A factor from WriteFactor has none, and what is computed with it needs none.
func (w *workspace) noise() []float64 {
	if w.filled.Noise == nil {
		return []float64{0}
	}
	return w.filled.Noise
}

func (w *workspace) predict(ctx context.Context, prog *kernel.Program, theta []float64, p prediction) error {
	if err := w.bind(tiling.Binding{Program: prog, Theta: theta, Noise: w.noise()}); err != nil {
		return err
	}
	w.Begin("predict", float64(w.N)*float64(w.N)*float64(p.xs.N))
	return p.run(ctx)
}

// PredictCovariance implements [device.JointCovariance].
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	if err := w.restore(ctx); err != nil {
		return err
	}
	return w.Joint(xs.N, reduction, func(rows []float64) error {
		return w.predict(ctx, prog, theta, prediction{machine: w.machine, xs: xs, rows: rows})
	})
}

// Held implements [hostmethod.Engine].
func (w *workspace) Held() (bytes, matrices int64) {
	held := int64(w.a.hostTiles) * w.a.tileBytes
	for _, slots := range w.a.slots {
		held += int64(slots) * w.a.tileBytes
	}
	return held, held
}

// Close frees the memory.
func (w *workspace) Close() error { return w.close() }
