package vec

import "math"

// turn returns sin(πu) and cos(πu), up to a common sign. u − round(u) is exact.
func turn(u float64) (sin, cos float64) {
	r := u - math.RoundToEven(u)
	z := r * r
	s, c := &sinTurn, &cosTurn
	sin = r * (s[0] + z*(s[1]+z*(s[2]+z*(s[3]+z*(s[4]+z*(s[5]+z*(s[6]+z*(s[7]+z*s[8]))))))))
	cos = 1 + z*(c[0]+z*(c[1]+z*(c[2]+z*(c[3]+z*(c[4]+z*(c[5]+z*(c[6]+z*c[7])))))))
	return sin, cos
}

// SinTurns returns sin(2πu), with the error of [CosineSine].
func SinTurns(u float64) float64 {
	s, c := turn(u)
	return 2 * s * c
}

func cosineGo(dst, src []float64, c, b float64) {
	for j, v := range src {
		s, _ := turn(c * v)
		dst[j] = b - 2*b*s*s
	}
}

func cosineSineGo(dst, sine, src []float64, c, b float64) {
	for j, v := range src {
		s, t := turn(c * v)
		dst[j], sine[j] = b-2*b*s*s, 2*b*s*t
	}
}

func sineGo(dst, src []float64, c, b float64) {
	for j, v := range src {
		s, t := turn(c * v)
		dst[j] = 2 * b * s * t
	}
}

func sinSquaresGo(dst, x, w, f, y []float64, stride int, index []int) {
	clear(dst)
	for q, c := range index {
		xq, fq, wq, col := x[q], f[q], weight(w, q), y[c*stride:][:len(dst)]
		for j, v := range col {
			s, _ := turn((xq - v) * fq)
			dst[j] += wq * float64(s*s)
		}
	}
}

func sinSquaresSlopeGo(dst, sine, x, f, y []float64, stride int, index []int) {
	clear(dst)
	clear(sine)
	for q, c := range index {
		xq, fq, col := x[q], f[q], y[c*stride:][:len(dst)]
		for j, v := range col {
			u := (xq - v) * fq
			s, t := turn(u)
			dst[j] += float64(s * s) // not fused, as in sinSquaresGo
			sine[j] += 2 * u * s * t
		}
	}
}

func sinSumsGo(x, f float64, w, y []float64) (square, sine float64) {
	for j, v := range y {
		u := (x - v) * f
		s, t := turn(u)
		square += w[j] * (s * s)
		sine += w[j] * (u * s * t)
	}
	return square, sine
}

// log1pOf returns log(1 + t) for t ≥ 0, NaN or infinity.
func log1pOf(t float64) float64 {
	// Add the part above the largest number, infinity or 0, last.
	c := t
	if c > math.MaxFloat64 {
		c = math.MaxFloat64
	}
	u := 1 + c
	// The error of the sum by Knuth's method, which has no branch.
	b := u - c
	lost := (c - (u - b)) + (1 - b)
	e, f := split(u)
	s, h := f/(2+f), 0.5*f*f
	return e*ln2Hi + (f - (h - (s*(h+logRest(s*s)) + (e*ln2Lo + lost/u)))) + (t - c)
}

// split returns e and f with u = 2^e·(1 + f), for a normal positive u.
func split(u float64) (e, f float64) {
	bits := math.Float64bits(u) + (oneBits - halfRootBits)
	return float64(int64(bits>>52) - 1023), math.Float64frombits(bits&(1<<52-1)+halfRootBits) - 1
}

// logRest returns R of constants.go.
func logRest(z float64) float64 {
	p := &logPoly
	return z * (p[0] + z*(p[1]+z*(p[2]+z*(p[3]+z*(p[4]+z*(p[5]+z*p[6]))))))
}

// logOf returns log(t).
func logOf(t float64) float64 {
	power := 0.0
	switch {
	case t >= smallestNormal && t <= math.MaxFloat64:
	case t > math.MaxFloat64:
		return t
	case t == 0:
		return math.Inf(-1)
	case t > 0:
		t, power = t*upFactor, upPower
	default:
		return math.NaN()
	}
	e, f := split(t)
	e -= power
	s, h := f/(2+f), 0.5*f*f
	return e*ln2Hi + (f - (h - (s*(h+logRest(s*s)) + e*ln2Lo)))
}

func logGo(dst, src []float64, c float64) {
	for j, v := range src {
		dst[j] = logOf(c * v)
	}
}

func log1pGo(dst, src []float64, c float64) {
	for j, v := range src {
		dst[j] = log1pOf(c * v)
	}
}

func innerProductsGo(dst, x, w, y []float64, stride int, index []int) {
	clear(dst)
	for q, c := range index {
		xq, wq, col := x[q], weight(w, q), y[c*stride:][:len(dst)]
		for j, v := range col {
			dst[j] += wq * float64(xq*v) // symmetric even if products are fused
		}
	}
}

func differencesGo(dst, x, w, y []float64, stride int, index []int) {
	clear(dst)
	for q, c := range index {
		xq, wq, col := x[q], weight(w, q), y[c*stride:][:len(dst)]
		for j, v := range col {
			dst[j] += wq * (xq - v)
		}
	}
}

func affineGo(dst, a []float64, c, o float64) {
	for j, v := range a {
		dst[j] = c*v + o
	}
}
