package descent

import (
	"context"
	"math"
	"slices"
)

// Adam (Kingma and Ba, ICLR 2015, algorithm 1) takes steps of 0.1 log units with β₁
// = 0.9 and β₂ = 0.999. It halves the steps whenever 20 iterations bring no new
// best value. Steps end at the bounds.
type Adam struct{}

// Adam's constants.
const (
	adamStep, adamLeastStep = 0.1, 1e-7
	adamBeta1, adamBeta2    = 0.9, 0.999
	adamEpsilon             = 1e-8
	adamPatience            = 20
)

// Name implements [Method].
func (Adam) Name() string { return "adam" }

// Descend implements [Method].
func (Adam) Descend(ctx context.Context, d *Descent) (Status, error) {
	index, p := d.space.free(), len(d.at.Z)
	z, g, m, s := slices.Clone(d.at.Z), slices.Clone(d.at.G), make([]float64, p), make([]float64, p)
	step, waited, best, power1, power2 := adamStep, 0, d.at, 1.0, 1.0
	for step > adamLeastStep {
		if status := d.Converged(); status != StatusNone {
			return status, nil
		}
		power1, power2 = power1*adamBeta1, power2*adamBeta2
		for _, i := range index {
			m[i] = adamBeta1*m[i] + (1-adamBeta1)*g[i]
			s[i] = adamBeta2*s[i] + (1-adamBeta2)*g[i]*g[i]
			target := z[i] - step*(m[i]/(1-power1))/(math.Sqrt(s[i]/(1-power2))+adamEpsilon)
			if z[i] = d.space.clip(i, target); z[i] != target {
				m[i] = 0 // momentum would press against the bound long after f turns
			}
		}
		f, err := d.Value(ctx, z)
		ok := err == nil && !math.IsInf(f, 1)
		if ok {
			ok, err = d.Gradient(ctx, z, g)
		}
		if err != nil {
			return StatusFailed, err
		}
		if ok {
			d.Accept(Point{Z: slices.Clone(z), F: f, G: slices.Clone(g)})
		}
		if waited++; ok && f < best.F {
			best, waited = d.at, 0
		}
		if !ok || waited > adamPatience {
			// Return to the best point with shorter steps and without momentum.
			step, waited, power1, power2 = step/2, 0, 1, 1
			clear(m)
			clear(s)
			d.at = best
			copy(z, best.Z)
			copy(g, best.G)
			d.restless()
		}
	}
	return StatusStalled, nil
}
