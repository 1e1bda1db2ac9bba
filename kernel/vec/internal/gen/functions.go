package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// functions generates the functions of one element that need few instructions.
func (t *isa) functions() {
	// unary generates a function with float64 arguments. prepare broadcasts them, loads constants
	// and returns a generator of the code that replaces x by the result. y is scratch.
	unary := func(name, arguments, doc string, prepare func() combination) {
		dst, src, n, i := t.rowFunction(name, arguments, doc)
		compute := prepare()
		const unroll = 4
		x, y := t.allocs(unroll), t.allocs(unroll)
		t.loop("", n, i, unroll, func(vectors int) {
			for v := range vectors {
				t.load(t.at(src, i, v), x[v])
			}
			for v := range vectors {
				compute(x[v], y[v])
				t.store(x[v], t.at(dst, i, v))
			}
		})
		Ret()
	}
	unary("sqrt", "c", "√(c·src[j]) for j < n.", func() combination {
		c := t.scalar("c")
		return func(x, y reg.Register) {
			VMULPD(c, x, x)
			VSQRTPD(x, x)
		}
	})
	unary("inverse", "c, o", "1/(c·src[j] + o) for j < n.", func() combination {
		c, o, one := t.scalar("c"), t.scalar("o"), t.register(cOne)
		return func(x, y reg.Register) {
			VFMADD213PD(o, c, x)
			VDIVPD(x, one, x)
		}
	})
	unary("rootInverse", "c", "1/√(c·src[j]) for j < n, and 0 where the root is.", func() combination {
		c, one, scratch := t.scalar("c"), t.register(cOne), t.alloc()
		return func(x, y reg.Register) {
			VMULPD(c, x, x)
			VSQRTPD(x, y)
			t.quotient(y, one, x, scratch)
		}
	})
	unary("abs", "", "|src[j]| for j < n.", func() combination {
		noSign := t.register(cNoSign)
		return func(x, y reg.Register) { t.and(noSign, x, x) }
	})
	unary("positive", "c, o", "max(c·src[j] + o, 0) for j < n.", func() combination {
		c, o, zero := t.scalar("c"), t.scalar("o"), t.alloc()
		t.Zero(zero)
		return func(x, y reg.Register) {
			VFMADD213PD(o, c, x)
			VMAXPD(x, zero, x) // keeps NaN: see clamp
		}
	})
	unary("step", "", "1 for j < n where src[j] > 0, otherwise 0.", func() combination {
		zero, one, scratch := t.alloc(), t.register(cOne), t.alloc()
		t.Zero(zero)
		return func(x, y reg.Register) {
			if t.Wide() {
				VCMPPD(operand.Imm(less), x, zero, reg.K2)
				VCMPPD(operand.Imm(unordered), x, x, reg.K3)
				VMOVAPD_Z(x, reg.K3, x) // keeps NaN
				VMOVAPD(one, reg.K2, x)
				return
			}
			VCMPPD(operand.Imm(less), x, zero, y)
			VANDPD(one, y, y)
			VCMPPD(operand.Imm(unordered), x, x, scratch)
			VANDPD(scratch, x, x)
			VORPD(y, x, x)
		}
	})
}

// register loads a constant into a register, even with AVX2.
func (t *isa) register(index int) reg.Register {
	c := t.constant(index)
	if r, ok := c.(reg.Register); ok {
		return r
	}
	r := t.alloc()
	VMOVUPD(c, r)
	return r
}

// polynomial generates Horner's scheme, with all coefficients for one block of elements at a time.
func (t *isa) polynomial() {
	t.function("polynomial*", "func(dst, src *float64, n int, coef *float64, d int)",
		"sets dst[j] = Σ_{k<d} coef[k]·src[j]^k for j < n. d ≥ 1.")
	dst, src, n, coef, d, i, k := reg.RDI, reg.RSI, reg.RCX, reg.RDX, reg.R8, reg.RAX, reg.R9
	Params("dst src n coef d", dst, src, n, coef, d)
	DECQ(d)
	unroll := 6
	if t.Wide() {
		unroll = 8
	}
	x, acc, c := t.allocs(unroll), t.allocs(unroll), t.alloc()
	t.loop("", n, i, unroll, func(vectors int) {
		label := t.label("coefficient", vectors)
		VBROADCASTSD(Indexed(coef, d, 8, 0), c)
		for v := range vectors {
			t.load(t.at(src, i, v), x[v])
			VMOVAPD(c, acc[v])
		}
		MOVQ(d, k)
		TESTQ(k, k)
		JZ(Ref(label + "done"))
		Align(32)
		Label(label)
		VBROADCASTSD(Indexed(coef, k, 8, -8), c)
		for v := range vectors {
			VFMADD213PD(c, x[v], acc[v])
		}
		DECQ(k)
		JNZ(Ref(label))
		Label(label + "done")
		for v := range vectors {
			t.store(acc[v], t.at(dst, i, v))
		}
	})
	Ret()
}
