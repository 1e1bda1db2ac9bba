package finite

import (
	"context"
	"math"
)

// Solve implements [hostmethod.Engine]. For any w, with e = b − Ψw,
//
//	Σ⁻¹b = Σ⁻¹e + Σ⁻¹Ψw = D⁻¹(e − ΨB⁻¹ΨᵀD⁻¹e) + D⁻¹ΨB⁻¹w.
//
// Two ridge regressions, of b and of what the first leaves, give a w for which e has next to nothing that features explain.
// Then neither term cancels, as D⁻¹b − D⁻¹ΨB⁻¹ΨᵀD⁻¹b does where small noise leaves little of b.
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	beginSides(w, b)
	explained := make([]float64, m*w.rank())
	for range 2 {
		t, err := ridge(ctx, w, b, m)
		if err != nil {
			return err
		}
		for i, v := range t {
			explained[i] += v
		}
		w.scale(t, 1)
		if err := subtract(ctx, w, t, b, m, func(_ int, b, product float64) float64 { return b - product }); err != nil {
			return err
		}
	}
	t, err := ridge(ctx, w, b, m)
	if err != nil {
		return err
	}
	w.solveTriangles(explained)
	for i, v := range explained {
		t[i] -= v
	}
	w.scale(t, 1)
	return subtract(ctx, w, t, b, m, func(i int, b, product float64) float64 { return (b - product) / w.noiseOf(i) })
}

// ridge returns B⁻¹ΨᵀD⁻¹b for b of m columns.
func ridge(ctx context.Context, w *workspace, b []float64, m int) ([]float64, error) {
	t, err := inner(ctx, w, w.expansion, b, m, func(i int) float64 { return 1 / w.noiseOf(i) })
	if err != nil {
		return nil, err
	}
	w.scale(t, 1)
	w.solveTriangles(t)
	return t, nil
}

// beginSides begins a call on the columns of b. It has no progress.
func beginSides(w *workspace, b []float64) {
	w.Begin("", 0)
	w.Flops += 12 * float64(w.rank()) * float64(len(b))
}

// Whiten implements [device.DerivativeProducts]. With U = D^-½Ψ and UᵀU = RᵀR − I,
//
//	F = D^½(I + U(I + Rᵀ)⁻¹Uᵀ)  has  FFᵀ = Σ,  F⁻¹ = (I − U(I + R)⁻¹R⁻ᵀUᵀ)D^-½.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, back bool) error {
	beginSides(w, b)
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
