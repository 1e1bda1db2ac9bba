package finite

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// With Z = D⁻¹ΨR⁻¹, whose transpose [whitened] computes for blocks of rows,
//
//	Σ⁻¹ = D⁻¹ − ZZᵀ,  Σ⁻¹Ψ = ZR⁻ᵀ,  Σ⁻¹·diag(m)·Σ⁻¹Ψ = (D⁻¹diag(m)Z − ZW)R⁻ᵀ,  W = Zᵀdiag(m)Z,
//
// and ⟨G, ∂K⟩ = Σ_j ∂v_j·φ_jᵀGφ_j + 2⟨GΦV, ∂Φ⟩.

// whitened computes Zᵀ for blocks of rows.
type whitened struct {
	*blockReader
	z, inverse []float64
}

func newWhitened(w *workspace) *whitened { return &whitened{blockReader: newReader(w, w.expansion)} }

// block returns Zᵀ for the rows from first to last, and 1/d, valid until the next call.
func (h *whitened) block(first, last int) (z blas64.General, inverse []float64) {
	phi, m := h.features(first, last), last-first
	h.z = slices.Grow(h.z[:0], len(phi.Data))[:len(phi.Data)]
	h.inverse = slices.Grow(h.inverse[:0], m)[:m]
	for i := range h.inverse {
		h.inverse[i] = 1 / h.noiseOf(first+i)
	}
	for j, root := range h.roots {
		row := h.z[j*m : (j+1)*m]
		for i, v := range phi.Data[j*m : (j+1)*m] {
			row[i] = v * root * h.inverse[i]
		}
	}
	z = matrix(h.z, h.rank())
	blas64.Trsm(blas.Left, transposed, 1, h.triangle(), z)
	return z, h.inverse
}

// addProducts adds a_ji·b_ji, summed over the rows j, to dst[i].
func addProducts(dst []float64, a, b blas64.General) {
	for j := range a.Rows {
		other := b.Data[j*b.Stride:][:len(dst)]
		for i, v := range a.Data[j*a.Stride:][:len(dst)] {
			dst[i] += v * other[i]
		}
	}
}

// InverseDiagonal implements [device.InverseDiagonal].
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	flops := whiteningFlops(w)
	w.Begin("gradient", flops*float64(w.N))
	return each(ctx, w, w.rank(), flops, func(int) func(first, last int) {
		in := newWhitened(w)
		return func(first, last int) {
			z, inverse := in.block(first, last)
			out := dst[first:last]
			clear(out)
			addProducts(out, z, z)
			for i, v := range out {
				out[i] = inverse[i] - v
			}
		}
	})
}

// whiteningFlops are the operations of a row of Z.
func whiteningFlops(w *workspace) float64 { return float64(w.rank()) * float64(w.rank()+3) }

// Contract implements [hostmethod.Engine].
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, _ *kernel.Program, _, grad, diag []float64) error {
	return contractAll(ctx, w, &contraction{workspace: w, Adjoint: adj, grad: grad, diag: diag})
}

// contraction contracts an adjoint with a diagonal middle term, nil for none.
type contraction struct {
	*workspace
	device.Adjoint
	grad, diag []float64
	// products are Φᵀv for the vectors of the adjoint, and weighted is W.
	products, weighted []float64
}

// contractAll contracts an adjoint.
func contractAll(ctx context.Context, w *workspace, c *contraction) (err error) {
	own := whiteningFlops(w)
	flops := own
	if c.Diagonal != nil {
		flops += own + 4*float64(w.rank())*float64(w.rank())
	}
	w.Begin("gradient", flops*float64(w.N))
	if c.products, err = inner(ctx, w, w.expansion, c.Vectors, len(c.Outer), func(int) float64 { return 1 }); err != nil {
		return err
	}
	if c.Diagonal != nil {
		if err := c.weigh(ctx, own+2*float64(w.rank())*float64(w.rank())); err != nil {
			return err
		}
		own += 2 * float64(w.rank()) * float64(w.rank())
	}
	if err := c.contractRows(ctx, own); err != nil {
		return err
	}
	c.contractVariances()
	return nil
}

// weigh computes W.
func (c *contraction) weigh(ctx context.Context, flops float64) error {
	r := c.rank()
	all := newSums(c.N, r, r*r)
	err := each(ctx, c.workspace, r, flops, func(part int) func(first, last int) {
		in, scaled := newWhitened(c.workspace), []float64(nil)
		return func(first, last int) {
			z, _ := in.block(first, last)
			scaled = append(scaled[:0], z.Data...)
			for j := range r {
				for i, v := range c.Diagonal[first:last] {
					scaled[j*z.Cols+i] *= v
				}
			}
			blas64.Gemm(plain, transposed, 1, matrix(scaled, r), z, 1, matrix(all[part], r))
		}
	})
	c.weighted = all.total()
	return err
}

// contractRows writes the diagonal, and adds 2⟨GΦV, ∂Φ⟩ to the gradient.
func (c *contraction) contractRows(ctx context.Context, flops float64) error {
	r := c.rank()
	all := newSums(c.N, r, len(c.grad))
	err := each(ctx, c.workspace, r, flops, func(part int) func(first, last int) {
		in := newWhitened(c.workspace)
		moved := newMover(c, all[part])
		var scaled []float64
		return func(first, last int) {
			z, inverse := in.block(first, last)
			scaled = slices.Grow(scaled[:0], len(z.Data))[:len(z.Data)]
			zw := matrix(scaled, r)
			if c.Diagonal != nil {
				blas64.Gemm(plain, plain, 1, matrix(c.weighted, r), z, 0, zw)
			}
			c.diagonal(z, zw, inverse, first)
			if len(c.moving) > 0 {
				moved.add(z, zw, inverse, first, last)
			}
		}
	})
	for p, v := range all.total() {
		c.grad[p] += v
	}
	return err
}

// diagonal writes the diagonal of the adjoint,
//
//	Inv·(1/d − z·z) + Σ_k o_k·v_k² + m/d² − 2m/d·z·z + zWzᵀ.
func (c *contraction) diagonal(z, zw blas64.General, inverse []float64, first int) {
	m := z.Cols
	own, out := make([]float64, m), c.diag[first:first+m]
	addProducts(own, z, z)
	clear(out)
	if c.Diagonal != nil {
		addProducts(out, z, zw)
		for i, v := range c.Diagonal[first : first+m] {
			out[i] += v * inverse[i] * (inverse[i] - 2*own[i])
		}
	}
	for k, o := range c.Outer {
		for i, v := range c.Vectors[k*c.N+first:][:m] {
			out[i] += o * v * v
		}
	}
	for i, v := range own {
		out[i] += c.Inv * (inverse[i] - v)
	}
}

// contractVariances adds Σ_j ∂v_j·φ_jᵀGφ_j to the gradient, with
//
//	v_j·φ_jᵀGφ_j = Inv·(1 − (B⁻¹)_jj) + v_j·Σ_k o_k(φ_jᵀv_k)² + (R⁻¹WR⁻ᵀ)_jj.
func (c *contraction) contractVariances() {
	r := c.rank()
	inverse := make([]float64, r*r)
	for j := range r {
		inverse[j*r+j] = 1
	}
	blas64.Trsm(blas.Left, plain, 1, c.triangle(), matrix(inverse, r))
	products := make([]float64, r*r)
	if c.Diagonal != nil {
		blas64.Gemm(plain, plain, 1, matrix(inverse, r), matrix(c.weighted, r), 0, matrix(products, r))
	}
	for j, slopes := range c.Slopes {
		if slopes == nil {
			continue
		}
		sum := c.Inv
		for k, v := range inverse[j*r : (j+1)*r] {
			sum += v * (products[j*r+k] - c.Inv*v)
		}
		sum /= c.Variances[j]
		for k, o := range c.Outer {
			v := c.products[k*r+j]
			sum += o * v * v
		}
		for p, slope := range slopes {
			c.grad[p] += slope * sum
		}
	}
}

// mover adds 2⟨GΦV, ∂Φ⟩ for blocks of rows.
type mover struct {
	*contraction
	table    *atomTable
	grad     []float64
	dst, gpv []float64
}

func newMover(c *contraction, grad []float64) *mover {
	return &mover{contraction: c, table: newAtomTable(c.expansion, c.Points), grad: grad}
}

// add adds the rows from first to last, for which zw is the transpose of ZW.
func (m *mover) add(z, zw blas64.General, inverse []float64, first, last int) {
	r, count := m.rank(), last-first
	m.gpv = append(m.gpv[:0], z.Data...)
	for j := range r {
		row := m.gpv[j*count : (j+1)*count]
		for i := range row {
			if m.Diagonal == nil {
				row[i] *= m.Inv
			} else {
				row[i] = row[i]*(m.Inv+m.Diagonal[first+i]*inverse[i]) - zw.Data[j*count+i]
			}
		}
	}
	blas64.Trsm(blas.Left, plain, 1, m.triangle(), matrix(m.gpv, r))
	for j := range r {
		row := m.gpv[j*count : (j+1)*count]
		blas64.Scal(m.roots[j], vector(row))
		for k, o := range m.Outer {
			blas64.Axpy(o*m.products[k*r+j]*m.Variances[j], vector(m.Vectors[k*m.N+first:k*m.N+last]), vector(row))
		}
	}
	m.table.read(first, last)
	m.table.differentiate()
	m.dst = slices.Grow(m.dst[:0], len(m.gpv))[:len(m.gpv)]
	for _, p := range m.moving {
		m.table.derivatives(m.dst, p)
		m.grad[p] += 2 * blas64.Dot(vector(m.gpv), vector(m.dst))
	}
}
