package main

import (
	"fmt"

	"gpfit/internal/asm/neon"
)

// A tile is the place of panels in memory: a register for the address of each.
type tile [nv]string

// newTile generates the addresses of n panels, the first in a register and the others stride
// elements apart in further registers. It changes stride.
func (g gen) newTile(n int, first, stride string, further ...string) tile {
	t := tile{first, further[0], further[1]}
	if n > 1 {
		g.I("LSL $3, %s, %s", stride, stride)
	}
	for v := 1; v < n; v++ {
		g.I("ADD %s, %s, %s", stride, t[v-1], t[v])
	}
	return t
}

// products generates the products of the k columns of n panels with a panel, of which R0 and R1
// hold k and the address, and the prefetching of their tile.
func (g gen) products(n int, panels, t tile) {
	for _, base := range t[:n] {
		for line := 0; line < mr*vb; line += 64 {
			g.I("PRFM %d(%s), PLDL1KEEP", line, base)
		}
	}
	g.clear(n)
	g.tileLoop(n, "R0", "R1", panels)
}

// each iterates over the vectors of a tile of n panels.
func (t tile) each(n int, f func(r, v int, base string, offset int)) {
	for v, base := range t[:n] {
		for r := range mr {
			f(r, v, base, r*vb)
		}
	}
}

// multiply generates the multiplication of a column of the panel at aReg by one of n panels,
// at some distance after their registers, added to the tile.
func (g gen) multiply(n int, aReg string, panels tile, columns int) {
	g.LoadPair(8*mr*columns, aReg, 0, 1)
	for v, base := range panels[:n] {
		g.LoadPair(vb*columns, base, b(v, 0), b(v, 1))
		for r := range mr {
			m, i := a(r)
			g.FMLA(acc(r, v, 0), b(v, 0), m, i)
			g.FMLA(acc(r, v, 1), b(v, 1), m, i)
		}
	}
}

// tileLoop generates the loop over k ≥ 0 columns of the panel at aReg and of n panels. At
// the end, their registers point past the last column, and k is 0.
func (g gen) tileLoop(n int, k, aReg string, panels tile) {
	const (
		unroll = 4
		// ahead is the prefetch distance in bytes, 8 columns. The panels of B stream from the
		// second-level cache; A stays in the first for a row of tiles.
		ahead = 8 * vb
	)
	advance := func(columns int) {
		g.I("ADD $%d, %s, %s", columns*8*mr, aReg, aReg)
		for _, base := range panels[:n] {
			g.I("ADD $%d, %s, %s", columns*vb, base, base)
		}
	}
	g.I("SUBS $%d, %s, %s", unroll, k, k)
	g.I("BLT tail")
	g.I("PCALIGN $32")
	g.Label("loop")
	for u := range unroll {
		if u*vb%64 == 0 {
			for _, base := range panels[:n] {
				g.I("PRFM %d(%s), PLDL1KEEP", ahead+u*vb, base)
			}
		}
		g.multiply(n, aReg, panels, u)
	}
	advance(unroll)
	g.I("SUBS $%d, %s, %s", unroll, k, k)
	g.I("BGE loop")
	g.Label("tail")
	g.I("ADDS $%d, %s, %s", unroll, k, k)
	g.I("BEQ done")
	g.Label("one")
	g.multiply(n, aReg, panels, 0)
	advance(1)
	g.I("SUBS $1, %s, %s", k, k)
	g.I("BNE one")
	g.Label("done")
}

// tileProduct generates the micro-kernel of a product: C = ±B·Aᵀ or C ± B·Aᵀ for a tile C.
func (g gen) tileProduct(n int) {
	name := fmt.Sprintf("tileProductNEONx%d", n)
	g.Func(name, "(k int, a *float64, b *float64, bs int, c *float64, cs int, mode int)", 0,
		fmt.Sprintf("%s multiplies k > 0 columns of %d panels at b, bs elements apart, by the panel a:", name, n),
		"B·Aᵀ. It replaces the tile at c, whose panels are cs elements apart, by the product if mode",
		"is 0 and by its negative if mode is 1, and adds it if mode is 2 and subtracts it if mode is 3.")
	g.Load("k", "a", "b", "bs", "c", "cs", "mode")
	bs, c := g.newTile(n, "R2", "R3", "R7", "R8"), g.newTile(n, "R4", "R5", "R9", "R10")
	g.products(n, bs, c)
	// end generates the end of a mode, which computes a half vector x of C from the product p.
	end := func(read bool, compute func(x, p neon.V)) {
		c.each(n, func(r, v int, base string, offset int) {
			if read {
				g.LoadPair(offset, base, b(v, 0), b(v, 1))
			}
			for h := range 2 {
				compute(b(v, h), acc(r, v, h))
			}
			g.StorePair(b(v, 0), b(v, 1), offset, base)
		})
		g.I("RET")
	}
	g.I("CMP $2, R6")
	g.I("BEQ add")
	g.I("BGT subtract")
	g.I("CBNZ R6, negative")
	c.each(n, func(r, v int, base string, offset int) { g.StorePair(acc(r, v, 0), acc(r, v, 1), offset, base) })
	g.I("RET")
	g.Label("negative")
	const zero neon.V = 0
	g.Zero(zero)
	end(false, func(x, p neon.V) { g.FSUB(x, zero, p) })
	g.Label("add")
	end(true, func(x, p neon.V) { g.FADD(x, p, x) })
	g.Label("subtract")
	end(true, func(x, p neon.V) { g.FSUB(x, x, p) })
}

// tileSolve generates the micro-kernel of a triangular solve: X = (X − B·Aᵀ)·T⁻ᵀ for a
// tile X, where T is a lower triangle whose diagonal holds reciprocals.
func (g gen) tileSolve(n int) {
	name := fmt.Sprintf("tileSolveNEONx%d", n)
	g.Func(name, "(k int, a *float64, b *float64, bs int, t *float64, x *float64, xs int, fresh int)", 0,
		fmt.Sprintf("%s replaces the tile X of %d panels by (X − B·Aᵀ)·T⁻ᵀ: k ≥ 0 columns of the panels at b,", name, n),
		"bs elements apart, times the panel a, and T a lower triangle with the reciprocals of its",
		"diagonal stored, element (r, c) at t[c·4 + r]. X counts as zero if fresh is not 0.")
	g.Load("k", "a", "b", "bs", "t", "x", "xs", "fresh")
	bs, x := g.newTile(n, "R2", "R3", "R8", "R9"), g.newTile(n, "R5", "R6", "R10", "R11")
	g.products(n, bs, x)
	g.I("CBNZ R7, fresh")
	x.each(n, func(r, v int, base string, offset int) {
		g.LoadPair(offset, base, b(v, 0), b(v, 1))
		for h := range 2 {
			g.FSUB(acc(r, v, h), b(v, h), acc(r, v, h))
		}
	})
	g.I("B solve")
	g.Label("fresh")
	const zero neon.V = 0
	g.Zero(zero)
	x.each(n, func(r, v int, _ string, _ int) {
		for h := range 2 {
			g.FSUB(acc(r, v, h), zero, acc(r, v, h))
		}
	})
	g.Label("solve")
	for i := range mr {
		g.LoadPair(8*i*mr, "R4", 0, 1) // column i of T
		g.solveColumn(n, i, x)
	}
	g.I("RET")
}

// solveColumn generates the solution for column i of the tile x and its subtraction from
// later columns. Column i of T is in the first two registers.
func (g gen) solveColumn(n, i int, x tile) {
	m, e := a(i)
	for v := range n {
		for h := range 2 {
			g.FMULElement(acc(i, v, h), acc(i, v, h), m, e)
		}
		g.StorePair(acc(i, v, 0), acc(i, v, 1), i*vb, x[v])
	}
	for r := i + 1; r < mr; r++ {
		m, e := a(r)
		for v := range n {
			for h := range 2 {
				g.FMLS(acc(r, v, h), acc(i, v, h), m, e)
			}
		}
	}
}

// squares generates the sums of the squares along the rows of a panel.
func (g gen) squares() {
	g.Func("squaresNEON", "(n int, x *float64, sums *float64)", 0,
		"squaresNEON writes to sums the sums of squares of the 4 rows of a panel of 4·n columns; n > 0.")
	g.Load("n", "x", "sums")
	// Four accumulators for each register hide the latency of the additions.
	g.clear(1)
	g.Label("loop")
	for r := range mr {
		g.LoadPair(r*vb, "R1", b(0, 0), b(0, 1))
		for h := range 2 {
			g.FMLAVector(acc(r, 0, h), b(0, h), b(0, h))
		}
	}
	g.I("ADD $%d, R1, R1", mr*vb)
	g.I("SUBS $1, R0, R0")
	g.I("BNE loop")
	for h := range 2 {
		g.FADD(acc(0, 0, h), acc(0, 0, h), acc(1, 0, h))
		g.FADD(acc(2, 0, h), acc(2, 0, h), acc(3, 0, h))
		g.FADD(acc(0, 0, h), acc(0, 0, h), acc(2, 0, h))
	}
	g.StorePair(acc(0, 0, 0), acc(0, 0, 1), 0, "R2")
	g.I("RET")
}

// panelVector generates the product of a panel and a vector.
func (g gen) panelVector() {
	g.Func("panelVectorNEON", "(k int, p *float64, x *float64, y *float64)", 0,
		"panelVectorNEON subtracts the product of 4·k columns of the panel p and the vector x from the 4",
		"numbers at y; k > 0.")
	g.Load("k", "p", "x", "y")
	for v := range neon.V(8) {
		g.Zero(v)
	}
	g.Label("loop")
	g.LoadPair(0, "R2", 16, 17)
	for u := range neon.V(4) {
		lo, hi := 18+2*u, 19+2*u
		g.LoadPair(int(u)*vb, "R1", lo, hi)
		g.FMLA(2*u, lo, 16+u/2, int(u%2))
		g.FMLA(2*u+1, hi, 16+u/2, int(u%2))
	}
	g.I("ADD $%d, R2, R2", 32)
	g.I("ADD $%d, R1, R1", 4*vb)
	g.I("SUBS $1, R0, R0")
	g.I("BNE loop")
	g.LoadPair(0, "R3", 16, 17)
	for h := range neon.V(2) {
		g.FADD(h, h, 2+h)
		g.FADD(4+h, 4+h, 6+h)
		g.FADD(h, h, 4+h)
		g.FSUB(16+h, 16+h, h)
	}
	g.StorePair(16, 17, 0, "R3")
	g.I("RET")
}

// panelTransposedVector generates the product of a transposed panel and a vector. It sums
// the elements of each column in pairs, then the pairs.
func (g gen) panelTransposedVector() {
	g.Func("panelTransposedVectorNEON", "(k int, p *float64, x *float64, y *float64)", 0,
		"panelTransposedVectorNEON subtracts the products of the columns of the panel p with the 4 numbers at x",
		"from the 4·k numbers at y; k > 0.")
	g.Load("k", "p", "x", "y")
	g.LoadPair(0, "R2", 8, 9)
	g.Label("loop")
	for c := range neon.V(4) {
		g.LoadPair(int(c)*vb, "R1", 2*c, 2*c+1)
		g.FMUL(2*c, 2*c, 8)
		g.FMUL(2*c+1, 2*c+1, 9)
	}
	g.LoadPair(0, "R3", 16, 17)
	for pair := range neon.V(2) { // two columns
		a, b := 4*pair, 4*pair+2
		for h := range neon.V(2) {
			g.I("VZIP1 V%d.D2, V%d.D2, V%d.D2", b+h, a+h, 10+2*h)
			g.I("VZIP2 V%d.D2, V%d.D2, V%d.D2", b+h, a+h, 11+2*h)
			g.FADD(10+2*h, 10+2*h, 11+2*h)
		}
		g.FADD(10, 10, 12)
		g.FSUB(16+pair, 16+pair, 10)
	}
	g.StorePair(16, 17, 0, "R3")
	g.I("ADD $%d, R1, R1", 4*vb)
	g.I("ADD $%d, R3, R3", vb)
	g.I("SUBS $1, R0, R0")
	g.I("BNE loop")
	g.I("RET")
}
