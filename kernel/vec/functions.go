package vec

import "math"

// Functions of one element. They round the product c·src[j] first, and the stated
// errors are relative to the function of the rounded product. If an o is added,
// product and sum may be rounded together.

// Sqrt sets dst[j] = √(c·src[j]) for the length of src, NaN where that is negative.
func Sqrt(dst, src []float64, c float64) { sqrt(first(dst, len(src)), src, c) }

// Inverse sets dst[j] = 1/(c·src[j] + o) for the length of src.
func Inverse(dst, src []float64, c, o float64) { inverse(first(dst, len(src)), src, c, o) }

// RootInverse sets dst[j] = 1/√(c·src[j]) for the length of src, and 0 where
// c·src[j] is 0: a distance of 0 has the derivative 0 here.
func RootInverse(dst, src []float64, c float64) { rootInverse(first(dst, len(src)), src, c) }

// Polynomial sets dst[j] = Σ_k coef[k]·src[j]^k for the length of src, by Horner's scheme. coef
// must not be empty; if it has one element, dst[j] is that element for any src[j].
func Polynomial(dst, src, coef []float64) {
	_ = coef[0]
	polynomial(first(dst, len(src)), src, coef)
}

// Log sets dst[j] = log(c·src[j]) for the length of src: −Inf where that is 0, NaN where it is
// negative. The error is below 1 unit in the last place, even for subnormal numbers.
func Log(dst, src []float64, c float64) { log(first(dst, len(src)), src, c) }

// Sine sets dst[j] = b·sin(2πu) with u = c·src[j], for the length of src, with the
// same bits as the sine from [CosineSine].
func Sine(dst, src []float64, c, b float64) { sine(first(dst, len(src)), src, c, b) }

// Abs sets dst[j] = |src[j]| for the length of src.
func Abs(dst, src []float64) { abs(first(dst, len(src)), src) }

// Positive sets dst[j] = max(c·src[j] + o, 0) for the length of src, NaN where the sum is NaN.
func Positive(dst, src []float64, c, o float64) { positive(first(dst, len(src)), src, c, o) }

// Step sets dst[j] to 1 where src[j] > 0, to 0 where src[j] ≤ 0 and to NaN where
// src[j] is NaN, for the length of src.
func Step(dst, src []float64) { step(first(dst, len(src)), src) }

// Tanh sets dst[j] = tanh(c·src[j]) for the length of src. The error is below 4
// units in the last place.
func Tanh(dst, src []float64, c float64) { tanh(first(dst, len(src)), src, c) }

// Arcsine sets dst[j] = arcsin(c·src[j]) for the length of src, NaN beyond ±1. The error is below 4
// units in the last place.
func Arcsine(dst, src []float64, c float64) { arcsine(first(dst, len(src)), src, c) }

// Power sets dst[j] = (c·src[j])^p for the length of src, with the values of [math.Pow] at 0,
// infinity, NaN and negative numbers, but for −0, which counts as 0. The error is below 1.5 units
// in the last place on processors with AVX2, and below 2 on others.
func Power(dst, src []float64, c, p float64) {
	dst = first(dst, len(src))
	if p == 0 || p != p {
		for j, v := range src {
			dst[j] = math.Pow(c*v, p)
		}
		return
	}
	// Beyond, a power of a number next to 1 is 0 or infinite, and exponents are even.
	p = max(-0x1p63, min(0x1p63, p))
	power(dst, src, c, p, &[4]float64{math.Pow(0, p), math.Pow(math.Inf(1), p), math.Pow(-1, p), math.Pow(math.Inf(-1), p)})
}
