package vec

import (
	"os"
	"slices"
)

// The variants, best first.
const (
	AVX512  = "avx512"  // needs AVX-512 F, DQ, BW and VL
	AVX2    = "avx2"    // needs AVX2 and FMA
	Generic = "generic" // Go
)

// EnvVariant is the environment variable that forces a variant.
const EnvVariant = "GPFIT_CPU"

type variant uint8

const (
	generic variant = iota
	avx2
	avx512
)

var byName = map[string]variant{AVX512: avx512, AVX2: avx2, Generic: generic}

// active is the variant in use. After the start, only tests change it.
var active = choose(os.Getenv(EnvVariant), Variants())

// choose returns the named variant, or the best supported one if the name is empty.
// For an unsupported name, for which cpu/blas returns an error, it returns the
// generic variant.
func choose(name string, supported []string) variant {
	if name == "" {
		name = supported[0]
	}
	if slices.Contains(supported, name) {
		return byName[name]
	}
	return generic
}

// Variants returns the variants that this machine supports, best first. The last is
// always generic, which serves cpu/blas's neon, too.
func Variants() []string {
	var v []string
	if hasAVX512() {
		v = append(v, AVX512)
	}
	if hasAVX2() {
		v = append(v, AVX2)
	}
	return append(v, Generic)
}
