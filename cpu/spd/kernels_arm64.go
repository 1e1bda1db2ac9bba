package spd

import "gpfit/internal/isa"

func kernelsOf(v isa.Variant) kernels {
	if v != isa.NEON {
		return portable(v)
	}
	k := kernels{
		set: v, lanes: 4, cholesky: choleskyNEON, transposeTiles: transposeNEON,
		squares: squaresNEON, panelVector: panelVectorNEON, panelTransposedVector: panelTransposedVectorNEON,
	}
	// Nobody has timed prefetching for later calls here.
	for i, f := range [group]func(k int, a, b *float64, bs int, c *float64, cs, mode int){tileProductNEONx1, tileProductNEONx2, tileProductNEONx3} {
		k.products[i] = func(k int, a, b *float64, bs int, c *float64, cs, mode int, _ *float64) { f(k, a, b, bs, c, cs, mode) }
	}
	for i, f := range [group]func(k int, a, b *float64, bs int, t, x *float64, xs, fresh int){tileSolveNEONx1, tileSolveNEONx2, tileSolveNEONx3} {
		k.solves[i] = func(k int, a, b *float64, bs int, t, x *float64, xs, fresh int, _ *float64) {
			f(k, a, b, bs, t, x, xs, fresh)
		}
	}
	return k
}
