package vec

import "math"

func sqrtGo(dst, src []float64, c float64) {
	for j, v := range src {
		dst[j] = math.Sqrt(c * v)
	}
}

func inverseGo(dst, src []float64, c, o float64) {
	for j, v := range src {
		dst[j] = 1 / (c*v + o)
	}
}

func rootInverseGo(dst, src []float64, c float64) {
	for j, v := range src {
		r := math.Sqrt(c * v)
		if r != 0 {
			r = 1 / r
		}
		dst[j] = r
	}
}

func polynomialGo(dst, src, coef []float64) {
	last := len(coef) - 1
	for j, v := range src {
		p := coef[last]
		for k := last - 1; k >= 0; k-- {
			p = p*v + coef[k]
		}
		dst[j] = p
	}
}

func absGo(dst, src []float64) {
	for j, v := range src {
		dst[j] = math.Abs(v)
	}
}

func positiveGo(dst, src []float64, c, o float64) {
	for j, v := range src {
		v = c*v + o
		if v < 0 {
			v = 0
		}
		dst[j] = v
	}
}

func stepGo(dst, src []float64) {
	for j, v := range src {
		switch {
		case v > 0:
			v = 1
		case v <= 0:
			v = 0
		}
		dst[j] = v
	}
}

func tanhGo(dst, src []float64, c float64) {
	for j, v := range src {
		dst[j] = math.Tanh(c * v)
	}
}

// arcsineGo computes the arctangent of x/√((1 − x)(1 + x)). math.Asin rounds x² before it subtracts
// it from 1, which near ±1 causes errors of 1000 units in the last place.
func arcsineGo(dst, src []float64, c float64) {
	for j, v := range src {
		x := c * v
		dst[j] = math.Atan(x / math.Sqrt((1-x)*(1+x)))
	}
}
