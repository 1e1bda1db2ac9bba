package problem

import (
	"math"
	"slices"

	"gpfit/kernel"
)

// CutLengthscale is the logarithm of the lengthscale of a column, in units of its standard
// deviation, from which its effect vanishes for a signal variance of at most the variance
// of the targets. On elevators (4,000 rows) 2.5, 3, 3.5, 4 and 5 need 24, 14, 11, 12 and 14
// gradients to half a nat.
const CutLengthscale = 3.5

// Limits are the lengthscales of single columns from which the effect of the column
// vanishes. The effect of a long lengthscale ℓ is σ²(x−x′)²/ℓ², so the limits grow with
// the signal variance σ².
type Limits struct {
	// own are the limits of the elements of the vector for a signal variance of at most
	// the variance of the targets.
	own []float64
	// signals are the elements that are logarithms of signal variances.
	signals  []int
	variance float64
}

func NewLimits(j *Prepared) *Limits {
	l := &Limits{own: slices.Repeat([]float64{math.Inf(1)}, len(j.Params.Free)), variance: j.Model.TargetVariance(j.Sample)}
	for _, p := range j.Program().Params {
		for i, name := range p.ElementNames() {
			k := slices.IndexFunc(j.Params.Free, func(q *Parameter) bool { return q.Indexed == name })
			switch {
			case k < 0: // tied to another
			case p.Kind == kernel.Variance:
				l.signals = append(l.signals, k)
			case p.Kind == kernel.Lengthscale && p.Vector:
				l.own[k] = CutLengthscale + 0.5*math.Log(MeanSquare(j.Sample.Points.Column(p.Dims[i])))
			}
		}
	}
	return l
}

// At returns the limits at z.
func (l *Limits) At(z []float64) []float64 {
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
