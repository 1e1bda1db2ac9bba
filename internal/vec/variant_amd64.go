package vec

import "golang.org/x/sys/cpu"

// Package cpu reports AVX only if the operating system saves the registers.

func hasAVX512() bool {
	return hasAVX2() && cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL
}

func hasAVX2() bool { return cpu.X86.HasAVX2 && cpu.X86.HasFMA }
