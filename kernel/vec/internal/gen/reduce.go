package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// totalOfFour leaves the sum of the lanes of four registers below 16 in the lowest lane of the
// first. It destroys the others.
func (t *isa) totalOfFour(acc []reg.Register) {
	VADDPD(acc[1], acc[0], acc[0])
	VADDPD(acc[3], acc[2], acc[2])
	VADDPD(acc[2], acc[0], acc[0])
	t.total(acc[0], acc[1])
}

// dot generates the sum of one row, or of products of two or three rows. Four
// accumulators hide the latency of an FMA; they are added pairwise at the end.
func (t *isa) dot(factors int) {
	name, signature, doc := "dot*", "func(a, b *float64, n int) float64", "Σ a[j]·b[j]"
	args := "a b n"
	a, b, c, n, i := reg.RDI, reg.RSI, reg.RDX, reg.RCX, reg.RAX
	regs := []reg.Register{a, b, n}
	switch factors {
	case 1:
		name, signature, doc = "sum*", "func(a *float64, n int) float64", "Σ a[j]"
		args, regs = "a n", []reg.Register{a, n}
	case 3:
		name, signature, doc = "tripleDot*", "func(a, b, c *float64, n int) float64", "Σ a[j]·b[j]·c[j]"
		args, regs = "a b c n", []reg.Register{a, b, c, n}
	}
	t.function(name, signature, "returns "+doc+" over j < n.")
	Params(args, regs...)
	const unroll = 4
	acc, x, y := t.allocs(unroll), t.allocs(unroll), t.allocs(1)[0]
	for _, r := range acc {
		t.Zero(r)
	}
	t.loop("", n, i, unroll, func(vectors int) {
		for v := range vectors {
			t.load(t.at(a, i, v), x[v])
			if factors == 1 {
				VADDPD(x[v], acc[v], acc[v])
				continue
			}
			t.load(t.at(b, i, v), y)
			if factors == 3 {
				VMULPD(y, x[v], x[v])
				t.load(t.at(c, i, v), y)
			}
			VFMADD231PD(y, x[v], acc[v])
		}
	})
	t.totalOfFour(acc)
	Store(acc[0].(reg.Vec).AsX(), ReturnIndex(0))
	Ret()
}
