package kernel

import "gpfit/internal/vec"

// Family is one kind of leaf: a covariance function k(s) with unit variance, of
// the scaled squared distance s = r².
type Family struct {
	// Name is the word of the text form, for example "matern32".
	Name string
	// Op is the instruction that evaluates it.
	Op Op
	// value writes a·k(w·s) for a row of squared distances s.
	value func(dst, s []float64, w, a float64)
	// slope writes a·k to the row k as value does, and returns a·dk/ds, both at
	// w·s, as a factor times a row: k itself or scratch. Where dk/ds is
	// infinite (matern12 at s = 0) it is 0, which is right for every use: dk/ds
	// is only ever multiplied by ∂s/∂log ρ = −2s or a part of it.
	slope func(k, scratch, s []float64, w, a float64) (row []float64, factor float64)
}

// families lists every leaf, in the order of their help text.
//
// With r² = s = Σ_c (x_c − x'_c)²/ρ_c², after Rasmussen & Williams, Gaussian
// Processes for Machine Learning (2006), eq. 4.9 and 4.14–4.17:
//
//	rbf       exp(−r²/2)                       dk/ds = −½ k
//	matern12  exp(−r)                          dk/ds = −½ exp(−t)/t,        t = r
//	matern32  (1 + √3 r) exp(−√3 r)            dk/ds = −3/2 exp(−t),        t = √3 r
//	matern52  (1 + √5 r + 5r²/3) exp(−√5 r)    dk/ds = −5/6 (1 + t) exp(−t), t = √5 r
var families = []*Family{
	{Name: "rbf", Op: OpRBF, value: rbfValue, slope: rbfSlope},
	matern("matern12", OpMatern12, 1, [3]float64{1, 0, 0}, [3]float64{-0.5, 0, 0}),
	matern("matern32", OpMatern32, 3, [3]float64{1, 1, 0}, [3]float64{0, -1.5, 0}),
	matern("matern52", OpMatern52, 5, [3]float64{1, 1, 1.0 / 3}, [3]float64{0, -5.0 / 6, -5.0 / 6}),
}

func rbfValue(dst, s []float64, w, a float64) { vec.ExpScaled(dst, s, -0.5*w, a) }

func rbfSlope(k, _, s []float64, w, a float64) ([]float64, float64) {
	vec.ExpScaled(k, s, -0.5*w, a)
	return k, -0.5
}

// matern is the family with
//
//	k     = (p₀ + p₁ t + p₂ t²) exp(−t)
//	dk/ds = (q₀/t + q₁ + q₂ t) exp(−t),    t = √(c s).
func matern(name string, op Op, c float64, p, q [3]float64) *Family {
	times := func(v [3]float64, a float64) [3]float64 { return [3]float64{a * v[0], a * v[1], a * v[2]} }
	return &Family{Name: name, Op: op,
		value: func(dst, s []float64, w, a float64) { vec.RootDecay(dst, s, c*w, times(p, a)) },
		slope: func(k, scratch, s []float64, w, a float64) ([]float64, float64) {
			vec.RootDecaySlope(k, scratch, s, c*w, times(p, a), times(q, a))
			return scratch, 1
		},
	}
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
