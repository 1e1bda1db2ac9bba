// Package vec computes on rows of float64 the operations that dominate the time of kernel
// evaluation: exponentials, logarithms, sines and cosines, sums over columns (squared distances,
// inner products) and over rows, and other functions of one element (functions.go).
//
// Each loop has three variants: AVX-512, AVX2 with FMA (both in assembly generated
// by internal/gen), and portable Go (generic.go); the comments of a few state that
// they are only in Go. There is no variant for arm64: the arithmetic here grows with
// n² and internal/spd's with n³. The program selects the best supported variant once, at its
// start; the environment variable GPFIT_CPU overrides the choice (variant.go).
//
// Rows may have any length, including 0, and begin at any address. The functions access nothing
// outside the slices. A function with several rows panics if one is shorter than the row named in
// its comment. dst may be the same slice as an operand but must not overlap one otherwise.
//
// Results are bit-identical from run to run, because the order of a summation
// depends only on the length and the variant. Variants differ in the last bits. NaN
// and Inf propagate according to the formulas.
//
// # Regenerating the assembly
//
//	go generate ./internal/vec && git diff --exit-code internal/vec
package vec

// ExpScaled sets dst[j] to b·e^(a·src[j]), for the length of src. It is exactly b where src[j] is
// 0. With a = b = 1 the error is below 1.1 units in the last place, even for subnormal results.
func ExpScaled(dst, src []float64, a, b float64) { expScaled(first(dst, len(src)), src, a, b) }

// RootDecay sets
//
//	k[j] = (p[0] + p[1]·t + p[2]·t²)·e^−t  with  t = √(c·s[j])
//
// for the length of s; c and s[j] are not negative. It is exactly p[0] where
// s[j] is 0, and 0 where it is infinite.
func RootDecay(k, s []float64, c float64, p [3]float64) { rootDecay(first(k, len(s)), s, c, &p) }

// RootDecaySlope is like [RootDecay] and also sets
//
//	slope[j] = (q[0]/t + q[1] + q[2]·t)·e^−t
//
// without its first term where t = 0. slope must not be s.
func RootDecaySlope(k, slope, s []float64, c float64, p, q [3]float64) {
	k, slope = first(k, len(s)), first(slope, len(s))
	if q[0] == 0 {
		rootSlope(k, slope, s, c, &p, &q)
	} else {
		rootPole(k, slope, s, c, &p, &q)
	}
}

// Log1p sets dst[j] to log(1 + c·src[j]), for the length of src; c·src[j] is not negative. The
// error is below 1 unit in the last place, relative to the rounded product.
func Log1p(dst, src []float64, c float64) { log1p(first(dst, len(src)), src, c) }

// Cosine sets dst[j] = b·cos(2πu) with u = c·src[j], for the length of src. The
// error is below 1.2e-15·|b|, relative to the rounded u, for any size of u. The
// result is exactly b where src[j] is 0, and NaN where u is infinite.
func Cosine(dst, src []float64, c, b float64) { cosine(first(dst, len(src)), src, c, b) }

// CosineSine is like [Cosine] and also sets sine[j] = b·sin(2πu), with the same
// error. sine must not be src.
func CosineSine(dst, sine, src []float64, c, b float64) {
	cosineSine(first(dst, len(src)), first(sine, len(src)), src, c, b)
}

// SquaredDistances sets
//
//	dst[j] = Σ_q w[q]·(x[q] − y[index[q]·stride + j])²
//
// for the length of dst, where the sum is over the length of index, and w[q] = 1 if
// w is nil. These are the squared distances of one point x from consecutive points
// stored by column, with columns a stride apart.
func SquaredDistances(dst, x, w, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		squaredDistances(dst, x, w, y, stride, index)
	}
}

// ExpDistances sets
//
//	dst[j] = b·e^(a·s[j])
//
// where s are the squared distances of [SquaredDistances]. The result has the bits of
// that function followed by [ExpScaled], without a row for the distances.
func ExpDistances(dst, x, w, y []float64, stride int, index []int, a, b float64) {
	x, w, ok := columnArguments(dst, x, w, y, stride, index)
	if !ok {
		ExpScaled(dst, dst, a, b)
		return
	}
	expDistances(dst, x, w, y, stride, index, a, b)
}

// ExpDistancesTimes sets
//
//	dst[j] = by[j]·e^(a·s[j])
//
// where s are the squared distances of [SquaredDistances], and returns the [Dot] of by and
// the exponentials, with the bits of these functions. dst must not be by.
func ExpDistancesTimes(dst, by, x, w, y []float64, stride int, index []int, a float64) float64 {
	by = first(by, len(dst))
	x, w, ok := columnArguments(dst, x, w, y, stride, index)
	if !ok {
		copy(dst, by)
		return Sum(dst)
	}
	return expDistancesTimes(dst, by, x, w, y, stride, index, a)
}

// InnerProducts sets
//
//	dst[j] = Σ_q w[q]·x[q]·y[index[q]·stride + j]
//
// like [SquaredDistances]. It is symmetric in x and y to the last bit.
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
// like [SquaredDistances]. This is the sum of the weights of the columns that
// differ. NaN differs from everything.
func Mismatches(dst, x, w, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		mismatches(dst, x, w, y, stride, index)
	}
}

// SinSquares sets
//
//	dst[j] = Σ_q w[q]·sin²(π·u)   with  u = f[q]·(x[q] − y[index[q]·stride + j])
//
// like [SquaredDistances]. It reduces u to [−½, ½], which is exact, before the
// multiplication by π. A term has a relative error below 5 units in the last place,
// relative to the rounded u, for any size of u. It is NaN for an infinite u.
func SinSquares(dst, x, w, f, y []float64, stride int, index []int) {
	if x, w, ok := columnArguments(dst, x, w, y, stride, index); ok {
		sinSquares(dst, x, w, first(f, len(index)), y, stride, index)
	}
}

// SinSquaresSlope is like [SinSquares] without weights and also sets
//
//	sine[j] = Σ_q u·sin(2πu)
//
// where sine must not be dst.
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
// for the length of index, where the sums are over the length of w.
func SinSums(squares, sines, x, f, w, y []float64, stride int, index []int) {
	n, d := len(w), len(index)
	squares, sines, x, f = first(squares, d), first(sines, d), first(x, d), first(f, d)
	if n == 0 {
		clear(squares)
		clear(sines)
		return
	}
	checkColumns(y, stride, index, n)
	for q, c := range index {
		squares[q], sines[q] = sinSums(x[q], f[q], w, y[c*stride:][:n])
		sines[q] *= 2
	}
}

// columnArguments checks the arguments of functions of a point and columns. ok
// reports whether there is anything to do.
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
// for the length of index, where the sum is over the length of w.
func WeightedSquares(sums, x, w, y []float64, stride int, index []int) {
	if sums, x, ok := sumArguments(sums, x, w, y, stride, index); ok {
		weightedSquares(sums, x, w, y, stride, index)
	}
}

// WeightedMismatches sets
//
//	sums[q] = Σ_j w[j]·[x[q] ≠ y[index[q]·stride + j]]
//
// like [WeightedSquares].
func WeightedMismatches(sums, x, w, y []float64, stride int, index []int) {
	if sums, x, ok := sumArguments(sums, x, w, y, stride, index); ok {
		weightedMismatches(sums, x, w, y, stride, index)
	}
}

// sumArguments checks the arguments of functions that sum over each column. ok
// reports whether there is anything to do.
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

// first returns the first n elements of s. It panics if s is shorter, regardless of its capacity.
func first(s []float64, n int) []float64 { return s[:len(s):len(s)][:n] }

// Sum returns Σ a[j].
func Sum(a []float64) float64 { return sum(a) }

// Dot returns Σ a[j]·b[j] for the length of a.
func Dot(a, b []float64) float64 { return dot(a, first(b, len(a))) }

// TripleDot returns Σ a[j]·b[j]·c[j] for the length of a.
func TripleDot(a, b, c []float64) float64 {
	return tripleDot(a, first(b, len(a)), first(c, len(a)))
}

// Mul sets dst[j] = a[j]·b[j] for the length of a.
func Mul(dst, a, b []float64) { mul(first(dst, len(a)), a, first(b, len(a))) }

// Scale sets dst[j] = c·a[j] for the length of a.
func Scale(dst, a []float64, c float64) { scale(first(dst, len(a)), a, c) }

// Combine sets dst[j] = p·a[j] + q·b[j] for the length of a; dst may be a or b.
func Combine(dst, a, b []float64, p, q float64) {
	combine(first(dst, len(a)), a, first(b, len(a)), p, q)
}

// Affine sets dst[j] = c·a[j] + o for the length of a.
func Affine(dst, a []float64, c, o float64) { affine(first(dst, len(a)), a, c, o) }
