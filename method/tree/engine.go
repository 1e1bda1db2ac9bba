package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// engine is the [hostmethod.Engine].
type engine struct {
	*hostmethod.State
	algebra *algebra
	// wanted is the wanted bound of a value in nats.
	wanted float64
	sizes  sizes
	// unchecked means that pivots are not checked, for a test.
	unchecked bool
	// known is the last order, and evaluation the last Form.
	known *order
	*evaluation
	logDet float64
	// fit is the largest bound of a data fit since Form.
	fit float64
	// factorFlops are the operations of the factor.
	factorFlops int64
}

// Form implements [hostmethod.Engine].
func (w *engine) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (float64, error) {
	if err := columnsOf(prog); err != nil {
		return 0, err
	}
	w.evaluation = nil
	e := &evaluation{order: w.orderFor(prog, theta), algebra: w.algebra, ctx: ctx, prog: prog, theta: slices.Clone(theta), unchecked: w.unchecked}
	e.noise = slices.Clone(noise)
	if len(noise) > 1 {
		for i, k := range e.at {
			e.noise[i] = noise[k]
		}
	}
	e.borrow(func(own *kernel.Evaluator) {
		values := make([]float64, w.N)
		own.Diagonal(values, e.points, 0, w.N)
		for _, v := range values {
			e.amplitude = max(e.amplitude, v) // NaN stays
		}
	})
	if e.amplitude-e.amplitude != 0 {
		return 0, &device.NonFiniteError{What: "covariance matrix", Row: -1, Col: -1}
	}
	relative := w.wanted / 2 * slices.Min(noise) / (math.Sqrt(float64(w.N)) * e.amplitude)
	return w.factorTo(ctx, e, relative/w.turns(prog, theta))
}

// orderFor returns the order for parameters.
func (w *engine) orderFor(prog *kernel.Program, theta []float64) *order {
	if scales := scalesOf(prog, theta); w.known == nil || !slices.Equal(scales, w.known.scales) {
		w.known = newOrder(w.Points, scales, w.sizes, w.Threads)
	}
	return w.known
}

// turns returns the number of periods in the range of a column, from 1 to 100. Errors of a derivative by a log period are larger by
// about this factor than errors of values.
func (w *engine) turns(prog *kernel.Program, theta []float64) float64 {
	most := 1.0
	for _, f := range prog.Features {
		for q, c := range f.Dims {
			if f.Kind == kernel.SinSquares {
				column := w.Points.Column(c)
				most = max(most, (slices.Max(column)-slices.Min(column))/theta[f.Period+min(q, f.Periods-1)])
			}
		}
	}
	return min(most, 100)
}

// factorTo factors to a tolerance relative to the amplitude.
func (w *engine) factorTo(ctx context.Context, e *evaluation, relative float64) (float64, error) {
	e.tolerance = min(max(relative, device.LeastTolerance), 1e-2) * e.amplitude
	for _, t := range e.nodes { // results of another factor
		*t = node{first: t.first, mid: t.mid, end: t.end, number: t.number, depth: t.depth, left: t.left, right: t.right}
	}
	before := w.algebra.flops.Load()
	if err := w.grow(ctx, e); err != nil {
		w.evaluation = nil
		return 0, err
	}
	w.evaluation, w.logDet = e, e.root.logDet
	w.factorFlops = w.algebra.flops.Load() - before
	w.fit = 0
	return w.logDet, nil
}

// grow chooses the pivots of all blocks, the largest first, and then factors the nodes, halves first.
func (w *engine) grow(ctx context.Context, e *evaluation) error {
	e.ctx = ctx
	levels := byDepth(e.nodes)
	w.Begin("factor", 2*float64(w.N)*float64(len(levels)))
	for _, level := range levels {
		err := w.each(ctx, level, func(t *node, threads int) error {
			if t.leaf() {
				return ctx.Err()
			}
			return e.choosePivots(t, threads)
		})
		if err != nil {
			return err
		}
	}
	for _, level := range slices.Backward(levels) {
		if err := w.each(ctx, level, e.factor); err != nil {
			return err
		}
	}
	return nil
}

// byDepth returns the nodes of each level.
func byDepth(nodes []*node) (levels [][]*node) {
	for _, t := range nodes {
		for len(levels) <= t.depth {
			levels = append(levels, nil)
		}
		levels[t.depth] = append(levels[t.depth], t)
	}
	return levels
}

// each calls f for the nodes of a level: for several nodes at a time, or with all threads for each of a few. It returns the error
// of the first of the nodes that have one. It reports the points of the nodes as work.
func (w *engine) each(ctx context.Context, level []*node, f func(t *node, threads int) error) error {
	failed := make([]error, len(level))
	if len(level) < 2*w.Threads {
		for k, t := range level {
			if failed[k] = f(t, w.Threads); failed[k] != nil {
				return failed[k]
			}
			if err := w.Step(ctx, float64(t.size())); err != nil {
				return err
			}
		}
		return nil
	}
	done := make(chan int, 64)
	go func() {
		spread(w.Threads, len(level), func(k int) {
			if failed[k] = ctx.Err(); failed[k] == nil {
				failed[k] = f(level[k], 1)
			}
			done <- level[k].size()
		})
		close(done)
	}()
	for points := range done {
		w.Worked(float64(points))
	}
	return errors.Join(ctx.Err(), cmp.Or(failed...))
}

// Solve implements [hostmethod.Engine]. If what a block may miss changes a data fit by more than is wanted, it refines the
// solutions by exact products or, where these take longer, factors again to a finer tolerance.
func (w *engine) Solve(ctx context.Context, b []float64, m int) error {
	sides := w.ordered(b, m)
	original := clone(sides)
	w.solve(sides)
	bound := w.fitBound(sides)
	if bound > w.wanted {
		var err error
		if bound, err = w.improve(ctx, original, sides, bound); err != nil {
			return err
		}
		if limit := mostNats + fewDigits*math.Abs(floats.Dot(original.Data, sides.Data)); !(bound <= limit) {
			return fmt.Errorf("the method %s has too few digits for the data fit, which may be off by %.2g: take another method, such as dense, or more noise%.0w", Name, bound, &device.NotPDError{N: w.N})
		}
	}
	w.fit = max(w.fit, bound+w.roundingOf(squares(sides)))
	w.restore(b, sides)
	return ctx.Err()
}

// A data fit that may be off by more than mostNats and a share fewDigits is no value: its point is infeasible.
const (
	mostNats  = 0.1
	fewDigits = 1e-5
)

// An element of a row of Σ takes about as long as elementFlops operations, and the factor to a finer tolerance finerFlops times as many as
// the one before, with the gradient.
const (
	elementFlops = 60
	finerFlops   = 3
)

// improve makes solutions better, and returns the bound of the data fit.
func (w *engine) improve(ctx context.Context, b, alpha blas64.General, bound float64) (float64, error) {
	n, relative := float64(w.N), w.tolerance/w.amplitude
	if relative > device.LeastTolerance && elementFlops*n*n > finerFlops*float64(w.factorFlops) {
		if _, err := w.factorTo(ctx, w.evaluation, relative*w.wanted/bound); err != nil {
			return 0, err
		}
		copy(alpha.Data, b.Data)
		w.solve(alpha)
		return w.fitBound(alpha), nil
	}
	return w.refine(ctx, b, alpha)
}

// solve replaces b by Σ̃⁻¹b.
func (w *engine) solve(b blas64.General) {
	w.whiten(w.root, b, w.Threads)
	w.back(w.root, b, w.Threads)
}

// fitBound returns the largest bound of the data fit of solutions, without rounding errors.
func (e *evaluation) fitBound(alpha blas64.General) float64 {
	return e.tolerance * math.Sqrt(float64(alpha.Rows)) * squares(alpha) / 2
}

// squares returns the largest sum of squares of a column, 0 of none.
func squares(alpha blas64.General) (most float64) {
	sums := make([]float64, alpha.Cols)
	for i := range alpha.Rows {
		for q, v := range row(alpha, i) {
			sums[q] += v * v
			most = max(most, sums[q]) // NaN stays
		}
	}
	return most
}

// Whiten implements [device.Whitener].
func (w *engine) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	sides, apply := w.ordered(b, m), w.whiten
	if transposed {
		apply = w.back
	}
	apply(w.root, sides, w.Threads)
	w.restore(b, sides)
	return ctx.Err()
}

// Held implements [hostmethod.Engine].
func (w *engine) Held() (bytes, matrices int64) {
	if w.evaluation == nil {
		return 0, 0
	}
	for _, t := range w.nodes {
		bytes += 8 * int64(len(t.q1.Data)+len(t.q2.Data)+len(t.m.Data)+len(t.inverse.Data)+len(t.rows)+len(t.columns))
	}
	return bytes + 8*int64(w.N*(w.Points.D+2)), 0
}
