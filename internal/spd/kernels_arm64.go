package spd

import "gpfit/internal/variant"

// productAhead computes a tile C of nv panels, cs apart, from k > 0 columns of nv panels b, bs
// apart, and of the panel a: ±B·Aᵀ, as mode says. Nobody has timed prefetching
// for later calls here.
func (ks *kernels) productAhead(nv, k int, a, b *float64, bs int, c *float64, cs, mode int, _ *float64) {
	switch {
	case ks.set != variant.NEON:
		productGo(nv, k, a, b, bs, c, cs, mode)
	case nv == 3:
		tileProductNEONx3(k, a, b, bs, c, cs, mode)
	case nv == 2:
		tileProductNEONx2(k, a, b, bs, c, cs, mode)
	default:
		tileProductNEONx1(k, a, b, bs, c, cs, mode)
	}
}

// solveAhead replaces a tile X of nv panels, xs apart, by (X − B·Aᵀ)·T⁻ᵀ for k ≥ 0 columns. X
// counts as zero if fresh is not 0.
func (ks *kernels) solveAhead(nv, k int, a, b *float64, bs int, t, x *float64, xs, fresh int, _ *float64) {
	switch {
	case ks.set != variant.NEON:
		solveGo(nv, k, a, b, bs, t, x, xs, fresh)
	case nv == 3:
		tileSolveNEONx3(k, a, b, bs, t, x, xs, fresh)
	case nv == 2:
		tileSolveNEONx2(k, a, b, bs, t, x, xs, fresh)
	default:
		tileSolveNEONx1(k, a, b, bs, t, x, xs, fresh)
	}
}

// cholesky replaces the tile d by the factor of d − X·Xᵀ, for k ≥ 0 columns of the panel x,
// with the reciprocals of the diagonal stored and the diagonal in diag. It returns the
// number of columns done, less than all if a pivot is not positive.
func (ks *kernels) cholesky(k int, x, d, diag *float64) int {
	if ks.set != variant.NEON {
		return choleskyGo(k, x, d, diag)
	}
	return choleskyNEON(k, x, d, diag)
}

// transposeTiles transposes n > 0 square tiles. Rows are ss and ds apart, tiles sstep and
// dstep.
func (ks *kernels) transposeTiles(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	if ks.set != variant.NEON {
		transposeGo(n, src, ss, sstep, dst, ds, dstep)
		return
	}
	transposeNEON(n, src, ss, sstep, dst, ds, dstep)
}

// squares writes to sums the sums of squares along the n columns of a panel; n is a multiple
// of four.
func (ks *kernels) squares(n int, x, sums *float64) {
	if ks.set != variant.NEON {
		squaresGo(n, x, sums)
		return
	}
	squaresNEON(n/4, x, sums)
}

// panelVector subtracts the product of k columns of a panel, a positive multiple of the
// lanes, and the vector x from the numbers at y, one for each row.
func (ks *kernels) panelVector(k int, p, x, y *float64) {
	if ks.set != variant.NEON {
		panelVectorGo(k, p, x, y)
		return
	}
	panelVectorNEON(k/4, p, x, y)
}

// panelTransposedVector subtracts the products of the columns of a panel with the vector x,
// one number for each row, from the k numbers at y. k is a positive multiple of the lanes.
func (ks *kernels) panelTransposedVector(k int, p, x, y *float64) {
	if ks.set != variant.NEON {
		panelTransposedVectorGo(k, p, x, y)
		return
	}
	panelTransposedVectorNEON(k/4, p, x, y)
}
