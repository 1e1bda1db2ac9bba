package spd

import "gpfit/internal/isa"

//go:generate go run -C internal/gen . -isa avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg spd
//go:generate go run -C internal/gen . -isa avx2 -out ../../kernels_avx2_amd64.s -stubs ../../kernels_avx2_amd64.go -pkg spd
//go:generate go run -C internal/gen ./neon -out ../../kernels_neon_arm64.s -stubs ../../kernels_neon_arm64.go -pkg spd

// group is the largest number of panels that a micro-kernel multiplies at once.
const group = 3

// kernels are the micro-kernels of a variant. kernelsOf returns them. They keep no pointer.
type kernels struct {
	set   isa.Variant
	lanes int // rows of a panel
	// products and solves have a micro-kernel for each number of panels, from 1 on.
	products [group]productKernel
	solves   [group]solveKernel
	// cholesky replaces the tile d by the factor of d − X·Xᵀ, for k ≥ 0 columns of the panel x,
	// with the reciprocals of the diagonal stored and the diagonal in diag. It returns the
	// number of columns done, less than all if a pivot is not positive.
	cholesky func(k int, x, d, diag *float64) int
	// transposeTiles transposes n > 0 square tiles. Rows are ss and ds apart, tiles sstep and
	// dstep.
	transposeTiles func(n int, src *float64, ss, sstep int, dst *float64, ds, dstep int)
	// squares writes to sums the sums of squares along the 4·n columns of a panel, n > 0.
	squares func(n int, x, sums *float64)
	// panelVector subtracts the product of 4·k columns of a panel, k > 0, and the vector x from
	// the numbers at y, one for each row.
	panelVector func(k int, p, x, y *float64)
	// panelTransposedVector subtracts the products of the columns of a panel with the vector x,
	// one number for each row, from the lanes·k numbers at y, k > 0.
	panelTransposedVector func(k int, p, x, y *float64)
}

type (
	// A productKernel computes a tile C of panels cs apart from k > 0 columns of panels b, bs
	// apart, and of the panel a: ±B·Aᵀ, as mode says. It may prefetch k/2 cache lines from next on.
	productKernel func(k int, a, b *float64, bs int, c *float64, cs, mode int, next *float64)
	// A solveKernel replaces a tile X of panels xs apart by (X − B·Aᵀ)·T⁻ᵀ for k ≥ 0 columns. X
	// counts as zero if fresh is not 0. It may prefetch as a productKernel does.
	solveKernel func(k int, a, b *float64, bs int, t, x *float64, xs, fresh int, next *float64)
)

// Results of a product in its tile C.
const (
	replace         = iota // C = B·Aᵀ
	replaceNegative        // C = −B·Aᵀ
	add                    // C += B·Aᵀ
	subtract               // C −= B·Aᵀ
)

// roundUp returns the next multiple of unit.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
