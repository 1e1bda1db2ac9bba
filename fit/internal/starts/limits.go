package starts

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/problem"
	"gpfit/kernel"
)

// CutLengthscale is the logarithm of the lengthscale of a column, in units of its standard
// deviation, from which its effect vanishes for a signal variance of at most the variance
// of the targets. On elevators (4,000 rows) 2.5, 3, 3.5, 4 and 5 need 24, 14, 11, 12 and 14
// gradients to half a nat.
const CutLengthscale = 3.5

// Limits returns a function of z: the lengthscales of single columns from which the effect of
// the column vanishes, +Inf for other elements. The effect of a long lengthscale ℓ is
// σ²(x−x′)²/ℓ², so the limits grow with the signal variance σ².
func Limits(j *problem.Prepared) func(z []float64) []float64 {
	own, variance := slices.Repeat([]float64{math.Inf(1)}, len(j.Params.Free)), j.Model.TargetVariance(j.Sample)
	var signals []int // the elements that are logarithms of signal variances
	for _, p := range j.Program().Params {
		for i, name := range p.ElementNames() {
			k := slices.IndexFunc(j.Params.Free, func(q *problem.Parameter) bool { return q.Indexed == name })
			switch {
			case k < 0: // tied to another
			case p.Kind == kernel.Variance:
				signals = append(signals, k)
			case p.Kind == kernel.Lengthscale && p.Vector:
				own[k] = CutLengthscale + 0.5*math.Log(problem.MeanSquare(j.Sample.Points.Column(p.Dims[i])))
			}
		}
	}
	return func(z []float64) []float64 {
		signal := 0.0
		for _, k := range signals {
			signal += math.Exp(z[k])
		}
		out := slices.Clone(own)
		floats.AddConst(0.5*math.Log(max(1, signal/variance)), out)
		return out
	}
}
