package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// transpose generates the transposition of square tiles, one vector wide, in registers.
func (t *isa) transpose() {
	t.Leaf("transpose*", "func(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int)",
		fmt.Sprintf("transposes n > 0 tiles of %d×%d. Rows are ss and ds elements apart, tiles sstep", t.Lanes, t.Lanes),
		"and dstep.")
	n, src, ss, sstep, dst, ds, dstep := reg.RAX, reg.RSI, reg.RCX, reg.RBX, reg.RDI, reg.RDX, reg.R8
	ss3, ds3, p, q := reg.R9, reg.R10, reg.R11, reg.R12
	Params("n src ss sstep dst ds dstep", n, src, ss, sstep, dst, ds, dstep)
	for _, r := range []reg.Register{ss, sstep, ds, dstep} {
		SHLQ(operand.Imm(3), r)
	}
	LEAQ(Indexed(ss, ss, 2, 0), ss3)
	LEAQ(Indexed(ds, ds, 2, 0), ds3)
	row := func(base, base4, s, s3 reg.Register, r int) operand.Mem {
		if r >= 4 {
			base, r = base4, r-4
		}
		switch r {
		case 0:
			return Mem(base, 0)
		case 3:
			return Indexed(base, s3, 1, 0)
		}
		return Indexed(base, s, uint8(r), 0)
	}
	Align(32)
	Label("loop")
	x := t.Vec
	if t.Lanes == 8 {
		LEAQ(Indexed(src, ss, 4, 0), p)
		LEAQ(Indexed(dst, ds, 4, 0), q)
	}
	for r := range t.Lanes {
		VMOVUPD(row(src, p, ss, ss3, r), x[r])
	}
	out := make([]reg.Register, t.Lanes)
	if t.Lanes == 4 {
		for i := range 2 {
			VUNPCKLPD(x[2*i+1], x[2*i], x[4+2*i])
			VUNPCKHPD(x[2*i+1], x[2*i], x[5+2*i])
		}
		for i := range 2 {
			VPERM2F128(operand.Imm(0x20), x[6+i], x[4+i], x[8+i])
			VPERM2F128(operand.Imm(0x31), x[6+i], x[4+i], x[10+i])
			out[i], out[2+i] = x[8+i], x[10+i]
		}
	} else {
		for i := range 4 {
			VUNPCKLPD(x[2*i+1], x[2*i], x[8+2*i])
			VUNPCKHPD(x[2*i+1], x[2*i], x[9+2*i])
		}
		for i := range 2 {
			lo, hi, mid := x[8+i], x[12+i], x[16+8*i:]
			VSHUFF64X2(operand.Imm(0x88), x[10+i], lo, mid[0])
			VSHUFF64X2(operand.Imm(0xdd), x[10+i], lo, mid[1])
			VSHUFF64X2(operand.Imm(0x88), x[14+i], hi, mid[2])
			VSHUFF64X2(operand.Imm(0xdd), x[14+i], hi, mid[3])
			VSHUFF64X2(operand.Imm(0x88), mid[2], mid[0], mid[4])
			VSHUFF64X2(operand.Imm(0xdd), mid[2], mid[0], mid[5])
			VSHUFF64X2(operand.Imm(0x88), mid[3], mid[1], mid[6])
			VSHUFF64X2(operand.Imm(0xdd), mid[3], mid[1], mid[7])
			out[i], out[4+i], out[2+i], out[6+i] = mid[4], mid[5], mid[6], mid[7]
		}
	}
	for r := range t.Lanes {
		VMOVUPD(out[r], row(dst, q, ds, ds3, r))
	}
	ADDQ(sstep, src)
	ADDQ(dstep, dst)
	DECQ(n)
	JNZ(Ref("loop"))
	Ret()
}
