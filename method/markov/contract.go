package markov

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
)

// InverseDiagonal implements [device.InverseDiagonal].
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	b := &information{filter: &w.filter}
	w.Begin("gradient", w.flops().value*float64(w.N))
	return w.eachBack(ctx, w.flops().value, func(first, last int) {
		for i := last - 1; i >= first; i-- {
			dst[w.place(i)] = b.observe(i)
			if i > 0 {
				b.retreat(w.transition(w.gap(i), turns))
			}
		}
	})
}

// Contract implements [hostmethod.Engine].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, _ *kernel.Program, _, grad, diag []float64) error {
	s, flops := w.stateModel.states, contractionFlops(w, adj)
	if adj.Diagonal != nil {
		if err := w.CheckNeed(middleNeed(w.N, s)); err != nil {
			return err
		}
		flops += w.flops().middle
	}
	w.Begin("gradient", flops*float64(w.N))
	if adj.Inv != 0 {
		if err := contractInverse(ctx, w, adj.Inv, grad, diag); err != nil {
			return err
		}
	}
	if err := contractVectors(ctx, w, adj, grad, diag); err != nil || adj.Diagonal == nil {
		return err
	}
	return contractMiddle(ctx, w, adj.Diagonal, grad, diag)
}

// contractionFlops is the number of operations of a row in a contraction.
func contractionFlops(w *workspace, adj device.Adjoint) (flops float64) {
	if adj.Inv != 0 {
		flops = w.flops().inverse
	}
	return flops + 2*w.flops().vector*float64(len(adj.Outer))
}

// contractInverse adds inv·⟨Σ⁻¹, ∂K⟩ to grad and inv times the diagonal of Σ⁻¹ to diag.
func contractInverse(ctx context.Context, w *workspace, inv float64, grad, diag []float64) error {
	g := w.newSums()
	b := &information{filter: &w.filter}
	err := w.eachBack(ctx, w.flops().inverse, func(first, last int) {
		if w.few != nil {
			w.few.contract(&b.n, g, inv, diag, first, last)
		} else {
			b.contract(g, inv, diag, first, last)
		}
	})
	w.addTo(grad, g, inv)
	return err
}
