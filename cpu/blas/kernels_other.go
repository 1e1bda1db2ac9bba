//go:build !amd64 && !arm64

package blas

func (*kernels) full(k int, a, b, c *float64, ldc int, alpha, beta float64) {
	fullGo(k, a, b, c, ldc, alpha, beta)
}

func (*kernels) edge(nv, k int, a, b *float64, bs int, c *float64, ldc int, alpha, beta float64, mask *tileMask) {
	edgeGo(nv, k, a, b, bs, c, ldc, alpha, beta, mask)
}

func (*kernels) forward(nv, k int, a, b, t, x *float64) {
	forwardGo(nv, k, a, b, t, x)
}

func (*kernels) backward(nv, k int, a, b, t, x *float64) {
	backwardGo(nv, k, a, b, t, x)
}

func (*kernels) cholesky(k int, x, d, diag *float64) int {
	return choleskyGo(k, x, d, diag)
}

func (*kernels) copyRows(n, nv int, src *float64, ss int, dst *float64, ds int) {
	copyRowsGo(n, nv, src, ss, dst, ds)
}

func (*kernels) transposeTiles(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	transposeGo(n, src, ss, sstep, dst, ds, dstep)
}
