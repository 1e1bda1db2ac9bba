package fit

import (
	"math"
	"slices"

	"gpfit/kernel"
)

// cutLengthscale is the logarithm of the lengthscale of a column, in units of its standard
// deviation, from which its effect vanishes for a signal variance of at most the variance
// of the targets. On elevators (4,000 rows) 2.5, 3, 3.5, 4 and 5 need 24, 14, 11, 12 and 14
// gradients to half a nat.
const cutLengthscale = 3.5

// limits are the lengthscales of single columns from which the effect of the column
// vanishes. The effect of a long lengthscale ℓ is σ²(x−x′)²/ℓ², so the limits grow with
// the signal variance σ².
type limits struct {
	// own are the limits of the elements of the vector for a signal variance of at most
	// the variance of the targets.
	own []float64
	// signals are the elements that are logarithms of signal variances.
	signals  []int
	variance float64
}

func newLimits(j *Prepared) *limits {
	l := &limits{own: slices.Repeat([]float64{math.Inf(1)}, len(j.params.free)), variance: j.model.targetVariance(j.sample)}
	for _, p := range j.Program().Params {
		for i, name := range p.ElementNames() {
			k := slices.IndexFunc(j.params.free, func(q parameter) bool { return q.indexed == name })
			switch {
			case k < 0: // tied to another
			case p.Kind == kernel.Variance:
				l.signals = append(l.signals, k)
			case p.Kind == kernel.Lengthscale && p.Vector:
				l.own[k] = cutLengthscale + 0.5*math.Log(meanSquare(j.sample.points.Column(p.Dims[i])))
			}
		}
	}
	return l
}

// at returns the limits at z.
func (l *limits) at(z []float64) []float64 {
	signal := 0.0
	for _, k := range l.signals {
		signal += math.Exp(z[k])
	}
	longer := 0.5 * math.Log(max(1, signal/l.variance))
	out := slices.Clone(l.own)
	for i := range out {
		out[i] += longer
	}
	return out
}
