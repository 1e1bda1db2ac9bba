package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// Indices into the Go variable expConst, whose elements are repeated over the lanes
// of an AVX2 vector. constants.go of package vec defines the constants.
const (
	cLog2E = iota
	cLn2Hi
	cLn2Lo
	cMagic16
	cMagic1
	cOne
	cMin
	cMax
	cMaxRoot
	cBias
	cSmall              // coefficients of r², r³, … on |r| ≤ ln 2/32
	cLarge = cSmall + 6 // and on |r| ≤ ln 2/2
	cEnd   = cLarge + 10

	// Sine and cosine of turns, logarithm.
	cSinTurn = cEnd
	cCosTurn = cSinTurn + 9
	cLog     = cCosTurn + 8
	cTwo     = cLog + 7
	cHalf    = cTwo + 1
	cLargest = cTwo + 2
	// cExponent converts an exponent with cJoin above it to a number.
	cExponent = cTwo + 3
	cShift    = cTwo + 4 // integers from here on
	cHalfRoot = cTwo + 5
	cMantissa = cTwo + 6
	cJoin     = cTwo + 7

	// Logarithms of numbers that are not normal; absolute values.
	cNormal   = cTwo + 8
	cFactor   = cTwo + 9
	cPower    = cTwo + 10
	cMinusInf = cTwo + 11
	cNaN      = cTwo + 12
	cNoSign   = cTwo + 13

	// Powers, hyperbolic tangent, arcsine.
	cAtanh         = cNoSign + 1
	cThird         = cAtanh + 8
	cThirdLo       = cThird + 1
	cLowest        = cThird + 2 // bounds of what is added to an exponent
	cHighest       = cThird + 3
	cInf           = cThird + 4
	cTanhTop       = cThird + 5 // coefficients, from the highest power down
	cTanhBottom    = cTanhTop + 3
	cTanhSmall     = cTanhBottom + 3
	cTanhOne       = cTanhSmall + 1 // where the tangent rounds to 1
	cMinusTwo      = cTanhSmall + 2
	cArcTop        = cTanhSmall + 3 // coefficients, from the constant up
	cArcBottom     = cArcTop + 6
	cQuarterTurn   = cArcBottom + 5
	cQuarterTurnLo = cQuarterTurn + 1
)

// constant returns an element of expConst: with AVX-512, which has enough registers, loaded into a
// register before the loop, and otherwise as a memory operand.
func (t *isa) constant(index int) operand.Op {
	m := operand.NewDataAddr(operand.Symbol{Name: "·expConst"}, 32*index)
	if !t.Wide() {
		return m
	}
	r := t.alloc()
	VBROADCASTSD(m, r)
	return r
}

func (t *isa) constants(first, n int) []operand.Op {
	c := make([]operand.Op, n)
	for i := range c {
		c[i] = t.constant(first + i)
	}
	return c
}

// exponential holds the constants for the exponentials of one function.
type exponential struct {
	t                          *isa
	log2e, ln2hi, ln2lo, magic operand.Op
	one, bias                  operand.Op // AVX2
	poly                       []operand.Op
	tableLow, tableHigh        reg.Register // AVX-512
}

func (t *isa) newExponential() *exponential {
	e := &exponential{t: t, log2e: t.constant(cLog2E), ln2hi: t.constant(cLn2Hi), ln2lo: t.constant(cLn2Lo)}
	if t.Wide() {
		e.magic, e.poly = t.constant(cMagic16), t.constants(cSmall, cLarge-cSmall)
		e.tableLow, e.tableHigh = t.alloc(), t.alloc()
		table := operand.Symbol{Name: "·expTable"}
		VMOVUPD(operand.NewDataAddr(table, 0), e.tableLow)
		VMOVUPD(operand.NewDataAddr(table, 64), e.tableHigh)
		return e
	}
	e.magic, e.poly = t.constant(cMagic1), t.constants(cLarge, cEnd-cLarge)
	e.one, e.bias = t.constant(cOne), t.constant(cBias)
	return e
}

// expRegs are the registers of one vector: x holds the argument and is
// destroyed, y receives the result. low is nil or a small number that is added to x.
type expRegs struct{ x, y, k, kd, low reg.Register }

func (t *isa) expRegs(n int) []expRegs {
	r := make([]expRegs, n)
	for i := range r {
		r[i] = expRegs{x: t.alloc(), y: t.alloc(), k: t.alloc(), kd: t.alloc()}
	}
	return r
}

// emit generates y = eˣ for −760 ≤ x ≤ 720 or NaN.
//
// With k the multiple of 1 (AVX2) or 1/16 (AVX-512) nearest to x·log₂e, which
// adding a large number leaves in the last bits of kd, and r = x − k·ln 2,
//
//	eˣ = 2^⌊k⌋ · 2^(k−⌊k⌋) · (1 + r + r²·q(r)).
//
// AVX-512 has a permutation to look up the middle factor among 16 and an instruction for the first
// factor, which includes the floor. AVX2 uses a longer polynomial instead and multiplies by two
// powers of 2, so that neither overflows or underflows and a subnormal result is rounded once.
func (e *exponential) emit(regs []expRegs) {
	t := e.t
	for _, r := range regs {
		VMOVAPD(r.x, r.kd)
		if t.Wide() {
			VFMADD213PD(e.magic, e.log2e, r.kd)
		} else {
			VMOVUPD(e.log2e, r.y)
			VFMADD213PD(e.magic, r.y, r.kd)
		}
		VSUBPD(e.magic, r.kd, r.k)
		VFNMADD231PD(e.ln2hi, r.k, r.x)
		VFNMADD231PD(e.ln2lo, r.k, r.x)
		if r.low != nil {
			VADDPD(r.low, r.x, r.x)
		}
	}
	last := len(e.poly) - 1
	for _, r := range regs {
		VMOVUPD(e.poly[last], r.y)
	}
	for i := last - 1; i >= 0; i-- {
		for _, r := range regs {
			VFMADD213PD(e.poly[i], r.x, r.y)
		}
	}
	for _, r := range regs {
		if t.Wide() {
			VPERMI2PD(e.tableHigh, e.tableLow, r.kd)
			VMULPD(r.x, r.y, r.y)
			VFMADD213PD(r.x, r.x, r.y)
			VFMADD213PD(r.kd, r.kd, r.y)
			VSCALEFPD(r.k, r.y, r.y)
			continue
		}
		VMULPD(r.x, r.x, r.k)
		VFMADD213PD(r.x, r.k, r.y)
		VADDPD(e.one, r.y, r.y)
		half := r.x
		VPSRAD(operand.Imm(1), r.kd, half)
		VPSUBD(half, r.kd, r.kd)
		for _, n := range []reg.Register{half, r.kd} {
			VPADDD(e.bias, n, n)
			VPSLLQ(operand.Imm(52), n, n)
			VMULPD(n, r.y, r.y)
		}
	}
}

// clamp limits x by bound and keeps NaN: if one operand is NaN, VMAXPD and VMINPD
// return the operand that Go writes first.
func (t *isa) clamp(op func(...operand.Op), bound operand.Op, x, scratch reg.Register) {
	if !t.Wide() {
		VMOVUPD(bound, scratch)
		bound = scratch
	}
	op(x, bound, x)
}

// expScaled generates b·exp(a·x).
func (t *isa) expScaled() {
	dst, src, n, i := t.rowFunction("expScaled", "a, b", "b·exp(a·src[j]) for j < n.")
	a, b := t.scalar("a"), t.scalar("b")
	e, low, high := t.newExponential(), t.constant(cMin), t.constant(cMax)
	const unroll = 2
	regs := t.expRegs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for v, r := range regs[:vectors] {
			t.load(t.at(src, i, v), r.x)
			VMULPD(a, r.x, r.x)
			t.clamp(VMAXPD, low, r.x, r.y)
			t.clamp(VMINPD, high, r.x, r.y)
		}
		e.emit(regs[:vectors])
		for v, r := range regs[:vectors] {
			VMULPD(b, r.y, r.y)
			t.store(r.y, t.at(dst, i, v))
		}
	})
	Ret()
}

// rootMode selects the results of rootDecay.
type rootMode int

const (
	valueOnly rootMode = iota
	withSlope
	withPole // with a slope that is infinite at 0
)

// rootDecay generates (p[0] + p[1]·t + p[2]·t²)·e^−t with t = √(c·s), and also the
// slope (q[0]/t + q[1] + q[2]·t)·e^−t.
func (t *isa) rootDecay(mode rootMode) {
	name := map[rootMode]string{valueOnly: "rootDecay", withSlope: "rootSlope", withPole: "rootPole"}[mode]
	signature := "func(k, slope, s *float64, n int, c float64, p, q *[3]float64)"
	doc := []string{
		"sets k[j] = (p[0] + p[1]·t + p[2]·t²)·e^−t with t = √(c·s[j]) for j < n, and",
		"slope[j] = (q[1] + q[2]·t)·e^−t.",
	}
	switch mode {
	case valueOnly:
		signature = "func(k, s *float64, n int, c float64, p *[3]float64)"
		doc = []string{"sets k[j] = (p[0] + p[1]·t + p[2]·t²)·e^−t with t = √(c·s[j]) for j < n."}
	case withPole:
		doc[1] = "slope[j] = (q[0]/t + q[1] + q[2]·t)·e^−t, without its first term where t = 0."
	}
	t.function(name+"*", signature, doc...)
	k, slope, s, n, i, p, q := reg.RDI, reg.RBX, reg.RSI, reg.RCX, reg.RAX, reg.RDX, reg.R8
	if mode == valueOnly {
		Params("k s n p", k, s, n, p)
	} else {
		Params("k slope s n p q", k, slope, s, n, p, q)
	}
	c := t.scalar("c")
	coefficients := func(p reg.Register) []reg.Register {
		r := t.allocs(3)
		for j := range r {
			VBROADCASTSD(Mem(p, 8*j), r[j])
		}
		return r
	}
	unroll := 1
	if t.Wide() {
		unroll = 2
	}
	pc := coefficients(p)
	var qc []reg.Register
	if mode != valueOnly {
		qc = coefficients(q)
	}
	e, limit := t.newExponential(), t.constant(cMaxRoot)
	regs, roots := t.expRegs(unroll), t.allocs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for v, r := range regs[:vectors] {
			root := roots[v]
			t.load(t.at(s, i, v), r.x)
			VMULPD(c, r.x, r.x)
			VSQRTPD(r.x, root)
			t.clamp(VMINPD, limit, root, r.y)
			t.Zero(r.y)
			VSUBPD(root, r.y, r.x)
		}
		e.emit(regs[:vectors])
		for v, r := range regs[:vectors] {
			root, u, w := roots[v], r.x, r.k
			VMOVAPD(pc[2], u)
			VFMADD213PD(pc[1], root, u)
			VFMADD213PD(pc[0], root, u)
			VMULPD(r.y, u, u)
			t.store(u, t.at(k, i, v))
			if mode == valueOnly {
				continue
			}
			VMOVAPD(qc[2], u)
			VFMADD213PD(qc[1], root, u)
			if mode == withPole {
				t.quotient(root, qc[0], w, r.kd)
				VADDPD(w, u, u)
			}
			VMULPD(r.y, u, u)
			t.store(u, t.at(slope, i, v))
		}
	})
	Ret()
}

// quotient sets dst = a/b, or 0 where b = 0.
func (t *isa) quotient(b, a, dst, scratch reg.Register) {
	t.Zero(scratch) // keeps NaN
	if t.Wide() {
		VCMPPD(operand.Imm(notEqual), scratch, b, reg.K2)
		VDIVPD_Z(b, a, reg.K2, dst)
		return
	}
	VCMPPD(operand.Imm(notEqual), scratch, b, scratch)
	VDIVPD(b, a, dst)
	VANDPD(scratch, dst, dst)
}
