package merged

import (
	"context"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
)

// InverseDiagonal implements [device.InverseDiagonal]: (Σ⁻¹)_ii = B_ii + e_i²·(Σ_u⁻¹)_gg.
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if err := w.ready(device.CheckColumns(dst, w.N(), 1)); err != nil {
		return err
	}
	if err := w.invert(ctx); err != nil {
		return err
	}
	for i, k := range w.groups.of {
		e := w.weights.share[i]
		dst[i] = w.weights.within[i] + e*e*w.diagonal[k]
	}
	return nil
}

// invert computes the diagonal of Σ_u⁻¹.
func (w *workspace) invert(ctx context.Context) error {
	diagonal := make([]float64, w.groups.u())
	if err := w.inner.InverseDiagonal(ctx, diagonal); err != nil {
		return err
	}
	w.diagonal = diagonal
	return nil
}

// Contract implements [device.Workspace].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.ready(adj.CheckSizes(w.N(), diag, grad, prog)); err != nil {
		return err
	}
	own, err := w.adjoint(ctx, adj)
	if err != nil {
		return err
	}
	diagonal := make([]float64, w.groups.u())
	if err := w.inner.Contract(ctx, own, prog, theta, grad, diagonal); err != nil {
		return err
	}
	w.diag(adj, own, diagonal, diag)
	if !w.groups.single() {
		w.addMiddle(adj, own, diag)
	}
	return nil
}

// adjoint returns the adjoint for the different points. ∂K has equal rows and columns in a group, so
// the elements of G for two groups add up. The sums of B are 0, and the shares add up to 1. The middle
// term is EᵀCE, on the diagonal c_g = Σ_i c_i·e_i². Its part in diag needs that part of Σ_u⁻¹, unless no group has
// several rows.
func (w *workspace) adjoint(ctx context.Context, adj device.Adjoint) (own device.Adjoint, err error) {
	own = device.Adjoint{Inv: adj.Inv, Outer: adj.Outer, Vectors: w.groups.sums(adj.Vectors)}
	switch {
	case adj.Blocks != nil:
		ends, err := wholeFolds(w.groups, adj.Blocks.Ends)
		if err != nil {
			return own, err
		}
		if !w.groups.single() && (w.blocks == nil || !slices.Equal(w.blocks.Ends, ends)) {
			if err := w.invertBlocks(ctx, ends); err != nil {
				return own, err
			}
		}
		own.Blocks = device.NewBlocks(ends)
		eachFold(adj.Blocks, own.Blocks, w.weights.sumBlock)
	case adj.Diagonal != nil:
		if w.diagonal == nil && !w.groups.single() {
			if err := w.invert(ctx); err != nil {
				return own, err
			}
		}
		own.Diagonal = make([]float64, w.groups.u())
		for i, k := range w.groups.of {
			e := w.weights.share[i]
			own.Diagonal[k] += adj.Diagonal[i] * e * e
		}
	}
	return own, nil
}

// diag writes the diagonal of adj, for the diagonal of own, its adjoint for the different points:
//
//	G_ii = e_i²·(G_u)_gg + Inv·B_ii + Σ_k Outer[k]·(v_ik² − (e_i·v_gk)²)
//
// It takes nothing of (G_u)_gg apart, so no digits cancel that G_ii has.
func (w *workspace) diag(adj, own device.Adjoint, diagonal, diag []float64) {
	n, u := w.N(), w.groups.u()
	for i, k := range w.groups.of {
		e := w.weights.share[i]
		diag[i] = e*e*diagonal[k] + adj.Inv*w.weights.within[i]
		if len(w.groups.rows[k]) == 1 {
			continue
		}
		for c, f := range adj.Outer {
			v, part := adj.Vectors[c*n+i], e*own.Vectors[c*u+k]
			diag[i] += f * (v - part) * (v + part)
		}
	}
}

// addMiddle adds to diag what the middle term has besides the term of different points.
func (w *workspace) addMiddle(adj, own device.Adjoint, diag []float64) {
	switch {
	case adj.Blocks != nil:
		scratch := make([]float64, w.N())
		eachFold(adj.Blocks, w.blocks, func(f blockPair) {
			for k := f.group; k < f.group+f.u; k++ {
				if len(w.groups.rows[k]) > 1 {
					w.weights.addBlock(f, k, scratch, diag)
				}
			}
		})
	case adj.Diagonal != nil:
		for k, rows := range w.groups.rows {
			if len(rows) > 1 {
				w.weights.addDiagonal(rows, w.weights.anchors[k], adj.Diagonal, own.Diagonal[k], w.diagonal[k], diag)
			}
		}
	}
}

// addDiagonal adds to diag, for the rows of a group, what (Σ⁻¹·diag(m)·Σ⁻¹)_ii has besides the
// e_i²·(Σ_u⁻¹·diag(m_u)·Σ_u⁻¹)_gg of different points:
//
//	Σ_j m_j·B_ij² + 2·Σ_j m_j·B_ij·e_i·e_j·q
//
// q is the element of the group in the diagonal of Σ_u⁻¹, and merged is Σ_j m_j·e_j². Off the diagonal
// B_ij = −w_i·e_j = −e_i·w_j, of which the anchor needs the second form, because its weight may be infinite.
func (w *weights) addDiagonal(rows []int, anchor int, m []float64, merged, q float64, diag []float64) {
	squares, products := 0.0, 0.0 // Σ m_j·w_j² and Σ m_j·w_j·e_j without the anchor
	for _, i := range rows {
		if i == anchor {
			continue
		}
		weight, e := 1/w.noise[i], w.share[i]
		squares += m[i] * weight * weight
		products += m[i] * weight * e
		diag[i] += weight*weight*(m[i]*(1-2*e)+merged) + 2*e*q*weight*(m[i]*e-merged)
	}
	e, own := w.share[anchor], w.within[anchor]
	diag[anchor] += m[anchor]*own*own + e*e*squares + 2*e*e*q*(m[anchor]*own-products)
}
