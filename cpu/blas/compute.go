package blas

import "math/bits"

// blocking holds the block sizes of a product.
type blocking struct {
	// kc is the largest number of columns of A, and rows of B, in a block. A panel
	// of A, mr·kc elements, stays in the first-level cache while it is multiplied
	// by the panels of B.
	kc int
	// nc is the largest number of columns of C in an item: nc·kc elements of B
	// stay in the second-level cache.
	nc int
	// mc is the largest number of rows of C in an item. It is small enough to share
	// the work evenly and large enough to make the time to fetch the block of B
	// negligible.
	mc int
	// super is the largest number of rows of A and of columns of B that are
	// packed at a time: 8·super·kc bytes for either.
	super int
	// keep is the largest number of rows below a diagonal block that the Cholesky
	// factorisation keeps packed, twice; beyond it, they are packed again in parts
	// of super rows.
	keep int
}

// defaultBlocking returns the block sizes of all variants. The tiles of those with AVX
// need the same time and bandwidth for their operands; the others need more time.
//
// Measured with AVX-512 on two cores of an AMD EPYC (Zen 5: 48 KB of first-level
// cache, 1 MB of second), n = 500 to 4000: kc from 240 to 480, nc from 120 to 312,
// mc from 48 to 192 and super from 1000 to 4000 differ by less than the noise of 2
// %. The chosen values also fit smaller caches: a panel of A takes 18 KB, a block
// of B 390 KB, and the part packed at a time 9 MB. kc, super and keep are multiples
// of 24, the width of a tile, because the in-place routines require that.
func defaultBlocking() blocking {
	return blocking{kc: 288, nc: 168, mc: 96, super: 2040, keep: 8160}
}

// A product is C = alpha·A·B + beta·C. A is m×k; b is the transpose of B, n×k.
type product struct {
	a, b        view
	c           []float64
	ldc         int
	m, n, k     int
	alpha, beta float64
	// out is dense, or the triangle of C to write.
	out shape
	// over selects the rows or columns of C that are also part of an operand. Those
	// at [p0, p1) are overwritten in the step of columns [p0, p1) of A and rows
	// [p0, p1) of B. They must not change before that step; by then they have been
	// packed.
	over overwritten
}

type overwritten uint8

const (
	overNothing overwritten = iota
	overRows
	overCols
)

// kblock returns the length of the blocks into which k columns are divided: equal
// lengths, multiples of unit. It depends only on k, because the division determines
// the result's last bits.
func (e *engine) kblock(k, unit int) int {
	blocks := (k + e.kc - 1) / e.kc
	return roundUp((k+blocks-1)/blocks, unit)
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

// addProduct appends the phases of a product.
func (j *job) addProduct(pr product) {
	j.products = append(j.products, pr)
	op := len(j.products) - 1
	e := j.e
	switch pr.over {
	case overNothing:
		// The outermost loop is over blocks of B, so each is packed once, and A
		// once for each of them.
		kc := e.kblock(pr.k, e.lanes)
		for j0 := 0; j0 < pr.n; j0 += e.super {
			j1 := min(j0+e.super, pr.n)
			for p0 := 0; p0 < pr.k; p0 += kc {
				beta := 1.0
				if p0 == 0 {
					beta = pr.beta
				}
				for i0 := 0; i0 < pr.m; i0 += e.super {
					ph := phase{op: op, i0: i0, i1: min(i0+e.super, pr.m), j0: j0, j1: j1, p0: p0, p1: min(p0+kc, pr.k), beta: beta}
					if pr.out == lower && ph.i1 <= j0 || pr.out == upper && i0 >= j1 {
						continue
					}
					// B is packed with the first block of rows that needs it.
					packB := i0 == 0 || pr.out == lower && i0 <= j0
					j.addBlock(ph, true, packB)
				}
			}
		}
	case overRows:
		// C = op(A)·C: rows of C.
		kc := e.kblock(pr.k, e.nr)
		for j0 := 0; j0 < pr.n; j0 += e.super {
			j1 := min(j0+e.super, pr.n)
			inOrder(pr.k, kc, pr.a.shape == lower, func(p0, p1 int) {
				i0, i1 := 0, p1
				if pr.a.shape == lower {
					i0, i1 = p0, pr.m
				}
				for s := i0; s < i1; s += e.super {
					ph := phase{op: op, i0: s, i1: min(s+e.super, i1), j0: j0, j1: j1, p0: p0, p1: p1, beta: 1}
					j.addBlock(ph, true, s == i0)
				}
			})
		}
	case overCols:
		// C = C·op(A): columns of C, the transpose of the above.
		kc := e.kblock(pr.k, e.nr)
		for i0 := 0; i0 < pr.m; i0 += e.super {
			i1 := min(i0+e.super, pr.m)
			inOrder(pr.k, kc, pr.b.shape == lower, func(p0, p1 int) {
				j0, j1 := 0, p1
				if pr.b.shape == lower {
					j0, j1 = p0, pr.n
				}
				for s := j0; s < j1; s += e.super {
					ph := phase{op: op, i0: i0, i1: i1, j0: s, j1: min(s+e.super, j1), p0: p0, p1: p1, beta: 1}
					j.addBlock(ph, s == j0, true)
				}
			})
		}
	}
}

// inOrder calls f with the blocks of n, in descending order if descending.
func inOrder(n, block int, descending bool, f func(p0, p1 int)) {
	blocks := (n + block - 1) / block
	for i := range blocks {
		if descending {
			i = blocks - 1 - i
		}
		f(i*block, min((i+1)*block, n))
	}
}

// itemsPerThread is the number of items per thread into which a small phase is
// divided. The wait at its end is then about a tenth of its time.
const itemsPerThread = 8

// addBlock appends the phases of one block: packing its operands and
// multiplying them.
func (j *job) addBlock(ph phase, packA, packB bool) {
	e := j.e
	kc := ph.p1 - ph.p0
	ph.ia, ph.jb = ph.i0, ph.j0
	var pa, pb int
	if packA {
		pa = panels(ph.i1-ph.i0, e.mr)
		j.a[ph.buf].get(pa * e.mr * kc)
	}
	if packB {
		pb = panels(ph.j1-ph.j0, e.nr)
		j.b[ph.buf].get(pb * e.nr * kc)
	}
	pack := ph
	pack.kind = packPhase
	pack.x = max(1, pa/(j.threads*itemsPerThread/2))
	pack.y = max(1, pb/(j.threads*itemsPerThread/2))
	pack.z = panels(pa, pack.x)
	pack.items = pack.z + panels(pb, pack.y)
	j.add(pack)
	j.add(j.multiplication(ph))
}

// multiplication returns the phase that multiplies packed blocks.
func (j *job) multiplication(ph phase) phase {
	e := j.e
	if ph.i0 >= ph.i1 || ph.j0 >= ph.j1 {
		return phase{}
	}
	m, n := ph.i1-ph.i0, ph.j1-ph.j0
	ph.kind = multiplyPhase
	blocks := panels(n, e.nc)
	ph.y = roundUp(panels(n, blocks), e.nr)
	blocks = panels(n, ph.y)
	ph.x = roundUp(min(e.mc, max(1, m*blocks/(j.threads*itemsPerThread))), e.mr)
	ph.z = panels(m, ph.x)
	ph.items = ph.z * blocks
	return ph
}

// panels returns the number of panels of width w that cover n.
func panels(n, w int) int { return (n + w - 1) / w }

// pack executes an item of a packing phase.
func (j *job) pack(ph *phase, item int) {
	e := j.e
	pr := &j.products[ph.op]
	kc := ph.p1 - ph.p0
	if item < ph.z {
		last := min((item+1)*ph.x, panels(ph.i1-ph.i0, e.mr))
		for p := item * ph.x; p < last; p++ {
			i := ph.i0 + p*e.mr
			e.packPanel(j.a[ph.buf].mem[p*e.mr*kc:], e.mr, &pr.a, i, min(e.mr, ph.i1-i), ph.p0, kc)
		}
		return
	}
	item -= ph.z
	last := min((item+1)*ph.y, panels(ph.j1-ph.j0, e.nr))
	for p := item * ph.y; p < last; p++ {
		col := ph.j0 + p*e.nr
		cols := min(e.nr, ph.j1-col)
		e.packPanel(j.b[ph.buf].mem[p*e.nr*kc:], e.vectors(cols)*e.lanes, &pr.b, col, cols, ph.p0, kc)
	}
}

// multiply executes an item of a multiplying phase, a chunk of C.
func (j *job) multiply(ph *phase, item int) {
	e := j.e
	pr := &j.products[ph.op]
	kc := ph.p1 - ph.p0
	ia := ph.i0 + item%ph.z*ph.x
	ja := ph.j0 + item/ph.z*ph.y
	ib, jb := min(ia+ph.x, ph.i1), min(ja+ph.y, ph.j1)
	if pr.out == lower && ja >= ib || pr.out == upper && jb <= ia {
		return
	}
	for i := ia; i < ib; i += e.mr {
		rows := min(e.mr, ib-i)
		k0, k1 := kc0(pr.a.shape, i, rows, ph.p0, 0, kc)
		beta := ph.beta
		if pr.over == overRows && i >= ph.p0 && i < ph.p1 {
			beta = 0
		}
		// The columns of the triangle in these rows.
		c0, c1 := ja, jb
		switch pr.out {
		case lower:
			c1 = min(jb, i+rows)
		case upper:
			c0 += max(0, i-ja) / e.nr * e.nr
		}
		apanel := j.a[ph.buf].mem[(i-ph.ia)*kc:]
		for col := c0; col < c1; col += e.nr {
			cols := min(e.nr, jb-col)
			q0, q1 := kc0(pr.b.shape, col, cols, ph.p0, k0, k1)
			if pr.over == overCols {
				beta = ph.beta
				if col >= ph.p0 && col < ph.p1 {
					beta = 0
				}
			}
			bpanel := j.b[ph.buf].mem[(col-ph.jb)*kc:]
			c := &pr.c[i*pr.ldc+col]
			if rows == e.mr && cols == e.nr && (pr.out == dense || pr.out == lower && col+cols <= i+1 || pr.out == upper && col >= i+rows-1) {
				e.full(q1-q0, &apanel[q0*e.mr], &bpanel[q0*e.nr], c, pr.ldc, pr.alpha, beta)
				continue
			}
			nv := e.vectors(cols)
			w := nv * e.lanes
			var mask tileMask
			mask.set(e.lanes, rows, cols, pr.out, i-col)
			e.edge(nv, q1-q0, &apanel[q0*e.mr], &bpanel[q0*w], w, c, pr.ldc, pr.alpha, beta, &mask)
		}
	}
}

// kc0 returns the part of the columns [k0, k1), counted from p0, that is not zero
// in a panel of n rows from i of a view of shape s.
func kc0(s shape, i, n, p0, k0, k1 int) (int, int) {
	switch s {
	case lower:
		k1 = min(k1, i+n-p0)
	case upper:
		k0 = max(k0, i-p0)
	}
	return k0, k1
}

// A tileMask selects elements of a tile: byte 3r+v has a bit for each lane of
// vector v of row r.
type tileMask [24]byte

// set selects rows×cols elements, restricted to the triangle out; the tile's first
// element is d rows below the diagonal of C.
func (t *tileMask) set(lanes, rows, cols int, out shape, d int) {
	for r := range rows {
		lo, hi := 0, cols
		switch out {
		case lower:
			hi = min(max(d+r+1, 0), cols)
		case upper:
			lo = min(max(d+r, 0), cols)
		}
		selected := uint32(1)<<hi - uint32(1)<<lo
		if lo > hi {
			selected = 0
		}
		for v := range 3 {
			t[3*r+v] = byte(selected & (1<<lanes - 1))
			selected >>= lanes
		}
	}
}

// columns returns the first column of row r that is selected, and the one after the
// last: the selected elements of a row are adjacent.
func (t *tileMask) columns(r, lanes int) (lo, hi int) {
	m := uint32(t[3*r]) | uint32(t[3*r+1])<<lanes | uint32(t[3*r+2])<<(2*lanes)
	return bits.TrailingZeros32(m), bits.Len32(m)
}
