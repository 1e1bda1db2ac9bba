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
	s.cross = min(crossWidth(n), max(32, int64(operations/float64(n)/float64(n))))
	return s
}

// crossWidth is the number of columns of cross-covariances solved with at a time.
func (s sizes) crossWidth(n int64) int64 {
	if s.cross > 0 {
		return s.cross
	}
	return crossWidth(n)
}

// panelWidth is the number of columns of Σ⁻¹ formed at a time: wide enough for
// products at full speed, and at most a few per cent of the matrix.
func panelWidth(n int64) int64 {
	switch {
	case n <= 4096:
		return min(n, 128)
	case n <= 32768:
		return 512
	}
	return 1024
}

func (s sizes) panelWidth(n int64) int64 {
	if s.panel > 0 {
		return min(n, s.panel)
	}
	return panelWidth(n)
}

// middleElements is the memory of a middle term: two panels of columns and the
// diagonal matrix in it.
func (s sizes) middleElements(n int64) int64 { return n * (2*s.panelWidth(n) + 1) }

// leadingDim pads columns to 128 bytes, so that every column begins on a
// transaction boundary.
func leadingDim(n int64) int64 { return (n + 15) &^ 15 }

// crossElements bounds the block of cross-covariances: 512 MiB, or 256 points
// if they need more.
const crossElements = 64 << 20

func crossWidth(n int64) int64 { return min(4096, max(256, crossElements/max(n, 1))) }

// half splits n at a multiple of 32.
func half(n int64) int64 { return (n/2 + 31) &^ 31 }

func cube(n int64) float64 { return float64(n) * float64(n) * float64(n) }
