package engine

import "gpfit/method/mpi/part"

// Matrix is the part of an m×n matrix of this rank: the blocks of a [part.Shape], by columns.
type Matrix struct {
	// Rows and Cols are the rows and columns of the part.
	Rows, Cols part.Axis
	// Local has column j at Local[j*Stride:].
	Local  []float64
	Stride int
	grid   *Grid
	// description tells ScaLAPACK of the matrix.
	description []int32
}

// NewMatrix returns a matrix of zeros.
func (g *Grid) NewMatrix(m, n int) *Matrix {
	a := &Matrix{Rows: part.Axis{N: m, Block: g.Block, At: g.Row, Of: g.Shape.Rows}, Cols: part.Axis{N: n, Block: g.Block, At: g.Col, Of: g.Shape.Cols}, grid: g}
	a.Stride = max(1, a.Rows.Count(m))
	a.Local = make([]float64, max(1, a.Stride*a.Cols.Count(n)))
	const dense = 1
	a.description = []int32{dense, g.context, int32(m), int32(n), int32(g.Block), int32(g.Block), 0, 0, int32(a.Stride)}
	return a
}

// Column returns the part of the j-th column of the rank.
func (a *Matrix) Column(j int) []float64 {
	return a.Local[j*a.Stride : j*a.Stride+a.Rows.Count(a.Rows.N)]
}

// at returns the part that begins with an element.
func (a *Matrix) at(row, col int) area { return area{a.Local, a.description, row, col} }
