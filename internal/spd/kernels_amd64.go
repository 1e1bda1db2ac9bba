package spd

import "gpfit/internal/variant"

// productAhead computes a tile C of nv panels, cs apart, from k > 0 columns of nv panels b, bs
// apart, and of the panel a: ±B·Aᵀ, as mode says. It may prefetch k/2 cache lines from next
// on.
func (ks *kernels) productAhead(nv, k int, a, b *float64, bs int, c *float64, cs, mode int, next *float64) {
	switch {
	case ks.set == variant.AVX512 && nv == 3:
		tileProduct512x3(k, a, b, bs, c, cs, mode, next)
	case ks.set == variant.AVX512 && nv == 2:
		tileProduct512x2(k, a, b, bs, c, cs, mode, next)
	case ks.set == variant.AVX512:
		tileProduct512x1(k, a, b, bs, c, cs, mode, next)
	case ks.set == variant.AVX2 && nv == 3:
		tileProduct256x3(k, a, b, bs, c, cs, mode, next)
	case ks.set == variant.AVX2 && nv == 2:
		tileProduct256x2(k, a, b, bs, c, cs, mode, next)
	case ks.set == variant.AVX2:
		tileProduct256x1(k, a, b, bs, c, cs, mode, next)
	default:
		productGo(nv, k, a, b, bs, c, cs, mode)
	}
}

// solveAhead replaces a tile X of nv panels, xs apart, by (X − B·Aᵀ)·T⁻ᵀ for k ≥ 0 columns. X
// counts as zero if fresh is not 0. It may prefetch k/2 cache lines from next on.
func (ks *kernels) solveAhead(nv, k int, a, b *float64, bs int, t, x *float64, xs, fresh int, next *float64) {
	switch {
	case ks.set == variant.AVX512 && nv == 3:
		tileSolve512x3(k, a, b, bs, t, x, xs, fresh, next)
	case ks.set == variant.AVX512 && nv == 2:
		tileSolve512x2(k, a, b, bs, t, x, xs, fresh, next)
	case ks.set == variant.AVX512:
		tileSolve512x1(k, a, b, bs, t, x, xs, fresh, next)
	case ks.set == variant.AVX2 && nv == 3:
		tileSolve256x3(k, a, b, bs, t, x, xs, fresh, next)
	case ks.set == variant.AVX2 && nv == 2:
		tileSolve256x2(k, a, b, bs, t, x, xs, fresh, next)
	case ks.set == variant.AVX2:
		tileSolve256x1(k, a, b, bs, t, x, xs, fresh, next)
	default:
		solveGo(nv, k, a, b, bs, t, x, xs, fresh)
	}
}

// cholesky replaces the tile d by the factor of d − X·Xᵀ, for k ≥ 0 columns of the panel x,
// with the reciprocals of the diagonal stored and the diagonal in diag. It returns the
// number of columns done, less than all if a pivot is not positive.
func (ks *kernels) cholesky(k int, x, d, diag *float64) int {
	switch ks.set {
	case variant.AVX512:
		return cholesky512(k, x, d, diag)
	case variant.AVX2:
		return cholesky256(k, x, d, diag)
	}
	return choleskyGo(k, x, d, diag)
}

// transposeTiles transposes n > 0 square tiles. Rows are ss and ds apart, tiles sstep and
// dstep.
func (ks *kernels) transposeTiles(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	switch ks.set {
	case variant.AVX512:
		transpose512(n, src, ss, sstep, dst, ds, dstep)
	case variant.AVX2:
		transpose256(n, src, ss, sstep, dst, ds, dstep)
	default:
		transposeGo(n, src, ss, sstep, dst, ds, dstep)
	}
}

// squares writes to sums the sums of squares along the n columns of a panel; n is a multiple
// of four.
func (ks *kernels) squares(n int, x, sums *float64) {
	switch ks.set {
	case variant.AVX512:
		squares512(n/4, x, sums)
	case variant.AVX2:
		squares256(n/4, x, sums)
	default:
		squaresGo(n, x, sums)
	}
}

// panelVector subtracts the product of k columns of a panel, a positive multiple of the
// lanes, and the vector x from the numbers at y, one for each row.
func (ks *kernels) panelVector(k int, p, x, y *float64) {
	switch ks.set {
	case variant.AVX512:
		panelVector512(k/4, p, x, y)
	case variant.AVX2:
		panelVector256(k/4, p, x, y)
	default:
		panelVectorGo(k, p, x, y)
	}
}

// panelTransposedVector subtracts the products of the columns of a panel with the vector x,
// one number for each row, from the k numbers at y. k is a positive multiple of the lanes.
func (ks *kernels) panelTransposedVector(k int, p, x, y *float64) {
	switch ks.set {
	case variant.AVX512:
		panelTransposedVector512(k/8, p, x, y)
	case variant.AVX2:
		panelTransposedVector256(k/4, p, x, y)
	default:
		panelTransposedVectorGo(k, p, x, y)
	}
}
