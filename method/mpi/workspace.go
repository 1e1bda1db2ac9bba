package mpi

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
	"gpfit/method/mpi/host"
	"gpfit/method/mpi/part"
)

// workspace is the [hostmethod.Engine], on rank 0.
type workspace struct {
	*hostmethod.State
	ranks *ranks
	share int
	// matrixBytes and bytes are the memory of the largest part.
	matrixBytes, bytes int64
	// filled and theta are the covariance function of the last Form.
	filled *kernel.Program
	theta  []float64
	// sent is the last program that the other ranks can make of its text.
	sent *kernel.Program
}

// newWorkspace makes a workspace on all ranks.
func newWorkspace(host device.Device, x *kernel.Points, plan device.Plan) (*hostmethod.Workspace, error) {
	g, err := openEngine()
	if err != nil {
		return nil, unavailable(err)
	}
	if err := g.checkMemory(plan); err != nil {
		return nil, err
	}
	rows, cols := g.grid.Largest(x.N)
	w := &workspace{
		State: &hostmethod.State{Points: x, N: x.N, Host: host}, ranks: g,
		matrixBytes: 8 * int64(rows) * int64(cols), bytes: 8 * numbersFor(g.grid.Shape, x.N, x.D),
	}
	g.mutex.Lock()
	g.next++
	w.share = g.next
	g.mutex.Unlock()
	c := &call{Op: opAllocate, Share: w.share, N: x.N, D: x.D, Threads: host.Info().Threads, numbers: [][]float64{x.X}}
	return hostmethod.NewWorkspace(w.State, limits, w), g.do(c).err
}

// Held implements [hostmethod.Engine], with the memory of this rank.
func (w *workspace) Held() (bytes, matrices int64) { return w.bytes, w.matrixBytes }

// Close frees the parts of all ranks.
func (w *workspace) Close() error { return w.ranks.do(&call{Op: opFree, Share: w.share}).err }

// perform performs a call on all ranks, with a covariance function that they can make of its text, or none.
func (w *workspace) perform(ctx context.Context, c *call, prog *kernel.Program) (result, error) {
	if prog != nil && w.ranks.world.Size > 1 && w.sent != prog {
		if err := portable(prog); err != nil {
			return result{}, err
		}
		w.sent = prog
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
	switch {
	case ctx.Err() != nil:
		return result{}, ctx.Err()
	case r.err != nil:
		return result{}, r.err
	case r.stopped:
		return result{}, errEnded
	}
	return r, nil
}

// errEnded reports a call after the end of the program on the other ranks.
var errEnded = fmt.Errorf("mpi: the other ranks have ended")

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

// Form implements [hostmethod.Engine].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (logDet float64, err error) {
	w.Begin("factor", cube(w.N)/3)
	r, err := w.perform(ctx, &call{Op: opForm, numbers: [][]float64{theta, noise}}, prog)
	if err != nil {
		return 0, err
	}
	if r.minor == 0 { // a NaN passes for positive in some libraries
		r.minor = 1 + slices.IndexFunc(r.vectors[0], func(v float64) bool { return !(v > 0) || math.IsInf(v, 1) })
	}
	if r.minor > 0 {
		return 0, device.ExplainMinor(r.minor, w.Points, prog, theta, noise)
	}
	sum := 0.0
	for _, v := range r.vectors[0] {
		sum += math.Log(v)
	}
	w.filled, w.theta = prog, slices.Clone(theta)
	return 2 * sum, nil
}

// Solve implements [hostmethod.Engine].
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	return w.solve(ctx, part.Whole, b, m)
}

// Whiten implements [device.DerivativeProducts].
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	op := part.Lower
	if transposed {
		op = part.Transposed
	}
	return w.solve(ctx, op, b, m)
}

// solve performs one of the operations that solve for right-hand sides.
func (w *workspace) solve(ctx context.Context, op part.Operation, b []float64, m int) error {
	r, err := w.perform(ctx, &call{Op: opSolve, With: op, M: m, numbers: [][]float64{slices.Clone(b)}}, nil)
	if err != nil {
		return err
	}
	copy(b, r.vectors[0])
	return nil
}

// Contract implements [hostmethod.Engine].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	w.Begin("gradient", 2*cube(w.N)/3)
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

// InverseDiagonal implements [device.InverseDiagonal]: the diagonal of the adjoint Σ⁻¹.
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	return w.Contract(ctx, device.Adjoint{Inv: 1}, w.filled, w.theta, make([]float64, w.filled.NumParams), dst)
}

// Predict implements [hostmethod.Engine].
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	w.Begin("predict", float64(w.N)*float64(w.N)*float64(xs.N))
	c := &call{Op: opPredict, M: xs.N, D: xs.D, Variances: reduction != nil, numbers: [][]float64{theta, xs.X, alpha}}
	r, err := w.perform(ctx, c, prog)
	if err != nil {
		return err
	}
	copy(mean, r.vectors[0])
	copy(reduction, r.vectors[1])
	return nil
}

// PredictCovariance implements [device.JointCovariance]. Rank 0 has the rows of K*ᵀL⁻ᵀ and their products; all ranks solve.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	m, n := xs.N, w.N
	err := w.Joint(m, reduction, func(rows []float64) error {
		e := kernel.NewEvaluator(prog)
		e.Bind(theta)
		for i := range m {
			host.Pieces(0, n, func(j0, j1 int) { e.Row(rows[i*n+j0:i*n+j1], xs, i, w.Points, j0, j1) })
		}
		w.Begin("predict", float64(n)*float64(m)*float64(n+m))
		err := w.Whiten(ctx, rows, m, false)
		w.Worked(float64(n) * float64(n) * float64(m))
		return err
	})
	w.Worked(float64(n) * float64(m) * float64(m))
	return err
}

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	r, err := w.perform(ctx, &call{Op: opMultiply, M: m, numbers: [][]float64{theta, vectors}}, prog)
	if err != nil {
		return err
	}
	copy(dst, r.vectors[0])
	return nil
}
