package vec

// Like dispatch_amd64.go, for functions of one element and for the comparisons of
// columns.

func log(dst, src []float64, c float64) {
	switch active {
	case avx512:
		log512(&dst[0], &src[0], len(dst), c)
	case avx2:
		log256(&dst[0], &src[0], len(dst), c)
	default:
		logGo(dst, src, c)
	}
}

func sine(dst, src []float64, c, b float64) {
	switch active {
	case avx512:
		sine512(&dst[0], &src[0], len(dst), c, b)
	case avx2:
		sine256(&dst[0], &src[0], len(dst), c, b)
	default:
		sineGo(dst, src, c, b)
	}
}

func sqrt(dst, src []float64, c float64) {
	switch active {
	case avx512:
		sqrt512(&dst[0], &src[0], len(dst), c)
	case avx2:
		sqrt256(&dst[0], &src[0], len(dst), c)
	default:
		sqrtGo(dst, src, c)
	}
}

func inverse(dst, src []float64, c, o float64) {
	switch active {
	case avx512:
		inverse512(&dst[0], &src[0], len(dst), c, o)
	case avx2:
		inverse256(&dst[0], &src[0], len(dst), c, o)
	default:
		inverseGo(dst, src, c, o)
	}
}

func rootInverse(dst, src []float64, c float64) {
	switch active {
	case avx512:
		rootInverse512(&dst[0], &src[0], len(dst), c)
	case avx2:
		rootInverse256(&dst[0], &src[0], len(dst), c)
	default:
		rootInverseGo(dst, src, c)
	}
}

func abs(dst, src []float64) {
	switch active {
	case avx512:
		abs512(&dst[0], &src[0], len(dst))
	case avx2:
		abs256(&dst[0], &src[0], len(dst))
	default:
		absGo(dst, src)
	}
}

func positive(dst, src []float64, c, o float64) {
	switch active {
	case avx512:
		positive512(&dst[0], &src[0], len(dst), c, o)
	case avx2:
		positive256(&dst[0], &src[0], len(dst), c, o)
	default:
		positiveGo(dst, src, c, o)
	}
}

func step(dst, src []float64) {
	switch active {
	case avx512:
		step512(&dst[0], &src[0], len(dst))
	case avx2:
		step256(&dst[0], &src[0], len(dst))
	default:
		stepGo(dst, src)
	}
}

func polynomial(dst, src, coef []float64) {
	switch active {
	case avx512:
		polynomial512(&dst[0], &src[0], len(dst), &coef[0], len(coef))
	case avx2:
		polynomial256(&dst[0], &src[0], len(dst), &coef[0], len(coef))
	default:
		polynomialGo(dst, src, coef)
	}
}

func sum(a []float64) float64 {
	switch active {
	case avx512:
		return sum512(&a[0], len(a))
	case avx2:
		return sum256(&a[0], len(a))
	}
	return sumGo(a)
}

func mismatches(dst, x, w, y []float64, stride int, index []int) {
	switch active {
	case avx512:
		mismatches512(&dst[0], len(dst), &x[0], pointer(w), &y[0], stride, &index[0], len(index))
	case avx2:
		mismatches256(&dst[0], len(dst), &x[0], pointer(w), &y[0], stride, &index[0], len(index))
	default:
		mismatchesGo(dst, x, w, y, stride, index)
	}
}

// weightedMismatches processes columns like weightedSquares.
func weightedMismatches(sums, x, w, y []float64, stride int, index []int) {
	if active == generic {
		weightedMismatchesGo(sums, x, w, y, stride, index)
		return
	}
	n := len(w)
	for q := 0; q < len(index); {
		left := len(index) - q
		s, xq, iq := &sums[q], &x[q], &index[q]
		switch wide := active == avx512; {
		case wide && left >= 8:
			weightedMismatches512x8(s, xq, &w[0], n, &y[0], stride, iq)
			q += 8
		case wide && left >= 4:
			weightedMismatches512x4(s, xq, &w[0], n, &y[0], stride, iq)
			q += 4
		case wide && left >= 2:
			weightedMismatches512x2(s, xq, &w[0], n, &y[0], stride, iq)
			q += 2
		case wide:
			weightedMismatches512x1(s, xq, &w[0], n, &y[0], stride, iq)
			q++
		case left >= 4:
			weightedMismatches256x4(s, xq, &w[0], n, &y[0], stride, iq)
			q += 4
		case left >= 2:
			weightedMismatches256x2(s, xq, &w[0], n, &y[0], stride, iq)
			q += 2
		default:
			weightedMismatches256x1(s, xq, &w[0], n, &y[0], stride, iq)
			q++
		}
	}
}
