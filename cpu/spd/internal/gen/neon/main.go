// Command neon writes the arm64 assembly of package gpfit/cpu/spd.
//
//	go run ./neon -out ../../kernels_neon_arm64.s -stubs ../../kernels_neon_arm64.go -pkg spd
//
// A tile has 4×12 elements, as with AVX2, and each element is computed by the same
// chain of operations; so both have the same bits. The package's vector, 4 float64,
// is a pair of registers here.
//
// 24 accumulators, 6 registers of B and 2 of A fill the 32 registers. Elements of A are operands of
// the multiplications and need no broadcast: 4 loads of a pair of registers for 24 FMAs.
package main

import "gpfit/internal/asm/neon"

const (
	mr    = 4         // rows of a tile
	lanes = 4         // float64 in a vector
	nv    = 3         // vectors in a row of a full tile
	vb    = 8 * lanes // bytes in a vector
)

type gen struct{ *neon.File }

func main() {
	neon.Write(func(f *neon.File) { gen{f}.routines() })
}

// routines generates the routines. The micro-kernels work on panels: mr rows of a matrix, stored
// column by column. A tile is a part of one, two or three neighbouring panels, mr columns wide.
func (g gen) routines() {
	for n := nv; n >= 1; n-- {
		g.tileProduct(n)
	}
	for n := nv; n >= 1; n-- {
		g.tileSolve(n)
	}
	g.cholesky()
	g.transpose()
	g.squares()
	g.panelVector()
	g.panelTransposedVector()
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
