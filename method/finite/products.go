package finite

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
)

// MultiplyDerivatives implements [device.DerivativeProducts]:
//
//	∂K·v = Φ(∂V·Φᵀv + V·∂Φᵀv) + ∂Φ·VΦᵀv.
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	w.Begin("", 0)
	e, err := w.expand(prog, theta)
	if err != nil {
		return err
	}
	p := &productPass{workspace: w, expansion: e, vectors: vectors, m: m, dst: dst}
	if p.inner, err = inner(ctx, w, e, vectors, m, func(int) float64 { return 1 }); err != nil {
		return err
	}
	if err := p.derive(ctx); err != nil {
		return err
	}
	return p.multiply(ctx)
}

// productPass multiplies derivatives with m vectors.
type productPass struct {
	*workspace
	*expansion
	vectors, dst []float64
	m            int
	// inner is Φᵀv for each vector, and moved has ∂Φᵀv for each moving parameter.
	inner []float64
	moved []float64
}

// derive computes ∂Φᵀv.
func (p *productPass) derive(ctx context.Context) error {
	r, params := p.expansion.rank(), p.expansion.moving
	all := newSums(p.N, r, r*p.m*len(params))
	err := each(ctx, p.workspace, r, 0, func(part int) func(first, last int) {
		t, block := newAtomTable(p.expansion, p.Points), make([]float64, blockRows(r)*r)
		return func(first, last int) {
			if len(params) == 0 {
				return
			}
			t.read(first, last)
			t.differentiate()
			for k, param := range params {
				t.derivatives(block, param)
				for q := range p.m {
					sum := all[part][(k*p.m+q)*r:][:r]
					blas64.Gemv(plain, 1, matrix(block[:(last-first)*r], r), vector(p.vectors[q*p.N+first:q*p.N+last]), 1, vector(sum))
				}
			}
		}
	})
	p.moved = all.total()
	return err
}

// coefficients returns ∂V·Φᵀv + V·∂Φᵀv for a parameter and a vector, nil if it is 0. k is the position of
// the parameter among the moving ones, −1 if it is none.
func (p *productPass) coefficients(param, k, q int) (out []float64) {
	r := p.expansion.rank()
	put := func(j int, v float64) {
		if out == nil {
			out = make([]float64, r)
		}
		out[j] += v
	}
	for j, slopes := range p.Slopes {
		if slopes != nil && slopes[param] != 0 {
			put(j, slopes[param]*p.inner[q*r+j])
		}
		if k >= 0 {
			put(j, p.Variances[j]*p.moved[(k*p.m+q)*r+j])
		}
	}
	return out
}

// multiply writes the products.
func (p *productPass) multiply(ctx context.Context) error {
	r, params := p.expansion.rank(), p.prog.NumParams
	places, coefficients := make([]int, params), make([][]float64, params*p.m)
	for param := range params {
		places[param] = -1
		for k, of := range p.expansion.moving {
			if of == param {
				places[param] = k
			}
		}
		for q := range p.m {
			coefficients[param*p.m+q] = p.coefficients(param, places[param], q)
		}
	}
	weights := append([]float64(nil), p.inner...)
	p.expansion.scale(weights, 2)
	return each(ctx, p.workspace, r, 0, func(int) func(first, last int) {
		in, t, block := newReader(p.workspace, p.expansion), newAtomTable(p.expansion, p.Points), make([]float64, blockRows(r)*r)
		return func(first, last int) {
			phi := in.features(first, last)
			if len(p.expansion.moving) > 0 {
				t.read(first, last)
				t.differentiate()
			}
			for param, k := range places {
				if k >= 0 {
					t.derivatives(block, param)
				}
				for q := range p.m {
					out := p.dst[(param*p.m+q)*p.N:][first:last]
					clear(out)
					if c := coefficients[param*p.m+q]; c != nil {
						blas64.Gemv(transposed, 1, phi, vector(c), 0, vector(out))
					}
					if k >= 0 {
						blas64.Gemv(transposed, 1, matrix(block[:(last-first)*r], r), vector(weights[q*r:(q+1)*r]), 1, vector(out))
					}
				}
			}
		}
	})
}
