package vec

// Like dispatch_amd64.go, for sines, cosines, logarithms and sums over columns.

func log1p(dst, src []float64, c float64) {
	switch active {
	case avx512:
		log1p512(&dst[0], &src[0], len(dst), c)
	case avx2:
		log1p256(&dst[0], &src[0], len(dst), c)
	default:
		log1pGo(dst, src, c)
	}
}

func cosine(dst, src []float64, c, b float64) {
	switch active {
	case avx512:
		cosine512(&dst[0], &src[0], len(dst), c, b)
	case avx2:
		cosine256(&dst[0], &src[0], len(dst), c, b)
	default:
		cosineGo(dst, src, c, b)
	}
}

func cosineSine(dst, sine, src []float64, c, b float64) {
	switch active {
	case avx512:
		cosineSine512(&dst[0], &sine[0], &src[0], len(dst), c, b)
	case avx2:
		cosineSine256(&dst[0], &sine[0], &src[0], len(dst), c, b)
	default:
		cosineSineGo(dst, sine, src, c, b)
	}
}

func innerProducts(dst, x, w, y []float64, stride int, index []int) {
	switch active {
	case avx512:
		innerProducts512(&dst[0], len(dst), &x[0], pointer(w), &y[0], stride, &index[0], len(index))
	case avx2:
		innerProducts256(&dst[0], len(dst), &x[0], pointer(w), &y[0], stride, &index[0], len(index))
	default:
		innerProductsGo(dst, x, w, y, stride, index)
	}
}

func differences(dst, x, w, y []float64, stride int, index []int) {
	switch active {
	case avx512:
		differences512(&dst[0], len(dst), &x[0], pointer(w), &y[0], stride, &index[0], len(index))
	case avx2:
		differences256(&dst[0], len(dst), &x[0], pointer(w), &y[0], stride, &index[0], len(index))
	default:
		differencesGo(dst, x, w, y, stride, index)
	}
}

func sinSquares(dst, x, w, f, y []float64, stride int, index []int) {
	switch active {
	case avx512:
		sinSquares512(&dst[0], len(dst), &x[0], pointer(w), &f[0], &y[0], stride, &index[0], len(index))
	case avx2:
		sinSquares256(&dst[0], len(dst), &x[0], pointer(w), &f[0], &y[0], stride, &index[0], len(index))
	default:
		sinSquaresGo(dst, x, w, f, y, stride, index)
	}
}

func sinSquaresSlope(dst, sine, x, f, y []float64, stride int, index []int) {
	switch active {
	case avx512:
		sinSquaresSlope512(&dst[0], &sine[0], len(dst), &x[0], &f[0], &y[0], stride, &index[0], len(index))
	case avx2:
		sinSquaresSlope256(&dst[0], &sine[0], len(dst), &x[0], &f[0], &y[0], stride, &index[0], len(index))
	default:
		sinSquaresSlopeGo(dst, sine, x, f, y, stride, index)
	}
}

func sinSums(squares, sines, x, f, w, y []float64, stride int, index []int) {
	if active == generic {
		sinSumsGo(squares, sines, x, f, w, y, stride, index)
		return
	}
	for q, c := range index {
		var square, sine float64
		if active == avx512 {
			square, sine = sinSums512(x[q], f[q], &w[0], &y[c*stride], len(w))
		} else {
			square, sine = sinSums256(x[q], f[q], &w[0], &y[c*stride], len(w))
		}
		squares[q], sines[q] = square, 2*sine
	}
}

func affine(dst, a []float64, c, o float64) {
	switch active {
	case avx512:
		affine512(&dst[0], &a[0], len(a), c, o)
	case avx2:
		affine256(&dst[0], &a[0], len(a), c, o)
	default:
		affineGo(dst, a, c, o)
	}
}
