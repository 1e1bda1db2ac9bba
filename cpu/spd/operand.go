package spd

import (
	"sync"

	"gonum.org/v1/gonum/blas/blas64"
)

// Operand is a matrix, or its transpose, as a factor of [Engine.Multiply].
type Operand struct {
	blas64.General
	Transposed bool
}

// size returns the rows and columns of the factor.
func (o Operand) size() (rows, columns int) {
	if o.Transposed {
		return o.Cols, o.Rows
	}
	return o.Rows, o.Cols
}

// packing is the working space of a product.
type packing struct{ x, y, tile []float64 }

var packings = sync.Pool{New: func() any {
	const most = 8 // lanes
	return &packing{aligned(productRows * chunk), aligned(productRows * chunk), aligned(group * most * most)}
}}

// Multiply adds factor·XYᵀ to the matrix c, as [Engine.AddProduct] does, for factors of which either may be a transpose.
func (e *Engine) Multiply(c blas64.General, factor float64, x, y Operand) {
	rows, depth := x.size()
	columns, _ := y.size()
	if rows == 0 || columns == 0 || depth == 0 {
		return
	}
	p := packings.Get().(*packing)
	defer packings.Put(p)
	l := e.lanes
	for k0 := 0; k0 < depth; k0 += chunk {
		k := min(chunk, depth-k0)
		for j0 := 0; j0 < columns; j0 += productRows {
			j1 := min(j0+productRows, columns)
			e.packOperand(p.y, y, j0, j1, k0, k)
			for i0 := 0; i0 < rows; i0 += productRows {
				i1 := min(i0+productRows, rows)
				e.packOperand(p.x, x, i0, i1, k0, k)
				for i := i0; i < i1; i += l {
					for j := j0; j < j1; j += group * l {
						end := min(j+group*l, j1)
						e.product((end-j+l-1)/l, k, &p.x[(i-i0)*k], &p.y[(j-j0)*k], l*k, &p.tile[0], l*l, replace)
						addTile(c.Data[i*c.Stride+j:], c.Stride, factor, p.tile[:group*l*l], l, min(l, i1-i), end-j)
					}
				}
			}
		}
	}
}

// packOperand writes k columns of the rows i0 … i1−1 of a factor to panels, whose last rows are 0.
func (ks *kernels) packOperand(panels []float64, o Operand, i0, i1, k0, k int) {
	if !o.Transposed {
		ks.pack(panels, o.General, i0, i1, k0, k)
		return
	}
	l := ks.lanes
	for i := i0; i < i1; i += l {
		panel, rows := panels[(i-i0)*k:(i-i0+l)*k], min(l, i1-i)
		if rows < l {
			clear(panel)
		}
		for c := range k {
			copy(panel[c*l:c*l+rows], o.Data[(k0+c)*o.Stride+i:])
		}
	}
}
