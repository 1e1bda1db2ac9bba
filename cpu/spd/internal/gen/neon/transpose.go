package main

import (
	"fmt"

	"gpfit/internal/asm/neon"
)

// transpose generates the transposition of square tiles, one vector wide.
func (g gen) transpose() {
	g.Func("transposeNEON", "(n int, src *float64, ss int, sstep int, dst *float64, ds int, dstep int)", 0,
		"transposeNEON transposes n > 0 tiles of 4×4. Rows are ss and ds elements apart, tiles sstep",
		"and dstep.")
	g.Load("n", "src", "ss", "sstep", "dst", "ds", "dstep")
	for _, r := range []int{2, 3, 5, 6} {
		g.I("LSL $3, R%d, R%d", r, r)
	}
	g.Label("loop")
	g.I("MOVD R1, R7")
	for r := range neon.V(lanes) {
		g.LoadPair(0, "R7", 2*r, 2*r+1)
		if r < lanes-1 {
			g.I("ADD R2, R7, R7")
		}
	}
	g.I("MOVD R4, R8")
	for c := range lanes {
		// Element c of the rows: in half c/2 of each.
		h, zip := c/2, "VZIP"+fmt.Sprint(1+c%2)
		g.I("%s V%d.D2, V%d.D2, V16.D2", zip, 2+h, h)
		g.I("%s V%d.D2, V%d.D2, V17.D2", zip, 6+h, 4+h)
		g.StorePair(16, 17, 0, "R8")
		if c < lanes-1 {
			g.I("ADD R5, R8, R8")
		}
	}
	g.I("ADD R3, R1, R1")
	g.I("ADD R6, R4, R4")
	g.I("SUBS $1, R0, R0")
	g.I("BNE loop")
	g.I("RET")
}
