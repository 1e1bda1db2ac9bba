package cuda

import (
	"math"

	"gpfit/device/cuda/kernels"
	"gpfit/device/tiling"
)

// sizes are the steps of the large computations. cuSOLVER, cuBLAS or a kernel runs each step
// without interruption. Between steps the workspace reports progress and polls the context.
type sizes struct {
	// fill is the number of columns of Σ filled at a time, and half the number of rows of products
	// of derivatives with vectors; factor is the width of a block of the Cholesky factorization, and symm the order of the diagonal blocks of Σ⁻¹
	// that one call multiplies.
	fill, factor, symm int64
	// leaf is the order of the diagonal blocks that a kernel inverts. panel is the
	// number of columns of Σ⁻¹ formed at a time, leaf times a power of two, or 0 for the
	// default of [panelWidth].
	leaf, panel int64
	// gemm limits the operations of one product.
	gemm float64
	// cross limits the columns of cross-covariances in one solve, 0 for the default of
	// [crossWidth].
	cross int64
	// together is the largest number of points of a workspace that computes in lock step with others, by kernels
	// of gpfit only, on a card of at least company lanes.
	together int64
	company  int32
	// spread is the largest number of points for which U has a matrix of its own. vendor is the largest for which
	// cuSOLVER factors nevertheless.
	spread, vendor int64
}

// defaultSizes are steps of at most a tenth of a second at 50 TFLOP/s.
var defaultSizes = sizes{fill: 8192, factor: 20480, symm: 4096, leaf: kernels.MaxInvert, gemm: 5e12, together: 2048, company: 4, vendor: 12_288}

// longestStep is the longest time for a step, in seconds. A desktop's watchdog ends
// kernels after two seconds, and Ctrl-C waits for the current step.
const longestStep = 0.3

// at returns the sizes for n points on a card that computes rate operations per second (0 if
// unknown). They are smaller than s if the steps of s would take too long. Rates are rounded to
// powers of two, so that two measurements yield the same sizes unless they are next to a power.
func (s sizes) at(rate float64, n int64) sizes {
	if !(rate > 0) {
		return s
	}
	_, exponent := math.Frexp(rate)
	operations := longestStep * math.Ldexp(0.5, exponent)
	if operations >= s.gemm {
		return s
	}
	const least = 256 // narrower blocks lose more in speed than they gain in length
	side := func(operations float64) int64 { return max(least, int64(operations)&^63) }
	s.gemm, s.factor = operations, min(s.factor, side(math.Cbrt(3*operations)))
	s.symm = min(s.symm, side(math.Sqrt(operations/float64(2*s.panelWidth(n)))))
	s.cross = min(crossWidth(n), max(32, aligned(int64(operations/float64(n)/float64(n)))))
	return s
}

// crossWidth returns the number of columns of cross-covariances in one solve.
func (s sizes) crossWidth(n int64) int64 {
	if s.cross > 0 {
		return s.cross
	}
	return crossWidth(n)
}

// panelWidth returns the number of columns of Σ⁻¹ formed at a time, which is also the
// order of the diagonal blocks of U: wide enough for products at full speed, and at most
// a few per cent of a large matrix.
func panelWidth(n int64) int64 {
	width := int64(kernels.MaxInvert)
	for width < min(n, 512) {
		width *= 2
	}
	return width
}

func (s sizes) panelWidth(n int64) int64 {
	if s.panel > 0 {
		return s.panel
	}
	return panelWidth(n)
}

// updateWidth returns the number of columns that one product of the Cholesky factorization updates.
// Panels of large matrices are wider: that is 5 per cent faster at n = 70,000 on an H100.
func (s sizes) updateWidth(n int64) int64 {
	if s.panel == 0 && n > 32768 {
		return 1024
	}
	return s.panelWidth(n)
}

// roomFor returns the largest number of points for which two matrices take at most a quarter of the memory of a card.
func roomFor(bytes int64) int64 { return int64(math.Sqrt(float64(bytes) / 64)) }

// spreads reports whether U has a matrix of its own, for n points.
func (s sizes) spreads(n int64) bool { return n <= s.spread && n > s.panelWidth(n) }

// middleElements returns the memory for a middle term, in numbers: a panel of columns
// and the diagonal matrix of the term.
func (s sizes) middleElements(n int64) int64 { return leadingDim(n) * (s.panelWidth(n) + 1) }

// lineElements is the number of float64 values in 128 bytes, one memory transaction. cuBLAS uses
// its fastest products if matrices and their columns begin on such a boundary.
const lineElements = 16

// leadingDim pads columns to whole memory lines.
func leadingDim(n int64) int64 { return aligned(n + lineElements - 1) }

// aligned returns the largest multiple of a line up to n.
func aligned(n int64) int64 { return n &^ (lineElements - 1) }

// crossElements limits the block of cross-covariances to 512 MiB, or to 256 points if
// they need more.
const crossElements = 64 << 20

func crossWidth(n int64) int64 { return min(4096, max(256, aligned(crossElements/max(n, 1)))) }

func cube(n int64) float64 { return float64(n) * float64(n) * float64(n) }

// reserve is the memory in bytes set aside for the libraries' workspaces and the driver.
const reserve = 256 << 20

// sideColumns is the number of vectors with which Substitute computes at a time.
const sideColumns = 32

// upperWidth returns the order of the blocks in which a product leaves out the zeros of a triangular operand, and the half
// of a result that nobody wants. In an evaluation with 20 tiles a side what it computes in vain is about 1 % of n³.
func upperWidth(order int64) int64 {
	return min(order, max(256, (order/8+tiling.Unit-1)&^(tiling.Unit-1)))
}

// tileSpace returns the memory of a tile and of what else a bank of tiles holds, in bytes.
func tileSpace(n, columns, order int) (tile, rest int64) {
	rows, x, side := int64(n), int64(columns), int64(order)
	column := leadingDim(side)
	vectors := 4*rows + 2*column + side*x // noise, an adjoint of two vectors with their factors, and test points
	return 8 * column * side, reserve + 8*(2*rows*x+vectors+column*2*(sideColumns+upperWidth(side)))
}
