//go:build !amd64

package vec

// Other processors have only the generic variant.

func expScaled(dst, src []float64, a, b float64) { expScaledGo(dst, src, a, b) }

func rootDecay(k, s []float64, c float64, p *[3]float64) { rootDecayGo(k, s, c, p) }

func rootDecaySlope(k, slope, s []float64, c float64, p, q *[3]float64) {
	rootDecaySlopeGo(k, slope, s, c, p, q)
}

func squaredDistances(dst, x, w, y []float64, stride int, index []int) {
	squaredDistancesGo(dst, x, w, y, stride, index)
}

func expDistances(dst, x, w, y []float64, stride int, index []int, a, b float64) {
	expDistancesGo(dst, x, w, y, stride, index, a, b)
}

func expDistancesTimes(dst, by, x, w, y []float64, stride int, index []int, a float64) float64 {
	return expDistancesTimesGo(dst, by, x, w, y, stride, index, a)
}

func weightedSquares(sums, x, w, y []float64, stride int, index []int) {
	weightedSquaresGo(sums, x, w, y, stride, index)
}

func dot(a, b []float64) float64 { return dotGo(a, b) }

func tripleDot(a, b, c []float64) float64 { return tripleDotGo(a, b, c) }

func mul(dst, a, b []float64) { mulGo(dst, a, b) }

func scale(dst, a []float64, c float64) { scaleGo(dst, a, c) }

func combine(dst, a, b []float64, p, q float64) { combineGo(dst, a, b, p, q) }

func log1p(dst, src []float64, c float64) { log1pGo(dst, src, c) }

func cosine(dst, src []float64, c, b float64) { cosineGo(dst, src, c, b) }

func cosineSine(dst, sine, src []float64, c, b float64) { cosineSineGo(dst, sine, src, c, b) }

func innerProducts(dst, x, w, y []float64, stride int, index []int) {
	innerProductsGo(dst, x, w, y, stride, index)
}

func differences(dst, x, w, y []float64, stride int, index []int) {
	differencesGo(dst, x, w, y, stride, index)
}

func sinSquares(dst, x, w, f, y []float64, stride int, index []int) {
	sinSquaresGo(dst, x, w, f, y, stride, index)
}

func sinSquaresSlope(dst, sine, x, f, y []float64, stride int, index []int) {
	sinSquaresSlopeGo(dst, sine, x, f, y, stride, index)
}

func sinSums(squares, sines, x, f, w, y []float64, stride int, index []int) {
	sinSumsGo(squares, sines, x, f, w, y, stride, index)
}

func affine(dst, a []float64, c, o float64) { affineGo(dst, a, c, o) }

func sum(a []float64) float64 { return sumGo(a) }

func log(dst, src []float64, c float64) { logGo(dst, src, c) }

func sine(dst, src []float64, c, b float64) { sineGo(dst, src, c, b) }

func mismatches(dst, x, w, y []float64, stride int, index []int) {
	mismatchesGo(dst, x, w, y, stride, index)
}

func weightedMismatches(sums, x, w, y []float64, stride int, index []int) {
	weightedMismatchesGo(sums, x, w, y, stride, index)
}

func sqrt(dst, src []float64, c float64) { sqrtGo(dst, src, c) }

func inverse(dst, src []float64, c, o float64) { inverseGo(dst, src, c, o) }

func rootInverse(dst, src []float64, c float64) { rootInverseGo(dst, src, c) }

func polynomial(dst, src, coef []float64) { polynomialGo(dst, src, coef) }

func abs(dst, src []float64) { absGo(dst, src) }

func positive(dst, src []float64, c, o float64) { positiveGo(dst, src, c, o) }

func step(dst, src []float64) { stepGo(dst, src) }

func turnWaves(cos, sin, turnCos, turnSin []float64) { turnWavesGo(cos, sin, turnCos, turnSin) }

func waveSums(sums *[5][Waves]float64, cos, sin, y []float64) { waveSumsGo(sums, cos, sin, y) }
