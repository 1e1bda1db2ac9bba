package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is what differs between the two instruction sets, and the state of the
// function that is being written.
type isa struct {
	suffix     string // of the Go names
	lanes      int    // float64 in a vector
	maxColumns int    // columns that weightedSquares takes at a time
	vec        []reg.Register
	// used counts the vector registers that alloc has given out.
	used int
	// masked says that the loads and stores of the loop body that is being
	// written are to touch only the lanes of the tail's mask.
	masked bool
	// mask is the register that holds AVX2's mask.
	mask reg.Register
	// laneMasks makes AVX2's table of masks once.
	laneMasks func() operand.Mem
}

var isas = map[string]*isa{
	"avx512": {suffix: "512", lanes: 8, maxColumns: 8, vec: []reg.Register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}},
	"avx2": {suffix: "256", lanes: 4, maxColumns: 4, vec: []reg.Register{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}},
}

func (t *isa) wide() bool { return t.lanes == 8 }

// vb is the number of bytes in a vector.
func (t *isa) vb() int { return 8 * t.lanes }

// function opens a function. All of them are leaves without a frame that keep
// no pointer.
func (t *isa) function(name, signature string, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Doc(doc...)
	Pragma("noescape")
	t.used, t.mask = 0, nil
	if !t.wide() {
		t.mask = t.alloc()
	}
}

func (t *isa) ret() {
	VZEROUPPER()
	RET()
}

// alloc gives out a vector register.
func (t *isa) alloc() reg.Register {
	if t.used == len(t.vec) {
		panic("out of vector registers")
	}
	t.used++
	return t.vec[t.used-1]
}

func (t *isa) allocs(n int) []reg.Register {
	r := make([]reg.Register, n)
	for i := range r {
		r[i] = t.alloc()
	}
	return r
}

// params loads the arguments, which are all integers or pointers, to the
// general registers named in order.
func params(names []string, regs ...reg.Register) {
	for i, name := range names {
		Load(Param(name), regs[i])
	}
}

// scalar broadcasts a float64 argument to a new register.
func (t *isa) scalar(name string) reg.Register {
	r := t.alloc()
	b, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSD(b.Addr, r)
	return r
}

// loop writes the loops over the elements 0 ≤ i < n: unroll vectors at a time,
// then one vector, then the rest under a mask. n is destroyed; i must not be
// touched by body. body gets the number of vectors; vector v begins at element
// i + v·lanes.
func (t *isa) loop(name string, n, i reg.Register, unroll int, body func(vectors int)) {
	XORL(i.(reg.GP).As32(), i.(reg.GP).As32())
	single, tail, done := name+"single", name+"tail", name+"done"
	step := func(label, next string, vectors int) {
		SUBQ(imm(vectors*t.lanes), n)
		JL(ref(next + "enter"))
		align(32)
		Label(label)
		body(vectors)
		ADDQ(imm(vectors*t.lanes), i)
		SUBQ(imm(vectors*t.lanes), n)
		JGE(ref(label))
		Label(next + "enter")
		ADDQ(imm(vectors*t.lanes), n)
	}
	if unroll > 1 {
		step(name+"block", single, unroll)
	}
	step(single, tail, 1)
	JZ(ref(done))
	t.setMask(n)
	t.masked = true
	body(1)
	t.masked = false
	Label(done)
}

// setMask makes the mask of the first n < lanes lanes; n is destroyed.
func (t *isa) setMask(n reg.Register) {
	if t.wide() {
		bits := reg.RCX // the count of a shift must stand in CL
		if n != bits {
			panic("the count of elements must be in RCX")
		}
		MOVL(operand.U32(1), reg.R15L)
		SHLL(reg.CL, reg.R15L)
		DECL(reg.R15L)
		KMOVW(reg.R15L, reg.K1)
		return
	}
	NEGQ(n)
	LEAQ(t.maskTable(), reg.R15)
	VMOVUPD(indexed(reg.R15, n, 8, 8*t.lanes), t.mask)
}

// maskTable holds lanes words of ones, then lanes words of zeros.
func (t *isa) maskTable() operand.Mem {
	if t.laneMasks == nil {
		m := GLOBL("lanemasks", RODATA|NOPTR)
		for i := range 2 * t.lanes {
			x := ^uint64(0)
			if i >= t.lanes {
				x = 0
			}
			DATA(8*i, operand.U64(x))
		}
		t.laneMasks = func() operand.Mem { return m }
	}
	return t.laneMasks()
}

// load reads a vector; lanes that the mask leaves out become zero.
func (t *isa) load(m operand.Mem, r reg.Register) {
	switch {
	case !t.masked:
		VMOVUPD(m, r)
	case t.wide():
		VMOVUPD_Z(m, reg.K1, r)
	default:
		VMASKMOVPD(m, t.mask, r)
	}
}

// store writes the lanes of the mask.
func (t *isa) store(r reg.Register, m operand.Mem) {
	switch {
	case !t.masked:
		VMOVUPD(r, m)
	case t.wide():
		VMOVUPD(r, reg.K1, m)
	default:
		VMASKMOVPD(r, t.mask, m)
	}
}

// sub sets dst = a − b, zero in lanes that the mask leaves out.
func (t *isa) sub(b, a, dst reg.Register) {
	if t.masked && t.wide() {
		VSUBPD_Z(b, a, reg.K1, dst)
		return
	}
	VSUBPD(b, a, dst)
	if t.masked {
		VANDPD(t.mask, dst, dst)
	}
}

func (t *isa) zero(r reg.Register) {
	if t.wide() {
		VPXORQ(r, r, r)
		return
	}
	VXORPD(r, r, r)
}

// total leaves the sum of the lanes of r in the lowest lane of r; s is scratch.
// Both must be among the first 16, which VEX can name.
func (t *isa) total(r, s reg.Register) {
	ry, rx := r.(reg.Vec).AsY(), r.(reg.Vec).AsX()
	sy, sx := s.(reg.Vec).AsY(), s.(reg.Vec).AsX()
	if t.wide() {
		VEXTRACTF64X4(operand.Imm(1), r, sy)
		VADDPD(sy, ry, ry)
	}
	VEXTRACTF128(operand.Imm(1), ry, sx)
	VADDPD(sx, rx, rx)
	VUNPCKHPD(rx, rx, sx)
	VADDSD(sx, rx, rx)
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

// at is vector v of the elements from i on.
func (t *isa) at(base, i reg.Register, v int) operand.Mem {
	return indexed(base, i, 8, v*t.vb())
}

// imm is an immediate that the assembler takes as 32 bits when it needs to.
func imm(n int) operand.Op {
	if n >= -128 && n < 128 {
		return operand.Imm(uint64(n))
	}
	return operand.U32(uint32(n))
}

func label(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func ref(label string) operand.Op { return operand.LabelRef(label) }
