// Command neon writes the arm64 assembly of package gpfit/cpu/blas or, with -tiles, of
// gpfit/cpu/spd.
//
//	go run ./neon -out ../../kernels_neon_arm64.s -stubs ../../kernels_neon_arm64.go -pkg blas
//
// A tile has 4×12 elements, as with AVX2, and each element is computed by the same
// chain of operations; so both have the same bits. What the package calls a vector, 4
// float64, is a pair of registers here.
//
// 24 accumulators, 6 registers of B and 2 of A fill the 32 registers. Elements of A are
// operands of the multiplications and need no broadcast: 4 loads of a pair of registers
// for 24 FMAs.
package main

import (
	"flag"
	"fmt"

	"gpfit/internal/asm/neon"
)

const (
	mr    = 4         // rows of a tile
	lanes = 4         // float64 in a vector
	nv    = 3         // vectors in a row of a full tile
	vb    = 8 * lanes // bytes in a vector
)

type gen struct{ *neon.File }

func main() {
	tiles := flag.Bool("tiles", false, "write the routines of package cpu/spd")
	neon.Write(func(f *neon.File) {
		g := gen{f}
		if *tiles {
			g.tileRoutines()
			return
		}
		g.routines()
	})
}

// routines generates the routines of package cpu/blas.
func (g gen) routines() {
	g.gemmFull()
	for n := nv; n >= 1; n-- {
		g.gemmEdge(n)
	}
	for n := nv; n >= 1; n-- {
		g.solve(n, false)
		g.solve(n, true)
	}
	g.cholesky()
	g.copyPanel()
	g.transpose()
}

// a returns the register and the element in it of row r of A.
func a(r int) (neon.V, int) { return neon.V(r / 2), r % 2 }

// b returns half h of vector v of a row of B.
func b(v, h int) neon.V { return neon.V(2 + 2*v + h) }

// acc returns the accumulator of row r and half h of vector v.
func acc(r, v, h int) neon.V { return neon.V(8 + 6*r + 2*v + h) }

func (g gen) clear(n int) {
	for r := range mr {
		for v := range n {
			g.Zero(acc(r, v, 0))
			g.Zero(acc(r, v, 1))
		}
	}
}

// step generates the multiplication of one column of the A panel by one row of the B
// panel, at the given offsets from their registers, added to the tile.
func (g gen) step(n int, aReg string, aOffset int, bReg string, bOffset int) {
	g.multiply(n, aReg, aOffset, func(v int) (string, int) { return bReg, bOffset + v*vb })
}

// multiply is step for vectors of B at any place.
func (g gen) multiply(n int, aReg string, aOffset int, place func(v int) (base string, offset int)) {
	g.LoadPair(aOffset, aReg, 0, 1)
	for v := range n {
		base, offset := place(v)
		g.LoadPair(offset, base, b(v, 0), b(v, 1))
		for r := range mr {
			m, i := a(r)
			g.FMLA(acc(r, v, 0), b(v, 0), m, i)
			g.FMLA(acc(r, v, 1), b(v, 1), m, i)
		}
	}
}

const (
	unroll = 4
	astep  = 8 * mr
)

// loop generates the loop over k > 0, or ≥ 0, in register k. It unrolls by four and
// ends with single steps; body generates step u of four, and single adds a step that
// advances the registers.
func (g gen) loop(k string, body func(u int), advance, single func()) {
	g.I("SUBS $%d, %s, %s", unroll, k, k)
	g.I("BLT tail")
	g.I("PCALIGN $32")
	g.Label("loop")
	for u := range unroll {
		body(u)
	}
	advance()
	g.I("SUBS $%d, %s, %s", unroll, k, k)
	g.I("BGE loop")
	g.Label("tail")
	g.I("ADDS $%d, %s, %s", unroll, k, k)
	g.I("BEQ done")
	g.Label("one")
	single()
	g.I("SUBS $1, %s, %s", k, k)
	g.I("BNE one")
	g.Label("done")
}

// packedLoop is loop for packed operands in registers aReg and bReg.
func (g gen) packedLoop(n int, k, aReg, bReg string) {
	// ahead is the prefetch distance in bytes of B, about 8 steps. B streams from the
	// second-level cache; A stays in the first for a row of tiles.
	const ahead = 768
	bstep := n * vb
	g.loop(k,
		func(u int) {
			for line := (u*bstep + 63) / 64 * 64; line < (u+1)*bstep; line += 64 {
				g.I("PRFM %d(%s), PLDL1KEEP", ahead+line, bReg)
			}
			g.step(n, aReg, u*astep, bReg, u*bstep)
		},
		func() {
			g.I("ADD $%d, %s, %s", unroll*astep, aReg, aReg)
			g.I("ADD $%d, %s, %s", unroll*bstep, bReg, bReg)
		},
		func() {
			g.step(n, aReg, 0, bReg, 0)
			g.I("ADD $%d, %s, %s", astep, aReg, aReg)
			g.I("ADD $%d, %s, %s", bstep, bReg, bReg)
		})
}

// The registers of alpha and beta at the end of a product.
const (
	alpha neon.V = 0
	beta  neon.V = 1
)

// loadScalars loads alpha and beta and jumps to beta0 if beta is ±0.
func (g gen) loadScalars(tmp string) {
	g.I("FMOVD %s, F%d", g.Param("alpha"), alpha)
	g.I("FMOVD %s, F%d", g.Param("beta"), beta)
	g.I("FCMPD $(0.0), F%d", beta)
	g.I("BEQ beta0")
}

// gemmFull generates the micro-kernel of a whole tile: C = alpha·A·B + beta·C with A
// packed mr wide and B packed nv vectors wide.
func (g gen) gemmFull() {
	g.Func("gemmFullNEON", "(k int, a *float64, b *float64, c *float64, ldc int, alpha float64, beta float64)", 0,
		"gemmFullNEON computes the full tile C = alpha·A·B + beta·C from packed panels; k > 0.",
		"C is not read if beta is 0.")
	g.Load("k", "a", "b", "c", "ldc")
	g.I("LSL $3, R4, R4")
	// Prefetch the cache lines of C that the tile will update.
	g.I("MOVD R3, R5")
	for r := range mr {
		g.I("PRFM (R5), PLDL1KEEP")
		g.I("PRFM %d(R5), PLDL1KEEP", nv*vb-8)
		if r < mr-1 {
			g.I("ADD R4, R5, R5")
		}
	}
	g.clear(nv)
	g.packedLoop(nv, "R0", "R1", "R2")
	g.loadScalars("R5")
	g.rows(func(r, v int) {
		x0, x1 := b(v, 0), b(v, 1)
		g.LoadPair(v*vb, "R3", x0, x1)
		g.FMULElement(x0, x0, beta, 0)
		g.FMULElement(x1, x1, beta, 0)
		g.FMLA(x0, acc(r, v, 0), alpha, 0)
		g.FMLA(x1, acc(r, v, 1), alpha, 0)
		g.StorePair(x0, x1, v*vb, "R3")
	})
	g.Label("beta0")
	g.rows(func(r, v int) {
		x0, x1 := b(v, 0), b(v, 1)
		g.FMULElement(x0, acc(r, v, 0), alpha, 0)
		g.FMULElement(x1, acc(r, v, 1), alpha, 0)
		g.StorePair(x0, x1, v*vb, "R3")
	})
}

// rows iterates over the vectors of the tile of C in R3, whose rows are R4 bytes apart,
// and returns.
func (g gen) rows(f func(r, v int)) {
	for r := range mr {
		for v := range nv {
			f(r, v)
		}
		if r < mr-1 {
			g.I("ADD R4, R3, R3")
		}
	}
	g.I("RET")
}

// gemmEdge generates the micro-kernel of a tile that computes only selected elements:
// byte 3r+v of mask has a bit for each lane of vector v of row r. The rows of B are bs
// elements apart, so that B need not be packed. The product passes through the stack.
func (g gen) gemmEdge(n int) {
	name := fmt.Sprintf("gemmEdgeNEONx%d", n)
	g.Func(name, "(k int, a *float64, b *float64, bs int, c *float64, ldc int, alpha float64, beta float64, mask *byte)", mr*n*vb,
		fmt.Sprintf("%s computes the elements of the tile C = alpha·A·B + beta·C, %d columns wide, that mask", name, n*lanes),
		"names; k > 0, A is packed, the rows of B are bs elements apart. C is not read if beta is 0.")
	g.Load("k", "a", "b", "bs", "c", "ldc")
	g.I("MOVD %s, R6", g.Param("mask"))
	g.I("LSL $3, R3, R3")
	g.I("LSL $3, R5, R5")
	g.clear(n)
	g.loop("R0",
		func(u int) {
			g.step(n, "R1", u*astep, "R2", 0)
			g.I("ADD R3, R2, R2")
		},
		func() { g.I("ADD $%d, R1, R1", unroll*astep) },
		func() {
			g.step(n, "R1", 0, "R2", 0)
			g.I("ADD $%d, R1, R1", astep)
			g.I("ADD R3, R2, R2")
		})
	g.I("MOVD $tile-%d(SP), R7", mr*n*vb)
	for r := range mr {
		for v := range n {
			g.StorePair(acc(r, v, 0), acc(r, v, 1), (r*n+v)*vb, "R7")
		}
	}
	g.loadScalars("R8")
	g.edgeRows(n, "x", true)
	g.Label("beta0")
	g.edgeRows(n, "0", false)
}

// edgeRows writes the elements that the mask in R6 selects from the tile in R7 to the
// rows of C in R4, R5 bytes apart, and returns. It reads C only if read is set.
func (g gen) edgeRows(n int, suffix string, read bool) {
	const tile, x neon.V = 2, 4
	g.I("MOVD $%d, R8", mr)
	g.Label("row" + suffix)
	g.I("MOVD R4, R9")
	g.I("MOVD $%d, R10", n)
	g.Label("vector" + suffix)
	g.I("MOVBU.P 1(R6), R11")
	g.I("CBZ R11, next%s", suffix)
	g.I("CMP $15, R11")
	g.I("BNE lanes%s", suffix)
	g.LoadPair(0, "R7", tile, tile+1)
	if read {
		g.LoadPair(0, "R9", x, x+1)
	}
	for h := range neon.V(2) {
		if read {
			g.FMULElement(x+h, x+h, beta, 0)
			g.FMLA(x+h, tile+h, alpha, 0)
		} else {
			g.FMULElement(x+h, tile+h, alpha, 0)
		}
	}
	g.StorePair(x, x+1, 0, "R9")
	g.I("B next%s", suffix)
	g.Label("lanes" + suffix)
	for l := range lanes {
		skip := fmt.Sprintf("lane%d%s", l, suffix)
		g.I("TBZ $%d, R11, %s", l, skip)
		g.I("FMOVD %d(R7), F%d", 8*l, tile)
		if read {
			g.I("FMOVD %d(R9), F%d", 8*l, x)
			g.I("FMULD F%d, F%d, F%d", beta, x, x)
			g.I("FMADDD F%d, F%d, F%d, F%d", alpha, x, tile, x)
		} else {
			g.I("FMULD F%d, F%d, F%d", alpha, tile, x)
		}
		g.I("FMOVD F%d, %d(R9)", x, 8*l)
		g.Label(skip)
	}
	g.Label("next" + suffix)
	g.I("ADD $%d, R7, R7", vb)
	g.I("ADD $%d, R9, R9", vb)
	g.I("SUBS $1, R10, R10")
	g.I("BNE vector%s", suffix)
	if n < nv {
		g.I("ADD $%d, R6, R6", nv-n)
	}
	g.I("ADD R5, R4, R4")
	g.I("SUBS $1, R8, R8")
	g.I("BNE row%s", suffix)
	g.I("RET")
}
