// Package vec holds the loops over rows of float64 that kernel evaluation
// spends its time in: exponentials, logarithms, sines and cosines, sums over
// columns (squared distances, inner products) and over rows, and other functions
// of one element (functions.go).
//
// Each exists three times: for AVX-512, for AVX2 with FMA (assembly written by
// internal/gen) and in Go (generic.go), which serves every other processor; a
// few, which say so, in Go alone.
// The best that the machine supports is chosen once, at the start of the
// program; the environment variable GPFIT_CPU forces one (variant.go).
//
// Rows may have any length, 0 included, and begin at any address; nothing
// outside the slices is read or written. Where a function takes several rows
// they must be as long as the one named in its comment, or longer; it panics
// otherwise. dst may be the same slice as an operand, but must not overlap one
// otherwise.
//
// Results are bit-identical from run to run: the order of a summation depends
// on the length and the variant alone. Between variants they differ in the
// last bits. NaN and Inf behave as the formulas say.
//
// # Regenerating the assembly
//
//	go generate ./internal/vec && git diff --exit-code internal/vec
package vec

// ExpScaled sets dst[j] to b·e^(a·src[j]), for the length of src. It is exactly
// b where src[j] is 0. With a = b = 1 the error is below 1.1 units in the last
// place, also where the result is subnormal.
func ExpScaled(dst, src []float64, a, b float64) {
	if dst = first(dst, len(src)); len(dst) > 0 {
		expScaled(dst, src, a, b)
	}
}

// RootDecay sets
//
//	k[j] = (p[0] + p[1]·t + p[2]·t²)·e^−t  with  t = √(c·s[j])
//
// for the length of s; c and s[j] are not negative. It is exactly p[0] where
// s[j] is 0, and 0 where it is infinite.
func RootDecay(k, s []float64, c float64, p [3]float64) {
	if k = first(k, len(s)); len(k) > 0 {
		rootDecay(k, s, c, &p)
	}
}

// RootDecaySlope is [RootDecay], and sets
//
//	slope[j] = (q[0]/t + q[1] + q[2]·t)·e^−t
//
// beside it, where t = 0 without its first term. slope must not be s.
func RootDecaySlope(k, slope, s []float64, c float64, p, q [3]float64) {
	if k, slope = first(k, len(s)), first(slope, len(s)); len(k) > 0 {
		rootDecaySlope(k, slope, s, c, &p, &q)
	}
}

// Log1p sets dst[j] to log(1 + c·src[j]), for the length of src; c·src[j] is not
// negative. The error is below 1 unit in the last place of the result for the
// product that was rounded.
func Log1p(dst, src []float64, c float64) {
	if dst = first(dst, len(src)); len(dst) > 0 {
		log1p(dst, src, c)
	}
}

// Cosine sets dst[j] = b·cos(2πu) with u = c·src[j], for the length of src. The
// error is below 1.2e-15·|b| for the u that was rounded, however large; it is
// exactly b where src[j] is 0, and NaN where u is infinite.
func Cosine(dst, src []float64, c, b float64) {
	if dst = first(dst, len(src)); len(dst) > 0 {
		cosine(dst, src, c, b)
	}
}

// CosineSine is [Cosine], and sets sine[j] = b·sin(2πu) beside it, with the
// same error. sine must not be src.
func CosineSine(dst, sine, src []float64, c, b float64) {
	if dst, sine = first(dst, len(src)), first(sine, len(src)); len(dst) > 0 {
		cosineSine(dst, sine, src, c, b)
	}
}

// SquaredDistances sets
//
//	dst[j] = Σ_q w[q]·(x[q] − y[index[q]·stride + j])²
//
// for the length of dst, the sum over the length of index, and w[q] = 1 if w
// is nil: the distances of one point x from a run of points that are stored by
// column, columns a stride apart.
func SquaredDistances(dst, x, w, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		squaredDistances(dst, x, w, y, stride, index)
	}
}

// InnerProducts sets
//
//	dst[j] = Σ_q w[q]·x[q]·y[index[q]·stride + j]
//
// as [SquaredDistances] does. It is symmetric in x and y to the last bit.
func InnerProducts(dst, x, w, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		innerProducts(dst, x, w, y, stride, index)
	}
}

// Differences sets
//
//	dst[j] = Σ_q w[q]·(x[q] − y[index[q]·stride + j])
//
// as [SquaredDistances] does.
func Differences(dst, x, w, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		differences(dst, x, w, y, stride, index)
	}
}

// Mismatches sets
//
//	dst[j] = Σ_q w[q]·[x[q] ≠ y[index[q]·stride + j]]
//
// as [SquaredDistances] does: the sum of the weights of the columns that differ.
// NaN differs from everything.
func Mismatches(dst, x, w, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		mismatches(dst, x, w, y, stride, index)
	}
}

// SinSquares sets
//
//	dst[j] = Σ_q w[q]·sin²(π·u)   with  u = f[q]·(x[q] − y[index[q]·stride + j])
//
// as [SquaredDistances] does. u is reduced to [−½, ½], which is exact, before
// anything is multiplied by π: a term has a relative error below 5 units in the
// last place for the u that was rounded, however large. It is NaN for an
// infinite u.
func SinSquares(dst, x, w, f, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		sinSquares(dst, x, w, first(f, len(index)), y, stride, index)
	}
}

// SinSquaresSlope is [SinSquares] without weights, and sets
//
//	sine[j] = Σ_q u·sin(2πu)
//
// beside it. sine must not be dst.
func SinSquaresSlope(dst, sine, x, f, y []float64, stride int, index []int) {
	sine = first(sine, len(dst))
	if x, _, ok := columnArguments(dst, x, nil, y, stride, index); ok {
		sinSquaresSlope(dst, sine, x, first(f, len(index)), y, stride, index)
	} else {
		clear(sine)
	}
}

// SinSums sets, with u as in [SinSquares],
//
//	squares[q] = Σ_j w[j]·sin²(π·u),   sines[q] = Σ_j w[j]·u·sin(2π·u)
//
// for the length of index, the sums over the length of w.
func SinSums(squares, sines, x, f, w, y []float64, stride int, index []int) {
	n, d := len(w), len(index)
	squares, sines, x, f = first(squares, d), first(sines, d), first(x, d), first(f, d)
	if n == 0 {
		clear(squares)
		clear(sines)
		return
	}
	checkColumns(y, stride, index, n)
	sinSums(squares, sines, x, f, w, y, stride, index)
}

// columnArguments checks what functions of a point and columns take. ok says
// that there is something left to do.
func columnArguments(dst, x, w, y []float64, stride int, index []int) (xd, wd []float64, ok bool) {
	n, d := len(dst), len(index)
	if n == 0 || d == 0 {
		clear(dst)
		return nil, nil, false
	}
	if w != nil {
		w = first(w, d)
	}
	checkColumns(y, stride, index, n)
	return first(x, d), w, true
}

// WeightedSquares sets
//
//	sums[q] = Σ_j w[j]·(x[q] − y[index[q]·stride + j])²
//
// for the length of index, the sum over the length of w.
func WeightedSquares(sums, x, w, y []float64, stride int, index []int) {
	if sums, x, ok := sumArguments(sums, x, w, y, stride, index); ok {
		weightedSquares(sums, x, w, y, stride, index)
	}
}

// WeightedMismatches sets
//
//	sums[q] = Σ_j w[j]·[x[q] ≠ y[index[q]·stride + j]]
//
// as [WeightedSquares] does.
func WeightedMismatches(sums, x, w, y []float64, stride int, index []int) {
	if sums, x, ok := sumArguments(sums, x, w, y, stride, index); ok {
		weightedMismatches(sums, x, w, y, stride, index)
	}
}

// sumArguments checks what functions take that sum over each column. ok says
// that there is something left to do.
func sumArguments(sums, x, w, y []float64, stride int, index []int) (sd, xd []float64, ok bool) {
	n, d := len(w), len(index)
	sums, x = first(sums, d), first(x, d)
	if n == 0 {
		clear(sums)
		return nil, nil, false
	}
	checkColumns(y, stride, index, n)
	return sums, x, true
}

// checkColumns panics unless every column has n elements in y.
func checkColumns(y []float64, stride int, index []int, n int) {
	for _, c := range index {
		_ = first(y[c*stride:], n)
	}
}

// first returns the first n elements of s and panics if it is shorter, however
// large its capacity.
func first(s []float64, n int) []float64 { return s[:len(s):len(s)][:n] }

// Sum returns Σ a[j].
func Sum(a []float64) float64 {
	if len(a) == 0 {
		return 0
	}
	return sum(a)
}

// Dot returns Σ a[j]·b[j] for the length of a.
func Dot(a, b []float64) float64 {
	if b = first(b, len(a)); len(a) == 0 {
		return 0
	}
	return dot(a, b)
}

// TripleDot returns Σ a[j]·b[j]·c[j] for the length of a.
func TripleDot(a, b, c []float64) float64 {
	if b, c = first(b, len(a)), first(c, len(a)); len(a) == 0 {
		return 0
	}
	return tripleDot(a, b, c)
}

// Mul sets dst[j] = a[j]·b[j] for the length of a.
func Mul(dst, a, b []float64) {
	if dst, b = first(dst, len(a)), first(b, len(a)); len(a) > 0 {
		mul(dst, a, b)
	}
}

// Scale sets dst[j] = c·a[j] for the length of a.
func Scale(dst, a []float64, c float64) {
	if dst = first(dst, len(a)); len(a) > 0 {
		scale(dst, a, c)
	}
}

// Combine sets dst[j] = p·a[j] + q·b[j] for the length of a; dst may be a or b.
func Combine(dst, a, b []float64, p, q float64) {
	if dst, b = first(dst, len(a)), first(b, len(a)); len(a) > 0 {
		combine(dst, a, b, p, q)
	}
}

// Affine sets dst[j] = c·a[j] + o for the length of a.
func Affine(dst, a []float64, c, o float64) {
	if dst = first(dst, len(a)); len(a) > 0 {
		affine(dst, a, c, o)
	}
}
