package markov

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
)

// Products of K with a vector v take a sweep over the rows in order and one back,
//
//	g = A·c before, c = g + P∞Hᵀv;  h = b + Hᵀv, b before = Aᵀh;  (Kv) = H(g + P∞(Hᵀv + b)),
//
// because the covariance of two rows is H·A…A·P∞Hᵀ, with the A of the gaps between them. Its
// derivative in a direction of θ is
//
//	vᵀ∂Kv = Σ v²·H∂P∞Hᵀ + 2v·H∂P∞b + 2hᵀ∂A·c before.

// statesOf returns working space for the states of all rows.
func statesOf(w *workspace, size int) []float64 {
	if len(w.states) < size {
		w.states = make([]float64, size)
	}
	return w.states[:size]
}

// contractVectors adds Σ_k o_k v_kᵀ∂Kv_k to grad and Σ_k o_k v_k² to diag.
func contractVectors(ctx context.Context, w *workspace, adj device.Adjoint, grad, diag []float64) error {
	for k, factor := range adj.Outer {
		v := adj.Vectors[k*w.N : (k+1)*w.N]
		for i, u := range v {
			diag[i] += factor * u * u
		}
		g := w.newSums()
		if err := quadratic(ctx, w, v, g); err != nil {
			return err
		}
		w.addTo(grad, g, factor)
	}
	return nil
}

// quadratic adds the derivatives of vᵀKv to g.
func quadratic(ctx context.Context, w *workspace, v []float64, g *sums) error {
	m, r, s := w.stateModel, w.filter.sortedRows, w.stateModel.states
	all, state := statesOf(w, w.N*s), make([]float64, s)
	flops := w.flops().vector
	err := w.each(ctx, flops, func(first, last int) {
		if w.few != nil {
			w.few.collect(all, state, v, first, last)
		} else {
			m.collect(r, all, state, v, first, last)
		}
	})
	if err != nil {
		return err
	}
	clear(state)
	return w.eachBack(ctx, flops, func(first, last int) {
		if w.few != nil {
			w.few.giveBack(g, all, state, v, first, last)
		} else {
			m.giveBack(r, g, all, state, v, first, last)
		}
	})
}

// collect stores the c of the rows from first to last. state is the c of the row before.
func (m *stateModel) collect(r *sortedRows, all, state, v []float64, first, last int) {
	s := m.states
	var tmp, weights [maxStates]float64
	for i := first; i < last; i++ {
		if i > 0 {
			m.forward(state, tmp[:], m.transition(r.gap(i), turns))
		}
		m.weights(weights[:], r.times[i])
		m.addPrior(state, weights[:], v[r.place(i)])
		copy(all[i*s:], state)
	}
}

// giveBack adds the rows from first to last to the derivatives. state is the b of the row after.
func (m *stateModel) giveBack(r *sortedRows, g *sums, all, state, v []float64, first, last int) {
	s := m.states
	var tmp, weights [maxStates]float64
	for i := last - 1; i >= first; i-- {
		u := v[r.place(i)]
		m.weights(weights[:], r.times[i])
		for b := range m.blocks {
			own, w := &m.blocks[b], weights[b]*u
			sum := w * m.prior[own.at]
			for j, p := range m.prior[own.at:][:own.size] {
				sum += 2 * p * state[own.first+j]
			}
			g.sizes[b] += w * sum
		}
		m.addWeighted(state, weights[:], u)
		if i == 0 {
			return
		}
		t := m.transition(r.gap(i), slopes)
		for e, shape := range m.shapes {
			own := &m.blocks[shape.block]
			before := all[(i-1)*s+own.first:][:own.size]
			for j := range own.size {
				sum := 0.0
				for k, da := range t.slopeA[e][j*own.size:][:own.size] {
					sum += da * before[k]
				}
				g.shapes[e] += 2 * state[own.first+j] * sum
			}
		}
		m.backward(state, tmp[:], t)
	}
}

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	at, order, err := w.modelAt(prog, theta)
	if err != nil {
		return err
	}
	clear(dst)
	if len(dst) == 0 {
		return nil
	}
	for k := range m {
		p := &derivativeSweeps{stateModel: at, sortedRows: order, v: vectors[k*w.N : (k+1)*w.N], stride: m * w.N, dst: dst[k*w.N:]}
		for _, sweep := range []func(first, last int){p.forward, p.backward} {
			p.reset()
			if err := w.each(ctx, 0, sweep); err != nil {
				return err
			}
		}
	}
	return nil
}
