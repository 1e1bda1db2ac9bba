// Command gen writes the assembly of package gpfit/internal/vec with avo.
//
//	go run . -isa avx512 -out ../../vec_avx512_amd64.s -stubs ../../vec_avx512_amd64.go -pkg vec
//
// The routines: the exponential and what is built on it (exp.go), the logarithm
// (log.go), sines and cosines (turns.go), sums over columns (distance.go), sums
// over rows (reduce.go) and elementwise arithmetic (elementwise.go). Each is generated for two
// instruction sets from the same text; isa.go holds what differs.
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
	name := flag.String("isa", "", "avx512 or avx2")
	flag.Parse()
	build.ConstraintExpr("amd64")
	t, ok := isas[*name]
	if !ok {
		log.Fatalf("unknown -isa %q", *name)
	}
	t.expScaled()
	t.rootDecay(valueOnly)
	t.rootDecay(withSlope)
	t.rootDecay(withPole)
	t.log1p()
	t.rationalSlopes()
	t.cosine(false)
	t.cosine(true)
	t.columnSums(squares)
	t.columnSums(products)
	t.columnSums(plain)
	t.sinSquares()
	t.sinSquaresSlope()
	t.sinSums()
	for g := t.maxColumns; g >= 1; g /= 2 {
		t.weightedSquares(g)
	}
	t.dot(2)
	t.dot(3)
	t.elementwise()
	build.Generate()
}
