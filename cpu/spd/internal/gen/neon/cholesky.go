package main

import "gpfit/internal/asm/neon"

// cholesky generates the micro-kernel of the Cholesky factorization: the tile D of order
// mr that follows the k solved columns of a panel X becomes the lower triangular factor
// of D − X·Xᵀ with the reciprocals of its diagonal stored. One column fills one vector;
// the elements above the diagonal are arbitrary.
func (g gen) cholesky() {
	g.Func("choleskyNEON", "(k int, x *float64, d *float64, diag *float64) int", 0,
		"choleskyNEON replaces the 4×4 tile D of a panel by the Cholesky factor L of D − X·Xᵀ, the",
		"reciprocals of the diagonal stored, the diagonal itself in diag; k ≥ 0. It returns the",
		"number of columns done, less than all if a pivot is not positive.")
	g.Load("k", "x", "d", "diag")
	g.I("MOVD R1, R4")
	g.clear(1)
	g.tileLoop(1, "R0", "R1", tile{"R4"})
	col := func(c, h int) neon.V { return acc(c, 0, h) }
	for c := range mr {
		g.LoadPair(c*vb, "R2", 0, 1)
		g.FSUB(col(c, 0), 0, col(c, 0))
		g.FSUB(col(c, 1), 1, col(c, 1))
	}
	const pivot, root, one, inverse = 0, 1, 2, 3
	g.I("FMOVD $1.0, F%d", one)
	for c := range mr {
		g.I("MOVD $%d, R0", c)
		g.I("VDUP V%d.D[%d], V%d", col(c, c/2), c%2, pivot)
		// The jump for "less or equal" is also taken for NaN.
		g.I("FCMPD $(0.0), F%d", pivot)
		g.I("BLE stop")
		g.I("FSQRTD F%d, F%d", pivot, root)
		g.I("FMOVD F%d, %d(R3)", root, 8*c)
		g.I("FDIVD F%d, F%d, F%d", root, one, inverse)
		for h := range 2 {
			g.FMULElement(col(c, h), col(c, h), inverse, 0)
		}
		g.StorePair(col(c, 0), col(c, 1), c*vb, "R2")
		for c2 := c + 1; c2 < mr; c2++ {
			for h := range 2 {
				g.FMLS(col(c2, h), col(c, h), col(c, c2/2), c2%2)
			}
		}
		g.I("FMOVD F%d, %d(R2)", inverse, c*vb+8*c)
	}
	g.I("MOVD $%d, R0", mr)
	g.Label("stop")
	g.I("MOVD R0, %s", g.Param("ret"))
	g.I("RET")
}
