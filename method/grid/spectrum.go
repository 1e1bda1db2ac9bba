package grid

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/internal/workers"
)

// eigenSpectrum is the eigen-decomposition of Σ.
type eigenSpectrum struct {
	*productModel
	// u are the eigenvectors of the K_a, as columns, ut their transposes, and lambda the eigenvalues.
	u, ut  []blas64.General
	lambda [][]float64
	// d is D in the order of the cells, and noise is σ².
	d     []float64
	noise float64
}

// decompose computes the eigenvectors of all axes, the transposes ut, and the eigenvalues. If the matrix of an axis has
// not changed since an earlier decomposition, it takes these numbers from there. The earlier model may be nil.
func decompose(ctx context.Context, m *productModel, earlier eigenSpectrum) (u, ut []blas64.General, lambda [][]float64, err error) {
	u, ut, lambda = make([]blas64.General, len(m.k)), make([]blas64.General, len(m.k)), make([][]float64, len(m.k))
	same := func(a int) bool {
		return earlier.productModel != nil && earlier.lattice == m.lattice && slices.Equal(earlier.k[a].Data, m.k[a].Data)
	}
	k, threads := m.k, *m.threads
	_, err = workers.Await(ctx, func() (struct{}, error) {
		errs := make([]error, len(k))
		shares(len(k), shareFlops, threads, func(first, end int) {
			for a := first; a < end; a++ {
				if same(a) {
					u[a], ut[a], lambda[a] = earlier.u[a], earlier.ut[a], earlier.lambda[a]
					continue
				}
				ut[a], lambda[a], errs[a] = eigen(k[a], threads)
				u[a] = transposed(ut[a])
			}
		})
		return struct{}{}, errors.Join(errs...)
	})
	return u, ut, lambda, err
}

// shift computes D for a noise variance, and returns log|Σ|.
func (s *eigenSpectrum) shift(noise float64) (logDet float64, err error) {
	if len(s.d) != s.n {
		s.d = make([]float64, s.n)
	}
	s.noise = noise
	s.products(s.d, s.scale, s.lambda)
	for i, v := range s.d {
		v += noise
		if !(v > 0) || math.IsInf(v, 1) {
			return 0, s.explain(v)
		}
		s.d[i] = v
		logDet += math.Log(v)
	}
	return logDet, nil
}

// explain returns the error for an eigenvalue.
func (s *eigenSpectrum) explain(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return &device.NonFiniteError{What: "covariance matrix", Row: -1, Col: -1}
	}
	return &device.NotPDError{N: s.n}
}

// squares returns matrices with the squares of the elements of some.
func squares(of []blas64.General) []blas64.General {
	out := make([]blas64.General, len(of))
	for a, m := range of {
		out[a] = rectangle(m.Rows, m.Cols)
		for i, v := range m.Data {
			out[a].Data[i] = v * v
		}
	}
	return out
}

// project returns the rows of factors times the eigenvectors.
func (s *eigenSpectrum) project(factors []blas64.General) []blas64.General {
	out := make([]blas64.General, len(factors))
	for a, f := range factors {
		out[a] = rectangle(f.Rows, f.Cols)
		addProducts(out[a], 1, f, s.ut[a], *s.threads)
	}
	return out
}

// outerProducts returns the products of the factors of all axes but the first, for each point.
func (s *eigenSpectrum) outerProducts(factors []blas64.General) []float64 {
	m, lines := factors[0].Rows, s.axes[0].after
	rest := make([]float64, m*lines)
	for j := range m {
		own := make([][]float64, len(factors)-1)
		for a, f := range factors[1:] {
			own[a] = row(f, j)
		}
		s.products(rest[j*lines:(j+1)*lines], s.scale, own)
	}
	return rest
}

// weighRows writes the products of all axes over √D, for the p-th value of the first axis.
func (s *eigenSpectrum) weighRows(dst, rest []float64, first blas64.General, p int) {
	lines := s.axes[0].after
	d := s.d[p*lines : (p+1)*lines]
	for j := range first.Rows {
		f, own, to := first.Data[j*first.Stride+p], rest[j*lines:], dst[j*lines:(j+1)*lines]
		for i, v := range d {
			to[i] = f * own[i] / math.Sqrt(v)
		}
	}
}
