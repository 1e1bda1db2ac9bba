package graph

import (
	"errors"
	"fmt"
)

// NoiseModel describes the noise in Σ = K + diag(noise):
//
//	noise_i = known_i + σ²_group(i)
//
// The zero value is one estimated variance σ² for all points, the parameter
// noise_variance. Without estimated and known variances Σ = K, and the posterior
// interpolates the targets.
type NoiseModel struct {
	// None omits the estimated part.
	None bool
	// Known holds a known variance for each point, length n; nil means none.
	Known []float64
	// Labels are the names of groups of points. Each group has its own variance,
	// the parameter noise_variance[LABEL]. Group, of length n, holds each point's
	// index in Labels. Both are nil for a single variance.
	Labels []string
	Group  []int
}

// names returns the names of the estimated variances.
func (z NoiseModel) names() []string {
	switch {
	case z.None:
		return nil
	case z.Labels == nil:
		return []string{NoiseVariance}
	}
	out := make([]string, len(z.Labels))
	for i, label := range z.Labels {
		out[i] = NoiseName(label)
	}
	return out
}

// NoiseName returns the name of the noise variance of a group.
func NoiseName(label string) string { return NoiseVariance + "[" + label + "]" }

func (z NoiseModel) check(n int) error {
	if z.Known != nil && len(z.Known) != n {
		return fmt.Errorf("graph: %d known noise variances for %d points", len(z.Known), n)
	}
	for i, v := range z.Known {
		if !(v >= 0) || v-v != 0 {
			return fmt.Errorf("graph: invalid known noise variance %v of point %d", v, i)
		}
	}
	if z.None && z.Labels != nil || (z.Labels == nil) != (z.Group == nil) || z.Group != nil && len(z.Group) != n {
		return fmt.Errorf("graph: %d noise groups, given for %d of %d points", len(z.Labels), len(z.Group), n)
	}
	for _, g := range z.Group {
		if g < 0 || g >= len(z.Labels) {
			return errors.New("graph: a noise group has no label")
		}
	}
	return nil
}

// diagonal returns the noise of n points for the given estimated variances, as a
// single number if it is the same for all of them.
func (z NoiseModel) diagonal(estimated []float64, n int) []float64 {
	if z.Known == nil && z.Group == nil {
		n = 1
	}
	out := make([]float64, n)
	copy(out, z.Known)
	for i := range out {
		switch {
		case z.Group != nil:
			out[i] += estimated[z.Group[i]]
		case !z.None:
			out[i] += estimated[0]
		}
	}
	return out
}

// NoiseVariance is the name of the noise variance or, with groups, of the vector of
// the parameters noise_variance[LABEL].
const NoiseVariance = "noise_variance"
