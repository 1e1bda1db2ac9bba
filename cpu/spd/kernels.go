package spd

import "gpfit/cpu/blas"

//go:generate go run -C ../blas/internal/gen . -isa avx512-tiles -out ../../../spd/kernels_avx512_amd64.s -stubs ../../../spd/kernels_avx512_amd64.go -pkg spd
//go:generate go run -C ../blas/internal/gen . -isa avx2-tiles -out ../../../spd/kernels_avx2_amd64.s -stubs ../../../spd/kernels_avx2_amd64.go -pkg spd
//go:generate go run -C ../blas/internal/gen ./neon -tiles -out ../../../spd/kernels_neon_arm64.s -stubs ../../../spd/kernels_neon_arm64.go -pkg spd

// kernels names the micro-kernels of a variant. Its methods, in kernels_GOARCH.go, call
// them directly, so that the compiler knows that they keep no pointer.
type kernels struct {
	set   instructions
	lanes int // rows of a panel
}

// instructions are those that the micro-kernels use.
type instructions uint8

const (
	portable instructions = iota // what Go compiles to
	neon
	avx2
	avx512
)

func kernelsOf(variant string) kernels {
	switch variant {
	case blas.AVX512:
		return kernels{set: avx512, lanes: 8}
	case blas.AVX2:
		return kernels{set: avx2, lanes: 4}
	case blas.NEON:
		return kernels{set: neon, lanes: 4}
	}
	return kernels{set: portable, lanes: goLanes}
}

// group is the largest number of panels that a micro-kernel multiplies at once.
const group = 3

// What a product does with its tile C.
const (
	replace         = iota // C = B·Aᵀ
	replaceNegative        // C = −B·Aᵀ
	add                    // C += B·Aᵀ
	subtract               // C −= B·Aᵀ
)

// product is productAhead without prefetching.
func (ks *kernels) product(nv, k int, a, b *float64, bs int, c *float64, cs, mode int) {
	ks.productAhead(nv, k, a, b, bs, c, cs, mode, a)
}

// solve is solveAhead without prefetching.
func (ks *kernels) solve(nv, k int, a, b *float64, bs int, t, x *float64, xs, fresh int) {
	ks.solveAhead(nv, k, a, b, bs, t, x, xs, fresh, a)
}
