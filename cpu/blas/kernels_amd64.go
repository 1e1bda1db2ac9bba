package blas

// full computes a whole tile of C = alpha·A·B + beta·C from packed panels.
func (ks *kernels) full(k int, a, b, c *float64, ldc int, alpha, beta float64) {
	switch ks.set {
	case avx512:
		gemmFull512(k, a, b, c, ldc, alpha, beta)
	case avx2:
		gemmFull256(k, a, b, c, ldc, alpha, beta)
	default:
		fullGo(k, a, b, c, ldc, alpha, beta)
	}
}

// edge computes the elements of a tile nv vectors wide that mask names; the
// rows of B are bs apart.
func (ks *kernels) edge(nv, k int, a, b *float64, bs int, c *float64, ldc int, alpha, beta float64, mask *tileMask) {
	m := &mask[0]
	switch {
	case ks.set == avx512 && nv == 3:
		gemmEdge512x3(k, a, b, bs, c, ldc, alpha, beta, m)
	case ks.set == avx512 && nv == 2:
		gemmEdge512x2(k, a, b, bs, c, ldc, alpha, beta, m)
	case ks.set == avx512:
		gemmEdge512x1(k, a, b, bs, c, ldc, alpha, beta, m)
	case ks.set == avx2 && nv == 3:
		gemmEdge256x3(k, a, b, bs, c, ldc, alpha, beta, m)
	case ks.set == avx2 && nv == 2:
		gemmEdge256x2(k, a, b, bs, c, ldc, alpha, beta, m)
	case ks.set == avx2:
		gemmEdge256x1(k, a, b, bs, c, ldc, alpha, beta, m)
	default:
		edgeGo(nv, k, a, b, bs, c, ldc, alpha, beta, mask)
	}
}

// forward solves mr rows of a packed panel with a lower triangle.
func (ks *kernels) forward(nv, k int, a, b, t, x *float64) {
	switch {
	case ks.set == avx512 && nv == 3:
		solveFwd512x3(k, a, b, t, x)
	case ks.set == avx512 && nv == 2:
		solveFwd512x2(k, a, b, t, x)
	case ks.set == avx512:
		solveFwd512x1(k, a, b, t, x)
	case ks.set == avx2 && nv == 3:
		solveFwd256x3(k, a, b, t, x)
	case ks.set == avx2 && nv == 2:
		solveFwd256x2(k, a, b, t, x)
	case ks.set == avx2:
		solveFwd256x1(k, a, b, t, x)
	default:
		forwardGo(nv, k, a, b, t, x)
	}
}

// backward solves mr rows of a packed panel with an upper triangle.
func (ks *kernels) backward(nv, k int, a, b, t, x *float64) {
	switch {
	case ks.set == avx512 && nv == 3:
		solveBwd512x3(k, a, b, t, x)
	case ks.set == avx512 && nv == 2:
		solveBwd512x2(k, a, b, t, x)
	case ks.set == avx512:
		solveBwd512x1(k, a, b, t, x)
	case ks.set == avx2 && nv == 3:
		solveBwd256x3(k, a, b, t, x)
	case ks.set == avx2 && nv == 2:
		solveBwd256x2(k, a, b, t, x)
	case ks.set == avx2:
		solveBwd256x1(k, a, b, t, x)
	default:
		backwardGo(nv, k, a, b, t, x)
	}
}

// cholesky factorises the tile of order mr behind the k solved columns of a
// panel and returns the number of columns done.
func (ks *kernels) cholesky(k int, x, d, diag *float64) int {
	switch ks.set {
	case avx512:
		return cholesky512(k, x, d, diag)
	case avx2:
		return cholesky256(k, x, d, diag)
	}
	return choleskyGo(k, x, d, diag)
}

// copyRows copies n rows of nv vectors.
func (ks *kernels) copyRows(n, nv int, src *float64, ss int, dst *float64, ds int) {
	switch ks.set {
	case avx512:
		copyPanel512(n, nv, src, ss, dst, ds)
	case avx2:
		copyPanel256(n, nv, src, ss, dst, ds)
	default:
		copyRowsGo(n, nv, src, ss, dst, ds)
	}
}

// transposeTiles transposes n square tiles one vector wide.
func (ks *kernels) transposeTiles(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	switch ks.set {
	case avx512:
		transpose512(n, src, ss, sstep, dst, ds, dstep)
	case avx2:
		transpose256(n, src, ss, sstep, dst, ds, dstep)
	default:
		transposeGo(n, src, ss, sstep, dst, ds, dstep)
	}
}
