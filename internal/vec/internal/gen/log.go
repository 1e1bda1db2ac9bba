package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// and and or are bitwise.
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

// log1p generates log(1 + c·src) by the method of package vec's constants.go.
func (t *isa) log1p() {
	name := "log1p" + t.Suffix
	t.function(name, "func(dst, src *float64, n int, c float64)", name+" sets dst[j] = log(1 + c·src[j]) for j < n.")
	dst, src, n, i := reg.RDI, reg.RSI, reg.RCX, reg.RAX
	params([]string{"dst", "src", "n"}, dst, src, n)
	c := t.scalar("c")
	one, two, half, largest, exponent := t.constant(cOne), t.constant(cTwo), t.constant(cHalf), t.constant(cLargest), t.constant(cExponent)
	shift, halfRoot, mantissa, join := t.constant(cShift), t.constant(cHalfRoot), t.constant(cMantissa), t.constant(cJoin)
	ln2Hi, ln2Lo, poly := t.constant(cLn2Hi), t.constant(cLn2Lo), t.constants(cLog, 7)
	rest, x, u, lost, e, f, s, z := t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc()
	t.loop("", n, i, 1, func(int) {
		t.load(t.at(src, i, 0), rest)
		VMULPD(c, rest, rest)
		VMOVAPD(rest, x)
		t.clamp(func(ops ...operand.Op) { VMINPD(ops...) }, largest, x, u)
		VSUBPD(x, rest, rest) // infinity where src is, otherwise 0
		// u + lost = 1 + x
		VADDPD(one, x, u)
		VSUBPD(x, u, e)
		VSUBPD(e, u, s)
		VSUBPD(s, x, lost)
		VMOVUPD(one, s)
		VSUBPD(e, s, e)
		VADDPD(e, lost, lost)
		VDIVPD(u, lost, lost)
		// u = 2^e·(1 + f)
		VPADDQ(shift, u, u)
		VPSRLQ(operand.Imm(52), u, e)
		t.or(join, e, e)
		VSUBPD(exponent, e, e)
		t.and(mantissa, u, u)
		VPADDQ(halfRoot, u, u)
		VSUBPD(s, u, f)
		VADDPD(two, f, s)
		VDIVPD(s, f, s)
		VMULPD(s, s, z)
		t.horner(poly, z, u)
		VMULPD(z, u, u)
		VMULPD(half, f, z)
		VMULPD(f, z, z) // f²/2
		VADDPD(z, u, u)
		VFMADD231PD(ln2Lo, e, lost)
		VFMADD231PD(s, u, lost)
		VSUBPD(lost, z, z)
		VSUBPD(z, f, f)
		VFMADD231PD(ln2Hi, e, f)
		VADDPD(rest, f, f)
		t.store(f, t.at(dst, i, 0))
	})
	Ret()
}

// rationalSlopes generates k/(1 + t) and k·(t/(1 + t) − l), t = c·s.
func (t *isa) rationalSlopes() {
	name := "rationalSlopes" + t.Suffix
	t.function(name, "func(slope, l, k, s *float64, n int, c float64)",
		name+" sets slope[j] = k[j]/(1 + t) and l[j] = k[j]·(t/(1 + t) − l[j]), t = c·s[j],", "for j < n.")
	slope, l, k, s, n, i := reg.RDI, reg.RBX, reg.RDX, reg.RSI, reg.RCX, reg.RAX
	params([]string{"slope", "l", "k", "s", "n"}, slope, l, k, s, n)
	c, one := t.scalar("c"), t.alloc()
	VMOVUPD(t.constant(cOne), one)
	const unroll = 2
	x, u, v := t.allocs(unroll), t.allocs(unroll), t.allocs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for j := range vectors {
			t.load(t.at(s, i, j), x[j])
			VMULPD(c, x[j], x[j])
			VADDPD(one, x[j], u[j])
			VDIVPD(u[j], one, u[j])
			t.load(t.at(l, i, j), v[j])
			VFMSUB231PD(u[j], x[j], v[j])
			t.load(t.at(k, i, j), x[j])
			VMULPD(x[j], v[j], v[j])
			VMULPD(x[j], u[j], u[j])
			t.store(v[j], t.at(l, i, j))
			t.store(u[j], t.at(slope, i, j))
		}
	})
	Ret()
}
