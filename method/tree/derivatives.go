package tree

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

var _ device.DerivativeProducts = (*engine)(nil)

// MultiplyDerivatives implements [device.DerivativeProducts]: by the tree at the parameters of Form, and else by all elements of the
// kernel.
func (w *engine) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	w.Begin("", 0)
	if w.evaluation != nil && w.prog == prog && slices.Equal(w.theta, theta) {
		w.restore(dst, w.slopes(ctx, w.ordered(vectors, m)))
	} else {
		o := w.orderFor(prog, theta)
		o.restore(dst, o.allSlopes(ctx, w.Threads, prog, theta, o.ordered(vectors, m)))
	}
	return ctx.Err()
}

// slopes returns the products by the tree: column p·m + k is of parameter p and vector k of m.
func (w *engine) slopes(ctx context.Context, vectors blas64.General) blas64.General {
	w.ctx = ctx // the context of Form may have ended
	p := &products{w.evaluation, w.prog.NumParams, vectors, newMatrix(w.N, w.prog.NumParams*vectors.Cols)}
	p.visit(w.root, w.Threads)
	return p.sums
}

// allSlopes returns the products by all elements of the kernel.
func (o *order) allSlopes(ctx context.Context, threads int, prog *kernel.Program, theta []float64, vectors blas64.General) blas64.General {
	n, m := vectors.Rows, vectors.Cols
	columns, out := byColumns(vectors), newMatrix(n, prog.NumParams*m)
	strips(threads, n, func(first, end int) {
		e, slopes := kernel.NewEvaluator(prog), make([]float64, n*prog.NumParams)
		e.Bind(theta)
		for i := first; i < end && ctx.Err() == nil; i++ {
			e.RowDerivatives(slopes, o.points, i, o.points, 0, n)
			sums := row(out, i)
			for c := range sums {
				sums[c] = vec.Dot(slopes[c/m*n:][:n], columns[c%m*n:][:n])
			}
		}
	})
	return out
}

// products adds the products of ∂K with vectors to sums: column p·m + k is of parameter p and vector k.
type products struct {
	*evaluation
	params        int
	vectors, sums blas64.General
}

// visit adds what the blocks of a node and of those below contribute.
func (p *products) visit(t *node, threads int) {
	if p.ctx.Err() != nil {
		return
	}
	if t.leaf() {
		own := p.newSide(t.first, t.end)
		v := own.gather(rowsOf(p.vectors, t.first, t.end))
		sums, _ := p.multiply(1, own.Points, own.Points, v, v)
		p.put(t.first, own.expand(sums))
		return
	}
	if len(t.rows) > 0 {
		p.blockPart(t, threads)
	}
	both(threads, func(threads int) { p.visit(t.left, threads) }, func(threads int) { p.visit(t.right, threads) })
}

// blockPart adds what a block and its transpose contribute. From C·G⁻¹·R = C·Xᵀ = Y·R the derivative is ∂C·Xᵀ + Y·∂R − Y·∂G·Xᵀ.
func (p *products) blockPart(t *node, threads int) {
	a, b := p.newSide(t.first, t.mid), p.newSide(t.mid, t.end)
	rows, columns := p.pivotPoints(t)
	y, x := p.interpolate(threads, a, b, rows, columns)
	va, vb := a.gather(rowsOf(p.vectors, t.first, t.mid)), b.gather(rowsOf(p.vectors, t.mid, t.end))
	xv, yv := p.inner(threads, x, vb), p.inner(threads, y, va)
	sumsA, toX := p.multiply(threads, a.Points, columns, xv, va)
	sumsB, toY := p.multiply(threads, b.Points, rows, yv, vb)
	fromY, fromX := p.multiply(1, rows, columns, xv, yv)
	floats.Sub(toY.Data, fromY.Data)
	floats.Sub(toX.Data, fromX.Data)
	p.add(threads, sumsA, 1, y, toY, false)
	p.add(threads, sumsB, 1, x, toX, false)
	p.put(t.first, a.expand(sumsA))
	p.put(t.mid, b.expand(sumsB))
}

// put adds rows to the sums.
func (p *products) put(first int, from blas64.General) {
	floats.Add(p.sums.Data[first*p.sums.Stride:][:len(from.Data)], from.Data)
}

// multiply returns D·right and Dᵀ·left for the derivatives D of the kernel of points x and y by each parameter.
func (p *products) multiply(threads int, x, y *kernel.Points, right, left blas64.General) (forward, back blas64.General) {
	m, r := right.Cols, y.N
	forward, back = newMatrix(x.N, p.params*m), newMatrix(r, p.params*m)
	columns := byColumns(right)
	parts := make([][]float64, (x.N+strip-1)/strip)
	strips(threads, x.N, func(first, end int) {
		part, slopes := make([]float64, r*p.params*m), make([]float64, r*p.params)
		p.borrow(func(e *kernel.Evaluator) {
			for i := first; i < end; i++ {
				e.RowDerivatives(slopes, x, i, y, 0, r)
				for c := range p.params * m {
					slope, q := slopes[c/m*r:][:r], c%m
					forward.Data[i*forward.Stride+c] = vec.Dot(slope, columns[q*r:][:r])
					floats.AddScaled(part[c*r:][:r], left.Data[i*left.Stride+q], slope)
				}
			}
		})
		parts[first/strip] = part
	})
	for _, part := range parts {
		for c := range back.Cols {
			for k := range r {
				back.Data[k*back.Stride+c] += part[c*r+k]
			}
		}
	}
	return forward, back
}
