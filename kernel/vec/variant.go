package vec

import "gpfit/internal/isa"

//go:generate go run -C internal/gen . -isa avx512 -out ../../vec_avx512_amd64.s -stubs ../../vec_avx512_amd64.go -pkg vec
//go:generate go run -C internal/gen . -isa avx2 -out ../../vec_avx2_amd64.s -stubs ../../vec_avx2_amd64.go -pkg vec
//go:generate go run ./internal/dispatch

const (
	generic = isa.Generic
	avx2    = isa.AVX2
	avx512  = isa.AVX512
)

// active is the variant in use. After the start, only tests change it.
var active = choose(isa.Choose())

// choose returns the variant for one of package isa. There is none for NEON, nor for a
// name in GPFIT_CPU that is an error, which the CPU's device returns.
func choose(v isa.Variant, err error) isa.Variant {
	if err != nil || v == isa.NEON {
		return generic
	}
	return v
}
