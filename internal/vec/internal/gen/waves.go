package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// waveLanes is the number of waves in a row of the routines here. They multiply and add
// in separate instructions, like Go on amd64, and therefore have the bits of Go.
const waveLanes = 8

// turnWaves generates the rotation of waves.
func (t *isa) turnWaves() {
	name := "turnWaves" + t.Suffix
	t.function(name, "func(cos, sin, turnCos, turnSin *float64, n int)",
		name+" turns row i of eight waves by the angle with cosine turnCos[i] and sine",
		"turnSin[i], for i < n. n ≥ 1.")
	cos, sin, turnCos, turnSin, n := reg.RDI, reg.RSI, reg.RDX, reg.R8, reg.RCX
	Params("cos sin turnCos turnSin n", cos, sin, turnCos, turnSin, n)
	tc, ts, c, s, ct, st := t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc()
	Label("row")
	VBROADCASTSD(Mem(turnCos, 0), tc)
	VBROADCASTSD(Mem(turnSin, 0), ts)
	for v := range waveLanes / t.Lanes {
		VMOVUPD(Mem(cos, v*t.VB()), c)
		VMOVUPD(Mem(sin, v*t.VB()), s)
		VMULPD(tc, c, ct)
		VMULPD(ts, s, st)
		VSUBPD(st, ct, ct)
		VMOVUPD(ct, Mem(cos, v*t.VB()))
		VMULPD(tc, s, st)
		VMULPD(ts, c, ct)
		VADDPD(ct, st, st)
		VMOVUPD(st, Mem(sin, v*t.VB()))
	}
	ADDQ(Imm(8*waveLanes), cos)
	ADDQ(Imm(8*waveLanes), sin)
	ADDQ(operand.Imm(8), turnCos)
	ADDQ(operand.Imm(8), turnSin)
	DECQ(n)
	JNZ(Ref("row"))
	Ret()
}

// waveSums generates the sums from which the power of a wave follows.
func (t *isa) waveSums() {
	name := "waveSums" + t.Suffix
	t.function(name, "func(sums *[5][8]float64, cos, sin, y *float64, n int)",
		name+" sets sums to the sums over i < n of cos·y[i], sin·y[i], cos², sin² and cos·sin",
		"for each of eight waves, whose row i is at 8·i. n ≥ 1.")
	sums, cos, sin, y, n := reg.RDI, reg.RSI, reg.RDX, reg.R8, reg.RCX
	Params("sums cos sin y n", sums, cos, sin, y, n)
	vectors := waveLanes / t.Lanes
	acc := make([][]reg.Register, vectors)
	for v := range acc {
		acc[v] = t.allocs(5)
		for _, r := range acc[v] {
			t.Zero(r)
		}
	}
	yi, c, s, p := t.alloc(), t.alloc(), t.alloc(), t.alloc()
	Label("row")
	VBROADCASTSD(Mem(y, 0), yi)
	for v, a := range acc {
		VMOVUPD(Mem(cos, v*t.VB()), c)
		VMOVUPD(Mem(sin, v*t.VB()), s)
		for k, factors := range [][2]reg.Register{{c, yi}, {s, yi}, {c, c}, {s, s}, {c, s}} {
			VMULPD(factors[0], factors[1], p)
			VADDPD(p, a[k], a[k])
		}
	}
	ADDQ(Imm(8*waveLanes), cos)
	ADDQ(Imm(8*waveLanes), sin)
	ADDQ(operand.Imm(8), y)
	DECQ(n)
	JNZ(Ref("row"))
	for v, a := range acc {
		for k, r := range a {
			VMOVUPD(r, Mem(sums, 8*waveLanes*k+v*t.VB()))
		}
	}
	Ret()
}
