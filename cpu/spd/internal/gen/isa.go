package main

import (
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// isa is an instruction set with the tile of its micro-kernels.
type isa struct {
	ISA
	mr    int // rows of a tile
	nv    int // vectors in a row of a full tile
	bcast int // registers that hold broadcast elements of A
}

var (
	// 8×24: 24 accumulators, 3 vectors of B and 5 broadcasts fill the 32 registers.
	// Of the shapes that fit and whose width is a whole number of vectors, it has
	// the fewest loads per FMA (11 for 24).
	avx512 = &isa{ISA: AVX512, mr: 8, nv: 3, bcast: 5}
	// 4×12: 12 accumulators, 3 vectors of B and one broadcast fill the 16
	// registers; 7 loads for 12 FMAs.
	avx2 = &isa{ISA: AVX2, mr: 4, nv: 3, bcast: 1}
)

// b returns the register of vector v of a row of B.
func (t *isa) b(v int) reg.Register { return t.Vec[v] }

// a returns the register into which row r of A is broadcast.
func (t *isa) a(r int) reg.Register { return t.Vec[3+r%t.bcast] }

// acc returns the accumulator of row r, vector v.
func (t *isa) acc(r, v int) reg.Register { return t.Vec[3+t.bcast+r*3+v] }

// clear clears the accumulators of a tile of nv vectors.
func (t *isa) clear(nv int) {
	for r := range t.mr {
		for v := range nv {
			t.Zero(t.acc(r, v))
		}
	}
}
