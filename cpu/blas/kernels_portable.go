package blas

import (
	"math"
	"unsafe"
)

// The micro-kernels of the generic variant, with the contracts of those in assembly.
// The tile has the same shape as AVX2's. Its columns are computed two at a time: eight
// sums, which the registers of any processor hold.
//
// A sum is written so that the compiler can fuse its multiplication and addition in one
// way only, or not at all. All loops over k are one function, so that an element has the
// same bits in a full tile and at an edge.

const (
	goRows = 4
	goCols = 12
)

// goTile holds the rows of a tile, nv vectors wide and not padded.
type goTile [goRows * goCols]float64

// multiply sets the tile to the product of k columns of A and k rows of B, bs apart.
func (t *goTile) multiply(nv, k int, a, b *float64, bs int) {
	w := nv * goRows
	if k == 0 {
		clear(t[:goRows*w])
		return
	}
	as, rows := unsafe.Slice(a, k*goRows), unsafe.Slice(b, (k-1)*bs+w)
	for j := 0; j < w; j += 2 {
		c00, c01, c10, c11, c20, c21, c30, c31 := multiplyColumns(as, rows[j:], bs)
		t[j], t[j+1] = c00, c01
		t[w+j], t[w+j+1] = c10, c11
		t[2*w+j], t[2*w+j+1] = c20, c21
		t[3*w+j], t[3*w+j+1] = c30, c31
	}
}

// multiplyColumns returns two columns of a tile, by rows.
func multiplyColumns(a, b []float64, bs int) (c00, c01, c10, c11, c20, c21, c30, c31 float64) {
	for p := 0; len(a) >= goRows; p += bs {
		b0, b1 := b[p], b[p+1]
		c00 += a[0] * b0
		c01 += a[0] * b1
		c10 += a[1] * b0
		c11 += a[1] * b1
		c20 += a[2] * b0
		c21 += a[2] * b1
		c30 += a[3] * b0
		c31 += a[3] * b1
		a = a[goRows:]
	}
	return c00, c01, c10, c11, c20, c21, c30, c31
}

// add sets row to alpha·products + beta·row. It does not read row if beta is 0.
func add(row, products []float64, alpha, beta float64) {
	products = products[:len(row)]
	if beta == 0 {
		for c, x := range products {
			row[c] = alpha * x
		}
		return
	}
	for c, x := range products {
		row[c] = alpha*x + float64(beta*row[c])
	}
}

// at returns n elements i elements after p.
func at(p *float64, i, n int) []float64 {
	return unsafe.Slice((*float64)(unsafe.Add(unsafe.Pointer(p), 8*i)), n)
}

func fullGo(k int, a, b, c *float64, ldc int, alpha, beta float64) {
	var t goTile
	t.multiply(3, k, a, b, goCols)
	for r := range goRows {
		add(at(c, r*ldc, goCols), t[r*goCols:(r+1)*goCols], alpha, beta)
	}
}

func edgeGo(nv, k int, a, b *float64, bs int, c *float64, ldc int, alpha, beta float64, mask *tileMask) {
	var t goTile
	t.multiply(nv, k, a, b, bs)
	w := nv * goRows
	for r := range goRows {
		lo, hi := mask.columns(r, goRows)
		if lo < hi {
			add(at(c, r*ldc+lo, hi-lo), t[r*w+lo:r*w+hi], alpha, beta)
		}
	}
}

// solveGo solves a tile of rows x for a triangle t of their order, whose diagonal holds
// reciprocals, after it has subtracted A·B. The rows are solved from first, by step.
func solveGo(nv, k int, a, b, t, x *float64, first, step int) {
	var products goTile
	w := nv * goRows
	products.multiply(nv, k, a, b, w)
	xs, ts := unsafe.Slice(x, goRows*w), unsafe.Slice(t, goRows*goRows)
	for i := range xs {
		xs[i] -= products[i]
	}
	for i := first; 0 <= i && i < goRows; i += step {
		solved := xs[i*w : (i+1)*w]
		for c := range solved {
			solved[c] *= ts[i*goRows+i]
		}
		for r := i + step; 0 <= r && r < goRows; r += step {
			subtractMultiple(xs[r*w:(r+1)*w], solved, ts[i*goRows+r])
		}
	}
}

// subtractMultiple subtracts e·x from y.
func subtractMultiple(y, x []float64, e float64) {
	x = x[:len(y)]
	for c := range y {
		y[c] -= e * x[c]
	}
}

func forwardGo(nv, k int, a, b, t, x *float64) { solveGo(nv, k, a, b, t, x, 0, 1) }

func backwardGo(nv, k int, a, b, t, x *float64) { solveGo(nv, k, a, b, t, x, goRows-1, -1) }

func choleskyGo(k int, x, d, diag *float64) int {
	var products goTile
	products.multiply(1, k, x, x, goRows)
	tile, diagonal := unsafe.Slice(d, goRows*goRows), unsafe.Slice(diag, goRows)
	for i := range tile {
		tile[i] -= products[i]
	}
	for c := range goRows {
		column := tile[c*goRows : (c+1)*goRows]
		pivot := column[c]
		if !(pivot > 0) {
			return c
		}
		root := math.Sqrt(pivot)
		diagonal[c] = root
		inverse := 1 / root
		for r := range column {
			column[r] *= inverse
		}
		for c2 := c + 1; c2 < goRows; c2++ {
			subtractMultiple(tile[c2*goRows:(c2+1)*goRows], column, column[c2])
		}
		column[c] = inverse
	}
	return goRows
}

func copyRowsGo(n, nv int, src *float64, ss int, dst *float64, ds int) {
	for i := range n {
		copy(at(dst, i*ds, nv*goRows), at(src, i*ss, nv*goRows))
	}
}

func transposeGo(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	for i := range n {
		r0, r1 := at(src, i*sstep, goRows), at(src, i*sstep+ss, goRows)
		r2, r3 := at(src, i*sstep+2*ss, goRows), at(src, i*sstep+3*ss, goRows)
		for c := range goRows {
			row := at(dst, i*dstep+c*ds, goRows)
			row[0], row[1], row[2], row[3] = r0[c], r1[c], r2[c], r3[c]
		}
	}
}
