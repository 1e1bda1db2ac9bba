// Package asm helps the assembly generators of cpu/spd and kernel/vec to use avo: it holds
// the differences between the two instruction sets, and abbreviations. Like the generators, it is a
// separate module, so that users of gpfit do not depend on avo. avo v0.6.0 requires a
// golang.org/x/tools that does not compile on Go 1.26; go.mod raises the version.
package asm

import (
	"flag"
	"log"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// ISA describes an instruction set.
type ISA struct {
	Suffix string // of the Go names
	Lanes  int    // float64 in a vector
	Vec    []reg.Register
}

// AVX512 and AVX2 are the instruction sets.
var (
	AVX512 = ISA{Suffix: "512", Lanes: 8, Vec: []reg.Register{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
	}}
	AVX2 = ISA{Suffix: "256", Lanes: 4, Vec: []reg.Register{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
	}}
)

// Write is the main function of a generator. It writes the routines for the
// instruction set in -isa.
func Write(routines map[string]func()) {
	name := flag.String("isa", "", "which routines to write")
	flag.Parse()
	write, ok := routines[*name]
	if !ok {
		log.Fatalf("unknown -isa %q", *name)
	}
	build.ConstraintExpr("amd64")
	write()
	build.Generate()
}

// Wide reports whether the instruction set is AVX-512.
func (t ISA) Wide() bool { return t.Lanes == 8 }

// VB returns the number of bytes in a vector.
func (t ISA) VB() int { return 8 * t.Lanes }

// Zero clears a vector register.
func (t ISA) Zero(r reg.Register) {
	if t.Wide() {
		build.VPXORQ(r, r, r)
		return
	}
	build.VXORPD(r, r, r)
}

// Leaf begins a function. The * in its name stands for the suffix of the instruction set. doc goes
// on after the name. All functions are leaves without a frame and keep no pointers.
func (i ISA) Leaf(name, signature string, doc ...string) {
	name = strings.Replace(name, "*", i.Suffix, 1)
	build.TEXT(name, build.NOSPLIT, signature)
	build.Doc(append([]string{name + " " + doc[0]}, doc[1:]...)...)
	build.Pragma("noescape")
}

// Params loads the named arguments, all integers or pointers, into general registers.
func Params(names string, regs ...reg.Register) {
	for i, name := range strings.Fields(names) {
		build.Load(build.Param(name), regs[i])
	}
}

// Ret ends a function that uses vector registers.
func Ret() {
	build.VZEROUPPER()
	build.RET()
}

// Table defines a read-only table with one word for each element.
func Table(name string, words []uint64) operand.Mem {
	m := build.GLOBL(name, build.RODATA|build.NOPTR)
	for i, x := range words {
		build.DATA(8*i, operand.U64(x))
	}
	return m
}

// Align emits PCALIGN, which avo does not support.
func Align(n int) {
	build.Instruction(&ir.Instruction{Opcode: "PCALIGN", Operands: []operand.Op{operand.Imm(uint64(n))}})
}

// Mem returns the operand disp bytes after base.
func Mem(base reg.Register, disp int) operand.Mem {
	return operand.Mem{Base: base, Disp: disp}
}

// Indexed returns the operand scale·index + disp bytes after base.
func Indexed(base, index reg.Register, scale uint8, disp int) operand.Mem {
	return operand.Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}

// Imm returns an immediate, which the assembler encodes in 32 bits if necessary.
func Imm(n int) operand.Op {
	if n >= -128 && n < 128 {
		return operand.Imm(uint64(n))
	}
	return operand.U32(uint32(n))
}

// Ref returns a reference to a label.
func Ref(label string) operand.Op { return operand.LabelRef(label) }
