package descent

import (
	"math"
	"slices"
)

// Some parameters have an effect that vanishes: a lengthscale much longer than its column.
// There, f falls towards its upper bound like a power of its inverse. Steps in its
// logarithm would follow this slope for many iterations, each of which gains a fixed
// share of what is left, so the descent tries the bound at once.

// vanishTries is the largest number of times that a descent tries the bound of a
// parameter.
const vanishTries = 2

// vanishPromise is the largest promise of the model with which a descent that began without
// a metric tries bounds. Far from the optimum, a column may come to matter: with earlier
// trials, 150 rows of energy ended 2.6 nats above a descent without any.
const vanishPromise = 1

// vanished is how far, in log units, a parameter must be beyond its limit for revive to look
// at it. Nearer, its derivative still shows the way.
const vanished = 3

// vanishing returns the parameters from whose bounds f has little to gain, but that it
// pushes there.
func (q *quasiNewton) vanishing() []int {
	if q.space.limits == nil || q.start.Metric == nil && !q.s.Eager && !(q.Promise() <= vanishPromise) {
		return nil
	}
	var index []int
	limits := q.space.limits(q.at.Z)
	for i, z := range q.at.Z {
		hi := q.space.hi[i]
		// A stage begins at the limit, up to rounding.
		if !q.space.fixed[i] && z >= limits[i]-1e-9 && z < hi && outward(Upper, q.at.G[i]) && q.tried[i] < vanishTries {
			index = append(index, i)
		}
	}
	return index
}

// vanish moves vanishing parameters to their upper bounds if f decreases. It reports
// whether they moved.
func (q *quasiNewton) vanish() (bool, error) {
	index := q.vanishing()
	if len(index) == 0 {
		return false, nil
	}
	z := slices.Clone(q.at.Z)
	for _, i := range index {
		q.tried[i]++
		z[i] = q.space.hi[i]
	}
	return q.move(z, q.at.F+q.rounding(q.at.F))
}

// revive looks again at the parameters far beyond their limits, once the descent has converged.
// The derivative along the logarithm of a lengthscale ℓ vanishes there even if the one along
// r = ℓ⁻² does not. Where f falls towards larger r by more than the tolerance, revive
// searches along r, from the limits back, for a lower value. It reports whether the descent
// goes on from there.
func (q *quasiNewton) revive() (bool, error) {
	if q.revived || q.space.limits == nil {
		return false, nil
	}
	q.revived = true
	limits, slope := q.space.limits(q.at.Z), 0.0
	var index []int
	for i, z := range q.at.Z {
		if !q.space.fixed[i] && z > limits[i]+vanished && q.at.G[i] > 0 {
			index = append(index, i)
			slope -= q.at.G[i] / 2 * (math.Exp(2*(z-limits[i])) - 1)
		}
	}
	missed := max(q.s.ToleranceNats, q.rounding(q.at.F))
	if -slope <= missed {
		return false, nil
	}
	// share is the place on the way from here, 0, to the limits, 1.
	point := func(share float64) []float64 {
		z := slices.Clone(q.at.Z)
		for _, i := range index {
			here := math.Exp(2 * (limits[i] - z[i])) // r in units of its limit
			z[i] = q.space.clip(i, limits[i]-math.Log(here+share*(1-here))/2)
		}
		return z
	}
	// Each value above the one here gives a parabola, whose minimum is the next trial.
	for share := 1.0; -slope*share/2 > missed; {
		f, err := q.ev.Value(q.ctx, point(share))
		if err != nil {
			return false, err
		}
		if f < q.at.F-missed/2 {
			return q.move(point(share), f)
		}
		share = max(share/1000, min(share/2, -slope*share*share/(2*(f-q.at.F-slope*share))))
	}
	return false, nil
}

// move makes z the current iterate if f is at most the given value there.
func (q *quasiNewton) move(z []float64, most float64) (bool, error) {
	f, err := q.ev.Value(q.ctx, z)
	if err != nil || f > most {
		return false, err
	}
	g := make([]float64, len(z))
	if ok, err := q.ev.Gradient(q.ctx, z, g); err != nil || !ok {
		return false, err
	}
	q.jump(Point{Z: z, F: f, G: g})
	clear(q.held)
	return true, nil
}
