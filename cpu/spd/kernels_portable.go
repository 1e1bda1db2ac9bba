package spd

import (
	"math"
	"unsafe"

	"gpfit/internal/isa"
)

// The micro-kernels of the generic variant, with the contracts of the assembly. A tile is
// computed one panel and two columns at a time: eight sums, which the registers of any
// processor hold. A sum is written so that the compiler can fuse its multiplication and
// addition in one way only, or not at all.

// goLanes are the rows of a panel.
const goLanes = 4

// portable returns the micro-kernels in Go.
func portable(v isa.Variant) kernels {
	k := kernels{
		set: v, lanes: goLanes, cholesky: choleskyGo, transposeTiles: transposeGo,
		squares: squaresGo, panelVector: panelVectorGo, panelTransposedVector: panelTransposedVectorGo,
	}
	for i := range group {
		k.products[i] = func(k int, a, b *float64, bs int, c *float64, cs, mode int, _ *float64) {
			productGo(i+1, k, a, b, bs, c, cs, mode)
		}
		k.solves[i] = func(k int, a, b *float64, bs int, t, x *float64, xs, fresh int, _ *float64) {
			solveGo(i+1, k, a, b, bs, t, x, xs, fresh)
		}
	}
	return k
}

// A goTile holds the tile of one panel: goLanes columns of goLanes rows.
type goTile [goLanes * goLanes]float64

// at returns n elements i elements after p.
func at(p *float64, i, n int) []float64 {
	return unsafe.Slice((*float64)(unsafe.Add(unsafe.Pointer(p), 8*i)), n)
}

// multiply sets the tile to the product of k columns of the panels b and a.
func (t *goTile) multiply(k int, a, b []float64) {
	if k == 0 {
		clear(t[:])
		return
	}
	for j := 0; j < goLanes; j += 2 {
		t[goLanes*j], t[goLanes*j+1], t[goLanes*j+2], t[goLanes*j+3],
			t[goLanes*j+4], t[goLanes*j+5], t[goLanes*j+6], t[goLanes*j+7] = multiplyColumns(k, a[j:], b)
	}
}

// multiplyColumns returns two columns of a tile.
func multiplyColumns(k int, a, b []float64) (c00, c10, c20, c30, c01, c11, c21, c31 float64) {
	for p := 0; p < goLanes*k; p += goLanes {
		x := b[p : p+goLanes : p+goLanes]
		a0, a1 := a[p], a[p+1]
		c00 += x[0] * a0
		c10 += x[1] * a0
		c20 += x[2] * a0
		c30 += x[3] * a0
		c01 += x[0] * a1
		c11 += x[1] * a1
		c21 += x[2] * a1
		c31 += x[3] * a1
	}
	return c00, c10, c20, c30, c01, c11, c21, c31
}

func productGo(nv, k int, a, b *float64, bs int, c *float64, cs, mode int) {
	var t goTile
	as := at(a, 0, k*goLanes)
	for v := range nv {
		t.multiply(k, as, at(b, v*bs, k*goLanes))
		tile := at(c, v*cs, len(t))
		for i, x := range t {
			switch mode {
			case replace:
				tile[i] = x
			case replaceNegative:
				tile[i] = 0 - x
			case add:
				tile[i] += x
			case subtract:
				tile[i] -= x
			}
		}
	}
}

func solveGo(nv, k int, a, b *float64, bs int, t, x *float64, xs, fresh int) {
	var products goTile
	as, ts := at(a, 0, k*goLanes), at(t, 0, goLanes*goLanes)
	for v := range nv {
		products.multiply(k, as, at(b, v*bs, k*goLanes))
		tile := at(x, v*xs, len(products))
		if fresh != 0 {
			clear(tile)
		}
		for i, p := range products {
			tile[i] -= p
		}
		for c := range goLanes {
			solved := tile[c*goLanes : (c+1)*goLanes]
			for r := range solved {
				solved[r] *= ts[c*goLanes+c]
			}
			for r := c + 1; r < goLanes; r++ {
				subtractMultiple(tile[r*goLanes:(r+1)*goLanes], solved, ts[c*goLanes+r])
			}
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

func choleskyGo(k int, x, d, diag *float64) int {
	var products goTile
	xs := at(x, 0, k*goLanes)
	products.multiply(k, xs, xs)
	tile, diagonal := at(d, 0, len(products)), at(diag, 0, goLanes)
	for i := range tile {
		tile[i] -= products[i]
	}
	for c := range goLanes {
		column := tile[c*goLanes : (c+1)*goLanes]
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
		for c2 := c + 1; c2 < goLanes; c2++ {
			subtractMultiple(tile[c2*goLanes:(c2+1)*goLanes], column, column[c2])
		}
		column[c] = inverse
	}
	return goLanes
}

func transposeGo(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int) {
	for i := range n {
		r0, r1 := at(src, i*sstep, goLanes), at(src, i*sstep+ss, goLanes)
		r2, r3 := at(src, i*sstep+2*ss, goLanes), at(src, i*sstep+3*ss, goLanes)
		for c := range goLanes {
			row := at(dst, i*dstep+c*ds, goLanes)
			row[0], row[1], row[2], row[3] = r0[c], r1[c], r2[c], r3[c]
		}
	}
}

func squaresGo(n int, x, sums *float64) {
	out := at(sums, 0, goLanes)
	clear(out)
	for i := range 4 * n {
		for c, v := range at(x, i*goLanes, goLanes) {
			out[c] += v * v
		}
	}
}

func panelVectorGo(k int, p, x, y *float64) {
	columns, out := at(p, 0, 4*k*goLanes), at(y, 0, goLanes)
	var s0, s1, s2, s3 float64
	for c, v := range at(x, 0, 4*k) {
		column := columns[c*goLanes : (c+1)*goLanes]
		s0 += column[0] * v
		s1 += column[1] * v
		s2 += column[2] * v
		s3 += column[3] * v
	}
	out[0] -= s0
	out[1] -= s1
	out[2] -= s2
	out[3] -= s3
}

func panelTransposedVectorGo(k int, p, x, y *float64) {
	v := at(x, 0, goLanes)
	for c, out := range at(y, 0, goLanes*k) {
		column := at(p, c*goLanes, goLanes)
		pair := float64(column[0]*v[0]) + float64(column[1]*v[1])
		at(y, c, 1)[0] = out - (pair + (float64(column[2]*v[2]) + float64(column[3]*v[3])))
	}
}
