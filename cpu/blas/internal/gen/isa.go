package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is what differs between the two instruction sets.
type isa struct {
	suffix string // of the Go names
	lanes  int    // float64 in a vector
	mr     int    // rows of a tile
	nv     int    // vectors in a row of a full tile
	bcast  int    // registers that hold broadcast elements of A
	vec    []reg.Register
	masks  func() operand.Mem // AVX2: the table of lane masks
}

var isas = map[string]*isa{
	// 8×24: 24 accumulators, 3 vectors of B and 5 broadcasts fill the 32
	// registers. Of the shapes that fit, the one with the fewest loads per
	// FMA (11 for 24) whose width is a whole number of vectors.
	"avx512": {suffix: "512", lanes: 8, mr: 8, nv: 3, bcast: 5, vec: []reg.Register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}},
	// 4×12: 12 accumulators, 3 vectors of B and one broadcast fill the 16
	// registers; 7 loads for 12 FMAs.
	"avx2": {suffix: "256", lanes: 4, mr: 4, nv: 3, bcast: 1, vec: []reg.Register{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}},
}

// bytes in a vector.
func (t *isa) vb() int { return 8 * t.lanes }

// b is the register of vector v of a row of B.
func (t *isa) b(v int) reg.Register { return t.vec[v] }

// a is the register into which row r of A is broadcast.
func (t *isa) a(r int) reg.Register { return t.vec[3+r%t.bcast] }

// acc is the accumulator of row r, vector v.
func (t *isa) acc(r, v int) reg.Register { return t.vec[3+t.bcast+r*3+v] }

// function opens a function. All of them are leaves without a frame that keep
// no pointer.
func (t *isa) function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Doc(doc...)
	Pragma("noescape")
}

func (t *isa) ret() {
	VZEROUPPER()
	RET()
}

// align emits PCALIGN, which avo does not know.
func align(n int) {
	Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []operand.Op{operand.Imm(uint64(n))}})
}

func mem(base reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Disp: disp}
}

func indexed(base, index reg.Register, scale uint8, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}

// imm is an immediate that the assembler takes as 32 bits when it needs to.
func imm(n int) operand.Op {
	if n >= -128 && n < 128 {
		return operand.Imm(uint64(n))
	}
	return operand.U32(uint32(n))
}

func (t *isa) zero(nv int) {
	for r := 0; r < t.mr; r++ {
		for v := 0; v < nv; v++ {
			x := t.acc(r, v)
			if t.lanes == 8 {
				VPXORQ(x, x, x)
			} else {
				VXORPD(x, x, x)
			}
		}
	}
}

func label(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func ref(label string) operand.Op { return operand.LabelRef(label) }

// laneMasks makes the table that turns the low four bits of a mask byte into
// a vector mask for VMASKMOVPD.
func (t *isa) laneMasks() operand.Mem {
	if t.masks == nil {
		m := GLOBL("lanemasks", RODATA|NOPTR)
		for i := 0; i < 16; i++ {
			for l := 0; l < 4; l++ {
				var x uint64
				if i>>l&1 == 1 {
					x = ^uint64(0)
				}
				DATA(8*(4*i+l), operand.U64(x))
			}
		}
		t.masks = func() operand.Mem { return m }
	}
	return t.masks()
}
