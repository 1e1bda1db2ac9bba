package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// isa is an instruction set with the state of the function being generated.
type isa struct {
	ISA
	maxColumns int // columns that weightedSums processes at a time
	// used counts the vector registers that alloc has allocated.
	used int
	// masked means that loads and stores of the loop body being generated access
	// only the lanes of the tail's mask.
	masked bool
	// mask is the register with AVX2's mask.
	mask reg.Register
	// laneMasks generates AVX2's table of masks once.
	laneMasks func() operand.Mem
}

var (
	avx512 = &isa{ISA: AVX512, maxColumns: 8}
	avx2   = &isa{ISA: AVX2, maxColumns: 4}
)

// function begins a function as [ISA.Leaf] does.
func (t *isa) function(name, signature string, doc ...string) {
	t.Leaf(name, signature, doc...)
	t.used, t.mask = 0, nil
	if !t.Wide() {
		t.mask = t.alloc()
	}
}

// floats returns the parameters of a signature for float64 arguments, which may be none.
func floats(arguments string) string {
	if arguments == "" {
		return ""
	}
	return ", " + arguments + " float64"
}

// rowFunction begins a function of one row with float64 arguments. i is free.
func (t *isa) rowFunction(name, arguments, doc string) (dst, src, n, i reg.GPPhysical) {
	t.function(name+"*", "func(dst, src *float64, n int"+floats(arguments)+")", "sets dst[j] = "+doc)
	Params("dst src n", reg.RDI, reg.RSI, reg.RCX)
	return reg.RDI, reg.RSI, reg.RCX, reg.RAX
}

// alloc allocates a vector register.
func (t *isa) alloc() reg.Register {
	if t.used == len(t.Vec) {
		panic("out of vector registers")
	}
	t.used++
	return t.Vec[t.used-1]
}

func (t *isa) allocs(n int) []reg.Register {
	r := make([]reg.Register, n)
	for i := range r {
		r[i] = t.alloc()
	}
	return r
}

// columnLoop generates the loop over the d columns with the numbers at index. q counts them, and
// col is the address of the column that the body uses.
func columnLoop(label string, index, stride, y, d, col reg.Register, q reg.GPPhysical, body func()) {
	XORL(q.As32(), q.As32())
	Align(32)
	Label(label)
	MOVQ(Indexed(index, q, 8, 0), col)
	IMULQ(stride, col)
	ADDQ(y, col)
	body()
	INCQ(q)
	CMPQ(q, d)
	JLT(Ref(label))
}

// label returns a name for the loop of a part of the body of t.loop.
func (t *isa) label(name string, vectors int) string {
	if t.masked {
		return fmt.Sprintf("%s%dtail", name, vectors)
	}
	return fmt.Sprintf("%s%d", name, vectors)
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

// loop generates the loops over the elements 0 ≤ i < n: unroll vectors at a time, then one vector,
// then the rest under a mask. It destroys n, and body must not change i. body receives the number
// of vectors; vector v begins at element i + v·lanes.
func (t *isa) loop(name string, n, i reg.Register, unroll int, body func(vectors int)) {
	t.loops(name, n, i, []int{unroll}, body)
}

// loops is loop with several numbers of vectors at a time, one after the other.
func (t *isa) loops(name string, n, i reg.Register, unrolls []int, body func(vectors int)) {
	XORL(i.(reg.GP).As32(), i.(reg.GP).As32())
	single, tail, done := name+"single", name+"tail", name+"done"
	step := func(label, next string, vectors int) {
		SUBQ(Imm(vectors*t.Lanes), n)
		JL(Ref(next + "enter"))
		Align(32)
		Label(label)
		body(vectors)
		ADDQ(Imm(vectors*t.Lanes), i)
		SUBQ(Imm(vectors*t.Lanes), n)
		JGE(Ref(label))
		Label(next + "enter")
		ADDQ(Imm(vectors*t.Lanes), n)
	}
	for k, unroll := range unrolls {
		next := single
		if k+1 < len(unrolls) {
			next = fmt.Sprintf("%sblock%d", name, unrolls[k+1])
		}
		if unroll > 1 {
			step(fmt.Sprintf("%sblock%d", name, unroll), next, unroll)
		}
	}
	step(single, tail, 1)
	JZ(Ref(done))
	t.setMask(n)
	t.masked = true
	body(1)
	t.masked = false
	Label(done)
}

// setMask sets the mask of the first n < lanes lanes and destroys n.
func (t *isa) setMask(n reg.Register) {
	if t.Wide() {
		bits := reg.RCX // the count of a shift must be in CL
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
	VMOVUPD(Indexed(reg.R15, n, 8, 8*t.Lanes), t.mask)
}

// maskTable defines a table of lanes words of ones, followed by lanes words of zeros.
func (t *isa) maskTable() operand.Mem {
	if t.laneMasks == nil {
		words := make([]uint64, 2*t.Lanes)
		for i := range t.Lanes {
			words[i] = ^uint64(0)
		}
		m := Table("lanemasks", words)
		t.laneMasks = func() operand.Mem { return m }
	}
	return t.laneMasks()
}

// load reads a vector and sets lanes outside the mask to zero.
func (t *isa) load(m operand.Mem, r reg.Register) {
	switch {
	case !t.masked:
		VMOVUPD(m, r)
	case t.Wide():
		VMOVUPD_Z(m, reg.K1, r)
	default:
		VMASKMOVPD(m, t.mask, r)
	}
}

// store writes the lanes in the mask.
func (t *isa) store(r reg.Register, m operand.Mem) {
	switch {
	case !t.masked:
		VMOVUPD(r, m)
	case t.Wide():
		VMOVUPD(r, reg.K1, m)
	default:
		VMASKMOVPD(r, t.mask, m)
	}
}

// sub sets dst = a − b, and zero in lanes outside the mask.
func (t *isa) sub(b, a, dst reg.Register) {
	if t.masked && t.Wide() {
		VSUBPD_Z(b, a, reg.K1, dst)
		return
	}
	VSUBPD(b, a, dst)
	if t.masked {
		VANDPD(t.mask, dst, dst)
	}
}

// difference sets dst = a − m, and zero in lanes outside the mask.
func (t *isa) difference(m operand.Mem, a, dst reg.Register) {
	if !t.masked {
		VSUBPD(m, a, dst)
		return
	}
	t.load(m, dst)
	t.sub(dst, a, dst)
}

// Comparisons of VCMPPD. None of them raises an exception; comparisons with "not" hold for NaN.
const (
	equal          = 0
	unordered      = 3
	notEqual       = 4
	less           = 17
	notLessOrEqual = 22
)

// choose sets dst to value where the relation between a and b holds.
func (t *isa) choose(relation uint64, b operand.Op, a reg.Register, value operand.Op, dst, scratch reg.Register) {
	if t.Wide() {
		VCMPPD(operand.Imm(relation), b, a, reg.K2)
		VMOVAPD(value, reg.K2, dst)
		return
	}
	VCMPPD(operand.Imm(relation), b, a, scratch)
	VBLENDVPD(scratch, value, dst, dst)
}

// total leaves the sum of the lanes of r in the lowest lane of r; s is scratch.
// Both must be among the first 16 registers, which VEX can encode.
func (t *isa) total(r, s reg.Register) {
	ry, rx := r.(reg.Vec).AsY(), r.(reg.Vec).AsX()
	sy, sx := s.(reg.Vec).AsY(), s.(reg.Vec).AsX()
	if t.Wide() {
		VEXTRACTF64X4(operand.Imm(1), r, sy)
		VADDPD(sy, ry, ry)
	}
	VEXTRACTF128(operand.Imm(1), ry, sx)
	VADDPD(sx, rx, rx)
	VUNPCKHPD(rx, rx, sx)
	VADDSD(sx, rx, rx)
}

// at returns the operand of vector v of the elements from i on.
func (t *isa) at(base, i reg.Register, v int) operand.Mem {
	return Indexed(base, i, 8, v*t.VB())
}
