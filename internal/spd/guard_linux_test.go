package spd

import (
	"syscall"
	"testing"
	"unsafe"

	"gpfit/internal/must"
)

// guarded places operands at the end and at the beginning of memory between inaccessible
// pages.
var guarded = []placement{
	{"at the end of a page", guardNumbers, 0, func(t *testing.T) (func(int) []float64, func()) { return guard(t, true) }},
	{"at the beginning of a page", 0, guardNumbers, func(t *testing.T) (func(int) []float64, func()) { return guard(t, false) }},
}

func guard(t *testing.T, atEnd bool) (alloc func(n int) []float64, release func()) {
	var maps [][]byte
	alloc = func(n int) []float64 {
		page := syscall.Getpagesize()
		inner := (8*n + page - 1) / page * page
		m := must.Get(syscall.Mmap(-1, 0, inner+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE))(t)
		maps = append(maps, m)
		for _, outer := range [][]byte{m[:page], m[page+inner:]} {
			must.Do(t, syscall.Mprotect(outer, syscall.PROT_NONE))
		}
		at := page
		if atEnd {
			at += inner - 8*n
		}
		return unsafe.Slice((*float64)(unsafe.Pointer(&m[at])), n)
	}
	return alloc, func() {
		for _, m := range maps {
			must.Do(t, syscall.Munmap(m))
		}
	}
}
