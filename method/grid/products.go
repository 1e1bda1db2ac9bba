package grid

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
)

// MultiplyDerivatives implements [device.DerivativeProducts]. With the slopes s = ∂κ/κ of [productModel], the
// derivatives are
//
//	∂K = c·Σ_a (∂K_a − s·K_a) ⊗ (the others) + s·K,
//
// of which the first has parts only for the axes on which a parameter acts.
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	own, err := w.modelAt(prog, theta)
	if err != nil {
		return err
	}
	allocate(w)
	p := &axisDerivatives{workspace: w, own: own, vectors: vectors, m: m, dst: dst, product: make([]float64, w.N)}
	clear(dst)
	w.Begin("products", 0)
	for k := range m {
		if err := p.addWhole(ctx, k); err != nil {
			return err
		}
	}
	for a := range own.axes {
		if err := p.addAxis(ctx, a); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// axisDerivatives is one call of MultiplyDerivatives.
type axisDerivatives struct {
	*workspace
	own     *productModel
	vectors []float64
	m       int
	dst     []float64
	// product is one product in the order of the rows.
	product []float64
}

// load copies a vector to work[0].
func (p *axisDerivatives) load(k int) { p.own.gather(p.work[0], p.vectors[k*p.N:(k+1)*p.N]) }

// add adds factor times work[0] to the product of a parameter with a vector.
func (p *axisDerivatives) add(param, k int, factor float64) {
	p.own.scatter(p.product, p.work[0])
	blas64.Axpy(factor, vector(p.product), vector(p.dst[(param*p.m+k)*p.N:][:p.N]))
}

// addWhole adds the products s·Kv.
func (p *axisDerivatives) addWhole(ctx context.Context, k int) error {
	p.load(k)
	if err := p.along(ctx, p.own.lattice, p.own.k); err != nil {
		return err
	}
	for param, s := range p.own.slopes {
		if s != 0 {
			p.add(param, k, p.own.scale*s)
		}
	}
	return nil
}

// addAxis adds the products with c·(∂K_a − s·K_a) ⊗ (the others).
func (p *axisDerivatives) addAxis(ctx context.Context, a int) error {
	slopes, matrices := p.own.slopesOf(a), slices.Clone(p.own.k)
	for k := range p.m {
		for param, by := range slopes {
			if by.Rows == 0 {
				continue
			}
			p.load(k)
			matrices[a] = by
			if err := p.along(ctx, p.own.lattice, matrices); err != nil {
				return err
			}
			p.add(param, k, p.own.scale)
		}
	}
	return nil
}

// slopesOf returns ∂K_a − s·K_a for each parameter. It is empty for parameters of other axes.
func (m *productModel) slopesOf(a int) []blas64.General {
	g, params, k := m.axes[a].size(), len(m.theta), m.k[a]
	out, row := make([]blas64.General, params), make([]float64, params*g)
	for p := range out {
		out[p] = square(g)
	}
	for i := range g {
		m.e.RowDerivatives(row, m.points[a], i, m.points[a], 0, g)
		for p, s := range m.slopes {
			for j, v := range row[p*g : (p+1)*g] {
				out[p].Data[i*g+j] = v - s*k.Data[i*g+j]
			}
		}
	}
	for p := range out {
		if negligible(out[p].Data, k.Data) {
			out[p] = blas64.General{}
		}
	}
	return out
}

// negligible reports whether a is 0 but for the rounding of b.
func negligible(a, b []float64) bool {
	for i, v := range a {
		if math.Abs(v) > rounding*math.Abs(b[i]) {
			return false
		}
	}
	return true
}

// rounding is a few units in the last place.
const rounding = 0x1p-50
