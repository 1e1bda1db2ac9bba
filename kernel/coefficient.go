package kernel

import "gpfit/internal/code"

// coefficient is a number with its derivatives by log θ, nil if all are 0 or not wanted.
type coefficient struct {
	value  float64
	slopes []float64
}

func (a coefficient) plus(b coefficient) coefficient {
	return coefficient{a.value + b.value, combined(a.slopes, 1, b.slopes, 1)}
}

func (a coefficient) times(b coefficient) coefficient {
	return coefficient{a.value * b.value, combined(a.slopes, b.value, b.slopes, a.value)}
}

// combined returns p·a + q·b, with nil for zeros.
func combined(a []float64, p float64, b []float64, q float64) []float64 {
	if a == nil && b == nil {
		return nil
	}
	out := make([]float64, max(len(a), len(b)))
	for i, v := range a {
		out[i] = p * v
	}
	for i, v := range b {
		out[i] += q * v
	}
	return out
}

// slopesAt returns the derivatives of a number that depends on one element of θ, nil if they are not wanted.
func (f *finder) slopesAt(param int, slope float64) []float64 {
	if f.derivatives == nil {
		return nil
	}
	out := make([]float64, f.prog.NumParams)
	out[param] = slope
	return out
}

// constant returns a uniform value as a polynomial.
func (f *finder) constant(id code.ID) (polynomial, error) {
	c, err := f.uniform(id)
	return polynomial{"": c}, err
}

// uniform returns a uniform value, 1 for None.
func (f *finder) uniform(id code.ID) (coefficient, error) {
	c := coefficient{value: uniform(f.uniforms, id)}
	if id == code.None || f.derivatives == nil {
		return c, nil
	}
	if v := f.prog.List.At(id); v.Op == code.Parameter {
		c.slopes = f.slopesAt(v.Index, c.value)
		return c, nil
	}
	slopes, known := f.derivatives[id]
	if !known {
		g, err := f.prog.differentiated(id)
		if err != nil {
			return c, err
		}
		for _, d := range g.ByParameter {
			if d != code.None {
				slopes = g.List.Evaluate(f.theta, nil, g.ByParameter...)
				break
			}
		}
		f.derivatives[id] = slopes
	}
	c.slopes = slopes
	return c, nil
}
