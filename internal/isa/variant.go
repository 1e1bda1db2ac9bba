// Package isa chooses the set of instructions for routines in assembly.
package isa

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/cpu"
)

// Variant is a set of instructions.
type Variant uint8

// The variants.
const (
	Generic Variant = iota // what Go compiles to, on any processor
	NEON                   // every arm64 processor has it
	AVX2                   // with FMA
	AVX512                 // AVX-512 F, DQ, BW and VL
)

var names = [...]string{Generic: "generic", NEON: "neon", AVX2: "avx2", AVX512: "avx512"}

// String returns the variant's name.
func (v Variant) String() string { return names[v] }

// Env is the environment variable that forces a variant.
const Env = "GPFIT_CPU"

// Supported returns the variants that this machine supports, best first. The last is always
// Generic. Package cpu reports AVX only if the operating system saves the registers.
func Supported() []Variant {
	var v []Variant
	switch x := cpu.X86; {
	case runtime.GOARCH == "arm64":
		v = append(v, NEON)
	case runtime.GOARCH == "amd64" && x.HasAVX2 && x.HasFMA:
		if x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL {
			v = append(v, AVX512)
		}
		v = append(v, AVX2)
	}
	return append(v, Generic)
}

// Choose returns the variant that GPFIT_CPU names, or the best one. It returns Generic and
// an error if the name is unknown or this machine lacks the variant.
func Choose() (Variant, error) {
	supported, name := Supported(), os.Getenv(Env)
	if name == "" {
		return supported[0], nil
	}
	i := slices.Index(names[:], name)
	if i < 0 {
		known := slices.Clone(names[:])
		slices.Reverse(known)
		return Generic, fmt.Errorf("%s=%q: unknown variant (known: %s)", Env, name, strings.Join(known, ", "))
	}
	if v := Variant(i); slices.Contains(supported, v) {
		return v, nil
	}
	return Generic, fmt.Errorf("%s=%s: not supported by this machine (it has: %s)", Env, name, strings.Trim(fmt.Sprint(supported), "[]"))
}
