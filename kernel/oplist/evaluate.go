package oplist

import "math"

// Uniforms computes the uniform values marked in need for the parameters theta. It
// writes them to out, which has one element for each value.
func (l *List) Uniforms(out, theta []float64, need []bool) {
	for id := range l.Values {
		if need[id] && l.Values[id].Uniform {
			out[id] = l.Values[id].compute(out, theta, nil)
		}
	}
}

// Evaluate computes the given values and all values that they depend on, for one
// pair with the given features. It is the reference for testing backends.
func (l *List) Evaluate(theta, features []float64, roots ...ID) []float64 {
	values, need := make([]float64, len(l.Values)), l.Needed(roots...)
	for id := range l.Values {
		if need[id] {
			values[id] = l.Values[id].compute(values, theta, features)
		}
	}
	out := make([]float64, len(roots))
	for i, r := range roots {
		if r != None {
			out[i] = values[r]
		}
	}
	return out
}

// compute returns the value, for values that hold its arguments.
func (v *Value) compute(values, theta, features []float64) float64 {
	switch v.Op {
	case Number:
		return v.Number
	case Parameter:
		return theta[v.Index]
	case Feature:
		return features[v.Index]
	case Sum:
		sum := 0.0
		if v.Offset != None {
			sum = values[v.Offset]
		}
		for i, a := range v.Args {
			sum += values[v.Coef[i]] * values[a]
		}
		return sum
	case Product:
		product := 1.0
		if v.Uniform {
			product = v.Number
		}
		for i, a := range v.Args {
			product *= powInt(values[a], v.Powers[i])
		}
		return product
	case Power:
		return math.Pow(values[v.Args[0]], values[v.Coef[0]])
	case Decay:
		return decay(v.Poly, math.Sqrt(values[v.Args[0]]))
	case Sinc:
		return SincOf(v.Index)(values[v.Args[0]])
	}
	return functions[v.Op](values[v.Args[0]])
}

// powInt multiplies repeatedly, because math.Pow is correctly rounded less often.
func powInt(x float64, p int) float64 {
	if p < 0 {
		return 1 / powInt(x, -p)
	}
	out := 1.0
	for ; p > 0; p /= 2 {
		if p%2 == 1 {
			out *= x
		}
		x *= x
	}
	return out
}

// functions are the operations on one value.
var functions = map[Op]func(a float64) float64{
	Exp: math.Exp, Log: math.Log, Log1p: math.Log1p, Sqrt: math.Sqrt, Tanh: math.Tanh, Arcsine: math.Asin, Erf: math.Erf, Abs: math.Abs,
	LogOrZero: func(a float64) float64 {
		if a == 0 {
			return 0
		}
		return math.Log(a)
	},
	RootInverse: func(a float64) float64 {
		if a == 0 {
			return 0
		}
		return 1 / math.Sqrt(a)
	},
	Sine:     func(a float64) float64 { return math.Sin(2 * math.Pi * (a - math.RoundToEven(a))) },
	Cosine:   func(a float64) float64 { return math.Cos(2 * math.Pi * (a - math.RoundToEven(a))) },
	Positive: func(a float64) float64 { return max(a, 0) },
	Step: func(a float64) float64 {
		switch {
		case a > 0:
			return 1
		case a <= 0:
			return 0
		}
		return a
	},
}

func decay(poly []float64, t float64) float64 {
	if math.IsInf(t, 1) {
		return 0
	}
	sum := 0.0
	for k := len(poly) - 1; k > 0; k-- {
		sum = sum*t + poly[k]
	}
	if t > 0 {
		sum += poly[0] / t
	}
	return sum * math.Exp(-t)
}

// SincOf returns the function x ↦ j_n(x)/xⁿ, with the limit 0 at ±∞. For x² up to [SincNear] it sums the
// power series; beyond that, the recurrence of j_n does not cancel (DLMF 10.53.1 and 10.51.1). It is
// meant for the orders of a few derivatives.
func SincOf(n int) func(x float64) float64 {
	near, series := SincNear(n), SincSeries(n)
	return func(x float64) float64 {
		z := x * x
		switch {
		case z <= near:
			sum := 0.0
			for _, c := range series {
				sum = sum*z + c
			}
			return sum
		case math.IsInf(x, 0):
			return 0
		}
		sin, before := math.Sincos(x) // before is the value of order −1
		value := sin / x
		for k := range n {
			value, before = (float64(2*k+1)*value-before)/z, value
		}
		return value
	}
}

// SincNear returns the x² up to which the series of order n serves. Its terms decrease there.
func SincNear(n int) float64 { return float64(2*n + 3) }

// SincSeries returns the coefficients of the powers of x² in the series of order n, highest first. The
// terms beyond add less than 2⁻⁵⁸ of the sum.
func SincSeries(n int) []float64 {
	const terms = 14
	out, c := make([]float64, terms), 1.0
	for k := 1; k <= n; k++ {
		c /= float64(2*k + 1)
	}
	for k := range out {
		out[terms-1-k] = c
		c /= -2 * float64((k+1)*(2*n+2*k+3))
	}
	return out
}
