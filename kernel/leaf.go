package kernel

import (
	"math"

	"gpfit/internal/vec"
)

// leafInput is what a leaf is evaluated on: a row of features s, their scale w,
// the amplitude a, and the value of its shape parameter or its degree.
type leafInput struct {
	s            []float64
	w, a, shape  float64
	degree       int
	first, other []float64 // scratch; other only with slopes
}

// leafSlope holds derivatives of a·k, at w·s, as factors times rows: by the
// scaled feature, and by the log of the shape parameter (nil if it has none).
// Where the former is infinite (matern12 at s = 0) it is 0, which is right for
// every use by parameters, where it is multiplied by s or a part of it, and the
// mean of the one-sided derivatives for those by the inputs.
type leafSlope struct{ byFeature, byShape scaledRow }

func slopeOf(row []float64, factor float64) leafSlope {
	return leafSlope{byFeature: scaledRow{row, factor}}
}

func rbfValue(dst []float64, in leafInput) { vec.ExpScaled(dst, in.s, -0.5*in.w, in.a) }

func rbfSlope(k []float64, in leafInput) leafSlope {
	rbfValue(k, in)
	return slopeOf(k, -0.5)
}

// matern is the family with
//
//	k     = (p₀ + p₁ t + p₂ t²) exp(−t)
//	dk/ds = (q₀/t + q₁ + q₂ t) exp(−t),    t = √(c s).
func matern(name string, op Op, c float64, p, q [3]float64) *Family {
	times := func(v [3]float64, a float64) [3]float64 { return [3]float64{a * v[0], a * v[1], a * v[2]} }
	return &Family{Name: name, Op: op, power: 2, slots: []slot{lengthscale},
		value: func(dst []float64, in leafInput) { vec.RootDecay(dst, in.s, c*in.w, times(p, in.a)) },
		slope: func(k []float64, in leafInput) leafSlope {
			vec.RootDecaySlope(k, in.first, in.s, c*in.w, times(p, in.a), times(q, in.a))
			return slopeOf(in.first, 1)
		},
	}
}

func rqValue(dst []float64, in leafInput) {
	vec.Log1p(in.first, in.s, in.w/(2*in.shape))
	vec.ExpScaled(dst, in.first, -in.shape, in.a)
}

func rqSlope(k []float64, in leafInput) leafSlope {
	rqValue(k, in)
	vec.RationalSlopes(in.other, in.first, k, in.s, in.w/(2*in.shape))
	return leafSlope{scaledRow{in.other, -0.5}, scaledRow{in.first, in.shape}}
}

func periodicValue(dst []float64, in leafInput) { vec.ExpScaled(dst, in.s, -2*in.w, in.a) }

func periodicSlope(k []float64, in leafInput) leafSlope {
	periodicValue(k, in)
	return slopeOf(k, -2)
}

func linearValue(dst []float64, in leafInput) { vec.Scale(dst, in.s, in.a*in.w) }

func linearSlope(k []float64, in leafInput) leafSlope {
	linearValue(k, in)
	vec.Affine(in.first, in.s, 0, in.a)
	return slopeOf(in.first, 1)
}

func polyValue(dst []float64, in leafInput) {
	vec.Affine(in.first, in.s, in.w, in.shape)
	power(dst, in.first, in.degree)
	vec.Scale(dst, dst, in.a)
}

// polySlope leaves a(o + s)^(p−1) in other.
func polySlope(k []float64, in leafInput) leafSlope {
	vec.Affine(in.first, in.s, in.w, in.shape)
	power(in.other, in.first, in.degree-1)
	vec.Scale(in.other, in.other, in.a)
	vec.Mul(k, in.other, in.first)
	p := float64(in.degree)
	return leafSlope{scaledRow{in.other, p}, scaledRow{in.other, p * in.shape}}
}

// power writes the p-th powers of a row to dst by multiplications, from the
// highest bit of p down; p ≥ 0, dst is not the row.
func power(dst, row []float64, p int) {
	if p == 0 {
		vec.Affine(dst, row, 0, 1)
		return
	}
	bit := 1
	for bit <= p/2 {
		bit *= 2
	}
	copy(dst, row)
	for bit /= 2; bit > 0; bit /= 2 {
		vec.Mul(dst, dst, dst)
		if p&bit != 0 {
			vec.Mul(dst, dst, row)
		}
	}
}

func cosineValue(dst []float64, in leafInput) { vec.Cosine(dst, in.s, in.w, in.a) }

func cosineSlope(k []float64, in leafInput) leafSlope {
	vec.CosineSine(k, in.first, in.s, in.w, in.a)
	return slopeOf(in.first, -2*math.Pi)
}

func constantValue(dst []float64, in leafInput) {
	for j := range dst {
		dst[j] = in.a
	}
}

func constantSlope(k []float64, in leafInput) leafSlope {
	constantValue(k, in)
	return leafSlope{}
}
