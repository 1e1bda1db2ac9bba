package hostmethod

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
)

// Joint writes the covariance of predictions at m points: the products of the rows of K*ᵀL⁻ᵀ, m×N, which whiten computes.
func (s *State) Joint(m int, reduction []float64, whiten func(rows []float64) error) error {
	if err := s.CheckRoom(m, 8*int64(m)*int64(s.N)); err != nil {
		return err
	}
	rows := make([]float64, m*s.N)
	if err := whiten(rows); err != nil {
		return err
	}
	gram(m, s.N, rows, reduction)
	return nil
}

// gram writes both halves of W·Wᵀ to dst, m×m, for m rows of n numbers.
func gram(m, n int, rows, dst []float64) {
	if m == 0 {
		return
	}
	w := blas64.General{Rows: m, Cols: n, Stride: n, Data: rows}
	blas64.Syrk(blas.NoTrans, 1, w, 0, blas64.Symmetric{N: m, Stride: m, Data: dst, Uplo: blas.Lower})
	for i := range m {
		for j := range i {
			dst[j*m+i] = dst[i*m+j]
		}
	}
}

// CheckRoom returns a [*device.MemoryError] if the host has too little memory for what the covariance of m predictions needs, in
// bytes.
func (s *State) CheckRoom(m int, need int64) error {
	return device.CheckHost(s.N, s.Points.D, need, fmt.Sprintf("the covariance of %d predictions", m))
}
