package kernel

import "math"

// Family is one kind of leaf: a covariance function with unit variance.
type Family struct {
	// Name is the word of the text form, for example "matern32".
	Name string
	// Op is the instruction that evaluates it.
	Op Op
	// value writes k(s) for the scaled squared distances s.
	value func(dst, s []float64)
	// slope writes dk/ds, given s and k = k(s). Where dk/ds is infinite
	// (matern12 at s = 0) it writes 0, which is right for every use: dk/ds is
	// only ever multiplied by ∂s/∂log ρ = −2s or a part of it.
	slope func(dst, s, k []float64)
}

// families lists every leaf, in the order of their help text.
//
// With r² = s = Σ_c (x_c − x'_c)²/ρ_c², after Rasmussen & Williams, Gaussian
// Processes for Machine Learning (2006), eq. 4.9 and 4.14–4.17:
//
//	rbf       exp(−r²/2)
//	matern12  exp(−r)
//	matern32  (1 + √3 r) exp(−√3 r)
//	matern52  (1 + √5 r + 5r²/3) exp(−√5 r)
var families = []*Family{
	{Name: "rbf", Op: OpRBF, value: rbfValue, slope: rbfSlope},
	{Name: "matern12", Op: OpMatern12, value: matern12Value, slope: matern12Slope},
	{Name: "matern32", Op: OpMatern32, value: matern32Value, slope: matern32Slope},
	{Name: "matern52", Op: OpMatern52, value: matern52Value, slope: matern52Slope},
}

// Families returns the names of all leaf families.
func Families() []string {
	names := make([]string, len(families))
	for i, f := range families {
		names[i] = f.Name
	}
	return names
}

func familyByName(name string) *Family {
	for _, f := range families {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func familyByOp(op Op) *Family {
	for _, f := range families {
		if f.Op == op {
			return f
		}
	}
	return nil
}

func rbfValue(dst, s []float64) {
	for i, v := range s {
		dst[i] = math.Exp(-0.5 * v)
	}
}

func rbfSlope(dst, _, k []float64) {
	for i, v := range k {
		dst[i] = -0.5 * v
	}
}

func matern12Value(dst, s []float64) {
	for i, v := range s {
		dst[i] = math.Exp(-math.Sqrt(v))
	}
}

func matern12Slope(dst, s, k []float64) {
	for i, v := range s {
		if v > 0 {
			dst[i] = -0.5 * k[i] / math.Sqrt(v)
		} else {
			dst[i] = 0
		}
	}
}

func matern32Value(dst, s []float64) {
	for i, v := range s {
		t := math.Sqrt(3 * v)
		dst[i] = (1 + t) * math.Exp(-t)
	}
}

// d/ds (1 + √3 r)e^{−√3 r} = −3/2 e^{−√3 r}; the exponential is k/(1 + √3 r).
func matern32Slope(dst, s, k []float64) {
	for i, v := range s {
		dst[i] = -1.5 * k[i] / (1 + math.Sqrt(3*v))
	}
}

func matern52Value(dst, s []float64) {
	for i, v := range s {
		t := math.Sqrt(5 * v)
		dst[i] = (1 + t + t*t/3) * math.Exp(-t)
	}
}

// d/ds (1 + t + t²/3)e^{−t} with t = √5 r is −5/6 (1 + t) e^{−t}.
func matern52Slope(dst, s, k []float64) {
	for i, v := range s {
		t := math.Sqrt(5 * v)
		dst[i] = -(5.0 / 6.0) * (1 + t) * k[i] / (1 + t + t*t/3)
	}
}
