package kernel

import (
	"math"
	"slices"
	"strconv"

	"gpfit/internal/each"
)

// maxFinite limits the number of features.
const maxFinite = 2000

// ErrManyFeatures is the error of a kernel with too many features.
var ErrManyFeatures error = &CompileError{Msg: "more than " + strconv.Itoa(maxFinite) + " features"}

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

// exp returns e^a.
func (a coefficient) exp() coefficient {
	e := math.Exp(a.value)
	return coefficient{e, combined(a.slopes, e, nil, 0)}
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

// polynomial holds coefficients by the atoms of their monomials, as a key.
type polynomial map[string]coefficient

// monomialKey and factorsOf convert between sorted atoms and keys.
func monomialKey(factors []int) string {
	out := each.Of(factors, func(a int) rune { return rune(a + 1) })
	return string(out)
}

func factorsOf(key string) (factors []int) {
	for _, r := range key {
		factors = append(factors, int(r)-1)
	}
	return factors
}

func multiplied(a, b polynomial) (polynomial, error) {
	out := polynomial{}
	for ka, va := range a {
		for kb, vb := range b {
			factors := append(factorsOf(ka), factorsOf(kb)...)
			slices.Sort(factors)
			key := monomialKey(factors)
			out[key] = out[key].plus(va.times(vb))
		}
		if len(out) > maxFinite {
			return nil, ErrManyFeatures
		}
	}
	return out, nil
}
