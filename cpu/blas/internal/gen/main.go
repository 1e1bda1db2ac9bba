// Command gen writes the assembly of packages gpfit/cpu/blas and gpfit/cpu/spd with avo.
//
//	go run . -isa avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg blas
//
// The routines of cpu/blas, in the order of their files here: the gemm micro-kernels (gemm.go),
// the triangular-solve micro-kernels (solve.go), the Cholesky micro-kernel
// (chol.go) and the loops over packed panels (pack.go). tiles.go has those of cpu/spd, which
// shares the last two files. The same code generates each
// routine for both instruction sets; isa.go holds the differences.
//
// The generator is a separate module. So is internal/asm, which it shares with the
// generator of internal/vec.
package main

import "gpfit/internal/asm"

func main() {
	asm.Write(map[string]func(){
		"avx512": avx512.routines, "avx2": avx2.routines,
		"avx512-tiles": avx512.tileRoutines, "avx2-tiles": avx2.tileRoutines,
	})
}

// routines generates the routines of an instruction set.
func (t *isa) routines() {
	t.gemmFull()
	for nv := t.nv; nv >= 1; nv-- {
		t.gemmEdge(nv)
	}
	for nv := t.nv; nv >= 1; nv-- {
		t.solve(nv, false)
		t.solve(nv, true)
	}
	t.cholesky()
	t.copyPanel()
	t.transpose()
}
