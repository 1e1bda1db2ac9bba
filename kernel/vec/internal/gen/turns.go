package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// turns holds the constants of sines and cosines of turns.
type turns struct {
	t        *isa
	sin, cos []operand.Op
	one      operand.Op
}

func (t *isa) newTurns(withCosine bool) *turns {
	w := &turns{t: t, sin: t.constants(cSinTurn, cCosTurn-cSinTurn)}
	if withCosine {
		w.cos, w.one = t.constants(cCosTurn, cLog-cCosTurn), t.constant(cOne)
	}
	return w
}

// turnRegs are the registers of one vector. r holds u, s receives sin(πu) and, if
// requested, r receives cos(πu), both up to a common sign. z is scratch.
type turnRegs struct{ r, z, s reg.Register }

// horner sets y to the polynomial in z.
func (t *isa) horner(c []operand.Op, z, y reg.Register) {
	VMOVUPD(c[len(c)-1], y)
	for i := len(c) - 2; i >= 0; i-- {
		VFMADD213PD(c[i], z, y)
	}
}

// emit generates the reduction of u by the nearest integer, ties to even, and the
// evaluation of the polynomials.
func (w *turns) emit(regs []turnRegs) {
	for _, r := range regs {
		if w.t.Wide() {
			VRNDSCALEPD(operand.Imm(8), r.r, r.z)
		} else {
			VROUNDPD(operand.Imm(8), r.r, r.z)
		}
		VSUBPD(r.z, r.r, r.r)
		VMULPD(r.r, r.r, r.z)
		w.t.horner(w.sin, r.z, r.s)
		VMULPD(r.r, r.s, r.s)
		if w.cos != nil {
			w.t.horner(w.cos, r.z, r.r)
			VFMADD213PD(w.one, r.z, r.r)
		}
	}
}

func (t *isa) turnRegs(n int) []turnRegs {
	r := make([]turnRegs, n)
	for i := range r {
		r[i] = turnRegs{t.alloc(), t.alloc(), t.alloc()}
	}
	return r
}

// turnRow generates b·cos(2πu) = b − 2b·sin²(πu), b·sin(2πu) = 2b·sin(πu)·cos(πu) or both,
// with u = c·src.
func (t *isa) turnRow(name, results string, withCosine, withSine bool, doc ...string) {
	t.function(name+"*", "func("+strings.ReplaceAll(results, " ", ", ")+", src *float64, n int, c, b float64)", append([]string{"sets " + doc[0]}, doc[1:]...)...)
	dst, src, n, i, sine := reg.RDI, reg.RSI, reg.RCX, reg.RAX, reg.RDX
	regs := []reg.Register{dst, src, n}
	if withCosine && withSine {
		regs = []reg.Register{dst, sine, src, n}
	} else if withSine {
		sine = dst
	}
	Params(results+" src n", regs...)
	c, b := t.scalar("c"), t.scalar("b")
	twice := b
	if withCosine {
		twice = t.alloc()
	}
	VADDPD(b, b, twice)
	w := t.newTurns(withSine)
	const unroll = 2
	rows := t.turnRegs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for v, r := range rows[:vectors] {
			t.load(t.at(src, i, v), r.r)
			VMULPD(c, r.r, r.r)
		}
		w.emit(rows[:vectors])
		for v, r := range rows[:vectors] {
			if withCosine {
				VMULPD(r.s, r.s, r.z)
			}
			if withSine {
				VMULPD(r.s, r.r, r.s)
				VMULPD(twice, r.s, r.s)
				t.store(r.s, t.at(sine, i, v))
			}
			if withCosine {
				VMOVAPD(b, r.s)
				VFNMADD231PD(twice, r.z, r.s)
				t.store(r.s, t.at(dst, i, v))
			}
		}
	})
	Ret()
}

// sinSquares generates the sum over columns of w·sin²(πu), like columnSums.
func (t *isa) sinSquares() {
	t.function("sinSquares*", "func(dst *float64, n int, x, w, f, y *float64, stride int, index *int, d int)",
		"sets dst[j] = Σ_q w[q]·sin²(π·f[q]·(x[q] − y[index[q]·stride + j])) for j < n;",
		"without weights if w is nil. d ≥ 1.")
	dst, n, x, w, f, y, stride, index, d := reg.RDI, reg.RCX, reg.RSI, reg.RBX, reg.R13, reg.RDX, reg.R8, reg.R9, reg.R10
	i, q, col := reg.RAX, reg.R11, reg.R12
	Params("dst n x w f y stride index d", dst, n, x, w, f, y, stride, index, d)
	SHLQ(operand.Imm(3), stride)
	unroll := 2
	if t.Wide() {
		unroll = 4
	}
	acc, xq, wq, fq := t.allocs(unroll), t.alloc(), t.alloc(), t.alloc()
	rows, turn := t.turnRegs(unroll), t.newTurns(false)
	columns := func(weights bool, vectors int, label string) {
		for v := range vectors {
			t.Zero(acc[v])
		}
		columnLoop(label, index, stride, y, d, col, q, func() {
			VBROADCASTSD(Indexed(x, q, 8, 0), xq)
			VBROADCASTSD(Indexed(f, q, 8, 0), fq)
			if weights {
				VBROADCASTSD(Indexed(w, q, 8, 0), wq)
			}
			for v, r := range rows[:vectors] {
				t.load(t.at(col, i, v), r.r)
				t.sub(r.r, xq, r.r)
				VMULPD(fq, r.r, r.r)
			}
			turn.emit(rows[:vectors])
			for v, r := range rows[:vectors] {
				if weights {
					VMULPD(r.s, r.s, r.s)
					VFMADD231PD(wq, r.s, acc[v])
				} else {
					VFMADD231PD(r.s, r.s, acc[v])
				}
			}
		})
		for v := range vectors {
			t.store(acc[v], t.at(dst, i, v))
		}
	}
	t.columnBlocks(w, n, i, unroll, columns)
}

// sinSquaresSlope generates the sums over columns of sin²(πu) and of u·sin(πu)·cos(πu).
func (t *isa) sinSquaresSlope() {
	t.function("sinSquaresSlope*", "func(dst, sine *float64, n int, x, f, y *float64, stride int, index *int, d int)",
		"sets dst[j] = Σ_q sin²(πu) and sine[j] = Σ_q u·sin(2πu) for j < n, with",
		"u = f[q]·(x[q] − y[index[q]·stride + j]). d ≥ 1.")
	dst, sine, n, x, f, y, stride, index, d := reg.RDI, reg.RBX, reg.RCX, reg.RSI, reg.R13, reg.RDX, reg.R8, reg.R9, reg.R10
	i, q, col := reg.RAX, reg.R11, reg.R12
	Params("dst sine n x f y stride index d", dst, sine, n, x, f, y, stride, index, d)
	SHLQ(operand.Imm(3), stride)
	const unroll = 2
	square, slope, u := t.allocs(unroll), t.allocs(unroll), t.allocs(unroll)
	xq, fq := t.alloc(), t.alloc()
	rows, turn := t.turnRegs(unroll), t.newTurns(true)
	t.loop("", n, i, unroll, func(vectors int) {
		for v := range vectors {
			t.Zero(square[v])
			t.Zero(slope[v])
		}
		columnLoop(t.label("column", vectors), index, stride, y, d, col, q, func() {
			VBROADCASTSD(Indexed(x, q, 8, 0), xq)
			VBROADCASTSD(Indexed(f, q, 8, 0), fq)
			for v, r := range rows[:vectors] {
				t.load(t.at(col, i, v), r.r)
				t.sub(r.r, xq, r.r)
				VMULPD(fq, r.r, u[v])
				VMOVAPD(u[v], r.r)
			}
			turn.emit(rows[:vectors])
			for v, r := range rows[:vectors] {
				VFMADD231PD(r.s, r.s, square[v])
				VMULPD(r.r, r.s, r.s)
				VFMADD231PD(r.s, u[v], slope[v])
			}
		})
		for v := range vectors {
			t.store(square[v], t.at(dst, i, v))
			VADDPD(slope[v], slope[v], slope[v])
			t.store(slope[v], t.at(sine, i, v))
		}
	})
	Ret()
}

// sinSums generates the two sums over one column.
func (t *isa) sinSums() {
	t.function("sinSums*", "func(x, f float64, w, y *float64, n int) (square, sine float64)",
		"returns Σ_j w[j]·sin²(πu) and Σ_j w[j]·u·sin(πu)·cos(πu), u = f·(x − y[j]),",
		"over j < n.")
	w, y, n, i := reg.RSI, reg.RDX, reg.RCX, reg.RAX
	Params("w y n", w, y, n)
	const unroll = 2
	// The registers for total must be below 16.
	square, sine, u := t.allocs(unroll), t.allocs(unroll), t.allocs(unroll)
	rows := t.turnRegs(unroll)
	x, f := t.scalar("x"), t.scalar("f")
	turn := t.newTurns(true)
	for v := range unroll {
		t.Zero(square[v])
		t.Zero(sine[v])
	}
	t.loop("", n, i, unroll, func(vectors int) {
		for v, r := range rows[:vectors] {
			t.load(t.at(y, i, v), r.r)
			t.sub(r.r, x, r.r)
			VMULPD(f, r.r, u[v])
			VMOVAPD(u[v], r.r)
		}
		turn.emit(rows[:vectors])
		for v, r := range rows[:vectors] {
			t.load(t.at(w, i, v), r.z)
			VMULPD(r.z, r.s, r.z)
			VFMADD231PD(r.z, r.s, square[v])
			VMULPD(r.r, u[v], u[v])
			VFMADD231PD(r.z, u[v], sine[v])
		}
	})
	for k, acc := range [][]reg.Register{square, sine} {
		VADDPD(acc[1], acc[0], acc[0])
		t.total(acc[0], u[0])
		Store(acc[0].(reg.Vec).AsX(), ReturnIndex(k))
	}
	Ret()
}

// waveLanes is the number of waves in a row of the routines here. They multiply and add
// in separate instructions, like Go on amd64, and therefore have the bits of Go.
const waveLanes = 8

// turnWaves generates the rotation of waves.
func (t *isa) turnWaves() {
	t.function("turnWaves*", "func(cos, sin, turnCos, turnSin *float64, n int)",
		"turns row i of eight waves by the angle with cosine turnCos[i] and sine",
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
	t.function("waveSums*", "func(sums *[5][8]float64, cos, sin, y *float64, n int)",
		"sets sums to the sums over i < n of cos·y[i], sin·y[i], cos², sin² and cos·sin",
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
