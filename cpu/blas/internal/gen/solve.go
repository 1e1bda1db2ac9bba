package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// solve generates the micro-kernel of the triangular solve. It replaces mr rows of
// X, nv vectors wide, in a packed panel by
//
//	T⁻¹·(X − A·B)
//
// where A·B is the contribution of the rows already solved and T is a triangle of
// order mr whose diagonal holds reciprocals. T is lower triangular in the forward
// and upper triangular in the backward solve. The triangle is packed like A:
// element (r, c) at t[c·mr+r].
func (t *isa) solve(nv int, backward bool) {
	dir, tri := "Fwd", "lower"
	if backward {
		dir, tri = "Bwd", "upper"
	}
	name := fmt.Sprintf("solve%s%sx%d", dir, t.Suffix, nv)
	Leaf(name, "func(k int, a, b, t, x *float64)",
		fmt.Sprintf("%s replaces the %d×%d tile X of a packed panel by T⁻¹·(X − A·B), T %s", name, t.mr, nv*t.Lanes, tri),
		"triangular with the reciprocals of its diagonal stored; k ≥ 0.")
	k, a, b, tt, x := reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.RSI
	Load(Param("k"), k)
	Load(Param("a"), a)
	Load(Param("b"), b)
	Load(Param("t"), tt)
	Load(Param("x"), x)
	t.clear(nv)
	t.loop("s", nv, k, a, b)
	bstep := nv * t.VB()
	for r := 0; r < t.mr; r++ {
		for v := 0; v < nv; v++ {
			VMOVUPD(Mem(x, r*bstep+v*t.VB()), t.b(v))
			VSUBPD(t.acc(r, v), t.b(v), t.acc(r, v))
		}
	}
	for s := 0; s < t.mr; s++ {
		i := s
		if backward {
			i = t.mr - 1 - s
		}
		d := t.Vec[3]
		VBROADCASTSD(Mem(tt, 8*(i*t.mr+i)), d)
		for v := 0; v < nv; v++ {
			VMULPD(d, t.acc(i, v), t.acc(i, v))
			VMOVUPD(t.acc(i, v), Mem(x, i*bstep+v*t.VB()))
		}
		for q := 1; q < t.mr-s; q++ {
			r := i + q
			if backward {
				r = i - q
			}
			e := t.a(q)
			VBROADCASTSD(Mem(tt, 8*(i*t.mr+r)), e)
			for v := 0; v < nv; v++ {
				VFNMADD231PD(t.acc(i, v), e, t.acc(r, v))
			}
		}
	}
	Ret()
}
