// Package guardedmem allocates memory between inaccessible pages, for tests of assembly.
package guardedmem

import (
	"syscall"
	"testing"
	"unsafe"

	"gpfit/internal/testcheck"
)

// Ends say whether [Numbers] places numbers at the end of a page, and where.
var Ends = []bool{true, false}

// Numbers returns a function that allocates n numbers at the end of a page, or at the beginning,
// next to an inaccessible one, and a function that frees them all.
func Numbers(t testing.TB, atEnd bool) (allocate func(n int) []float64, free func()) {
	var maps [][]byte
	allocate = func(n int) []float64 {
		if n == 0 {
			return nil
		}
		page := syscall.Getpagesize()
		inner := (8*n + page - 1) / page * page
		m := testcheck.Get(syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))(t)
		maps = append(maps, m)
		for _, outer := range [][]byte{m[:page], m[page+inner:]} {
			testcheck.Do(t, syscall.Mprotect(outer, syscall.PROT_NONE))
		}
		at := page
		if atEnd {
			at += inner - 8*n
		}
		return unsafe.Slice((*float64)(unsafe.Pointer(&m[at])), n)
	}
	return allocate, func() {
		for _, m := range maps {
			testcheck.Do(t, syscall.Munmap(m))
		}
	}
}
