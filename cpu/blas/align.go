package blas

import "unsafe"

// aligned allocates n elements, aligned to 64 bytes.
func aligned(n int) []float64 {
	s := make([]float64, n+7)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(s)))%64) / 8
	return s[off : off+n : off+n]
}
