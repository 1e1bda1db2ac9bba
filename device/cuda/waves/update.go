package waves

import (
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
)

// Update returns the products that subtract the product of count columns of L, from column from on, from the lower triangle of
// the matrix A of order N, in its columns from at on. Each takes width columns, and reaches over the diagonal in them.
func Update(a driver.Matrix, n, from, count, at, width int64) (p Phase) {
	for j := at; j < n; j += width {
		p = append(p, Gemm{M: n - j, N: min(width, n-j), K: count, Alpha: -1, Beta: 1, OpB: mathlib.Trans, A: a.At(j, from), B: a.At(j, from), C: a.At(j, j)})
	}
	return p
}
