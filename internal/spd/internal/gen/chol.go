package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// cholesky generates the micro-kernel of the Cholesky factorisation: the tile D of
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
