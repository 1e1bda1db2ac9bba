// Command gen writes the assembly of package gpfit/cpu/blas with avo.
//
//	go run . -isa avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg blas
//
// The routines, in the order of their files here: the gemm micro-kernels
// (gemm.go), the triangular-solve micro-kernels (solve.go), the Cholesky
// micro-kernel (chol.go) and the two packing loops (pack.go). Each is generated for two instruction sets from the same
// text; isa.go holds what differs.
//
// The generator is a module of its own so that users of gpfit do not depend on
// avo. avo v0.6.0 asks for a golang.org/x/tools that does not compile on
// Go 1.26; go.mod raises it.
package main

import (
	"flag"
	"log"

	"github.com/mmcloughlin/avo/build"
)

func main() {
	name := flag.String("isa", "", "avx512, avx2 or base")
	flag.Parse()
	build.ConstraintExpr("amd64")
	t, ok := isas[*name]
	switch {
	case ok:
		t.routines()
	case *name == "base":
		base()
	default:
		log.Fatalf("unknown -isa %q", *name)
	}
	build.Generate()
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
