// Command gen writes the amd64 assembly of package gpfit/cpu/spd with avo.
//
//	go run . -isa avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg spd
//
// The micro-kernels work on panels: mr rows of a matrix, stored column by column. A tile is a
// part of one, two or three neighbouring panels, mr columns wide. The same code generates each
// routine for both instruction sets; isa.go holds the differences.
//
// The generator is a separate module. So is internal/asm, which it shares with the
// generator of kernel/vec.
package main

import "gpfit/internal/asm"

func main() {
	asm.Write(map[string]func(){"avx512": avx512.routines, "avx2": avx2.routines})
}

// routines generates the routines of an instruction set.
func (t *isa) routines() {
	for nv := t.nv; nv >= 1; nv-- {
		t.tileProduct(nv)
	}
	for nv := t.nv; nv >= 1; nv-- {
		t.tileSolve(nv)
	}
	t.cholesky()
	t.transpose()
	t.squares()
	t.panelVector()
	t.panelTransposedVector()
}
