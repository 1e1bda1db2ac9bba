// Package vec holds the loops over rows of float64 that kernel evaluation
// spends its time in: exponentials, squared distances and sums of products.
//
// Each exists three times: for AVX-512, for AVX2 with FMA (assembly written by
// internal/gen) and in Go (generic.go), which serves every other processor.
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

// Exp sets dst[j] to e^src[j], for the length of src. The error is below 1.1
// units in the last place, also where the result is subnormal; e⁰ is 1.
func Exp(dst, src []float64) { ExpScaled(dst, src, 1, 1) }

// ExpScaled sets dst[j] to b·e^(a·src[j]), for the length of src. It is exactly
// b where src[j] is 0.
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

// SquaredDistances sets
//
//	dst[j] = Σ_q w[q]·(x[q] − y[index[q]·stride + j])²
//
// for the length of dst, the sum over the length of index, and w[q] = 1 if w
// is nil: the distances of one point x from a run of points that are stored by
// column, columns a stride apart.
func SquaredDistances(dst, x, w, y []float64, stride int, index []int) {
	n, d := len(dst), len(index)
	if n == 0 {
		return
	}
	if d == 0 {
		clear(dst)
		return
	}
	x = first(x, d)
	if w != nil {
		w = first(w, d)
	}
	checkColumns(y, stride, index, n)
	squaredDistances(dst, x, w, y, stride, index)
}

// WeightedSquares sets
//
//	sums[q] = Σ_j w[j]·(x[q] − y[index[q]·stride + j])²
//
// for the length of index, the sum over the length of w.
func WeightedSquares(sums, x, w, y []float64, stride int, index []int) {
	n, d := len(w), len(index)
	sums, x = first(sums, d), first(x, d)
	if n == 0 {
		clear(sums)
		return
	}
	checkColumns(y, stride, index, n)
	weightedSquares(sums, x, w, y, stride, index)
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

// Add sets dst[j] = a[j] + b[j] for the length of a.
func Add(dst, a, b []float64) {
	if dst, b = first(dst, len(a)), first(b, len(a)); len(a) > 0 {
		add(dst, a, b)
	}
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
