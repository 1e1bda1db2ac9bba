package descent

import (
	"context"
	"math"
	"slices"
)

// The values of an ill-conditioned likelihood scatter by far more than the rounding of a
// well-conditioned one. A search that takes this scatter for a shape never ends.

// Constants of the estimate: the number of values after the first and their spacing, in
// log units. A likelihood of 1,200 rows scatters by 4e-6 over 1e-11.
const (
	noiseValues  = 6
	noiseSpacing = 1e-10
)

// suspicious is the difference of two values, times max(1, |f|), below which scatter may
// have decided their order, so that it is worth an estimate.
const suspicious = 1e-6

// scatter estimates the standard deviation of the noise of f at the current point from
// values along a short line, by ECnoise (Moré and Wild, Estimating computational noise,
// SIAM J. Sci. Comput. 33, 2011, section 5): differences of order k have
// (2k)!/(k!)² times the variance of the noise where the differences of f itself
// vanish. It is 0 if the values do not show noise.
func (d *Descent) scatter(ctx context.Context) (float64, error) {
	index := d.moving()
	values := []float64{d.at.F}
	for k := range noiseValues {
		z := slices.Clone(d.at.Z)
		for a, i := range index {
			// Half of the parameters up and half down, so that f itself hardly changes.
			z[i] = d.space.clip(i, z[i]+float64(k+1)*noiseSpacing*float64(1-2*(a%2)))
		}
		f, err := d.ev.Value(ctx, z)
		if err != nil {
			return 0, err
		}
		if math.IsInf(f, 1) {
			return 0, nil
		}
		values = append(values, f)
	}
	return ecNoise(values), nil
}

// ecNoise estimates the noise of evenly spaced values of a smooth function. It takes the
// lowest order whose level agrees with the two after it within a factor of four and whose
// differences have both signs, and returns 0 if there is none.
func ecNoise(values []float64) float64 {
	diff := slices.Clone(values)
	var levels []float64
	var signs []bool
	gamma := 1.0
	for k := 1; k < len(values); k++ {
		gamma *= float64(k) / float64(2*(2*k-1)) // (k!)²/(2k)!
		sum, up, down := 0.0, false, false
		for i := range len(diff) - 1 {
			diff[i] = diff[i+1] - diff[i]
			sum += diff[i] * diff[i]
			up, down = up || diff[i] > 0, down || diff[i] < 0
		}
		diff = diff[:len(diff)-1]
		levels = append(levels, math.Sqrt(gamma*sum/float64(len(diff))))
		signs = append(signs, up && down)
	}
	for k := range len(levels) - 2 {
		three := levels[k : k+3]
		if signs[k] && slices.Max(three) <= 4*slices.Min(three) {
			return levels[k]
		}
	}
	return 0
}
