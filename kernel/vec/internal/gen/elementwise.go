package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// A combination generates the code that replaces x by a result.
type combination func(x, y reg.Register)

// elementwise generates the products and linear combinations of rows.
func (t *isa) elementwise() {
	dst, n, i := reg.RDI, reg.RCX, reg.RAX
	sources := []reg.Register{reg.RSI, reg.RDX}
	const unroll = 4
	// rows generates a function of one row a or of two, a and b, with float64 arguments. prepare
	// broadcasts them and returns registers for the vectors of each row.
	rows := func(name string, count int, arguments, doc string, prepare func() ([][]reg.Register, combination)) {
		t.function(name+"*", "func(dst, "+"a, b"[:3*count-2]+" *float64, n int"+floats(arguments)+")", "sets dst[j] = "+doc+" for j < n.")
		Params("dst "+"a b "[:2*count]+"n", append(append([]reg.Register{dst}, sources[:count]...), n)...)
		x, compute := prepare()
		finish := func(v int) {
			compute(x[0][v], x[count-1][v])
			t.store(x[0][v], t.at(dst, i, v))
		}
		t.loop("", n, i, unroll, func(vectors int) {
			for v := range vectors {
				for k := range count {
					t.load(t.at(sources[k], i, v), x[k][v])
				}
				if count == 1 {
					finish(v)
				}
			}
			for v := range vectors {
				if count == 2 {
					finish(v)
				}
			}
		})
		Ret()
	}
	rows("mul", 2, "", "a[j]·b[j]", func() ([][]reg.Register, combination) {
		return [][]reg.Register{t.allocs(unroll), t.allocs(unroll)}, func(x, y reg.Register) { VMULPD(y, x, x) }
	})
	rows("scale", 1, "c", "c·a[j]", func() ([][]reg.Register, combination) {
		c := t.scalar("c")
		return [][]reg.Register{t.allocs(unroll)}, func(x, _ reg.Register) { VMULPD(c, x, x) }
	})
	rows("affine", 1, "c, o", "c·a[j] + o", func() ([][]reg.Register, combination) {
		c, x, o := t.scalar("c"), t.allocs(unroll), t.scalar("o")
		return [][]reg.Register{x}, func(x, _ reg.Register) { VFMADD213PD(o, c, x) }
	})
	rows("combine", 2, "p, q", "p·a[j] + q·b[j]", func() ([][]reg.Register, combination) {
		p, q := t.scalar("p"), t.scalar("q")
		return [][]reg.Register{t.allocs(unroll), t.allocs(unroll)}, func(x, y reg.Register) {
			VMULPD(p, x, x)
			VFMADD231PD(q, y, x)
		}
	})
}
