package markov

import (
	"context"

	"gpfit/device"
)

// A middle term Σ⁻¹·diag(m)·Σ⁻¹ is the derivative of Σ⁻¹ if the noise changes by −m. So its contraction
// comes from the tangents of the filter, with S′, k′ and P′, and of the sweep back.
// The derivative of Joseph's form by k is 0, because k is optimal:
//
//	P′⁻ = AP′Aᵀ,  S′ = HP′⁻Hᵀ − m,  k′ = (P′⁻Hᵀ − kS′)/S,  P′ = (I − kH)P′⁻(I − kH)ᵀ − m·kkᵀ.

// tangents are the derivatives of the filter in every row: packed P′, k′ and S′.
type tangents struct{ p, k, s []float64 }

// tangent is a filter with its tangents.
type tangent struct {
	*filter
	tangents
	middle []float64
}

// contractMiddle adds the contraction of a middle term to grad, and its diagonal to diag.
func contractMiddle(ctx context.Context, w *workspace, middle, grad, diag []float64) error {
	s := w.stateModel.states
	t := &tangent{&w.filter, tangents{make([]float64, w.N*packed(s)), make([]float64, w.N*s), make([]float64, w.N)}, middle}
	p := new(square)
	if err := w.each(ctx, w.flops().value, func(first, last int) { t.forward(p, first, last) }); err != nil {
		return err
	}
	g, b := w.newSums(), &tangentInformation{information: information{filter: &w.filter}, t: t}
	err := w.eachBack(ctx, w.flops().middle-w.flops().value, func(first, last int) { b.contract(g, diag, first, last) })
	w.addTo(grad, g, 1)
	return err
}

// forward filters the tangents of the rows from first to last. p is P′ of the row before.
func (t *tangent) forward(p *square, first, last int) {
	s := t.states
	var tmp square
	var h, weights [maxStates]float64
	for i := first; i < last; i++ {
		if i > 0 {
			t.conjugate(p, &tmp, t.transition(t.gap(i), turns))
		}
		t.weights(weights[:], t.times[i])
		m := t.middle[t.place(i)]
		slope := t.observe(p, h[:], weights[:], -m)
		k, dk := t.filter.k[i*s:(i+1)*s], t.tangents.k[i*s:(i+1)*s]
		for j := range dk {
			dk[j] = (h[j] - k[j]*slope) / t.filter.s[i]
		}
		t.tangents.s[i] = slope
		t.joseph(p, h[:], weights[:], k, -m)
		packTo(t.tangents.p[i*packed(s):], p, s)
	}
}

// tangentInformation is the sweep back of N and of its derivative N′.
type tangentInformation struct {
	information
	t     *tangent
	slope square
}

// contract adds the rows from first to last:
//
//	2⟨∂A, N′AP + NAP′⟩ + ⟨∂Q, N′⟩.
func (b *tangentInformation) contract(g *sums, diag []float64, first, last int) {
	for i := last - 1; i >= first; i-- {
		diag[b.place(i)] += b.observe(i)
		if i == 0 {
			b.addSizes(g, &b.slope, b.prior)
			break
		}
		t := b.transition(b.gap(i), noise|slopes)
		b.addNoise(g, &b.slope, t)
		b.retreat(t)
		unpackFrom(&b.tmp, b.t.tangents.p[(i-1)*packed(b.states):], b.states)
		b.addSlopes(g, &b.left, &b.tmp, t)
		b.timesRight(&b.left, &b.slope, t)
		b.transposedLeft(&b.slope, &b.left, t)
		b.unpack(&b.tmp, i-1)
		b.addSlopes(g, &b.left, &b.tmp, t)
	}
}

// observe adds the i-th row to N and N′ and returns the derivative of D. With u = Nk, L = I − kH,
//
//	D′ = −S′/S² + 2k′ᵀu + kᵀN′k
//	N′ ← −HᵀH·S′/S² + LᵀN′L − LᵀNk′·H − Hᵀ(LᵀNk′)ᵀ.
func (b *tangentInformation) observe(i int) float64 {
	f, s := b.filter, b.states
	k, dk := f.k[i*s:(i+1)*s], b.t.tangents.k[i*s:(i+1)*s]
	var weights, u, du, cross [maxStates]float64
	f.weights(weights[:], f.times[i])
	d := -b.t.tangents.s[i] / (f.s[i] * f.s[i])
	both, own := 0.0, 0.0
	for r := range s {
		for c := range s {
			u[r] += b.slope[r*s+c] * k[c]
			du[r] += b.n[r*s+c] * dk[c]
		}
		own += u[r] * k[r]
		both += du[r] * k[r]
	}
	for r := range s {
		cross[r] = u[r] + du[r]
	}
	// LᵀNk′ = Nk′ − Hᵀ(kᵀNk′).
	square := d + own + 2*both
	for p := range f.blocks {
		for q := range f.blocks {
			b.slope[f.blocks[p].first*s+f.blocks[q].first] += weights[p] * weights[q] * square
		}
	}
	for p := range f.blocks {
		at := f.blocks[p].first
		for r := range s {
			b.slope[at*s+r] -= weights[p] * cross[r]
			b.slope[r*s+at] -= weights[p] * cross[r]
		}
	}
	b.information.observe(i)
	return square
}

// middleNeed is the memory for the tangents of n rows.
func middleNeed(n, states int) device.Need {
	return device.Need{Bytes: 8 * int64(n) * int64(packed(states)+states+1), What: "derivatives of the filter for leave-one-out"}
}
