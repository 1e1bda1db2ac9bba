package vec

import (
	"fmt"
	"os"
	"slices"
	"strings"
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

// active is the variant in use. Only tests change it after the start.
var active, activeErr = choose(os.Getenv(EnvVariant), Variants())

// choose returns the variant of the given name, or the best of those supported
// if the name is empty; the generic one along with an error.
func choose(name string, supported []string) (variant, error) {
	if name == "" {
		name = supported[0]
	}
	if slices.Contains(supported, name) {
		return byName[name], nil
	}
	if _, known := byName[name]; known {
		return generic, fmt.Errorf("vec: %s=%s: not supported by this machine (it has: %s)", EnvVariant, name, strings.Join(supported, ", "))
	}
	return generic, fmt.Errorf("vec: %s=%q: unknown variant (known: %s, %s, %s)", EnvVariant, name, AVX512, AVX2, Generic)
}

// Variants lists the variants that this machine supports, best first. The last
// is always generic.
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

// Variant returns the name of the variant in use. The error says that GPFIT_CPU
// names none, or one that this machine lacks; the generic one is in use then.
func Variant() (string, error) {
	for name, v := range byName {
		if v == active {
			return name, activeErr
		}
	}
	panic("vec: no such variant")
}
