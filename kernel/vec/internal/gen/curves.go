package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// tanh generates tanh(c·src) by the methods in constants.go of package vec. Both cases are a
// number plus a quotient, so there is one division.
func (t *isa) tanh() {
	dst, src, n, i := t.rowFunction("tanh", "c", "tanh(c·src[j]) for j < n.")
	c, e := t.scalar("c"), t.newExponential()
	x, size, z, top, exp := t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.expRegs(1)
	r := exp[0]
	t.loop("", n, i, 1, func(int) {
		t.load(t.at(src, i, 0), x)
		VMULPD(c, x, x)
		t.fetch(cNoSign, size)
		t.and(x, size, size)
		t.exclusive(size, x, x) // the sign
		VADDPD(size, size, r.x)
		t.fetch(cTanhOne, r.y)
		VMINPD(r.x, r.y, r.x) // keeps NaN: see clamp
		e.emit(exp)
		t.fetch(cOne, r.x)
		VADDPD(r.x, r.y, r.y)
		// r.x + top/r.y for large numbers
		t.fetch(cMinusTwo, top)
		// size + r.k/r.kd for small ones
		VMULPD(size, size, z)
		t.falling(cTanhTop, 3, z, r.k)
		VMULPD(z, r.k, r.k)
		VMULPD(size, r.k, r.k)
		t.fetch(cOne, r.kd)
		for j := range 3 {
			t.plus(cTanhBottom+j, z, r.kd)
		}
		t.fetch(cTanhSmall, z)
		t.chooseAll(less, z, size, z, []reg.Register{size, r.k, r.kd}, []reg.Register{r.x, top, r.y})
		VDIVPD(r.y, top, top)
		VADDPD(top, r.x, r.x)
		t.or(x, r.x, r.x)
		t.store(r.x, t.at(dst, i, 0))
	})
	Ret()
}

// chooseAll sets each dst to its value where the relation between a and b holds.
func (t *isa) chooseAll(relation uint64, b, a, scratch reg.Register, values, dst []reg.Register) {
	if t.Wide() {
		VCMPPD(operand.Imm(relation), b, a, reg.K2)
	} else {
		VCMPPD(operand.Imm(relation), b, a, scratch)
	}
	for j, value := range values {
		if t.Wide() {
			VMOVAPD(value, reg.K2, dst[j])
		} else {
			VBLENDVPD(scratch, value, dst[j], dst[j])
		}
	}
}

// arcsine generates arcsin(c·src) by the method in constants.go of package vec.
func (t *isa) arcsine() {
	dst, src, n, i := t.rowFunction("arcsine", "c", "arcsin(c·src[j]) for j < n.")
	c := t.scalar("c")
	x, size, z, s, top, bottom, half, large := t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc(), t.alloc()
	t.loop("", n, i, 1, func(int) {
		t.load(t.at(src, i, 0), x)
		VMULPD(c, x, x)
		t.fetch(cNoSign, size)
		t.and(x, size, size)
		t.exclusive(size, x, x) // the sign
		// z = s², with s = |x|, or √((1 − |x|)/2) where |x| > ½
		VMOVAPD(size, s)
		VMULPD(size, size, z)
		t.fetch(cHalf, half)
		VMOVAPD(half, top)
		VFNMADD231PD(half, size, top)
		VSQRTPD(top, bottom)
		t.chooseAll(less, size, half, large, []reg.Register{top, bottom}, []reg.Register{z, s})
		t.fromMemory(cArcTop, 6, z, top)
		VMULPD(z, top, top)
		t.fromMemory(cArcBottom, 5, z, bottom)
		VDIVPD(bottom, top, top)
		VFMADD213PD(s, s, top) // the arcsine of s
		// π/2 − 2·arcsin s
		VADDPD(top, top, z)
		t.fetch(cQuarterTurnLo, s)
		VSUBPD(s, z, z)
		t.fetch(cQuarterTurn, s)
		VSUBPD(z, s, z)
		t.chooseAll(less, size, half, large, []reg.Register{z}, []reg.Register{top})
		t.or(x, top, top)
		t.store(top, t.at(dst, i, 0))
	})
	Ret()
}
