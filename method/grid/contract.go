package grid

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// axisAdjoints collects, for each axis, the adjoint H_a of U_aᵀ·K_a·U_a:
//
//	⟨G, c·M ⊗ (the others)⟩ = ⟨U_aH_aU_aᵀ, M⟩ for any matrix M in the place of K_a.
//
// In the basis of the eigenvectors the others are diagonal, with elements λ_b for the lines b along the
// axis, so that the parts of G give
//
//	Inv·Σ⁻¹: diag(Σ_b cλ_b/D_pb),   o·vvᵀ: o·Σ_b cλ_b·z_pb·z_qb with z = Uᵀv.
type axisAdjoints struct {
	*workspace
	h []blas64.General
	// rest are cλ_b for each cell.
	rest []float64
}

func newAxisAdjoints(w *workspace) *axisAdjoints {
	c := &axisAdjoints{workspace: w, rest: make([]float64, w.N)}
	for _, k := range w.k {
		c.h = append(c.h, square(k.Rows))
	}
	return c
}

// weigh sets rest for an axis.
func (c *axisAdjoints) weigh(a int) {
	others := slices.Clone(c.lambda)
	others[a] = slices.Repeat([]float64{1}, c.axes[a].size())
	c.products(c.rest, c.scale, others)
}

// addInverse adds the part of inv·Σ⁻¹.
func (c *axisAdjoints) addInverse(inv float64) {
	for a := range c.axes {
		c.weigh(a)
		h := c.h[a]
		c.lines(a, func(cell, p int) { h.Data[p*h.Stride+p] += inv * c.rest[cell] / c.d[cell] })
	}
}

// addVector adds the part of factor·vvᵀ. The weights cλ_b are not negative, so that it is the product of a
// matrix of the numbers z·√(cλ_b) with its own transpose.
func (c *axisAdjoints) addVector(ctx context.Context, factor float64, v []float64) error {
	c.gather(c.work[0], v)
	if err := c.along(ctx, c.lattice, c.ut); err != nil {
		return err
	}
	for a := range c.axes {
		c.weigh(a)
		for i, w := range c.rest {
			c.rest[i] = math.Sqrt(w)
		}
		c.unfold(c.work[1], c.work[0], c.rest, a)
		z := rows(c.work[1], c.N/c.axes[a].size())
		addProducts(c.h[a], factor, z, z, c.Threads)
		if err := c.Step(ctx, c.flops(a)); err != nil {
			return err
		}
	}
	return nil
}

// finish adds ⟨G, ∂K/∂log θ⟩ to grad by the formula of [productModel].
func (c *axisAdjoints) finish(ctx context.Context, grad []float64) error {
	whole := 0.0 // ⟨G, K⟩
	for p, v := range c.lambda[0] {
		whole += v * c.h[0].Data[p*c.h[0].Stride+p]
	}
	for p, slope := range c.slopes {
		grad[p] += float64(1-len(c.axes)) * slope * whole
	}
	for a, u := range c.u {
		g := u.Rows
		half, adjoint := square(g), square(g)
		addProducts(half, 1, u, c.h[a], c.Threads) // H_a is symmetric
		addProducts(adjoint, 1, half, u, c.Threads)
		for i := range g {
			c.e.RowGradient(grad, row(adjoint, i), c.points[a], i, c.points[a], 0, g)
		}
		if err := c.Step(ctx, cubeFlops(g)); err != nil {
			return err
		}
	}
	return nil
}

// cubeFlops are the operations of two products of g×g matrices.
func cubeFlops(g int) float64 { return 4 * float64(g) * float64(g) * float64(g) }

// Contract implements [hostmethod.Engine].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, _ *kernel.Program, _, grad, diag []float64) error {
	flops := w.all() + 2*w.all()*float64(len(adj.Outer)) + 4*w.cubes()
	if adj.Diagonal != nil {
		flops += w.middleFlops()
	}
	w.Begin("gradient", flops)
	c := newAxisAdjoints(w)
	if adj.Inv != 0 {
		c.addInverse(adj.Inv)
		if err := w.inverseDiagonal(ctx, diag); err != nil {
			return err
		}
		blas64.Scal(adj.Inv, blas64.Vector{N: w.N, Inc: 1, Data: diag})
	}
	for k, f := range adj.Outer {
		v := adj.Vectors[k*w.N : (k+1)*w.N]
		if err := c.addVector(ctx, f, v); err != nil {
			return err
		}
		for i := range diag {
			diag[i] += f * v[i] * v[i]
		}
	}
	if adj.Diagonal != nil {
		if err := c.contractMiddle(ctx, adj.Diagonal, diag); err != nil {
			return err
		}
	}
	return c.finish(ctx, grad)
}

// InverseDiagonal implements [device.InverseDiagonal].
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	w.Begin("gradient", w.all())
	return w.inverseDiagonal(ctx, dst)
}

// inverseDiagonal writes (⊗ U_a∘U_a)(1/D).
func (w *workspace) inverseDiagonal(ctx context.Context, dst []float64) error {
	for i, v := range w.d {
		w.work[0][i] = 1 / v
	}
	if err := w.along(ctx, w.lattice, squares(w.u)); err != nil {
		return err
	}
	w.scatter(dst, w.work[0])
	return nil
}
