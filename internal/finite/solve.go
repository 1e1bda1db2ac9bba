package finite

import (
	"context"
	"fmt"
	"math"
)

// Solve implements [device.Workspace]: Σ⁻¹b = D⁻¹(b − Ψw), where w = B⁻¹ΨᵀD⁻¹b minimises
// ‖D^-½(b − Ψw)‖² + ‖w‖². A second pass corrects w by the gradient of that sum, which leaves the error
// of a QR factorisation with the matrix Q (Björck, Linear Algebra and its Applications 88 (1987), 31).
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := beginSides(ctx, w, b, m); err != nil {
		return err
	}
	inverse := func(i int) float64 { return 1 / w.noiseOf(i) }
	first, err := inner(ctx, w, w.expansion, b, m, inverse)
	if err != nil {
		return err
	}
	w.scale(first, 1)
	w.solveTriangles(first)
	rest := make([]float64, len(b))
	copy(rest, b)
	t := append([]float64(nil), first...)
	w.scale(t, 1)
	difference := func(_ int, b, product float64) float64 { return b - product }
	if err := subtract(ctx, w, t, rest, m, difference); err != nil {
		return err
	}
	correction, err := inner(ctx, w, w.expansion, rest, m, inverse)
	if err != nil {
		return err
	}
	w.scale(correction, 1)
	for i, v := range first {
		correction[i] -= v
	}
	w.solveTriangles(correction)
	for i, v := range first {
		correction[i] += v
	}
	w.scale(correction, 1)
	return subtract(ctx, w, correction, b, m, func(i int, b, product float64) float64 { return (b - product) / w.noiseOf(i) })
}

// beginSides begins a call on b of m columns. It has no progress.
func beginSides(ctx context.Context, w *workspace, b []float64, m int) error {
	if err := w.begin(ctx, "", 0); err != nil {
		return err
	}
	if m < 0 || len(b) != m*w.n {
		return fmt.Errorf("finite: %d numbers for %d columns of %d points", len(b), m, w.n)
	}
	w.Flops += 8 * float64(w.rank()) * float64(len(b))
	return nil
}

// Whiten implements [device.DerivativeProducts]. With U = D^-½Ψ and UᵀU = RᵀR − I,
//
//	F = D^½(I + U(I + Rᵀ)⁻¹Uᵀ)  has  FFᵀ = Σ,  F⁻¹ = (I − U(I + R)⁻¹R⁻ᵀUᵀ)D^-½.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, back bool) error {
	if err := beginSides(ctx, w, b, m); err != nil {
		return err
	}
	weight := func(i int) float64 { return 1 / w.noiseOf(i) }
	if back {
		weight = func(i int) float64 { return 1 / math.Sqrt(w.noiseOf(i)) }
	}
	t, err := inner(ctx, w, w.expansion, b, m, weight)
	if err != nil {
		return err
	}
	w.scale(t, 1)
	w.solveSum(t, back)
	w.scale(t, 1)
	return subtract(ctx, w, t, b, m, func(i int, b, product float64) float64 {
		root := math.Sqrt(w.noiseOf(i))
		if back {
			return (b - product/root) / root
		}
		return (b - product) / root
	})
}
