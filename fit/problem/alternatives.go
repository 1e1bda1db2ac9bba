package problem

import (
	"slices"

	"gpfit/hyperopt/descent"
	"gpfit/kernel"
)

// periodFactors are the factors from the period of an optimum to the alternatives. If the
// true period is p, an optimum at a multiple of it explains the data, too, with a shorter
// lengthscale; one at a fraction of it may explain a harmonic.
var periodFactors = []float64{1. / 3, 1. / 2, 2, 3}

// Alternatives returns other points to try, as [hyperopt.Problem] says. For each leaf with a period it changes the
// period by a factor, and the lengthscale so that the covariance of near points stays the
// same.
func (j *Prepared) Alternatives(z []float64) [][]float64 {
	var out [][]float64
	prog := j.Program()
	for _, p := range prog.Params {
		if p.Kind != kernel.Period {
			continue
		}
		for _, factor := range periodFactors {
			other := slices.Clone(z)
			for i, q := range j.Params.Free {
				switch {
				case q.Fixed:
				case q.Group == p.Name:
					other[i] = within(q.Parameter, q.Natural(z[i])*factor)
				case q.Group == leafOf(p)+"lengthscale":
					other[i] = within(q.Parameter, q.Natural(z[i])/factor)
				}
			}
			if !slices.Equal(other, z) {
				out = append(out, other)
			}
		}
	}
	return out
}

// within returns the element of the vector for a natural value, moved within the bounds.
func within(q descent.Parameter, v float64) float64 {
	return min(max(q.Z(v), q.Z(q.Lower)), q.Z(q.Upper))
}
