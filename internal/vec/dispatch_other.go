//go:build !amd64

package vec

// Other processors have the generic variant only.

func expScaled(dst, src []float64, a, b float64) { expScaledGo(dst, src, a, b) }

func rootDecay(k, s []float64, c float64, p *[3]float64) { rootDecayGo(k, s, c, p) }

func rootDecaySlope(k, slope, s []float64, c float64, p, q *[3]float64) {
	rootDecaySlopeGo(k, slope, s, c, p, q)
}

func squaredDistances(dst, x, w, y []float64, stride int, index []int) {
	squaredDistancesGo(dst, x, w, y, stride, index)
}

func weightedSquares(sums, x, w, y []float64, stride int, index []int) {
	weightedSquaresGo(sums, x, w, y, stride, index)
}

func dot(a, b []float64) float64 { return dotGo(a, b) }

func tripleDot(a, b, c []float64) float64 { return tripleDotGo(a, b, c) }

func add(dst, a, b []float64) { addGo(dst, a, b) }

func mul(dst, a, b []float64) { mulGo(dst, a, b) }

func scale(dst, a []float64, c float64) { scaleGo(dst, a, c) }

func combine(dst, a, b []float64, p, q float64) { combineGo(dst, a, b, p, q) }

func log1p(dst, src []float64, c float64) { log1pGo(dst, src, c) }

func rationalSlopes(slope, l, k, s []float64, c float64) { rationalSlopesGo(slope, l, k, s, c) }

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
