//go:build !amd64 && !arm64

package spd

func (ks *kernels) productAhead(nv, k int, a, b *float64, bs int, c *float64, cs, mode int, _ *float64) {
	productGo(nv, k, a, b, bs, c, cs, mode)
}

func (ks *kernels) solveAhead(nv, k int, a, b *float64, bs int, t, x *float64, xs, fresh int, _ *float64) {
	solveGo(nv, k, a, b, bs, t, x, xs, fresh)
}

func (ks *kernels) cholesky(k int, x, d, diag *float64) int { return choleskyGo(k, x, d, diag) }

func (ks *kernels) transposeTiles(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	transposeGo(n, src, ss, sstep, dst, ds, dstep)
}

func (ks *kernels) squares(n int, x, sums *float64) { squaresGo(n, x, sums) }

func (ks *kernels) panelVector(k int, p, x, y *float64) { panelVectorGo(k, p, x, y) }

func (ks *kernels) panelTransposedVector(k int, p, x, y *float64) {
	panelTransposedVectorGo(k, p, x, y)
}
