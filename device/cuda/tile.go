package cuda

import (
	"fmt"
	"math"

	"gpfit/device/cuda/kernels"
	"gpfit/device/tiling"
)

// Multiply implements [tiling.Bank].
func (b *tileBank) Multiply(_ int, p tiling.Product) error {
	return b.work(computing, []tileUse{{p.C, true}, {p.A, false}, {p.B, false}}, func() {
		m := tileProduct{tileBank: b, Product: p, a: b.at(p.A), b: b.at(p.B), c: b.at(p.C), alpha: 1, width: b.width}
		if p.C == p.A || p.C == p.B {
			b.fail(argumentf("a product in slot %d of an operand", p.C))
		}
		if p.Mode == tiling.ReplaceNegative || p.Mode == tiling.Subtract {
			m.alpha = -1
		}
		if p.Mode == tiling.Add || p.Mode == tiling.Subtract {
			m.beta = 1
		}
		m.multiply()
	})
}

// tileProduct is a product of tiles, C = alpha·A·Bᵀ + beta·C, in blocks of a width.
type tileProduct struct {
	*tileBank
	tiling.Product
	a, b, c     kernels.Matrix
	alpha, beta float64
	width       int64
}

// tileSpan is a range of rows or columns of a tile.
type tileSpan struct{ from, to int64 }

func (m tileProduct) multiply() {
	rows := tileSpan{0, m.rows(m.Rows)}
	if m.UpperA {
		m.diagonalBlocks(m.a, m.upperA)
	}
	if m.UpperB {
		m.diagonalBlocks(m.b, m.upperB)
	}
	columns := []tileSpan{{0, m.order}}
	if m.UpperB || m.Half != tiling.Whole {
		columns = m.cut(columns[0])
	}
	for _, cols := range columns {
		part := rows
		switch m.Half {
		case tiling.Lower:
			part.from = cols.from
		case tiling.Upper:
			part.to = min(part.to, cols.to)
		}
		for _, r := range m.rowsOf(part, cols) {
			m.block(r, cols)
		}
	}
}

// diagonalBlocks copies the upper halves of the diagonal blocks of an operand, one below the other.
func (m tileProduct) diagonalBlocks(a kernels.Matrix, to buffer) {
	w := m.width
	blocks, count := m.blocksOf(to), m.order/w
	m.run(kernels.CopyEach(a, w*(a.LD+1), blocks, w, w, w, count, true))
	if at := count * w; at < m.order {
		m.run(kernels.Copy(a.At(at, at), blocks.At(at, 0), m.order-at, m.order-at, true))
	}
}

// blocksOf returns the matrix of diagonal blocks.
func (m tileProduct) blocksOf(diagonal buffer) kernels.Matrix {
	return kernels.Matrix{A: diagonal.at, LD: leadingDim(m.order)}
}

// cut divides a range at the ends of blocks.
func (m tileProduct) cut(s tileSpan) (parts []tileSpan) {
	for s.from < s.to {
		next := min(s.to, (s.from/m.width+1)*m.width)
		parts = append(parts, tileSpan{s.from, next})
		s.from = next
	}
	return parts
}

// rowsOf divides the rows of some columns of C so that in each part the sums begin at one place.
func (m tileProduct) rowsOf(rows, cols tileSpan) (parts []tileSpan) {
	if !m.UpperA {
		if rows.from < rows.to {
			parts = append(parts, rows)
		}
		return parts
	}
	if m.UpperB && rows.from < cols.from { // the rows of B begin later than the rows of A
		end := min(cols.from, rows.to)
		parts = append(parts, tileSpan{rows.from, end})
		rows.from = end
	}
	return append(parts, m.cut(rows)...)
}

// block computes a block of C: the sums from the first element on that is not 0, first over the diagonal blocks of triangular
// operands.
func (m tileProduct) block(rows, cols tileSpan) {
	first := int64(0)
	if m.UpperA {
		first = rows.from
	}
	if m.UpperB {
		first = max(first, cols.from)
	}
	a, b, c := m.a.At(rows.from, first), m.b.At(cols.from, first), m.c.At(rows.from, cols.from)
	next, beta := first, m.beta
	if m.UpperA && rows.to > first {
		a, next = m.blocksOf(m.upperA).At(rows.from, 0), min(m.order, first+m.width)
	}
	if m.UpperB && cols.to > first {
		b, next = m.blocksOf(m.upperB).At(cols.from, 0), cols.to
	}
	height, width := rows.to-rows.from, cols.to-cols.from
	if next > first {
		m.gemm(plain, transposed, height, width, next-first, m.alpha, a, b, beta, c)
		beta = 1
	}
	if next < m.order {
		m.gemm(plain, transposed, height, width, m.order-next, m.alpha, m.a.At(rows.from, next), m.b.At(cols.from, next), beta, c)
	}
}

// Factor implements [tiling.Bank].
func (b *tileBank) Factor(_, a int, diagonal []float64) (minor int, err error) {
	err = b.work(computing, []tileUse{{a, true}}, func() {
		if int64(len(diagonal)) < b.order {
			b.fail(argumentf("a diagonal of %d numbers for order %d", len(diagonal), b.order))
			return
		}
		b.then(func() (err error) {
			if minor, err = b.gpu.Potrf(b.order, b.at(a)); err == nil && int64(minor) > b.order {
				err = fmt.Errorf("cuda: cuSOLVER reports minor %d of a tile of order %d", minor, b.order)
			}
			return err
		})
		b.worked(cube(b.order) / 3)
		if minor > 0 {
			return
		}
		b.run(kernels.GetDiagonal(b.at(a), kernels.Vector{A: b.vector.at, N: b.order}, false))
		b.download(diagonal[:b.order], b.vector.at)
		for i, v := range diagonal[:b.order] { // cuSOLVER may report success on a matrix with a NaN
			if b.err == nil && !(v > 0 && v <= math.MaxFloat64) {
				minor = i + 1
				return
			}
		}
	})
	return minor, err
}

// Solve implements [tiling.Bank].
func (b *tileBank) Solve(_, c, l, rows int) error {
	return b.work(computing, []tileUse{{c, true}, {l, false}}, func() {
		if c == l {
			b.fail(argumentf("a solution in slot %d of the factor", c))
		}
		m := b.rows(rows)
		b.trsm(right, transposed, m, b.order, b.at(l), b.at(c))
		b.worked(float64(m) * float64(b.order) * float64(b.order))
	})
}

// Invert implements [tiling.Bank]: it solves with the identity.
func (b *tileBank) Invert(_, dst, l int) error {
	return b.work(computing, []tileUse{{dst, true}, {l, false}}, func() {
		if dst == l {
			b.fail(argumentf("an inverse in slot %d of the factor", l))
		}
		u := b.at(dst)
		b.clear(u.A, u.LD*b.order)
		b.run(kernels.SetDiagonal(u, kernels.Vector{A: b.ones.at, N: b.order}, false))
		b.trsm(right, transposed, b.order, b.order, b.at(l), u)
		b.worked(cube(b.order))
	})
}

// Substitute implements [tiling.Bank].
func (b *tileBank) Substitute(_ int, op tiling.Substitution, a int, x, y []float64, ld, m int) error {
	return b.work(computing, []tileUse{{a, false}}, func() {
		for first := 0; first < m && b.err == nil; first += sideColumns {
			substitute(b, op, b.at(a), x, y, ld, first, min(m, first+sideColumns))
		}
		b.wait()
	})
}

// substitute computes with some of the vectors.
func substitute(b *tileBank, op tiling.Substitution, a kernels.Matrix, x, y []float64, ld, first, end int) {
	count, n := int64(end-first), b.order
	out := kernels.Matrix{A: b.sides.at, LD: leadingDim(n)}
	in := out.At(0, sideColumns)
	each := func(side kernels.Matrix, do func(at kernels.Ptr, v []float64), v []float64) {
		for k := first; k < end; k++ {
			do(side.At(0, int64(k-first)).A, v[k*ld:][:n])
		}
	}
	each(out, b.upload, y)
	switch op {
	case tiling.SubtractProduct, tiling.SubtractTransposed:
		each(in, b.upload, x)
		by := plain
		if op == tiling.SubtractTransposed {
			by = transposed
		}
		b.gemm(by, plain, n, count, n, -1, a, in, 1, out)
	case tiling.Forward:
		b.trsm(left, plain, n, count, a, out)
	case tiling.Backward:
		b.trsm(left, transposed, n, count, a, out)
	default:
		b.fail(argumentf("substitution %d", op))
	}
	each(out, func(at kernels.Ptr, v []float64) { b.receive(v, at) }, y)
}

// SquaredNorms implements [tiling.Bank].
func (b *tileBank) SquaredNorms(_, a, rows int, sums []float64) error {
	return b.work(computing, []tileUse{{a, false}}, func() {
		m := b.rows(rows)
		if int64(len(sums)) < m {
			b.fail(argumentf("squares of %d rows in %d sums", m, len(sums)))
			return
		}
		part := make([]float64, m)
		b.run(kernels.RowSumSquares(b.at(a), b.order, kernels.Vector{A: b.vector.at, N: m}))
		b.download(part, b.vector.at)
		for i, v := range part {
			sums[i] += v
		}
	})
}
