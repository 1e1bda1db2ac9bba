package spd

import "gonum.org/v1/gonum/blas/blas64"

// productRows are the rows of y that a product packs at a time.
const productRows = 288

// AddProduct adds factor·XYᵀ to the matrix c of x.Rows rows and y.Rows columns, which are stride apart. It works on
// the caller's goroutine. Each element is a sum in one order, whatever part of a product it is computed with. It
// allocates (x.Rows + productRows)·chunk numbers at most.
func (e *Engine) AddProduct(c []float64, stride int, factor float64, x, y blas64.General) {
	if x.Rows == 0 || y.Rows == 0 || x.Cols == 0 {
		return
	}
	l, depth := e.lanes, min(chunk, x.Cols)
	block := min(productRows, roundUp(y.Rows, l))
	packedX, packedY := aligned(roundUp(x.Rows, l)*depth), aligned(block*depth)
	tile := aligned(group * l * l)
	for k0 := 0; k0 < x.Cols; k0 += chunk {
		k := min(chunk, x.Cols-k0)
		e.pack(packedX, x, 0, x.Rows, k0, k)
		for j0 := 0; j0 < y.Rows; j0 += block {
			j1 := min(j0+block, y.Rows)
			e.pack(packedY, y, j0, j1, k0, k)
			for i := 0; i < x.Rows; i += l {
				for j := j0; j < j1; j += group * l {
					panels := (min(j+group*l, j1) - j + l - 1) / l
					e.product(panels, k, &packedX[i*k], &packedY[(j-j0)*k], l*k, &tile[0], l*l, replace)
					addTile(c[i*stride+j:], stride, factor, tile, l, min(l, x.Rows-i), j1-j)
				}
			}
		}
	}
}

// pack writes k columns of the rows i0 … i1−1 to panels, whose last rows are 0.
func (ks *kernels) pack(panels []float64, m blas64.General, i0, i1, k0, k int) {
	l := ks.lanes
	for i := i0; i < i1; i += l {
		panel, from := panels[(i-i0)*k:(i-i0+l)*k], m.Data[i*m.Stride+k0:]
		if i+l <= i1 {
			ks.packRows(panel, from, m.Stride, k)
			continue
		}
		clear(panel)
		for r := range i1 - i {
			for c, v := range from[r*m.Stride : r*m.Stride+k] {
				panel[c*l+r] = v
			}
		}
	}
}

// addTile adds factor times the tile of a product to the first rows and columns of c. The panels of the tile follow one
// another in the columns of c.
func addTile(c []float64, stride int, factor float64, tile []float64, l, rows, columns int) {
	for first := 0; first < min(columns, len(tile)/l); first += l {
		panel, width := tile[first*l:], min(l, columns-first)
		for i := range rows {
			from, to := panel[i*l:i*l+width], c[i*stride+first:][:width]
			for r, v := range from {
				to[r] += factor * v
			}
		}
	}
}
