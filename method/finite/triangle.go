package finite

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

const (
	plain      = blas.NoTrans
	transposed = blas.Trans
)

// matrix returns data as a matrix with the given rows.
func matrix(data []float64, rows int) blas64.General {
	columns := len(data) / rows
	return blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: data}
}

// slice returns the columns of m from first to last.
func slice(m blas64.General, first, last int) blas64.General {
	return blas64.General{Rows: m.Rows, Cols: last - first, Stride: m.Stride, Data: m.Data[first:]}
}

// vector returns a vector.
func vector(data []float64) blas64.Vector { return blas64.Vector{N: len(data), Inc: 1, Data: data} }

// factor is the result of Form.
type factor struct {
	noise []float64
	// rows is the lower triangle of the factorization of Φᵀ for one noise variance, which serves as
	// long as the functions stay the same, and otherwise of ΦᵀD^-½.
	rows []float64
	// kept means that rows belongs only to phi.
	kept bool
	// r is R with RᵀR = B, of size rows, with a positive diagonal.
	size int
	r    []float64
}

// noiseOf returns the noise variance of the i-th row.
func (f *factor) noiseOf(i int) float64 { return f.noise[min(i, len(f.noise)-1)] }

// triangle returns R for triangular solutions.
func (f *factor) triangle() blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: f.size, Stride: f.size, Data: f.r}
}

// solveTriangles overwrites the columns of t by B⁻¹t.
func (f *factor) solveTriangles(t []float64) {
	r := f.size
	for q := range len(t) / r {
		column := vector(t[q*r : (q+1)*r])
		blas64.Trsv(transposed, f.triangle(), column)
		blas64.Trsv(plain, f.triangle(), column)
	}
}

// solveSum overwrites the columns of t by (I + R)⁻¹R⁻ᵀt, or by R⁻¹(I + R)⁻ᵀt.
func (f *factor) solveSum(t []float64, back bool) {
	r := f.size
	sum := f.triangle()
	sum.Data = append([]float64(nil), sum.Data...)
	for i := range r {
		sum.Data[i*r+i]++
	}
	first, second := f.triangle(), sum
	if back {
		first, second = sum, first
	}
	for q := range len(t) / r {
		column := vector(t[q*r : (q+1)*r])
		blas64.Trsv(transposed, first, column)
		blas64.Trsv(plain, second, column)
	}
}

// stack is a lower triangle with columns beside it: the transpose of rows below a triangle.
type stack struct {
	rank, stride    int
	data, tau, work []float64
}

func newStack(rank, columns int) *stack {
	s := &stack{rank: rank, stride: rank + columns, data: make([]float64, rank*(rank+columns)), tau: make([]float64, rank), work: make([]float64, 1)}
	lapack64.Gelqf(matrix(s.data, rank), s.tau, s.work, -1)
	s.work = make([]float64, int(s.work[0]))
	return s
}

// all returns the triangle and the columns beside it.
func (s *stack) all(columns int) blas64.General {
	return blas64.General{Rows: s.rank, Cols: s.rank + columns, Stride: s.stride, Data: s.data}
}

// rest returns the columns beside the triangle.
func (s *stack) rest(columns int) blas64.General {
	return slice(s.all(columns), s.rank, s.rank+columns)
}

// factor replaces the triangle by the triangle of all columns.
func (s *stack) factor(columns int) {
	lapack64.Gelqf(s.all(columns), s.tau, s.work, len(s.work))
	for i := range s.rank {
		clear(s.data[i*s.stride+i+1 : i*s.stride+s.rank])
	}
}

// copyTo copies the triangle.
func (s *stack) copyTo(dst blas64.General) {
	for i := range s.rank {
		copy(dst.Data[i*dst.Stride:][:s.rank], s.data[i*s.stride:])
	}
}
