package vec

import "math"

// powerGo takes from ends the powers of 0 and ∞, the factor of negative numbers, and the power of −∞.
func powerGo(dst, src []float64, c, p float64, ends *[4]float64) {
	for j, v := range src {
		switch x := c * v; {
		case x == 0:
			dst[j] = ends[0]
		case math.IsInf(x, 1):
			dst[j] = ends[1]
		case math.IsInf(x, -1):
			dst[j] = ends[3]
		case x < 0:
			dst[j] = ends[2] * positivePower(-x, p)
		default:
			dst[j] = positivePower(x, p)
		}
	}
}

// positivePower returns x^p for 0 < x < ∞ and NaN for NaN. math.Pow loses up to 60 units in the last
// place to large results, and all digits for some subnormal x.
func positivePower(x, p float64) float64 {
	high, low := longLog(x)
	k := p * high
	if k != k || math.Abs(k) > 800 {
		return math.Exp(k) // NaN, 0 or infinity
	}
	rest := math.FMA(p, high, -k) + p*low
	e := math.Exp(k)
	if math.IsInf(e, 1) { // the power may be just below the largest number
		root := math.Exp(k / 2)
		root = math.FMA(root, rest/2, root)
		return root * root
	}
	return math.FMA(e, rest, e)
}

// longLog returns log x as a sum of two numbers, by the method in constants.go.
func longLog(x float64) (high, low float64) {
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, exponent = 2*m, exponent-1
	}
	e, f := float64(exponent), m-1
	// s + sl = f/(2 + f)
	d := 2 + f
	s := f / d
	sl := math.FMA(-s, f-(d-2), math.FMA(-s, d, f)) / d
	z := s * s
	s, sl = 2*s, 2*sl
	zl := math.FMA(s, sl, math.FMA(s/2, s/2, -z))
	q := atanhPoly[7]
	for k := 6; k >= 0; k-- {
		q = q*z + atanhPoly[k]
	}
	w, wl := twoSum(third, z*q, thirdLo)
	t, tl := twoProduct(s, sl, z, zl)
	t, tl = twoProduct(t, tl, w, wl)
	high, low = twoSum(e*ln2Hi, s, math.FMA(e, ln2Lo, sl+tl))
	return twoSum(high, t, low)
}

// twoSum returns a + b exactly, for |a| ≥ |b| or a = 0, and adds low to the smaller part.
func twoSum(a, b, low float64) (high, rest float64) {
	high = a + b
	return high, b - (high - a) + low
}

// twoProduct returns the product of two sums.
func twoProduct(a, al, b, bl float64) (high, low float64) {
	high = a * b
	return high, math.FMA(a, b, -high) + a*bl + al*b
}
