package blas

//go:generate go run -C internal/gen . -isa avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg blas
//go:generate go run -C internal/gen . -isa avx2 -out ../../kernels_avx2_amd64.s -stubs ../../kernels_avx2_amd64.go -pkg blas
//go:generate go run -C internal/gen . -isa base -out ../../kernels_base_amd64.s -stubs ../../kernels_base_amd64.go -pkg blas

// kernels names the micro-kernels of a variant. The calls are direct, so that
// the compiler knows that they keep no pointer.
type kernels struct {
	wide  bool // AVX-512
	mr    int  // rows of a tile
	nr    int  // columns of a full tile
	lanes int  // float64 in a vector; nr is three vectors
}

// full computes a whole tile of C = alpha·A·B + beta·C from packed panels.
func (ks *kernels) full(k int, a, b, c *float64, ldc int, alpha, beta float64) {
	if ks.wide {
		gemmFull512(k, a, b, c, ldc, alpha, beta)
		return
	}
	gemmFull256(k, a, b, c, ldc, alpha, beta)
}

// edge computes the elements of a tile nv vectors wide that mask names; the
// rows of B are bs apart.
func (ks *kernels) edge(nv, k int, a, b *float64, bs int, c *float64, ldc int, alpha, beta float64, mask *tileMask) {
	m := &mask[0]
	if ks.wide {
		switch nv {
		case 3:
			gemmEdge512x3(k, a, b, bs, c, ldc, alpha, beta, m)
		case 2:
			gemmEdge512x2(k, a, b, bs, c, ldc, alpha, beta, m)
		default:
			gemmEdge512x1(k, a, b, bs, c, ldc, alpha, beta, m)
		}
		return
	}
	switch nv {
	case 3:
		gemmEdge256x3(k, a, b, bs, c, ldc, alpha, beta, m)
	case 2:
		gemmEdge256x2(k, a, b, bs, c, ldc, alpha, beta, m)
	default:
		gemmEdge256x1(k, a, b, bs, c, ldc, alpha, beta, m)
	}
}

// forward solves mr rows of a packed panel with a lower triangle.
func (ks *kernels) forward(nv, k int, a, b, t, x *float64) {
	if ks.wide {
		switch nv {
		case 3:
			solveFwd512x3(k, a, b, t, x)
		case 2:
			solveFwd512x2(k, a, b, t, x)
		default:
			solveFwd512x1(k, a, b, t, x)
		}
		return
	}
	switch nv {
	case 3:
		solveFwd256x3(k, a, b, t, x)
	case 2:
		solveFwd256x2(k, a, b, t, x)
	default:
		solveFwd256x1(k, a, b, t, x)
	}
}

// backward solves mr rows of a packed panel with an upper triangle.
func (ks *kernels) backward(nv, k int, a, b, t, x *float64) {
	if ks.wide {
		switch nv {
		case 3:
			solveBwd512x3(k, a, b, t, x)
		case 2:
			solveBwd512x2(k, a, b, t, x)
		default:
			solveBwd512x1(k, a, b, t, x)
		}
		return
	}
	switch nv {
	case 3:
		solveBwd256x3(k, a, b, t, x)
	case 2:
		solveBwd256x2(k, a, b, t, x)
	default:
		solveBwd256x1(k, a, b, t, x)
	}
}

// cholesky factorises the tile of order mr behind the k solved columns of a
// panel and returns the number of columns done.
func (ks *kernels) cholesky(k int, x, d, diag *float64) int {
	if ks.wide {
		return cholesky512(k, x, d, diag)
	}
	return cholesky256(k, x, d, diag)
}

// copyRows copies n rows of nv vectors.
func (ks *kernels) copyRows(n, nv int, src *float64, ss int, dst *float64, ds int) {
	if ks.wide {
		copyPanel512(n, nv, src, ss, dst, ds)
		return
	}
	copyPanel256(n, nv, src, ss, dst, ds)
}

// transposeTiles transposes n square tiles one vector wide.
func (ks *kernels) transposeTiles(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	if ks.wide {
		transpose512(n, src, ss, sstep, dst, ds, dstep)
		return
	}
	transpose256(n, src, ss, sstep, dst, ds, dstep)
}

// squares writes the sums of squares of the columns of n rows of nv vectors; n is a
// multiple of four.
func (ks *kernels) squares(nv, n int, x, sums *float64) {
	if ks.wide {
		switch nv {
		case 3:
			squares512x3(n/4, x, sums)
		case 2:
			squares512x2(n/4, x, sums)
		default:
			squares512x1(n/4, x, sums)
		}
		return
	}
	switch nv {
	case 3:
		squares256x3(n/4, x, sums)
	case 2:
		squares256x2(n/4, x, sums)
	default:
		squares256x1(n/4, x, sums)
	}
}
