package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// step generates the multiplication of one column of panel a by one column of nv panels b,
// added to the tile. a and b return the addresses of its elements and vectors.
func (t *isa) step(nv int, a func(r int) operand.Mem, b func(v int) operand.Mem) {
	for v := range nv {
		VMOVUPD(b(v), t.b(v))
	}
	for r := range t.mr {
		VBROADCASTSD(a(r), t.a(r))
		for v := range nv {
			VFMADD231PD(t.b(v), t.a(r), t.acc(r, v))
		}
	}
}

// A place holds the addresses of panels: the first begins at base, and they are stride, or half of
// stride2, bytes apart.
type place struct{ base, stride, stride2 reg.Register }

// at returns an operand in panel v.
func (p place) at(v, disp int) operand.Mem {
	switch v {
	case 0:
		return Mem(p.base, disp)
	case 1:
		return Indexed(p.base, p.stride, 1, disp)
	}
	return Indexed(p.base, p.stride2, 1, disp)
}

// load loads the distance between panels, and twice of it.
func (p place) load(name string) {
	Load(Param(name), p.stride)
	SHLQ(operand.Imm(3), p.stride)
	LEAQ(Indexed(p.stride, p.stride, 1, 0), p.stride2)
}

// tileLoop generates the loop over k ≥ 0 columns of panel a and of the nv panels at b. At
// the end, a and b point past the last column, and k is 0. Meanwhile a line of memory from
// next on, unless it is nil, is prefetched into the second-level cache for every two columns.
func (t *isa) tileLoop(nv int, k, a reg.Register, b place, next reg.Register) {
	const unroll = 4
	// ahead is the prefetch distance in columns. The panels at b stream from the
	// second-level cache. Panel a stays in the first for a row of tiles.
	const ahead = 16
	astep, bstep := 8*t.mr, t.VB()
	SUBQ(Imm(unroll), k)
	JL(Ref("tail"))
	Align(32)
	Label("loop")
	for u := range unroll {
		if (u*bstep)%64 == 0 {
			for v := range nv {
				PREFETCHT0(b.at(v, (ahead+u)*bstep))
			}
		}
		if (u*astep)%64 == 0 {
			PREFETCHT0(Mem(a, (u+2*ahead)*astep))
		}
		if next != nil && u%2 == 0 {
			PREFETCHT1(Mem(next, u/2*64))
		}
		t.step(nv,
			func(r int) operand.Mem { return Mem(a, u*astep+8*r) },
			func(v int) operand.Mem { return b.at(v, u*bstep) })
	}
	ADDQ(Imm(unroll*astep), a)
	ADDQ(Imm(unroll*bstep), b.base)
	if next != nil {
		ADDQ(Imm(unroll/2*64), next)
	}
	SUBQ(Imm(unroll), k)
	JGE(Ref("loop"))
	Label("tail")
	ADDQ(Imm(unroll), k)
	JZ(Ref("done"))
	Label("one")
	t.step(nv,
		func(r int) operand.Mem { return Mem(a, 8*r) },
		func(v int) operand.Mem { return b.at(v, 0) })
	ADDQ(Imm(astep), a)
	ADDQ(Imm(bstep), b.base)
	DECQ(k)
	JNZ(Ref("one"))
	Label("done")
}

// multiply generates the products of a tile of nv panels at c, after the parameters of the other
// operands are loaded.
func (t *isa) multiply(nv int, k, a reg.Register, b, c place, next reg.Register) {
	Load(Param("next"), next)
	for v := range nv {
		for x := 0; x < t.mr*t.VB(); x += 64 {
			PREFETCHT0(c.at(v, x))
		}
	}
	t.clear(nv)
	t.tileLoop(nv, k, a, b, next)
}

// tileProduct generates the micro-kernel of a product: C = ±B·Aᵀ or C ± B·Aᵀ for a tile C.
func (t *isa) tileProduct(nv int) {
	t.Leaf(fmt.Sprintf("tileProduct*x%d", nv), "func(k int, a, b *float64, bs int, c *float64, cs int, mode int, next *float64)",
		fmt.Sprintf("multiplies k > 0 columns of %d panels at b, bs elements apart, by the panel a:", nv),
		"B·Aᵀ. It replaces the tile at c, whose panels are cs elements apart, by the product if mode",
		"is 0 and by its negative if mode is 1, and adds it if mode is 2 and subtracts it if mode is 3.",
		"It prefetches k/2 cache lines from next on.")
	k, a, mode, next := reg.RAX, reg.RBX, reg.R10, reg.R11
	b, c := place{reg.RCX, reg.RDX, reg.RSI}, place{reg.RDI, reg.R8, reg.R9}
	Params("k a b", k, a, b.base)
	b.load("bs")
	Load(Param("c"), c.base)
	c.load("cs")
	t.multiply(nv, k, a, b, c, next)
	Load(Param("mode"), mode)
	end := func(f func(r, v int, m operand.Mem)) {
		for v := range nv {
			for r := range t.mr {
				f(r, v, c.at(v, r*t.VB()))
			}
		}
		Ret()
	}
	CMPQ(mode, operand.Imm(2))
	JEQ(Ref("add"))
	JGT(Ref("subtract"))
	CMPQ(mode, operand.Imm(1))
	JEQ(Ref("negative"))
	end(func(r, v int, m operand.Mem) { VMOVUPD(t.acc(r, v), m) })
	Label("negative")
	t.Zero(t.Vec[3])
	end(func(r, v int, m operand.Mem) {
		VSUBPD(t.acc(r, v), t.Vec[3], t.b(v))
		VMOVUPD(t.b(v), m)
	})
	Label("add")
	end(func(r, v int, m operand.Mem) {
		VADDPD(m, t.acc(r, v), t.b(v))
		VMOVUPD(t.b(v), m)
	})
	Label("subtract")
	end(func(r, v int, m operand.Mem) {
		VMOVUPD(m, t.b(v))
		VSUBPD(t.acc(r, v), t.b(v), t.b(v))
		VMOVUPD(t.b(v), m)
	})
}

// tileSolve generates the micro-kernel of a triangular solve: X = (X − B·Aᵀ)·T⁻ᵀ for a
// tile X, where T is a lower triangle whose diagonal holds reciprocals.
func (t *isa) tileSolve(nv int) {
	t.Leaf(fmt.Sprintf("tileSolve*x%d", nv), "func(k int, a, b *float64, bs int, t, x *float64, xs int, fresh int, next *float64)",
		fmt.Sprintf("replaces the tile X of %d panels by (X − B·Aᵀ)·T⁻ᵀ: k ≥ 0 columns of the panels at b,", nv),
		"bs elements apart, times the panel a, and T a lower triangle with the reciprocals of its",
		"diagonal stored, element (r, c) at t[c·mr + r]. X counts as zero if fresh is not 0. It",
		"prefetches k/2 cache lines from next on.")
	k, a, tt, fresh, next := reg.RAX, reg.RBX, reg.RDI, reg.R11, reg.R12
	b, x := place{reg.RCX, reg.RDX, reg.RSI}, place{reg.R8, reg.R9, reg.R10}
	Params("k a b", k, a, b.base)
	b.load("bs")
	Params("t x", tt, x.base)
	x.load("xs")
	t.multiply(nv, k, a, b, x, next)
	Load(Param("fresh"), fresh)
	CMPQ(fresh, operand.Imm(0))
	JNE(Ref("fresh"))
	for r := range t.mr {
		for v := range nv {
			VMOVUPD(x.at(v, r*t.VB()), t.b(v))
			VSUBPD(t.acc(r, v), t.b(v), t.acc(r, v))
		}
	}
	JMP(Ref("solve"))
	Label("fresh")
	t.Zero(t.Vec[0])
	for r := range t.mr {
		for v := range nv {
			VSUBPD(t.acc(r, v), t.Vec[0], t.acc(r, v))
		}
	}
	Label("solve")
	for i := range t.mr {
		d := t.Vec[3]
		VBROADCASTSD(Mem(tt, 8*(i*t.mr+i)), d)
		for v := range nv {
			VMULPD(d, t.acc(i, v), t.acc(i, v))
			VMOVUPD(t.acc(i, v), x.at(v, i*t.VB()))
		}
		for r := i + 1; r < t.mr; r++ {
			e := t.a(r - i)
			VBROADCASTSD(Mem(tt, 8*(i*t.mr+r)), e)
			for v := range nv {
				VFNMADD231PD(t.acc(i, v), e, t.acc(r, v))
			}
		}
	}
	Ret()
}

// squares generates the sums of the squares along the rows of a panel.
func (t *isa) squares() {
	t.Leaf("squares*", "func(n int, x, sums *float64)",
		fmt.Sprintf("writes to sums the sums of squares of the %d rows of a panel of 4·n columns; n > 0.", t.Lanes))
	n, x, sums := reg.RAX, reg.RSI, reg.RDI
	Params("n x sums", n, x, sums)
	// Four accumulators hide the latency of the additions.
	acc := t.Vec[1:5]
	for _, sum := range acc {
		t.Zero(sum)
	}
	Align(32)
	Label("loop")
	for i, sum := range acc {
		VMOVUPD(Mem(x, i*t.VB()), t.Vec[0])
		VFMADD231PD(t.Vec[0], t.Vec[0], sum)
	}
	ADDQ(Imm(len(acc)*t.VB()), x)
	DECQ(n)
	JNZ(Ref("loop"))
	VADDPD(acc[0], acc[1], acc[0])
	VADDPD(acc[2], acc[3], acc[2])
	VADDPD(acc[0], acc[2], acc[0])
	VMOVUPD(acc[0], Mem(sums, 0))
	Ret()
}

// panelVector generates the product of a panel and a vector.
func (t *isa) panelVector() {
	t.Leaf("panelVector*", "func(k int, p, x, y *float64)",
		fmt.Sprintf("subtracts the product of 4·k columns of the panel p and the vector x from the %d", t.Lanes),
		"numbers at y; k > 0.")
	k, p, x, y := reg.RAX, reg.RSI, reg.RCX, reg.RDI
	Params("k p x y", k, p, x, y)
	const unroll = 4
	for u := range unroll {
		t.Zero(t.Vec[u])
	}
	Align(32)
	Label("loop")
	for u := range unroll {
		VBROADCASTSD(Mem(x, 8*u), t.Vec[unroll+u])
		VFMADD231PD(Mem(p, u*t.VB()), t.Vec[unroll+u], t.Vec[u])
	}
	ADDQ(Imm(8*unroll), x)
	ADDQ(Imm(unroll*t.VB()), p)
	DECQ(k)
	JNZ(Ref("loop"))
	VADDPD(t.Vec[1], t.Vec[0], t.Vec[0])
	VADDPD(t.Vec[3], t.Vec[2], t.Vec[2])
	VADDPD(t.Vec[2], t.Vec[0], t.Vec[0])
	VMOVUPD(Mem(y, 0), t.Vec[1])
	VSUBPD(t.Vec[0], t.Vec[1], t.Vec[1])
	VMOVUPD(t.Vec[1], Mem(y, 0))
	Ret()
}

// panelTransposedVector generates the product of a transposed panel and a vector. It sums
// the elements of each column in pairs, then the pairs, and so on.
func (t *isa) panelTransposedVector() {
	t.Leaf("panelTransposedVector*", "func(k int, p, x, y *float64)",
		fmt.Sprintf("subtracts the products of the columns of the panel p with the %d numbers at x", t.Lanes),
		fmt.Sprintf("from the %d·k numbers at y; k > 0.", t.Lanes))
	k, p, x, y := reg.RAX, reg.RSI, reg.RCX, reg.RDI
	Params("k p x y", k, p, x, y)
	v := t.Vec
	factor, n := v[t.Lanes], t.Lanes
	VMOVUPD(Mem(x, 0), factor)
	Align(32)
	Label("loop")
	for c := range n {
		VMULPD(Mem(p, c*t.VB()), factor, v[c])
	}
	spare := v[n+1]
	for j := 0; j < n; j += 2 { // sums of two lanes, in v[0], v[2] …
		VUNPCKHPD(v[j+1], v[j], spare)
		VUNPCKLPD(v[j+1], v[j], v[j])
		VADDPD(spare, v[j], v[j])
	}
	if t.Wide() {
		for step := 2; step < n; step *= 2 {
			for j := 0; j < n; j += 2 * step {
				VSHUFF64X2(operand.Imm(0xdd), v[j+step], v[j], spare)
				VSHUFF64X2(operand.Imm(0x88), v[j+step], v[j], v[j])
				VADDPD(spare, v[j], v[j])
			}
		}
	} else {
		VPERM2F128(operand.Imm(0x31), v[2], v[0], spare)
		VPERM2F128(operand.Imm(0x20), v[2], v[0], v[0])
		VADDPD(spare, v[0], v[0])
	}
	VMOVUPD(Mem(y, 0), spare)
	VSUBPD(v[0], spare, spare)
	VMOVUPD(spare, Mem(y, 0))
	ADDQ(Imm(n*t.VB()), p)
	ADDQ(Imm(t.VB()), y)
	DECQ(k)
	JNZ(Ref("loop"))
	Ret()
}

// cholesky generates the micro-kernel of the Cholesky factorization: the tile D of
// order mr that follows the k solved columns of a panel X becomes the lower
// triangular factor of D − X·Xᵀ with the reciprocals of its diagonal stored. One
// column fills one vector; the elements above the diagonal are arbitrary.
func (t *isa) cholesky() {
	t.Leaf("cholesky*", "func(k int, x, d, diag *float64) int",
		fmt.Sprintf("replaces the %d×%d tile D of a panel by the Cholesky factor L of D − X·Xᵀ, the", t.mr, t.mr),
		"reciprocals of the diagonal stored, the diagonal itself in diag; k ≥ 0. It returns the",
		"number of columns done, less than all if a pivot is not positive.")
	k, a, b, d, diag, n := reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.RSI, reg.RDI
	Params("k x d diag", k, a, d, diag)
	MOVQ(a, b)
	t.clear(1)
	t.tileLoop(1, k, a, place{base: b}, nil)
	col := func(c int) reg.Register { return t.acc(c, 0) }
	for c := range t.mr {
		VMOVUPD(Mem(d, c*t.VB()), t.Vec[0])
		VSUBPD(col(c), t.Vec[0], col(c))
	}
	// The scalars are the pivot, its root, 1 and 0. They are in low registers, so
	// that VUCOMISD needs no EVEX form.
	pivot, root, one, zero := reg.X0, reg.X1, reg.X2, reg.X3
	VXORPD(zero, zero, zero)
	MOVQ(operand.U64(0x3ff0000000000000), n)
	VMOVQ(n, one)
	for c := range t.mr {
		MOVQ(operand.U32(c), n)
		// Pass lane c through memory to the low lane, and below to all lanes.
		VMOVUPD(col(c), Mem(d, c*t.VB()))
		VMOVSD(Mem(d, c*t.VB()+8*c), pivot)
		VUCOMISD(zero, pivot)
		// The jump for "below or equal" is also taken for NaN.
		JLS(Ref("stop"))
		VSQRTSD(pivot, pivot, root)
		VMOVSD(root, Mem(diag, 8*c))
		VDIVSD(root, one, root)
		inv := t.Vec[1] // its low lane is root
		VBROADCASTSD(root, inv)
		VMULPD(inv, col(c), col(c))
		VMOVUPD(col(c), Mem(d, c*t.VB()))
		for c2 := c + 1; c2 < t.mr; c2++ {
			e := t.Vec[0]
			VBROADCASTSD(Mem(d, c*t.VB()+8*c2), e)
			VFNMADD231PD(col(c), e, col(c2))
		}
		VMOVSD(root, Mem(d, c*t.VB()+8*c))
	}
	MOVQ(operand.U32(t.mr), n)
	Label("stop")
	Store(n, ReturnIndex(0))
	Ret()
}
