package vec

//go:generate go run -C internal/gen . -isa avx512 -out ../../vec_avx512_amd64.s -stubs ../../vec_avx512_amd64.go -pkg vec
//go:generate go run -C internal/gen . -isa avx2 -out ../../vec_avx2_amd64.s -stubs ../../vec_avx2_amd64.go -pkg vec

// The functions here call the active variant directly, so that the compiler knows
// that they keep no pointers. The caller has checked the slices, which are not
// empty.

func expScaled(dst, src []float64, a, b float64) {
	switch active {
	case avx512:
		expScaled512(&dst[0], &src[0], len(dst), a, b)
	case avx2:
		expScaled256(&dst[0], &src[0], len(dst), a, b)
	default:
		expScaledGo(dst, src, a, b)
	}
}

func rootDecay(k, s []float64, c float64, p *[3]float64) {
	switch active {
	case avx512:
		rootDecay512(&k[0], &s[0], len(k), c, p)
	case avx2:
		rootDecay256(&k[0], &s[0], len(k), c, p)
	default:
		rootDecayGo(k, s, c, p)
	}
}

func rootDecaySlope(k, slope, s []float64, c float64, p, q *[3]float64) {
	pole := q[0] != 0
	switch {
	case active == avx512 && pole:
		rootPole512(&k[0], &slope[0], &s[0], len(k), c, p, q)
	case active == avx512:
		rootSlope512(&k[0], &slope[0], &s[0], len(k), c, p, q)
	case active == avx2 && pole:
		rootPole256(&k[0], &slope[0], &s[0], len(k), c, p, q)
	case active == avx2:
		rootSlope256(&k[0], &slope[0], &s[0], len(k), c, p, q)
	default:
		rootDecaySlopeGo(k, slope, s, c, p, q)
	}
}

// pointer returns a pointer to the first element of a row, or nil for a nil row.
func pointer(w []float64) *float64 {
	if w == nil {
		return nil
	}
	return &w[0]
}

func squaredDistances(dst, x, w, y []float64, stride int, index []int) {
	wp := pointer(w)
	switch active {
	case avx512:
		squaredDistances512(&dst[0], len(dst), &x[0], wp, &y[0], stride, &index[0], len(index))
	case avx2:
		squaredDistances256(&dst[0], len(dst), &x[0], wp, &y[0], stride, &index[0], len(index))
	default:
		squaredDistancesGo(dst, x, w, y, stride, index)
	}
}

func expDistances(dst, x, w, y []float64, stride int, index []int, a, b float64) {
	wp := pointer(w)
	switch active {
	case avx512:
		expDistances512(&dst[0], len(dst), &x[0], wp, &y[0], stride, &index[0], len(index), a, b)
	case avx2:
		expDistances256(&dst[0], len(dst), &x[0], wp, &y[0], stride, &index[0], len(index), a, b)
	default:
		expDistancesGo(dst, x, w, y, stride, index, a, b)
	}
}

func expDistancesTimes(dst, by, x, w, y []float64, stride int, index []int, a float64) float64 {
	wp := pointer(w)
	switch active {
	case avx512:
		return expDistancesTimes512(&dst[0], &by[0], len(dst), &x[0], wp, &y[0], stride, &index[0], len(index), a)
	case avx2:
		return expDistancesTimes256(&dst[0], &by[0], len(dst), &x[0], wp, &y[0], stride, &index[0], len(index), a)
	}
	return expDistancesTimesGo(dst, by, x, w, y, stride, index, a)
}

// weightedSquares processes as many columns at a time as the routines allow.
func weightedSquares(sums, x, w, y []float64, stride int, index []int) {
	most := 8
	switch active {
	case avx2:
		most = 4
	case generic:
		weightedSquaresGo(sums, x, w, y, stride, index)
		return
	}
	for len(index) > 0 {
		count := min(len(index), most)
		s, xq, v, n, iq := &sums[0], &x[0], &w[0], len(w), &index[0]
		if active == avx512 {
			weightedSquares512(count, s, xq, v, n, &y[0], stride, iq)
		} else {
			weightedSquares256(count, s, xq, v, n, &y[0], stride, iq)
		}
		sums, x, index = sums[count:], x[count:], index[count:]
	}
}

func weightedSquares512(columns int, sums, x, w *float64, n int, y *float64, stride int, index *int) {
	switch columns {
	case 8:
		weightedSquares512x8(sums, x, w, n, y, stride, index)
	case 7:
		weightedSquares512x7(sums, x, w, n, y, stride, index)
	case 6:
		weightedSquares512x6(sums, x, w, n, y, stride, index)
	case 5:
		weightedSquares512x5(sums, x, w, n, y, stride, index)
	case 4:
		weightedSquares512x4(sums, x, w, n, y, stride, index)
	case 3:
		weightedSquares512x3(sums, x, w, n, y, stride, index)
	case 2:
		weightedSquares512x2(sums, x, w, n, y, stride, index)
	default:
		weightedSquares512x1(sums, x, w, n, y, stride, index)
	}
}

func weightedSquares256(columns int, sums, x, w *float64, n int, y *float64, stride int, index *int) {
	switch columns {
	case 4:
		weightedSquares256x4(sums, x, w, n, y, stride, index)
	case 3:
		weightedSquares256x3(sums, x, w, n, y, stride, index)
	case 2:
		weightedSquares256x2(sums, x, w, n, y, stride, index)
	default:
		weightedSquares256x1(sums, x, w, n, y, stride, index)
	}
}

func dot(a, b []float64) float64 {
	switch active {
	case avx512:
		return dot512(&a[0], &b[0], len(a))
	case avx2:
		return dot256(&a[0], &b[0], len(a))
	}
	return dotGo(a, b)
}

func tripleDot(a, b, c []float64) float64 {
	switch active {
	case avx512:
		return tripleDot512(&a[0], &b[0], &c[0], len(a))
	case avx2:
		return tripleDot256(&a[0], &b[0], &c[0], len(a))
	}
	return tripleDotGo(a, b, c)
}

func mul(dst, a, b []float64) {
	switch active {
	case avx512:
		mul512(&dst[0], &a[0], &b[0], len(a))
	case avx2:
		mul256(&dst[0], &a[0], &b[0], len(a))
	default:
		mulGo(dst, a, b)
	}
}

func scale(dst, a []float64, c float64) {
	switch active {
	case avx512:
		scale512(&dst[0], &a[0], len(a), c)
	case avx2:
		scale256(&dst[0], &a[0], len(a), c)
	default:
		scaleGo(dst, a, c)
	}
}

func combine(dst, a, b []float64, p, q float64) {
	switch active {
	case avx512:
		combine512(&dst[0], &a[0], &b[0], len(a), p, q)
	case avx2:
		combine256(&dst[0], &a[0], &b[0], len(a), p, q)
	default:
		combineGo(dst, a, b, p, q)
	}
}

func turnWaves(cos, sin, turnCos, turnSin []float64) {
	switch active {
	case avx512:
		turnWaves512(&cos[0], &sin[0], &turnCos[0], &turnSin[0], len(turnCos))
	case avx2:
		turnWaves256(&cos[0], &sin[0], &turnCos[0], &turnSin[0], len(turnCos))
	default:
		turnWavesGo(cos, sin, turnCos, turnSin)
	}
}

func waveSums(sums *[5][Waves]float64, cos, sin, y []float64) {
	switch active {
	case avx512:
		waveSums512(sums, &cos[0], &sin[0], &y[0], len(y))
	case avx2:
		waveSums256(sums, &cos[0], &sin[0], &y[0], len(y))
	default:
		waveSumsGo(sums, cos, sin, y)
	}
}
