// Command gen writes the assembly of package gpfit/kernel/vec with avo.
//
//	go run . -isa avx512 -out ../../vec_avx512_amd64.s -stubs ../../vec_avx512_amd64.go -pkg vec
//
// The routines: the exponential and what is built on it (exp.go), exponentials of distances
// (fused.go), the logarithm (log.go), powers (power.go), hyperbolic tangent and arcsine (curves.go), sines, cosines and the waves of a periodogram (turns.go),
// sums over columns (distance.go), sums over rows (reduce.go), elementwise arithmetic
// (elementwise.go) and other functions of an element (functions.go). The same code generates each
// routine for both instruction sets; isa.go holds the differences.
//
// The generator is a separate module. So is internal/asm, which it shares with the
// generator of cpu/spd.
package main

import "gpfit/internal/asm"

func main() {
	asm.Write(map[string]func(){"avx512": avx512.routines, "avx2": avx2.routines})
}

// routines generates the routines of an instruction set.
func (t *isa) routines() {
	t.expScaled()
	t.expDistances(false)
	t.expDistances(true)
	t.rootDecay(valueOnly)
	t.rootDecay(withSlope)
	t.rootDecay(withPole)
	t.log1p()
	t.log()
	t.power()
	t.tanh()
	t.arcsine()
	t.turnRow("cosine", "dst", true, false, "dst[j] = b·cos(2πu) with u = c·src[j] for j < n.")
	t.turnRow("cosineSine", "dst sine", true, true, "dst[j] = b·cos(2πu) and sine[j] = b·sin(2πu) with u = c·src[j] for", "j < n.")
	t.turnRow("sine", "dst", false, true, "dst[j] = b·sin(2πu) with u = c·src[j] for j < n.")
	t.columnSums(squares)
	t.columnSums(products)
	t.columnSums(plain)
	t.columnSums(unequal)
	t.sinSquares()
	t.sinSquaresSlope()
	t.sinSums()
	for g := t.maxColumns; g >= 1; g-- {
		t.weightedSums(squares, g)
	}
	for g := t.maxColumns; g >= 1; g /= 2 {
		t.weightedSums(unequal, g)
	}
	t.turnWaves()
	t.waveSums()
	t.dot(1)
	t.dot(2)
	t.dot(3)
	t.elementwise()
	t.functions()
	t.polynomial()
}
