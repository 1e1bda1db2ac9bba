package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// elementwise generates the sums, products and linear combinations of rows.
func (t *isa) elementwise() {
	dst, a, b, n, i := reg.RDI, reg.RSI, reg.RDX, reg.RCX, reg.RAX
	const unroll = 4
	binary := func(name, sign string, combine func(b, a, dst reg.Register)) {
		name += t.Suffix
		t.function(name, "func(dst, a, b *float64, n int)", name+" sets dst[j] = a[j] "+sign+" b[j] for j < n.")
		params([]string{"dst", "a", "b", "n"}, dst, a, b, n)
		x, y := t.allocs(unroll), t.allocs(unroll)
		t.loop("", n, i, unroll, func(vectors int) {
			for v := range vectors {
				t.load(t.at(a, i, v), x[v])
				t.load(t.at(b, i, v), y[v])
			}
			for v := range vectors {
				combine(y[v], x[v], x[v])
				t.store(x[v], t.at(dst, i, v))
			}
		})
		Ret()
	}
	binary("add", "+", func(b, a, dst reg.Register) { VADDPD(b, a, dst) })
	binary("mul", "·", func(b, a, dst reg.Register) { VMULPD(b, a, dst) })

	name := "scale" + t.Suffix
	t.function(name, "func(dst, a *float64, n int, c float64)", name+" sets dst[j] = c·a[j] for j < n.")
	params([]string{"dst", "a", "n"}, dst, a, n)
	c, x := t.scalar("c"), t.allocs(unroll)
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
	params([]string{"dst", "a", "n"}, dst, a, n)
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
	params([]string{"dst", "a", "b", "n"}, dst, a, b, n)
	p, q, x, y := t.scalar("p"), t.scalar("q"), t.allocs(unroll), t.allocs(unroll)
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

	name = "mulCombine" + t.Suffix
	t.function(name, "func(dst, a, b, c *float64, n int, p float64)", name+" sets dst[j] = a[j]·b[j] + p·c[j] for j < n.")
	third := reg.RBX
	params([]string{"dst", "a", "b", "c", "n"}, dst, a, b, third, n)
	p, x, y = t.scalar("p"), t.allocs(unroll), t.allocs(unroll)
	z := t.allocs(unroll)
	t.loop("", n, i, unroll, func(vectors int) {
		for v := range vectors {
			t.load(t.at(a, i, v), x[v])
			t.load(t.at(b, i, v), y[v])
			t.load(t.at(third, i, v), z[v])
		}
		for v := range vectors {
			VMULPD(p, z[v], z[v])
			VFMADD231PD(y[v], x[v], z[v])
			t.store(z[v], t.at(dst, i, v))
		}
	})
	Ret()
}
