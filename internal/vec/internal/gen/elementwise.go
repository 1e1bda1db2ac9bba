package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// elementwise generates the products and linear combinations of rows.
func (t *isa) elementwise() {
	dst, a, b, n, i := reg.RDI, reg.RSI, reg.RDX, reg.RCX, reg.RAX
	const unroll = 4
	name := "mul" + t.Suffix
	t.function(name, "func(dst, a, b *float64, n int)", name+" sets dst[j] = a[j]·b[j] for j < n.")
	Params("dst a b n", dst, a, b, n)
	x, y := t.allocs(unroll), t.allocs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for v := range vectors {
			t.load(t.at(a, i, v), x[v])
			t.load(t.at(b, i, v), y[v])
		}
		for v := range vectors {
			VMULPD(y[v], x[v], x[v])
			t.store(x[v], t.at(dst, i, v))
		}
	})
	Ret()

	name = "scale" + t.Suffix
	t.function(name, "func(dst, a *float64, n int, c float64)", name+" sets dst[j] = c·a[j] for j < n.")
	Params("dst a n", dst, a, n)
	c := t.scalar("c")
	x = t.allocs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for v := range vectors {
			t.load(t.at(a, i, v), x[v])
			VMULPD(c, x[v], x[v])
			t.store(x[v], t.at(dst, i, v))
		}
	})
	Ret()

	name = "affine" + t.Suffix
	t.function(name, "func(dst, a *float64, n int, c, o float64)", name+" sets dst[j] = c·a[j] + o for j < n.")
	Params("dst a n", dst, a, n)
	c, x = t.scalar("c"), t.allocs(unroll)
	o := t.scalar("o")
	t.loop("", n, i, unroll, func(vectors int) {
		for v := range vectors {
			t.load(t.at(a, i, v), x[v])
			VFMADD213PD(o, c, x[v])
			t.store(x[v], t.at(dst, i, v))
		}
	})
	Ret()

	name = "combine" + t.Suffix
	t.function(name, "func(dst, a, b *float64, n int, p, q float64)", name+" sets dst[j] = p·a[j] + q·b[j] for j < n.")
	Params("dst a b n", dst, a, b, n)
	p, q := t.scalar("p"), t.scalar("q")
	x, y = t.allocs(unroll), t.allocs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for v := range vectors {
			t.load(t.at(a, i, v), x[v])
			t.load(t.at(b, i, v), y[v])
		}
		for v := range vectors {
			VMULPD(p, x[v], x[v])
			VFMADD231PD(q, y[v], x[v])
			t.store(x[v], t.at(dst, i, v))
		}
	})
	Ret()
}
