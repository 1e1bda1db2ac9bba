package blas

//go:generate go run -C internal/gen . -isa avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg blas
//go:generate go run -C internal/gen . -isa avx2 -out ../../kernels_avx2_amd64.s -stubs ../../kernels_avx2_amd64.go -pkg blas
//go:generate go run -C internal/gen ./neon -out ../../kernels_neon_arm64.s -stubs ../../kernels_neon_arm64.go -pkg blas

// kernels names the micro-kernels of a variant. Its methods, in kernels_GOARCH.go, call
// them directly, so that the compiler knows that they keep no pointer.
type kernels struct {
	set   instructions
	mr    int // rows of a tile
	nr    int // columns of a full tile
	lanes int // float64 in a vector, equal to mr; nr is three vectors
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
	case AVX512:
		return kernels{set: avx512, mr: 8, nr: 24, lanes: 8}
	case NEON:
		return kernels{set: neon, mr: 4, nr: 12, lanes: 4}
	case AVX2:
		return kernels{set: avx2, mr: 4, nr: 12, lanes: 4}
	}
	return kernels{set: portable, mr: goRows, nr: goCols, lanes: goRows}
}
