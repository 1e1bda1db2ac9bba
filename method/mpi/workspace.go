package mpi

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/device/part"
	"gpfit/kernel"
)

// workspace implements [device.Workspace] on rank 0.
type workspace struct {
	device.Meter
	ranks *ranks
	share int
	x     *kernel.Points
	// matrixBytes and bytes are the memory of the largest part.
	matrixBytes, bytes int64
	// formed means that the ranks have the factor of Σ, and logDet is log|Σ|.
	formed, closed bool
	logDet         float64
	// filled and theta are the covariance function of the last Form.
	filled *kernel.Program
	theta  []float64
	// sent is the last program that the other ranks can make of its text.
	sent *kernel.Program
}

// newWorkspace makes a workspace on all ranks, with a number of threads, 0 for all, or on cards.
func newWorkspace(on part.Device, x *kernel.Points, plan device.Plan, threads int) (*workspace, error) {
	g, err := openFor(on)
	if err != nil {
		return nil, unavailable(err)
	}
	c := &call{Op: opAllocate, N: x.N, D: x.D, Threads: threads, numbers: [][]float64{x.X}}
	w := &workspace{ranks: g, x: x}
	rows, cols := 0, 0
	if on != nil {
		c.Card = on.Info().Name
		rows, cols = g.cards.Largest(x.N)
		w.bytes = plan.DeviceBytes()
	} else {
		rows, cols = g.grid.Largest(x.N)
		w.bytes = 8 * numbersFor(g.grid.Shape, x.N, x.D)
	}
	w.matrixBytes = 8 * int64(rows) * int64(cols)
	if err := g.checkMemory(plan, c.Card); err != nil {
		return nil, err
	}
	g.mutex.Lock()
	g.next++
	w.share, c.Share = g.next, g.next
	g.mutex.Unlock()
	return w, g.do(c).err
}

// Method implements [device.Workspace].
func (*workspace) Method() string { return Name }

// N implements [device.Workspace].
func (w *workspace) N() int { return w.x.N }

// Work implements [device.Workspace], with the memory of this rank.
func (w *workspace) Work() device.Work {
	if w.closed {
		return device.Work{Flops: w.Flops}
	}
	return device.Work{Flops: w.Flops, MatrixBytes: w.matrixBytes, Bytes: w.bytes}
}

// Close implements [device.Workspace].
func (w *workspace) Close() error {
	if !w.closed {
		w.closed, w.formed = true, false
		return w.ranks.do(&call{Op: opFree, Share: w.share}).err
	}
	return nil
}

// perform performs a call on all ranks, unless ctx is done. A context that ends leaves the workspace as before Form.
func (w *workspace) perform(ctx context.Context, c *call, prog *kernel.Program) (result, error) {
	if err := ctx.Err(); err != nil {
		w.formed = false
		return result{}, err
	}
	c.Share = w.share
	if prog != nil {
		c.prog, c.Text, c.Labels = prog, prog.Text, prog.Labels
	}
	c.poll = func(flops float64) bool {
		if flops > 0 {
			w.Worked(flops)
		}
		return ctx.Err() != nil
	}
	r := w.ranks.do(c)
	if err := ctx.Err(); err != nil {
		w.formed = false
		return result{}, err
	}
	if r.err != nil {
		w.formed = false
		return result{}, r.err
	}
	if r.stopped {
		return result{}, errEnded
	}
	return r, nil
}

// errEnded reports a call after the end of the program on the other ranks.
var errEnded = fmt.Errorf("mpi: the other ranks have ended")

// check returns an error if a program with its parameters does not fit the points.
func (w *workspace) check(prog *kernel.Program, theta []float64) error {
	if prog.D != w.x.D {
		return fmt.Errorf("mpi: kernel for %d columns on points with %d columns", prog.D, w.x.D)
	}
	if w.ranks.world.Size > 1 && w.sent != prog {
		if err := portable(prog); err != nil {
			return err
		}
		w.sent = prog
	}
	return prog.CheckTheta(theta)
}

var _ device.DerivativeProducts = (*workspace)(nil)

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

// Form implements [device.Workspace].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if w.closed {
		return device.ErrStage
	}
	if len(noise) != 1 && len(noise) != w.x.N {
		return fmt.Errorf("mpi: %d noise variances for %d points", len(noise), w.x.N)
	}
	if err := w.check(prog, theta); err != nil {
		return err
	}
	w.formed = false
	w.Begin("factor", cube(w.x.N)/3)
	r, err := w.perform(ctx, &call{Op: opForm, numbers: [][]float64{theta, noise}}, prog)
	if err != nil {
		return err
	}
	if r.minor == 0 { // a NaN passes for positive in some libraries
		r.minor = 1 + slices.IndexFunc(r.vectors[0], func(v float64) bool { return !(v > 0) || math.IsInf(v, 1) })
	}
	if r.minor > 0 {
		return device.ExplainMinor(r.minor, w.x, prog, theta, noise)
	}
	sum := 0.0
	for _, v := range r.vectors[0] {
		sum += math.Log(v)
	}
	w.formed, w.logDet = true, 2*sum
	w.filled, w.theta = prog, slices.Clone(theta)
	return nil
}

// LogDet implements [device.Workspace].
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if !w.formed {
		return 0, 0, device.ErrStage
	}
	return w.logDet, 0, nil
}

// Solve implements [device.Workspace].
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	return w.solve(ctx, part.Whole, b, m)
}

// Contract implements [device.Workspace].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if adj.HasMiddle() {
		return errMiddle
	}
	if !w.formed {
		return device.ErrStage
	}
	if err := adj.CheckSizes(w.x.N, diag, grad, prog); err != nil {
		return fmt.Errorf("mpi: %w", err)
	}
	if err := w.check(prog, theta); err != nil {
		return err
	}
	w.Begin("gradient", 2*cube(w.x.N)/3)
	r, err := w.perform(ctx, &call{Op: opContract, Inv: adj.Inv, Outer: adj.Outer, numbers: [][]float64{theta, adj.Vectors}}, prog)
	if err != nil {
		return err
	}
	for p, v := range r.vectors[0] {
		grad[p] += v
	}
	copy(diag, r.vectors[1])
	return nil
}

// Predict implements [device.Workspace].
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if w.closed || reduction != nil && !w.formed {
		return device.ErrStage
	}
	if err := device.CheckPrediction(w.x, xs, alpha, mean, reduction); err != nil {
		return fmt.Errorf("mpi: %w", err)
	}
	if err := w.check(prog, theta); err != nil {
		return err
	}
	w.Begin("predict", float64(w.x.N)*float64(w.x.N)*float64(xs.N))
	c := &call{Op: opPredict, M: xs.N, D: xs.D, Variances: reduction != nil, numbers: [][]float64{theta, xs.X, alpha}}
	r, err := w.perform(ctx, c, prog)
	if err != nil {
		return err
	}
	copy(mean, r.vectors[0])
	copy(reduction, r.vectors[1])
	return nil
}

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if w.closed {
		return device.ErrStage
	}
	if err := device.CheckProducts(prog, w.x.N, vectors, m, dst); err != nil {
		return fmt.Errorf("mpi: %w", err)
	}
	if err := w.check(prog, theta); err != nil {
		return err
	}
	r, err := w.perform(ctx, &call{Op: opMultiply, M: m, numbers: [][]float64{theta, vectors}}, prog)
	if err != nil {
		return err
	}
	copy(dst, r.vectors[0])
	return nil
}

// Whiten implements [device.DerivativeProducts].
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if len(b) != w.x.N*m && w.formed {
		return fmt.Errorf("mpi: right-hand side of %d elements for %d×%d", len(b), w.x.N, m)
	}
	op := part.Lower
	if transposed {
		op = part.Transposed
	}
	return w.solve(ctx, op, b, m)
}

// solve performs one of the operations that solve for right-hand sides.
func (w *workspace) solve(ctx context.Context, op part.Operation, b []float64, m int) error {
	if !w.formed {
		return device.ErrStage
	}
	if len(b) < w.x.N*m {
		return fmt.Errorf("mpi: right-hand side of %d elements for %d×%d", len(b), w.x.N, m)
	}
	r, err := w.perform(ctx, &call{Op: opSolve, With: op, M: m, numbers: [][]float64{slices.Clone(b[:w.x.N*m])}}, nil)
	if err != nil {
		return err
	}
	copy(b, r.vectors[0])
	return nil
}
