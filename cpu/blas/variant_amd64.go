package blas

import "golang.org/x/sys/cpu"

// processorVariants returns the variants in assembly that the processor supports, best
// first. Package cpu reports AVX only if the operating system saves the registers.
func processorVariants() (v []string) {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return nil
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL {
		v = append(v, AVX512)
	}
	return append(v, AVX2)
}
