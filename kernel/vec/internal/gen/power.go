package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// constantAddress returns the address of an element of expConst.
func constantAddress(index int) operand.Mem {
	return operand.NewDataAddr(operand.Symbol{Name: "·expConst"}, 32*index)
}

// fetch loads an element of expConst into a register within the loop.
func (t *isa) fetch(index int, r reg.Register) {
	if t.Wide() {
		VBROADCASTSD(constantAddress(index), r)
		return
	}
	VMOVUPD(constantAddress(index), r)
}

// plus sets y = y·x + an element of expConst, from memory.
func (t *isa) plus(index int, x, y reg.Register) {
	if t.Wide() {
		VFMADD213PD_BCST(constantAddress(index), x, y)
		return
	}
	VFMADD213PD(constantAddress(index), x, y)
}

// fromMemory evaluates a polynomial of z with n coefficients, the constant at first.
func (t *isa) fromMemory(first, n int, z, y reg.Register) {
	t.fetch(first+n-1, y)
	for i := n - 2; i >= 0; i-- {
		t.plus(first+i, z, y)
	}
}

// falling is fromMemory with the highest power at first.
func (t *isa) falling(first, n int, z, y reg.Register) {
	t.fetch(first, y)
	for i := 1; i < n; i++ {
		t.plus(first+i, z, y)
	}
}

// exclusive generates a bitwise exclusive or.
func (t *isa) exclusive(b, a, dst reg.Register) {
	if t.Wide() {
		VPXORQ(b, a, dst)
		return
	}
	VPXOR(b, a, dst)
}

// power generates (c·src)^p = exp(p·log|c·src|), with the logarithm and the product as sums of two
// numbers. With u = 2^e·m, f = m − 1 and s = f/(2 + f) as for the logarithm, and z = s²,
//
//	log m = 2s·(1 + z·(1/3 + z·q(z))).
//
// s, z, the terms 1/3 + z·q(z) and their products are sums of two numbers, too.
func (t *isa) power() {
	t.function("power*", "func(dst, src *float64, n int, c, p float64, ends *[4]float64)",
		"sets dst[j] = |x|^p with x = c·src[j] for j < n, times ends[2] where x < 0, and",
		"ends[0] where x = 0, ends[1] where x = ∞, and ends[3] where x = −∞.")
	dst, src, n, ends, i := reg.RDI, reg.RSI, reg.RCX, reg.RDX, reg.RAX
	Params("dst src n ends", dst, src, n, ends)
	c, p := t.scalar("c"), t.scalar("p")
	e := t.newExponential()
	l := &logarithm{
		t: t, one: t.constant(cOne), exponent: t.constant(cExponent), shift: t.constant(cShift), halfRoot: t.constant(cHalfRoot),
		mantissa: t.constant(cMantissa), join: t.constant(cJoin), ln2Hi: e.ln2hi, ln2Lo: e.ln2lo,
	}
	x, r := t.alloc(), t.logRegs()
	a, b := t.alloc(), t.alloc()
	t.loop("", n, i, 1, func(int) {
		t.load(t.at(src, i, 0), x)
		VMULPD(c, x, x)
		t.fetch(cNoSign, a)
		t.and(x, a, a)
		if t.Wide() {
			t.fetch(cNormal, r.z)
			t.fetch(cFactor, r.lost)
			t.fetch(cPower, r.f)
			l.normal(r, a, r.z, r.lost, r.f)
		} else {
			l.normal(r, a, constantAddress(cNormal), constantAddress(cFactor), constantAddress(cPower))
		}
		l.split(r, r.s)
		log, low := t.longLogarithm(l, r, a, b)
		// p·(log + low) = k + more
		k, more, scratch := r.u, r.z, r.s
		VMULPD(p, log, k)
		VMOVAPD(k, more)
		VFMSUB231PD(p, log, more)
		VFMADD231PD(p, low, more)
		for _, bound := range []struct {
			op    func(...operand.Op)
			index int
			r     reg.Register
		}{{VMAXPD, cLowest, more}, {VMINPD, cHighest, more}, {VMAXPD, cMin, k}, {VMINPD, cMax, k}} {
			t.fetch(bound.index, scratch)
			bound.op(bound.r, scratch, bound.r)
		}
		y := r.f
		e.emit([]expRegs{{x: k, y: y, k: r.e, kd: r.lost, low: more}})
		t.powerEnds(x, y, ends, r)
		t.store(y, t.at(dst, i, 0))
	})
	Ret()
}

// longLogarithm generates log|x| = log + low from 2^e·(1 + f). It destroys all registers but f,
// which is log.
func (t *isa) longLogarithm(l *logarithm, r logRegs, a, b reg.Register) (log, low reg.Register) {
	f, e := r.f, r.e
	d, dl, q, s, sl := r.u, r.lost, r.s, r.z, a
	// s + sl = f/(2 + f), 2 + f = d + dl
	t.fetch(cTwo, b)
	VADDPD(b, f, d)
	VSUBPD(b, d, dl)
	VSUBPD(dl, f, dl)
	VMOVUPD(l.one, q)
	VDIVPD(d, q, q)
	VMULPD(q, f, s)
	VMOVAPD(f, sl)
	VFNMADD231PD(d, s, sl)
	VFNMADD231PD(dl, s, sl)
	VMULPD(q, sl, sl)
	// z + zl is its square; then s + sl is twice as large.
	z, zl := d, dl
	VMULPD(s, s, z)
	VMOVAPD(z, zl)
	VFMSUB231PD(s, s, zl)
	VADDPD(s, s, s)
	VADDPD(sl, sl, sl)
	VFMADD231PD(s, sl, zl)
	// w + wl = 1/3 + z·q(z)
	w, wl := q, b
	t.fromMemory(cAtanh, 8, z, w)
	VMULPD(z, w, w)
	t.fetch(cThird, wl)
	VADDPD(wl, w, f)
	VSUBPD(f, wl, wl)
	VADDPD(w, wl, wl)
	t.fetch(cThirdLo, w)
	VADDPD(w, wl, wl)
	VMOVAPD(f, w)
	// z + zl = (s + sl)·(z + zl)
	VMULPD(s, zl, zl)
	VFMADD231PD(sl, z, zl)
	VMULPD(s, z, f)
	VFMSUB213PD(f, s, z) // the error of the product
	VADDPD(z, zl, zl)
	VMOVAPD(f, z)
	// f + wl = (z + zl)·(w + wl)
	VMULPD(w, z, f)
	VMULPD(z, wl, wl)
	VFMADD231PD(zl, w, wl)
	VFMSUB213PD(f, w, z)
	VADDPD(z, wl, wl)
	// The sum of e·log 2, s + sl and f + wl, from large to small.
	low = wl
	VADDPD(sl, low, low)
	VFMADD231PD(l.ln2Lo, e, low)
	VMULPD(l.ln2Hi, e, e)
	VADDPD(s, e, w)
	VSUBPD(e, w, z)
	VSUBPD(z, s, s)
	VADDPD(s, low, low)
	VADDPD(f, w, z)
	VSUBPD(w, z, w)
	VSUBPD(w, f, w)
	VADDPD(w, low, low)
	VMOVAPD(z, f)
	return f, low
}

// powerEnds inserts into y the powers of 0 and of infinity, the factor where x is negative, and NaN.
func (t *isa) powerEnds(x, y, ends reg.Register, r logRegs) {
	value, bound, mask := r.u, r.e, r.z
	t.Zero(bound)
	VBROADCASTSD(Mem(ends, 16), value)
	VMULPD(value, y, value)
	t.choose(less, bound, x, value, y, mask)
	VBROADCASTSD(Mem(ends, 0), value)
	t.choose(equal, bound, x, value, y, mask)
	t.fetch(cInf, bound)
	VBROADCASTSD(Mem(ends, 8), value)
	t.choose(equal, bound, x, value, y, mask)
	t.fetch(cMinusInf, bound)
	VBROADCASTSD(Mem(ends, 24), value)
	t.choose(equal, bound, x, value, y, mask)
	t.choose(unordered, x, x, x, y, mask)
}
