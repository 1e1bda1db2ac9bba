package cuda

import "math"

// sizes are the steps of the large computations. Within one, cuSOLVER, cuBLAS
// or a kernel works alone; between them progress is reported and the context
// polled.
type sizes struct {
	// fill is the number of columns of Σ filled, factor that of a block of the
	// Cholesky factorisation, invert the order up to which a triangle is
	// inverted in one call, panel that of columns of Σ⁻¹ formed at a time, 0 for
	// what [panelWidth] says.
	fill, factor, invert, panel int64
	// gemm bounds the operations of a product.
	gemm float64
	// cross bounds the columns of cross-covariances solved with at a time, 0 for
	// what [crossWidth] says.
	cross int64
}

// defaultSizes: at 50 TFLOP/s a step takes up to a tenth of a second.
var defaultSizes = sizes{fill: 8192, factor: 8192, invert: 4096, gemm: 5e12}

// longestStep is what a step may take, in seconds: a desktop's watchdog ends kernels
// after two, and Ctrl-C waits for a step.
const longestStep = 0.3

// at returns sizes for n points on a card of so many operations a second (0 if
// unknown): smaller steps than those of s where these would take too long. Rates
// count by powers of two, so that one measurement gives the sizes of another, but for
// those next to a power.
func (s sizes) at(rate float64, n int64) sizes {
	if !(rate > 0) {
		return s
	}
	_, exponent := math.Frexp(rate)
	operations := longestStep * math.Ldexp(0.5, exponent)
	if operations >= s.gemm {
		return s
	}
	const least = 256 // narrower blocks are slower than they are short
	side := max(least, int64(math.Sqrt(operations/float64(n)))&^63)
	s.gemm, s.factor, s.invert = operations, min(s.factor, side), min(s.invert, side)
	s.cross = min(crossWidth(n), max(32, aligned(int64(operations/float64(n)/float64(n)))))
	return s
}

// crossWidth is the number of columns of cross-covariances solved with at a time.
func (s sizes) crossWidth(n int64) int64 {
	if s.cross > 0 {
		return s.cross
	}
	return crossWidth(n)
}

// A product is computed in tiles of tileSide×tileSide elements, one for each of the
// multiprocessors at a time, of which an H100 has 132.
const (
	tileSide        = 128
	multiprocessors = 132
)

// panelWidth is the number of columns of Σ⁻¹ formed at a time: wide enough for
// products at full speed, and at most a few per cent of a large matrix. Up to n = 4,096
// a panel of n rows has a tile for every multiprocessor, unless it were wider than a
// quarter of the matrix, since panels of w columns cost n²w/2 operations more than the
// n³/3 of the triangle.
func panelWidth(n int64) int64 {
	switch {
	case n > 32768:
		return 1024
	case n > 4096:
		return 512
	}
	wanted := (multiprocessors + tiles(n) - 1) / tiles(n)
	return min(n, tileSide*min(wanted, tiles(n/4)))
}

// tiles is the number of tiles along a side, at least 1.
func tiles(side int64) int64 { return max(1, (side+tileSide-1)/tileSide) }

func (s sizes) panelWidth(n int64) int64 {
	if s.panel > 0 {
		return min(n, s.panel)
	}
	return panelWidth(n)
}

// middleElements is the memory of a middle term: two panels of columns and the
// diagonal matrix in it.
func (s sizes) middleElements(n int64) int64 { return leadingDim(n) * (2*s.panelWidth(n) + 1) }

// lineElements are the numbers in 128 bytes, a transaction of the memory. cuBLAS takes
// its fastest products where matrices and their columns begin on such a boundary.
const lineElements = 16

// leadingDim pads columns to whole lines.
func leadingDim(n int64) int64 { return aligned(n + lineElements - 1) }

// aligned is the largest multiple of a line up to n.
func aligned(n int64) int64 { return n &^ (lineElements - 1) }

// crossElements bounds the block of cross-covariances: 512 MiB, or 256 points
// if they need more.
const crossElements = 64 << 20

func crossWidth(n int64) int64 { return min(4096, max(256, aligned(crossElements/max(n, 1)))) }

// half splits n at a multiple of 32.
func half(n int64) int64 { return (n/2 + 31) &^ 31 }

func cube(n int64) float64 { return float64(n) * float64(n) * float64(n) }
