package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// step generates the multiplication of one column of the A panel by one row of the
// B panel, added to the tile. b returns the address of vector v of the row.
func (t *isa) step(nv int, a func(r int) operand.Mem, b func(v int) operand.Mem) {
	for v := 0; v < nv; v++ {
		VMOVUPD(b(v), t.b(v))
	}
	for r := 0; r < t.mr; r++ {
		VBROADCASTSD(a(r), t.a(r))
		for v := 0; v < nv; v++ {
			VFMADD231PD(t.b(v), t.a(r), t.acc(r, v))
		}
	}
}

// loop generates the loop over k with packed operands. Each step advances a by mr
// and b by nv vectors. At the end, both point past the last element and k is 0.
func (t *isa) loop(prefix string, nv int, k, a, b reg.Register) {
	const unroll = 4
	// ahead is the prefetch distance in steps. B streams from the second-level
	// cache. A stays in the first for a whole row of tiles and is prefetched for
	// the first tile of the row.
	const ahead = 8
	astep, bstep := 8*t.mr, nv*t.VB()
	SUBQ(Imm(unroll), k)
	JL(Ref(prefix + "tail"))
	Align(32)
	Label(prefix + "loop")
	for u := 0; u < unroll; u++ {
		for line := (u*bstep + 63) / 64 * 64; line < (u+1)*bstep; line += 64 {
			PREFETCHT0(Mem(b, ahead*bstep+line))
		}
		if (u*astep)%64 == 0 {
			PREFETCHT0(Mem(a, (u+2*ahead)*astep))
		}
		t.step(nv,
			func(r int) operand.Mem { return Mem(a, u*astep+8*r) },
			func(v int) operand.Mem { return Mem(b, u*bstep+v*t.VB()) })
	}
	ADDQ(Imm(unroll*astep), a)
	ADDQ(Imm(unroll*bstep), b)
	SUBQ(Imm(unroll), k)
	JGE(Ref(prefix + "loop"))
	Label(prefix + "tail")
	ADDQ(Imm(unroll), k)
	JZ(Ref(prefix + "done"))
	Label(prefix + "one")
	t.step(nv,
		func(r int) operand.Mem { return Mem(a, 8*r) },
		func(v int) operand.Mem { return Mem(b, v*t.VB()) })
	ADDQ(Imm(astep), a)
	ADDQ(Imm(bstep), b)
	DECQ(k)
	JNZ(Ref(prefix + "one"))
	Label(prefix + "done")
}

// prefetchTile prefetches the cache lines of C that the tile will update.
func (t *isa) prefetchTile(c, ldc, tmp reg.Register) {
	MOVQ(c, tmp)
	for r := 0; r < t.mr; r++ {
		width := t.nv * t.VB()
		for x := 0; x < width; x += 64 {
			PREFETCHT0(Mem(tmp, x))
		}
		PREFETCHT0(Mem(tmp, width-8))
		if r < t.mr-1 {
			ADDQ(ldc, tmp)
		}
	}
}

// gemmFull generates the micro-kernel of a whole tile: C = alpha·A·B + beta·C with
// A packed mr wide and B packed nv vectors wide.
func (t *isa) gemmFull() {
	Leaf("gemmFull"+t.Suffix, "func(k int, a, b, c *float64, ldc int, alpha, beta float64)",
		"gemmFull"+t.Suffix+" computes the full tile C = alpha·A·B + beta·C from packed panels; k > 0.",
		"C is not read if beta is 0.")
	k, a, b, c, ldc, tmp := reg.RAX, reg.RBX, reg.RCX, reg.RDX, reg.RSI, reg.RDI
	Load(Param("k"), k)
	Load(Param("a"), a)
	Load(Param("b"), b)
	Load(Param("c"), c)
	Load(Param("ldc"), ldc)
	SHLQ(operand.Imm(3), ldc)
	t.prefetchTile(c, ldc, tmp)
	t.clear(t.nv)
	t.loop("full", t.nv, k, a, b)

	alpha, beta, x := t.Vec[0], t.Vec[1], t.Vec[2]
	VBROADCASTSD(operand.NewParamAddr("alpha", 40), alpha)
	VBROADCASTSD(operand.NewParamAddr("beta", 48), beta)
	MOVQ(operand.NewParamAddr("beta", 48), tmp)
	// Shift the sign out, so that +0 and −0 are equal.
	SHLQ(operand.Imm(1), tmp)
	JZ(Ref("beta0"))
	MOVQ(operand.U64(0x3ff0000000000000<<1), k)
	CMPQ(tmp, k)
	JEQ(Ref("beta1"))

	Label("betax")
	t.rows(c, ldc, t.nv, func(r, v int, m operand.Mem) {
		VMULPD(m, beta, x)
		VFMADD213PD(x, alpha, t.acc(r, v))
		VMOVUPD(t.acc(r, v), m)
	})
	Ret()
	Label("beta1")
	// −1 has the same bits after the sign as 1.
	MOVQ(operand.NewParamAddr("beta", 48), tmp)
	CMPQ(tmp, operand.Imm(0))
	JLT(Ref("betax"))
	t.rows(c, ldc, t.nv, func(r, v int, m operand.Mem) {
		VFMADD213PD(m, alpha, t.acc(r, v))
		VMOVUPD(t.acc(r, v), m)
	})
	Ret()
	Label("beta0")
	t.rows(c, ldc, t.nv, func(r, v int, m operand.Mem) {
		VMULPD(alpha, t.acc(r, v), t.acc(r, v))
		VMOVUPD(t.acc(r, v), m)
	})
	Ret()
}

// rows iterates over the vectors of the tile of C and advances c.
func (t *isa) rows(c, ldc reg.Register, nv int, f func(r, v int, m operand.Mem)) {
	for r := 0; r < t.mr; r++ {
		for v := 0; v < nv; v++ {
			f(r, v, Mem(c, v*t.VB()))
		}
		if r < t.mr-1 {
			ADDQ(ldc, c)
		}
	}
}

// gemmEdge generates the micro-kernel of a tile that computes only selected
// elements: byte 3r+v of mask has a bit for each lane of vector v of row r. The
// rows of B are bs elements apart, so that B need not be packed.
func (t *isa) gemmEdge(nv int) {
	name := fmt.Sprintf("gemmEdge%sx%d", t.Suffix, nv)
	Leaf(name, "func(k int, a, b *float64, bs int, c *float64, ldc int, alpha, beta float64, mask *byte)",
		fmt.Sprintf("%s computes the elements of the tile C = alpha·A·B + beta·C, %d columns wide, that mask", name, nv*t.Lanes),
		"names; k > 0, A is packed, the rows of B are bs elements apart. C is not read if beta is 0.")
	k, a, b, bs, c, ldc, mask, tmp, bs3 := reg.RAX, reg.RBX, reg.RCX, reg.R8, reg.RDX, reg.RSI, reg.RDI, reg.R9, reg.R10
	Load(Param("k"), k)
	Load(Param("a"), a)
	Load(Param("b"), b)
	Load(Param("bs"), bs)
	Load(Param("c"), c)
	Load(Param("ldc"), ldc)
	Load(Param("mask"), mask)
	SHLQ(operand.Imm(3), ldc)
	SHLQ(operand.Imm(3), bs)
	LEAQ(Indexed(bs, bs, 2, 0), bs3)
	t.clear(nv)

	const unroll = 4
	astep := 8 * t.mr
	SUBQ(Imm(unroll), k)
	JL(Ref("tail"))
	Align(32)
	Label("loop")
	for u := 0; u < unroll; u++ {
		t.step(nv,
			func(r int) operand.Mem { return Mem(a, u*astep+8*r) },
			func(v int) operand.Mem {
				switch u {
				case 0:
					return Mem(b, v*t.VB())
				case 3:
					return Indexed(b, bs3, 1, v*t.VB())
				default:
					return Indexed(b, bs, uint8(u), v*t.VB())
				}
			})
	}
	ADDQ(Imm(unroll*astep), a)
	LEAQ(Indexed(b, bs, 4, 0), b)
	SUBQ(Imm(unroll), k)
	JGE(Ref("loop"))
	Label("tail")
	ADDQ(Imm(unroll), k)
	JZ(Ref("done"))
	Label("one")
	t.step(nv,
		func(r int) operand.Mem { return Mem(a, 8*r) },
		func(v int) operand.Mem { return Mem(b, v*t.VB()) })
	ADDQ(Imm(astep), a)
	ADDQ(bs, b)
	DECQ(k)
	JNZ(Ref("one"))
	Label("done")

	alpha, beta, x := t.Vec[0], t.Vec[1], t.Vec[2]
	VBROADCASTSD(operand.NewParamAddr("alpha", 48), alpha)
	VBROADCASTSD(operand.NewParamAddr("beta", 56), beta)
	MOVQ(operand.NewParamAddr("beta", 56), tmp)
	SHLQ(operand.Imm(1), tmp)
	load, store := t.masked(mask, tmp)
	JZ(Ref("beta0"))
	t.rows(c, ldc, nv, func(r, v int, m operand.Mem) {
		load(r, v, m, x)
		VMULPD(x, beta, x)
		VFMADD213PD(x, alpha, t.acc(r, v))
		store(t.acc(r, v), m)
	})
	Ret()
	Label("beta0")
	t.rows(c, ldc, nv, func(r, v int, m operand.Mem) {
		load(r, v, operand.Mem{}, nil)
		VMULPD(alpha, t.acc(r, v), t.acc(r, v))
		store(t.acc(r, v), m)
	})
	Ret()
}

// masked returns the masked load and store of the edge kernels. A load with a
// nil register only sets the mask.
func (t *isa) masked(mask, tmp reg.Register) (load func(r, v int, m operand.Mem, x reg.Register), store func(x reg.Register, m operand.Mem)) {
	if t.Lanes == 8 {
		load = func(r, v int, m operand.Mem, x reg.Register) {
			KMOVB(Mem(mask, 3*r+v), reg.K1)
			if x != nil {
				VMOVUPD_Z(m, reg.K1, x)
			}
		}
		store = func(x reg.Register, m operand.Mem) { VMOVUPD(x, reg.K1, m) }
		return load, store
	}
	table := reg.R11
	ym := t.Vec[3]
	LEAQ(t.laneMasks(), table)
	load = func(r, v int, m operand.Mem, x reg.Register) {
		MOVBQZX(Mem(mask, 3*r+v), tmp)
		SHLQ(operand.Imm(5), tmp)
		VMOVUPD(Indexed(table, tmp, 1, 0), ym)
		if x != nil {
			VMASKMOVPD(m, ym, x)
		}
	}
	store = func(x reg.Register, m operand.Mem) { VMASKMOVPD(x, ym, m) }
	return load, store
}
