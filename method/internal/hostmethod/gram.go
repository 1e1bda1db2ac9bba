package hostmethod

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/internal/hostmem"
)

// Joint writes the covariance of predictions at m points: the products of the rows of K*ᵀL⁻ᵀ, m×N, which whiten computes.
func (s *State) Joint(m int, reduction []float64, whiten func(rows []float64) error) error {
	if err := CheckRoom(m, 8*int64(m)*int64(s.N), s.N, s.Points.D); err != nil {
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

// CheckRoom returns a [*device.MemoryError] if the host has too little memory for what the covariance of m predictions from n
// points of d columns needs.
func CheckRoom(m int, need int64, n, d int) error {
	have := hostmem.Free()
	if have == 0 || need <= have {
		return nil
	}
	return &device.MemoryError{Plan: device.Plan{N: n, D: d}, Where: "host", Need: need, Free: have, What: fmt.Sprintf("the covariance of %d predictions", m)}
}
