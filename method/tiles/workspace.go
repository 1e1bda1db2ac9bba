package tiles

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// workspace implements [device.Workspace]. A contraction replaces L by U = L⁻ᵀ; what needs L afterwards computes it again.
type workspace struct {
	*machine
	device.Meter
	x     *kernel.Points
	a     arrangement
	means device.MeanPredictor
	// formed says that the tiles hold L, whose diagonal is here. inverted says that they held it until a contraction, and now
	// hold U.
	formed, inverted bool
	diagonal         []float64
	filled           tiling.Binding
	// written is the number of rows of L that WriteFactor has set, and block has the rows of the last block.
	written int
	block   []float64
}

var (
	_ device.Workspace       = (*workspace)(nil)
	_ device.ThreadLimiter   = (*workspace)(nil)
	_ device.JointCovariance = (*workspace)(nil)
	_ device.InverseDiagonal = (*workspace)(nil)
	_ device.FactorExtender  = (*workspace)(nil)
)

// errMiddle is the error for adjoints with a middle term.
var errMiddle = &device.UnsupportedError{Method: Name, What: "leave-one-out or folds as an objective; the method dense does"}

// newWorkspace makes a workspace on devices, in whose memory the arrangement fits.
func newWorkspace(ctx context.Context, x *kernel.Points, a arrangement, devices []tiling.Device) (*workspace, error) {
	m, err := newMachine(ctx, x, a, devices)
	if err != nil {
		return nil, err
	}
	w := &workspace{machine: m, x: x, a: a}
	m.worked = w.Worked
	return w, nil
}

// Method returns [Name].
func (w *workspace) Method() string { return Name }

// N returns the number of points.
func (w *workspace) N() int { return w.n }

// LimitThreads implements [device.ThreadLimiter].
func (w *workspace) LimitThreads(n int) {
	w.limit = len(w.workers)
	if !w.owned() {
		w.limit = max(1, min(n, w.limit))
	}
}

// restore forms L again if a contraction has used it up. It returns [device.ErrStage] if there is none.
func (w *workspace) restore(ctx context.Context) error {
	switch {
	case w.banks == nil || !w.formed && !w.inverted:
		return device.ErrStage
	case w.formed:
		return nil
	case w.filled.Program == nil: // WriteFactor has set L
		return device.ErrStage
	}
	return w.form(ctx, w.filled.Program, w.filled.Theta, w.filled.Noise, 0)
}

// checkLength returns an error if a result has not the length of the points.
func checkLength(what string, v []float64, n int) error {
	if len(v) != n {
		return fmt.Errorf("tiles: %s of %d elements for %d", what, len(v), n)
	}
	return nil
}

// Form implements [device.Workspace].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	w.written = 0
	return w.form(ctx, prog, theta, noise, 0)
}

// form forms Σ and factors it, from a block of rows on.
func (w *workspace) form(ctx context.Context, prog *kernel.Program, theta, noise []float64, first int) error {
	if w.banks == nil {
		return device.ErrStage
	}
	if len(noise) != 1 && len(noise) != w.n {
		return fmt.Errorf("tiles: %d noise variances for %d points", len(noise), w.n)
	}
	if err := w.checkProgram(prog, theta); err != nil {
		return err
	}
	w.formed, w.inverted = false, false
	w.filled = tiling.Binding{Program: prog, Theta: slices.Clone(theta), Noise: slices.Clone(noise)}
	if err := w.bind(w.filled); err != nil {
		return err
	}
	w.Begin("factor", (w.cubeOf(w.side)-w.cubeOf(first))/3)
	if first == 0 {
		w.diagonal = make([]float64, w.n)
	}
	err := w.factor(ctx, first, w.diagonal)
	if errors.Is(err, errMinor) {
		return device.ExplainMinor(min(w.minor, w.n), w.x, prog, theta, noise)
	}
	w.formed = err == nil
	return err
}

func (w *workspace) checkProgram(prog *kernel.Program, theta []float64) error {
	if prog.D != w.x.D {
		return fmt.Errorf("tiles: kernel for %d columns on points with %d columns", prog.D, w.x.D)
	}
	return prog.CheckTheta(theta)
}

// cubeOf returns the third power of the rows of some blocks.
func (w *workspace) cubeOf(blocks int) float64 { return math.Pow(float64(blocks*w.order), 3) }

// LogDet returns 2·Σ log L_ii.
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if w.banks == nil || !w.formed && !w.inverted {
		return 0, 0, device.ErrStage
	}
	sum := 0.0
	for _, v := range w.diagonal {
		sum += math.Log(v)
	}
	return 2 * sum, 0, nil
}

// Solve implements [device.Workspace].
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	return w.solve(ctx, b, m, true, true)
}

func (w *workspace) solve(ctx context.Context, b []float64, m int, forward, backward bool) error {
	if err := w.restore(ctx); err != nil {
		return err
	}
	if err := checkLength("right-hand sides", b, m*w.n); err != nil {
		return err
	}
	return w.ended(w.substitute(ctx, b, m, forward, backward))
}

// ended brings the workspace to its state before Form after an error.
func (w *workspace) ended(err error) error {
	if err != nil {
		w.formed, w.inverted = false, false
	}
	return err
}

// Contract implements [device.Workspace].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if adj.HasMiddle() {
		return errMiddle
	}
	ready := w.inverted
	if !ready {
		if err := w.restore(ctx); err != nil {
			return err
		}
	}
	if err := errors.Join(adj.CheckSizes(w.n, diag, grad, prog), w.checkProgram(prog, theta)); err != nil {
		return fmt.Errorf("tiles: %w", err)
	}
	w.formed, w.inverted = false, false
	if err := w.bind(tiling.Binding{Program: prog, Theta: theta, Noise: noiseOf(w), Adjoint: &adj}); err != nil {
		return err
	}
	w.Begin("gradient", w.cubeOf(w.side)/3)
	if !ready {
		w.Begin("gradient", 2*w.cubeOf(w.side)/3)
		if err := w.invert(ctx); err != nil {
			return err
		}
	}
	err := w.contract(ctx, grad, diag)
	w.inverted = err == nil
	return err
}

// Predict implements [device.Workspace]. Only variances need the factor.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if w.banks == nil {
		return device.ErrStage
	}
	if err := device.CheckPrediction(w.x, xs, alpha, mean, reduction); err != nil {
		return fmt.Errorf("tiles: %w", err)
	}
	if w.means != nil {
		if err := w.means.PredictMeans(ctx, w.x, prog, theta, alpha, xs, mean); err != nil || reduction == nil {
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
		p.mean, p.alpha = mean, newVectors(w.layout, alpha, len(alpha)/w.n)
	}
	return w.predict(ctx, prog, theta, p)
}

// noiseOf returns the noise of the last Form. A factor from WriteFactor has none, and what is computed with it needs none.
func noiseOf(w *workspace) []float64 {
	if w.filled.Noise == nil {
		return []float64{0}
	}
	return w.filled.Noise
}

func (w *workspace) predict(ctx context.Context, prog *kernel.Program, theta []float64, p prediction) error {
	if err := w.checkProgram(prog, theta); err != nil {
		return err
	}
	if err := w.bind(tiling.Binding{Program: prog, Theta: theta, Noise: noiseOf(w)}); err != nil {
		return err
	}
	w.Begin("predict", float64(w.n)*float64(w.n)*float64(p.xs.N))
	return w.ended(p.run(ctx))
}

// PredictCovariance implements [device.JointCovariance]: the products of the rows of K*ᵀL⁻ᵀ.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	if err := w.restore(ctx); err != nil {
		return err
	}
	m := xs.N
	if xs.D != w.x.D || len(reduction) != m*m {
		return fmt.Errorf("tiles: covariance of %d points of %d columns in %d elements, d = %d", m, xs.D, len(reduction), w.x.D)
	}
	if err := hostmethod.CheckRoom(m, 8*int64(m)*int64(w.n), w.n, w.x.D); err != nil {
		return err
	}
	p := prediction{machine: w.machine, xs: xs, rows: make([]float64, m*w.n)}
	if err := w.predict(ctx, prog, theta, p); err != nil || m == 0 {
		return err
	}
	hostmethod.Gram(m, w.n, p.rows, reduction)
	return ctx.Err()
}

// Work returns the counters.
func (w *workspace) Work() device.Work {
	if w.banks == nil {
		return device.Work{Flops: w.Flops}
	}
	held := int64(w.a.hostTiles) * w.a.tileBytes
	for _, slots := range w.a.slots {
		held += int64(slots) * w.a.tileBytes
	}
	return device.Work{Flops: w.Flops, MatrixBytes: held, Bytes: held}
}

// Close frees the memory.
func (w *workspace) Close() error {
	w.formed, w.inverted = false, false
	return w.close()
}
