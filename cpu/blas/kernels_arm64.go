package blas

// full computes a whole tile of C = alpha·A·B + beta·C from packed panels.
func (ks *kernels) full(k int, a, b, c *float64, ldc int, alpha, beta float64) {
	if ks.set != neon {
		fullGo(k, a, b, c, ldc, alpha, beta)
		return
	}
	gemmFullNEON(k, a, b, c, ldc, alpha, beta)
}

// edge computes the elements of a tile nv vectors wide that mask names; the
// rows of B are bs apart.
func (ks *kernels) edge(nv, k int, a, b *float64, bs int, c *float64, ldc int, alpha, beta float64, mask *tileMask) {
	m := &mask[0]
	switch {
	case ks.set != neon:
		edgeGo(nv, k, a, b, bs, c, ldc, alpha, beta, mask)
	case nv == 3:
		gemmEdgeNEONx3(k, a, b, bs, c, ldc, alpha, beta, m)
	case nv == 2:
		gemmEdgeNEONx2(k, a, b, bs, c, ldc, alpha, beta, m)
	default:
		gemmEdgeNEONx1(k, a, b, bs, c, ldc, alpha, beta, m)
	}
}

// forward solves mr rows of a packed panel with a lower triangle.
func (ks *kernels) forward(nv, k int, a, b, t, x *float64) {
	switch {
	case ks.set != neon:
		forwardGo(nv, k, a, b, t, x)
	case nv == 3:
		solveFwdNEONx3(k, a, b, t, x)
	case nv == 2:
		solveFwdNEONx2(k, a, b, t, x)
	default:
		solveFwdNEONx1(k, a, b, t, x)
	}
}

// backward solves mr rows of a packed panel with an upper triangle.
func (ks *kernels) backward(nv, k int, a, b, t, x *float64) {
	switch {
	case ks.set != neon:
		backwardGo(nv, k, a, b, t, x)
	case nv == 3:
		solveBwdNEONx3(k, a, b, t, x)
	case nv == 2:
		solveBwdNEONx2(k, a, b, t, x)
	default:
		solveBwdNEONx1(k, a, b, t, x)
	}
}

// cholesky factorises the tile of order mr behind the k solved columns of a
// panel and returns the number of columns done.
func (ks *kernels) cholesky(k int, x, d, diag *float64) int {
	if ks.set != neon {
		return choleskyGo(k, x, d, diag)
	}
	return choleskyNEON(k, x, d, diag)
}

// copyRows copies n rows of nv vectors.
func (ks *kernels) copyRows(n, nv int, src *float64, ss int, dst *float64, ds int) {
	if ks.set != neon {
		copyRowsGo(n, nv, src, ss, dst, ds)
		return
	}
	copyPanelNEON(n, nv, src, ss, dst, ds)
}

// transposeTiles transposes n square tiles one vector wide.
func (ks *kernels) transposeTiles(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	if ks.set != neon {
		transposeGo(n, src, ss, sstep, dst, ds, dstep)
		return
	}
	transposeNEON(n, src, ss, sstep, dst, ds, dstep)
}
