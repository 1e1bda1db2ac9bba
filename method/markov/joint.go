package markov

import (
	"context"

	"gpfit/kernel"
)

// PredictCovariance implements [device.JointCovariance]. For points t < u in order, the covariance of
// the values is (Durbin & Koopman 2012, section 4.7)
//
//	(Φ·P⁻_tH_tᵀ)ᵀ(I − N_uP⁻_u)H_uᵀ,  Φ = the product of A and I − kH of the rows between,
//
// with the vectors of all t carried from point to point.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	m := xs.N
	w.Begin("predict", 0)
	own, _, err := w.modelAt(prog, theta)
	if err != nil {
		return err
	}
	weights, err := w.weightsOf(own)
	if err != nil {
		return err
	}
	if w.sweeps == nil {
		w.sweeps = &sweeps{}
	}
	if err := sweepInformation(ctx, w); err != nil {
		return err
	}
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	for j := range m {
		e.Row(reduction[j*m:(j+1)*m], xs, j, xs, 0, m)
	}
	return subtractPosterior(ctx, w, newPlaces(xs.Column(own.column), w.filter.sortedRows), weights, reduction)
}

// subtractPosterior subtracts the covariances of the values at points given the rows.
func subtractPosterior(ctx context.Context, w *workspace, at *sortedPoints, weights func(dst []float64, x float64), out []float64) error {
	m, s := len(at.points), w.stateModel.states
	carried, seen := make([]float64, m*s), make([]float64, m*s)
	visit(w, at, func(j int, p, n *square) {
		ends(&w.filter, carried[j*s:(j+1)*s], seen[j*s:(j+1)*s], p, n, weights, at.times[j])
	})
	work := float64(s * s)
	w.Begin("predict", work*float64(m)*float64(m+1)/2)
	var turned [maxStates]float64
	for k, u := range at.points {
		phi := between(&w.filter, at, k)
		for _, t := range at.points[:k] {
			y := carried[t*s : (t+1)*s]
			for r := range s {
				turned[r] = dot(phi[r*s:(r+1)*s], y)
			}
			copy(y, turned[:])
			v := out[t*m+u] - dot(y, seen[u*s:(u+1)*s])
			out[t*m+u], out[u*m+t] = v, v
		}
		out[u*m+u] -= dot(carried[u*s:(u+1)*s], seen[u*s:(u+1)*s])
		if err := w.Step(ctx, work*float64(k+1)); err != nil {
			return err
		}
	}
	return nil
}

// ends writes P⁻Hᵀ and (I − NP⁻)Hᵀ of a point.
func ends(f *filter, h, g []float64, p, n *square, weights func(dst []float64, x float64), x float64) {
	var own [maxStates]float64
	weights(own[:], x)
	f.stateModel.observe(p, h, own[:], 0)
	for r := range g {
		g[r] = -dot(n[r*len(g):(r+1)*len(g)], h)
	}
	f.addWeighted(g, own[:], 1)
}

func dot(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// between returns Φ from the point before the k-th one in order to that one.
func between(f *filter, at *sortedPoints, k int) *square {
	s := f.stateModel.states
	var phi, tmp square
	for r := range s {
		phi[r*s+r] = 1
	}
	if k == 0 {
		return &phi
	}
	now := at.times[at.points[k-1]]
	move := func(to float64) {
		f.timesLeft(&tmp, &phi, f.transition(to-now, turns))
		copy(phi[:s*s], tmp[:s*s])
		now = to
	}
	var weights, seen [maxStates]float64
	for i := at.rows[k-1] + 1; i <= at.rows[k]; i++ {
		move(f.times[i])
		f.weights(weights[:], f.times[i])
		clear(seen[:])
		for b := range f.blocks {
			for c, v := range phi[f.blocks[b].first*s:][:s] {
				seen[c] += weights[b] * v
			}
		}
		for r, gain := range f.k[i*s : (i+1)*s] {
			for c := range s {
				phi[r*s+c] -= gain * seen[c]
			}
		}
	}
	move(at.times[at.points[k]])
	return &phi
}
