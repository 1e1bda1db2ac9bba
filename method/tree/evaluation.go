package tree

import (
	"context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// evaluation is a kernel at parameters on ordered points, to a tolerance.
type evaluation struct {
	*order
	*algebra
	ctx          context.Context
	prog         *kernel.Program
	theta, noise []float64
	// tolerance is the largest element that a block may miss, and amplitude the largest variance of the kernel.
	tolerance, amplitude float64
	// unchecked is the same as in engine.
	unchecked bool

	lock sync.Mutex
	idle []*kernel.Evaluator
}

// borrow calls f with an evaluator.
func (e *evaluation) borrow(f func(*kernel.Evaluator)) {
	var own *kernel.Evaluator
	e.lock.Lock()
	if last := len(e.idle) - 1; last >= 0 {
		own, e.idle = e.idle[last], e.idle[:last]
	}
	e.lock.Unlock()
	if own == nil {
		own = kernel.NewEvaluator(e.prog)
		own.Bind(e.theta)
	}
	f(own)
	e.lock.Lock()
	e.idle = append(e.idle, own)
	e.lock.Unlock()
}

// elements returns the matrix of the kernel of points x and y.
func (e *evaluation) elements(threads int, x, y *kernel.Points) blas64.General {
	out := newMatrix(x.N, y.N)
	strips(threads, x.N, func(first, end int) {
		e.borrow(func(own *kernel.Evaluator) {
			for i := first; i < end; i++ {
				own.Row(row(out, i), x, i, y, 0, y.N)
			}
		})
	})
	return out
}

// pivotPoints returns the points of the pivots of a node.
func (e *evaluation) pivotPoints(t *node) (rows, columns *kernel.Points) {
	return e.points.Pick(t.rows), e.points.Pick(t.columns)
}

// interpolate returns Y and X of the interpolation Y·G·Xᵀ of a block with the given points of pivots, one row for each
// distinct point. A side may be nil. With G = L·D·T for unit triangles, Y = (C·T⁻¹·D⁻¹)·L⁻¹.
func (e *evaluation) interpolate(threads int, a, b *side, rows, columns *kernel.Points) (y, x blas64.General) {
	l, d, u := e.triangles(rows, columns)
	apply := func(points, pivots *kernel.Points, first, second blas64.General, transposed bool) blas64.General {
		m := newMatrix(points.N, rows.N)
		e.add(threads, m, 1, e.elements(threads, points, pivots), first, transposed)
		for i := range m.Rows {
			for k, p := range d {
				m.Data[i*m.Stride+k] /= p
			}
		}
		out := newMatrix(points.N, rows.N)
		e.add(threads, out, 1, m, second, transposed)
		return out
	}
	if a != nil {
		y = apply(a.Points, columns, u, l, false)
	}
	if b != nil {
		x = apply(b.Points, rows, l, u, true)
	}
	return y, x
}

// triangles returns L⁻¹, the diagonal of D and T⁻¹ of G = L·D·T.
func (e *evaluation) triangles(rows, columns *kernel.Points) (l blas64.General, d []float64, u blas64.General) {
	g := e.elements(1, rows, columns)
	r := g.Rows
	l, d, u = newMatrix(r, r), make([]float64, r), newMatrix(r, r)
	for k := range r {
		pivots, p := row(g, k), g.Data[k*g.Stride+k]
		d[k], l.Data[k*r+k] = p, 1
		for i := k + 1; i < r; i++ {
			f := g.Data[i*g.Stride+k] / p
			l.Data[i*r+k] = f
			other := row(g, i)
			vec.Combine(other[k+1:], other[k+1:], pivots[k+1:], 1, -f)
		}
		for j := k; j < r; j++ {
			u.Data[j*r+k] = pivots[j] / p // the transpose
		}
	}
	invert(l)
	invert(u)
	for i := range r {
		for j := range i {
			u.Data[j*r+i], u.Data[i*r+j] = u.Data[i*r+j], 0
		}
	}
	return l, d, u
}

// These are the limits of blocks of full rank: a block of fewer rows, and a problem of fewer points, may have any rank.
const (
	smallBlock = 512
	smallTree  = 4000
	payingRank = 12
)

// refuse returns an [*device.UnsupportedError] if the rank of the block of a node, with pivots of some sizes, is so large that the method does not
// pay. It says how much larger a tolerance makes it pay, up to 1,000 times.
func (e *evaluation) refuse(t *node, pivots []float64) error {
	side, n := min(t.mid-t.first, t.end-t.mid), e.points.N
	above := func(size float64) (rank int, pays bool) {
		for _, p := range pivots {
			if p > size {
				rank++
			}
		}
		return rank, side <= smallBlock || 2*rank <= side && (t.depth > 0 || n <= smallTree || payingRank*rank <= n)
	}
	rank, pays := above(0)
	if pays {
		return nil
	}
	what := fmt.Sprintf("a factor of low rank for this kernel and these points: a block of %d×%d has rank %d; the methods dense and tiles are exact, and option experts divides the points", t.mid-t.first, t.end-t.mid, rank)
	for times := 10.0; times <= 1000; times *= 10 {
		if rank, pays := above(times * e.tolerance / 4); pays {
			what += fmt.Sprintf("; with a tolerance %g times as large (option tolerance) the rank is about %d", times, rank)
			break
		}
	}
	return &device.UnsupportedError{Method: Name, What: what}
}

// noiseOf returns the noise variance of a place in the order.
func (e *evaluation) noiseOf(i int) float64 { return e.noise[min(i, len(e.noise)-1)] }

// factorLeaf factors a leaf.
func (e *evaluation) factorLeaf(t *node) error {
	m := t.size()
	a := newMatrix(m, m)
	e.borrow(func(own *kernel.Evaluator) {
		for i := range m {
			own.Row(row(a, i)[:i+1], e.points, t.first+i, e.points, t.first, t.first+i+1)
			a.Data[i*m+i] += e.noiseOf(t.first + i)
		}
	})
	for i := range m {
		for _, v := range row(a, i)[:i+1] {
			if v-v != 0 {
				return &device.NonFiniteError{What: "covariance matrix", Row: e.at[t.first+i], Col: -1}
			}
		}
	}
	if !cholesky(a) {
		return &device.NotPDError{N: e.points.N}
	}
	t.logDet = 2 * logs(a)
	invert(a)
	t.inverse = a
	e.flops.Add(2 * int64(m) * int64(m) * int64(m) / 3)
	return nil
}

// factor factors a node, after its halves.
func (e *evaluation) factor(t *node, threads int) error {
	if err := e.ctx.Err(); err != nil {
		return err
	}
	if t.leaf() {
		return e.factorLeaf(t)
	}
	u, v, scales, err := e.compress(t, threads)
	if err != nil {
		return err
	}
	both(threads, func(threads int) { e.whiten(t.left, u, threads) }, func(threads int) { e.whiten(t.right, v, threads) })
	q1, l1 := e.orthonormal(threads, u, 2)
	q2, l2 := e.orthonormal(threads, v, 2)
	// Q₁L₁ᵀ·D·L₂Q₂ᵀ
	for k, s := range scales {
		for j := range l2.Cols {
			l2.Data[k*l2.Stride+j] *= s
		}
	}
	t.q1, t.q2 = q1, q2
	t.m = newMatrix(len(scales), len(scales))
	if len(scales) == 0 {
		t.logDet = t.left.logDet + t.right.logDet
		return nil
	}
	transpose := clone(l1)
	for i := range l1.Rows {
		for j := range i {
			transpose.Data[j*l1.Stride+i], transpose.Data[i*l1.Stride+j] = l1.Data[i*l1.Stride+j], 0
		}
	}
	e.add(1, t.m, 1, transpose, l2, false)
	c := besideOne(e.inner(1, t.m, t.m), -1)
	if !cholesky(c) {
		return &device.NotPDError{N: e.points.N}
	}
	t.logDet = t.left.logDet + t.right.logDet + 2*logs(c)
	invert(c)
	t.inverse = c
	return nil
}

// besideOne replaces A by I + factor·A.
func besideOne(a blas64.General, factor float64) blas64.General {
	for i := range a.Data {
		a.Data[i] *= factor
	}
	for i := range a.Rows {
		a.Data[i*a.Stride+i]++
	}
	return a
}

// compress returns a block as U·diag(scales)·Vᵀ, with orthonormal columns of U before it is whitened. A QR factorization with
// pivots of what is between orthonormal columns leaves out what is less than the tolerance in all.
func (e *evaluation) compress(t *node, threads int) (u, v blas64.General, scales []float64, err error) {
	a, b := e.newSide(t.first, t.mid), e.newSide(t.mid, t.end)
	rows, columns := e.pivotPoints(t)
	if rows.N == 0 {
		return newMatrix(a.rows, 0), newMatrix(b.rows, 0), nil, nil
	}
	y, x := e.interpolate(threads, a, b, rows, columns)
	y, x = a.expand(y), b.expand(x)
	for _, m := range []blas64.General{y, x} {
		for _, value := range m.Data {
			if value-value != 0 {
				return u, v, nil, &device.NonFiniteError{What: "covariance matrix", Row: -1, Col: -1}
			}
		}
	}
	qy, ly := e.orthonormal(threads, y, 1)
	qx, lx := e.orthonormal(threads, x, 1)
	// Σ₁₂ ≈ Qy·(LyᵀGLx)·Qxᵀ
	core := e.product(1, e.inner(1, ly, e.elements(1, rows, columns)), lx)
	left, right, scales := truncate(core, e.tolerance/2)
	return e.product(threads, qy, left), e.product(threads, qx, right), scales, nil
}

// truncate returns A as L·diag(scales)·Rᵀ by a QR factorization with pivots (Golub & Van Loan 2013, section 5.4), without what is
// less than the tolerance in the norm of Frobenius. L has orthonormal columns. A is used up.
func truncate(a blas64.General, tolerance float64) (l, r blas64.General, scales []float64) {
	n := a.Rows
	// columns of a are the rows of w, which Householder reflections make a triangle.
	w, order := newMatrix(n, n), make([]int, n)
	for i := range n {
		order[i] = i
		for j := range n {
			w.Data[j*n+i] = a.Data[i*n+j]
		}
	}
	var reflectors [][]float64
	rank := 0
	for ; rank < n; rank++ {
		total, most, at := 0.0, -1.0, rank
		for k := rank; k < n; k++ {
			s := vec.Dot(row(w, k)[rank:], row(w, k)[rank:])
			total += s
			if s > most {
				most, at = s, k
			}
		}
		if total <= tolerance*tolerance {
			break
		}
		order[rank], order[at] = order[at], order[rank]
		first, other := row(w, rank), row(w, at)
		for i := range first {
			first[i], other[i] = other[i], first[i]
		}
		h := append([]float64(nil), first[rank:]...)
		norm := math.Copysign(math.Sqrt(most), h[0])
		h[0] += norm
		size := vec.Dot(h, h)
		for k := rank; k < n; k++ {
			x := row(w, k)[rank:]
			vec.Combine(x, x, h, 1, -2*vec.Dot(x, h)/size)
		}
		vec.Scale(h, h, math.Sqrt(2/size))
		reflectors = append(reflectors, h)
	}
	l, r, scales = newMatrix(n, rank), newMatrix(n, rank), make([]float64, rank)
	for k := range rank {
		scales[k] = math.Abs(w.Data[k*n+k])
		for i := range n { // row k of the triangle
			if i >= k {
				r.Data[order[i]*rank+k] = w.Data[i*n+k] / scales[k]
			}
		}
		unit := make([]float64, n)
		unit[k] = 1
		for q := rank - 1; q >= 0; q-- {
			vec.Combine(unit[q:], unit[q:], reflectors[q], 1, -vec.Dot(unit[q:], reflectors[q]))
		}
		for i, x := range unit {
			l.Data[i*rank+k] = x
		}
	}
	return l, r, scales
}

// whiten replaces the rows of b of a node by W⁻¹b.
func (e *evaluation) whiten(t *node, b blas64.General, threads int) {
	if b.Cols == 0 {
		return
	}
	if t.leaf() {
		replace(b, e.product(1, t.inverse, b))
		return
	}
	upper, down := rowsOf(b, 0, t.mid-t.first), rowsOf(b, t.mid-t.first, t.size())
	both(threads, func(threads int) { e.whiten(t.left, upper, threads) }, func(threads int) { e.whiten(t.right, down, threads) })
	if t.m.Rows == 0 {
		return
	}
	p, q := e.inner(threads, t.q1, upper), e.inner(threads, t.q2, down)
	rest := clone(q)
	moved := e.inner(1, t.m, p)
	for i, v := range moved.Data {
		rest.Data[i] -= v
	}
	change := e.product(1, t.inverse, rest)
	for i, v := range q.Data {
		change.Data[i] -= v
	}
	e.add(threads, down, 1, t.q2, change, false)
}

// back replaces the rows of b of a node by W⁻ᵀb.
func (e *evaluation) back(t *node, b blas64.General, threads int) {
	if b.Cols == 0 {
		return
	}
	if t.leaf() {
		replace(b, e.inner(1, t.inverse, b))
		return
	}
	upper, down := rowsOf(b, 0, t.mid-t.first), rowsOf(b, t.mid-t.first, t.size())
	if t.m.Rows > 0 {
		q := e.inner(threads, t.q2, down)
		u := e.inner(1, t.inverse, q)
		change := clone(u)
		for i, v := range q.Data {
			change.Data[i] -= v
		}
		e.add(threads, down, 1, t.q2, change, false)
		e.add(threads, upper, -1, t.q1, e.product(1, t.m, u), false)
	}
	both(threads, func(threads int) { e.back(t.left, upper, threads) }, func(threads int) { e.back(t.right, down, threads) })
}

// multiply replaces the rows of b of a node by Wb or, if transposed, by Wᵀb.
func (e *evaluation) multiply(t *node, b blas64.General, transposed bool) {
	if t.leaf() {
		trans := blas.NoTrans
		if transposed {
			trans = blas.Trans
		}
		blas64.Trsm(blas.Left, trans, 1, lower(t.inverse), b)
		return
	}
	upper, down := rowsOf(b, 0, t.mid-t.first), rowsOf(b, t.mid-t.first, t.size())
	halves := func() {
		e.multiply(t.left, upper, transposed)
		e.multiply(t.right, down, transposed)
	}
	if transposed {
		halves()
	}
	if t.m.Rows > 0 {
		p, q := e.inner(1, t.q1, upper), e.inner(1, t.q2, down)
		c := clone(q)
		if transposed {
			e.add(1, upper, 1, t.q1, e.product(1, t.m, q), false)
			blas64.Trsm(blas.Left, blas.Trans, 1, lower(t.inverse), c)
		} else {
			blas64.Trsm(blas.Left, blas.NoTrans, 1, lower(t.inverse), c)
			moved := e.inner(1, t.m, p)
			for i, v := range moved.Data {
				c.Data[i] += v
			}
		}
		for i, v := range q.Data {
			c.Data[i] -= v
		}
		e.add(1, down, 1, t.q2, c, false)
	}
	if !transposed {
		halves()
	}
}
