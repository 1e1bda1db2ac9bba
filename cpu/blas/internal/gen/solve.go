package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// solve is the micro-kernel of the triangular solve: mr rows of X, nv vectors
// wide, in a packed panel, become
//
//	T⁻¹·(X − A·B)
//
// where A·B is the contribution of the rows that are solved already and T is
// a triangle of order mr whose diagonal holds reciprocals. Forward, T is
// lower triangular; backward, upper. The triangle is packed like A: element
// (r, c) at t[c·mr+r].
func (t *isa) solve(nv int, backward bool) {
	dir, tri := "Fwd", "lower"
	if backward {
		dir, tri = "Bwd", "upper"
	}
	name := label("solve%s%sx%d", dir, t.suffix, nv)
	t.function(name, "func(k int, a, b, t, x *float64)",
		label("%s replaces the %d×%d tile X of a packed panel by T⁻¹·(X − A·B), T %s", name, t.mr, nv*t.lanes, tri),
		"triangular with the reciprocals of its diagonal stored; k ≥ 0.")
	k, a, b, tt, x := reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.RSI
	Load(Param("k"), k)
	Load(Param("a"), a)
	Load(Param("b"), b)
	Load(Param("t"), tt)
	Load(Param("x"), x)
	t.zero(nv)
	t.loop("s", nv, k, a, b)
	bstep := nv * t.vb()
	for r := 0; r < t.mr; r++ {
		for v := 0; v < nv; v++ {
			VMOVUPD(mem(x, r*bstep+v*t.vb()), t.b(v))
			VSUBPD(t.acc(r, v), t.b(v), t.acc(r, v))
		}
	}
	for s := 0; s < t.mr; s++ {
		i := s
		if backward {
			i = t.mr - 1 - s
		}
		d := t.vec[3]
		VBROADCASTSD(mem(tt, 8*(i*t.mr+i)), d)
		for v := 0; v < nv; v++ {
			VMULPD(d, t.acc(i, v), t.acc(i, v))
			VMOVUPD(t.acc(i, v), mem(x, i*bstep+v*t.vb()))
		}
		for q := 1; q < t.mr-s; q++ {
			r := i + q
			if backward {
				r = i - q
			}
			e := t.a(q)
			VBROADCASTSD(mem(tt, 8*(i*t.mr+r)), e)
			for v := 0; v < nv; v++ {
				VFNMADD231PD(t.acc(i, v), e, t.acc(r, v))
			}
		}
	}
	t.ret()
}
