package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// and generates a bitwise and; or generates a bitwise or.
func (t *isa) and(b operand.Op, a, dst reg.Register) {
	if t.Wide() {
		VPANDQ(b, a, dst)
		return
	}
	VPAND(b, a, dst)
}

func (t *isa) or(b operand.Op, a, dst reg.Register) {
	if t.Wide() {
		VPORQ(b, a, dst)
		return
	}
	VPOR(b, a, dst)
}

// logarithm holds the constants of logarithms.
type logarithm struct {
	t                                 *isa
	one, two, half, largest, exponent operand.Op
	shift, halfRoot, mantissa, join   operand.Op
	ln2Hi, ln2Lo                      operand.Op
	poly                              []operand.Op
}

func (t *isa) newLogarithm() *logarithm {
	return &logarithm{
		t: t, one: t.constant(cOne), two: t.constant(cTwo), half: t.constant(cHalf), largest: t.constant(cLargest), exponent: t.constant(cExponent),
		shift: t.constant(cShift), halfRoot: t.constant(cHalfRoot), mantissa: t.constant(cMantissa), join: t.constant(cJoin),
		ln2Hi: t.constant(cLn2Hi), ln2Lo: t.constant(cLn2Lo), poly: t.constants(cLog, cTwo-cLog),
	}
}

// logRegs are the registers of one vector. u holds a normal positive number and lost the number to
// add to its logarithm; both are destroyed. f receives the sum. e, s and z are scratch.
type logRegs struct{ u, lost, f, e, s, z reg.Register }

func (t *isa) logRegs() logRegs {
	return logRegs{u: t.alloc(), lost: t.alloc(), f: t.alloc(), e: t.alloc(), s: t.alloc(), z: t.alloc()}
}

// emit generates f = log u + lost by the method in constants.go of package vec. exponent is the
// constant, or the constant plus the power of 2 by which u is too large; it may be s.
func (l *logarithm) emit(r logRegs, exponent operand.Op) {
	t, u, lost, f, e, s, z := l.t, r.u, r.lost, r.f, r.e, r.s, r.z
	l.split(r, exponent)
	VADDPD(l.two, f, s)
	VDIVPD(s, f, s)
	VMULPD(s, s, z)
	t.horner(l.poly, z, u)
	VMULPD(z, u, u)
	VMULPD(l.half, f, z)
	VMULPD(f, z, z) // f²/2
	VADDPD(z, u, u)
	VFMADD231PD(l.ln2Lo, e, lost)
	VFMADD231PD(s, u, lost)
	VSUBPD(lost, z, z)
	VSUBPD(z, f, f)
	VFMADD231PD(l.ln2Hi, e, f)
}

// split generates u = 2^e·(1 + f) and destroys u.
func (l *logarithm) split(r logRegs, exponent operand.Op) {
	VPADDQ(l.shift, r.u, r.u)
	VPSRLQ(operand.Imm(52), r.u, r.e)
	l.t.or(l.join, r.e, r.e)
	VSUBPD(exponent, r.e, r.e)
	l.t.and(l.mantissa, r.u, r.u)
	VPADDQ(l.halfRoot, r.u, r.u)
	VSUBPD(l.one, r.u, r.f)
}

// log1p generates log(1 + c·src).
func (t *isa) log1p() {
	dst, src, n, i := t.rowFunction("log1p", "c", "log(1 + c·src[j]) for j < n.")
	c, l := t.scalar("c"), t.newLogarithm()
	rest, x, r := t.alloc(), t.alloc(), t.logRegs()
	u, lost, e, s := r.u, r.lost, r.e, r.s
	t.loop("", n, i, 1, func(int) {
		t.load(t.at(src, i, 0), rest)
		VMULPD(c, rest, rest)
		VMOVAPD(rest, x)
		t.clamp(VMINPD, l.largest, x, u)
		VSUBPD(x, rest, rest) // infinity where src is infinite, otherwise 0
		// u + lost = 1 + x
		VADDPD(l.one, x, u)
		VSUBPD(x, u, e)
		VSUBPD(e, u, s)
		VSUBPD(s, x, lost)
		VMOVUPD(l.one, s)
		VSUBPD(e, s, e)
		VADDPD(e, lost, lost)
		VDIVPD(u, lost, lost)
		l.emit(r, l.exponent)
		VADDPD(rest, r.f, r.f)
		t.store(r.f, t.at(dst, i, 0))
	})
	Ret()
}

// normal generates u = x and the exponent s, where x is not negative. It scales subnormal numbers
// to normal ones, by a factor that is 2^power.
func (l *logarithm) normal(r logRegs, x reg.Register, normal, factor, power operand.Op) {
	if l.t.Wide() {
		VMOVAPD(x, r.u)
		VMOVAPD(l.exponent, r.s)
		VCMPPD(operand.Imm(less), normal, x, reg.K2)
		VMULPD(factor, x, reg.K2, r.u)
		VADDPD(power, r.s, reg.K2, r.s)
		return
	}
	VCMPPD(operand.Imm(less), normal, x, r.z)
	VMULPD(factor, x, r.u)
	VBLENDVPD(r.z, r.u, x, r.u)
	VANDPD(power, r.z, r.s)
	VADDPD(l.exponent, r.s, r.s)
}

// log generates log(c·src). It first scales subnormal numbers to normal ones, and
// inserts the results without a finite logarithm at the end.
func (t *isa) log() {
	dst, src, n, i := t.rowFunction("log", "c", "log(c·src[j]) for j < n.")
	c, l := t.scalar("c"), t.newLogarithm()
	normal, factor, power := t.constant(cNormal), t.constant(cFactor), t.constant(cPower)
	minusInf, nan := t.constant(cMinusInf), t.constant(cNaN)
	x, r := t.alloc(), t.logRegs()
	t.loop("", n, i, 1, func(int) {
		t.load(t.at(src, i, 0), x)
		VMULPD(c, x, x)
		t.Zero(r.lost)
		l.normal(r, x, normal, factor, power)
		l.emit(r, r.s)
		t.Zero(r.z)
		t.choose(notLessOrEqual, l.largest, x, x, r.f, r.s) // infinity and NaN
		t.choose(equal, r.z, x, minusInf, r.f, r.s)
		t.choose(less, r.z, x, nan, r.f, r.s)
		t.store(r.f, t.at(dst, i, 0))
	})
	Ret()
}
