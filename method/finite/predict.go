package finite

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// Predict implements [hostmethod.Engine]: the mean is φ*ᵀVΦᵀα, and the reduction is ψ*ᵀψ* − ψ*ᵀB⁻¹ψ*,
// of which the second term is the variance that is left (Rasmussen & Williams 2006, eq. 2.11). For the
// kernel of a part of the function it is φ*ᵀV(ΦᵀΣ⁻¹Φ)Vφ*, with the features of that part.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	w.Begin("predict", 0)
	e, err := w.expand(prog, theta)
	if err != nil {
		return err
	}
	r, k := e.rank(), len(alpha)/w.N
	t, err := inner(ctx, w, e, alpha, k, func(int) float64 { return 1 })
	if err != nil {
		return err
	}
	e.scale(t, 2)
	reduce := reducer(w)
	if reduction != nil && e != w.expansion {
		if reduce, err = partReducer(ctx, w); err != nil {
			return err
		}
	}
	p := &pass{n: xs.N, rank: r, threads: w.Threads}
	p.run(func(int) func(first, last int) {
		table, block := newAtomTable(e, xs), make([]float64, blockRows(r)*r)
		return func(first, last int) {
			table.read(first, last)
			table.features(block)
			phi := matrix(block[:(last-first)*r], r)
			for q := range k {
				blas64.Gemv(transposed, 1, phi, vector(t[q*r:(q+1)*r]), 0, vector(mean[q*xs.N+first:q*xs.N+last]))
			}
			if reduction != nil {
				reduce(phi, reduction[first:last])
			}
		}
	}, func(int) {
		if ctx.Err() != nil {
			p.stop.Store(true)
		}
	})
	return ctx.Err()
}

// reducer returns a function that writes the reductions of points with given features, which it uses up.
func reducer(w *workspace) func(phi blas64.General, dst []float64) {
	return func(phi blas64.General, dst []float64) {
		scaleRows(phi, w.roots)
		clear(dst)
		addProducts(dst, phi, phi)
		blas64.Trsm(blas.Left, transposed, 1, w.triangle(), phi)
		left := make([]float64, len(dst))
		addProducts(left, phi, phi)
		for i, v := range left {
			dst[i] -= v
		}
	}
}

// partReducer is reducer for the features of w.other.
func partReducer(ctx context.Context, w *workspace) (func(phi blas64.General, dst []float64), error) {
	if err := reducePart(ctx, w); err != nil {
		return nil, err
	}
	return func(phi blas64.General, dst []float64) {
		scaleRows(phi, w.other.Variances)
		product := matrix(make([]float64, len(phi.Data)), phi.Rows)
		blas64.Gemm(plain, plain, 1, matrix(w.other.reduction, phi.Rows), phi, 0, product)
		clear(dst)
		addProducts(dst, phi, product)
	}, nil
}

// scaleRows multiplies the rows of m.
func scaleRows(m blas64.General, factors []float64) {
	for j, f := range factors {
		blas64.Scal(f, vector(m.Data[j*m.Stride:][:m.Cols]))
	}
}

// reducePart computes ΦᵀΣ⁻¹Φ for the features of w.other, by solutions for a few of them at a time.
func reducePart(ctx context.Context, w *workspace) error {
	e := w.other
	if e.reduction != nil {
		return nil
	}
	const atOnce = 8
	r, all := e.rank(), []float64(nil)
	for first := 0; first < r; first += atOnce {
		m := min(atOnce, r-first)
		columns := make([]float64, m*w.N)
		for j := range m {
			copy(columns[j*w.N:], e.Values(first+j, w.Points))
		}
		if err := w.Solve(ctx, columns, m); err != nil {
			return err
		}
		products, err := inner(ctx, w, e.expansion, columns, m, func(int) float64 { return 1 })
		if err != nil {
			return err
		}
		all = append(all, products...)
	}
	e.reduction = all
	return nil
}

// strip is the number of rows of a covariance between looks at the context.
const strip = 64

// PredictCovariance implements [device.JointCovariance]. Its diagonal has the bits of reductions but for the
// order of sums.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	m := xs.N
	e, err := w.expand(prog, theta)
	if err != nil {
		return err
	}
	r := e.rank()
	if err := w.CheckNeed(device.Need{Bytes: 16 * int64(m) * int64(r), What: "features of the points"}); err != nil {
		return err
	}
	w.Begin("predict", 4*float64(r)*float64(m)*float64(m))
	phi := make([]float64, m*r)
	t := newAtomTable(e, xs)
	t.read(0, m)
	t.features(phi)
	q, err := newQuadratic(ctx, w, e, matrix(phi, r))
	if err != nil {
		return err
	}
	for first := 0; first < m; first += strip {
		last := min(first+strip, m)
		q.rows(reduction, first, last)
		w.Worked(4 * float64(r) * float64(m) * float64(last-first))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// quadratic is the matrix of the reductions of points: aᵀa − bᵀb with a = Ψ*ᵀ and b = R⁻ᵀa or, for a part of
// the function, aᵀb with a = VΦ*ᵀ and b = ΦᵀΣ⁻¹Φa.
type quadratic struct {
	a, b blas64.General
	part bool
}

// quadratic returns the matrix for points with given features, which it uses up.
func newQuadratic(ctx context.Context, w *workspace, e *expansion, phi blas64.General) (*quadratic, error) {
	q := &quadratic{a: phi, b: matrix(make([]float64, len(phi.Data)), phi.Rows), part: e != w.expansion}
	if q.part {
		if err := reducePart(ctx, w); err != nil {
			return nil, err
		}
		scaleRows(phi, e.Variances)
		blas64.Gemm(plain, plain, 1, matrix(w.other.reduction, phi.Rows), phi, 0, q.b)
		return q, nil
	}
	scaleRows(phi, e.roots)
	copy(q.b.Data, phi.Data)
	blas64.Trsm(blas.Left, transposed, 1, w.triangle(), q.b)
	return q, nil
}

// rows writes the rows from first to last up to the diagonal, and their reflection.
func (q *quadratic) rows(dst []float64, first, last int) {
	m := q.a.Cols
	out := blas64.General{Rows: last - first, Cols: last, Stride: m, Data: dst[first*m:]}
	right := q.a
	if q.part {
		right = q.b
	}
	blas64.Gemm(transposed, plain, 1, slice(q.a, first, last), slice(right, 0, last), 0, out)
	if !q.part {
		blas64.Gemm(transposed, plain, -1, slice(q.b, first, last), slice(q.b, 0, last), 1, out)
	}
	for i := first; i < last; i++ {
		for j := range i {
			dst[j*m+i] = dst[i*m+j]
		}
	}
}
