package vec

import (
	"syscall"
	"testing"
	"unsafe"

	"gpfit/internal/must"
)

// guarded places rows at the end and at the beginning of memory between
// inaccessible pages.
var guarded = []placement{
	func(t *testing.T) (func(int) []float64, func()) { return guard(t, true) },
	func(t *testing.T) (func(int) []float64, func()) { return guard(t, false) },
}

func guard(t *testing.T, atEnd bool) (row func(n int) []float64, check func()) {
	var maps [][]byte
	row = func(n int) []float64 {
		if n == 0 {
			return nil
		}
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
	return row, func() {
		for _, m := range maps {
			must.Do(t, syscall.Munmap(m))
		}
	}
}
