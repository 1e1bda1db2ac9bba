package markov

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
)

// InverseDiagonal implements [device.InverseDiagonal].
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if w.stage < formed {
		return device.ErrStage
	}
	if err := w.begin(ctx, "gradient", w.flops().value); err != nil {
		return err
	}
	if len(dst) != w.n {
		return fmt.Errorf("markov: diagonal of %d elements for n = %d", len(dst), w.n)
	}
	b := &information{filter: &w.filter}
	for last := range backwards(w.n) {
		first := max(last-chunk, 0)
		for i := last - 1; i >= first; i-- {
			dst[w.place(i)] = b.observe(i)
			if i > 0 {
				b.retreat(w.transition(w.gap(i), turns))
			}
		}
		if err := w.step(ctx, w.flops().value*float64(last-first)); err != nil {
			return err
		}
	}
	return nil
}

// Contract implements [device.Workspace].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if w.stage < formed {
		return device.ErrStage
	}
	if err := adj.CheckSizes(w.n, diag, grad, prog); err != nil {
		return fmt.Errorf("markov: %w", err)
	}
	return contractAdjoint(ctx, w, adj, prog, theta, grad, diag, 0)
}

// contractAdjoint contracts adj. more is the number of operations of a row that follow.
func contractAdjoint(ctx context.Context, w *workspace, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64, more float64) error {
	if !w.stateModel.isAt(prog, theta) {
		return &device.UnsupportedError{Method: Name, What: "a contraction at other parameters than those of Form"}
	}
	if err := w.begin(ctx, "gradient", contractionFlops(w, adj)+more); err != nil {
		return err
	}
	clear(diag)
	if adj.Inv != 0 {
		if err := contractInverse(ctx, w, adj.Inv, grad, diag); err != nil {
			return err
		}
	}
	return contractVectors(ctx, w, adj, grad, diag)
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
	for last := range backwards(w.n) {
		first := max(last-chunk, 0)
		if w.few != nil {
			w.few.contract(&b.n, g, inv, diag, first, last)
		} else {
			b.contract(g, inv, diag, first, last)
		}
		if err := w.step(ctx, w.flops().inverse*float64(last-first)); err != nil {
			return err
		}
	}
	w.addTo(grad, g, inv)
	return nil
}
