package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// expDistances generates the exponential of squared distances, which stay in
// registers, with the results of columnSums and expScaled. The exponentials are
// multiplied by b or, if weighted, by a row, and these products are also summed.
func (t *isa) expDistances(weighted bool) {
	name, signature := "expDistances*", "func(dst *float64, n int, x, w, y *float64, stride int, index *int, d int, a, b float64)"
	doc := []string{
		"sets dst[j] = b·exp(a·s) with s = Σ_q w[q]·(x[q] − y[index[q]·stride + j])²",
		"for j < n; without weights if w is nil. d ≥ 1.",
	}
	if weighted {
		name, signature = "expDistancesTimes*", "func(dst, by *float64, n int, x, w, y *float64, stride int, index *int, d int, a float64) float64"
		doc = []string{
			"sets dst[j] = by[j]·exp(a·s) with s = Σ_q w[q]·(x[q] − y[index[q]·stride + j])²",
			"for j < n and returns Σ_j by[j]·exp(a·s); without weights if w is nil. d ≥ 1.",
		}
	}
	t.function(name, signature, doc...)
	dst, n, x, w, y, stride, index, d := reg.RDI, reg.RCX, reg.RSI, reg.RBX, reg.RDX, reg.R8, reg.R9, reg.R10
	i, q, col, by := reg.RAX, reg.R11, reg.R12, reg.R13
	Params("dst n x w y stride index d", dst, n, x, w, y, stride, index, d)
	SHLQ(Imm(3), stride)
	const unroll, pair = 4, 2
	var sums []reg.Register
	var b reg.Register
	if weighted {
		Params("by", by)
		sums = t.allocs(unroll) // first, because total needs registers below 16
		for _, s := range sums {
			t.Zero(s)
		}
	} else {
		b = t.scalar("b")
	}
	a := t.scalar("a")
	e, low, high := t.newExponential(), t.constant(cMin), t.constant(cMax)
	regs := t.expRegs(pair)
	for v := pair; v < unroll; v++ { // these have a sum of their own and share the rest
		r := regs[v-pair]
		r.x = t.alloc()
		regs = append(regs, r)
	}
	xq, wq := regs[0].kd, regs[1].kd // the exponential needs these later
	distances := func(weights bool, vectors int, label string) {
		for _, r := range regs[:vectors] {
			t.Zero(r.x)
		}
		columnLoop(label, index, stride, y, d, col, q, func() {
			VBROADCASTSD(Indexed(x, q, 8, 0), xq)
			if weights {
				VBROADCASTSD(Indexed(w, q, 8, 0), wq)
			}
			for v, r := range regs[:vectors] {
				t.load(t.at(col, i, v), r.k)
				t.sub(r.k, xq, r.k)
				if weights {
					VMULPD(wq, r.k, r.y)
					VFMADD231PD(r.y, r.k, r.x)
				} else {
					VFMADD231PD(r.k, r.k, r.x)
				}
			}
		})
	}
	// The sum has the order of dot: a block of four vectors has four sums, and all others
	// add to the first.
	sumOf := func(v, vectors int) reg.Register {
		if vectors == unroll {
			return sums[v]
		}
		return sums[0]
	}
	exponentials := func(first, end, vectors int) {
		for _, r := range regs[first:end] {
			VMULPD(a, r.x, r.x)
			t.clamp(VMAXPD, low, r.x, r.y)
			t.clamp(VMINPD, high, r.x, r.y)
		}
		e.emit(regs[first:end])
		for v := first; v < end; v++ {
			r := regs[v]
			if weighted {
				t.load(t.at(by, i, v), r.k)
				VFMADD231PD(r.k, r.y, sumOf(v, vectors))
				VMULPD(r.k, r.y, r.y)
			} else {
				VMULPD(b, r.y, r.y)
			}
			t.store(r.y, t.at(dst, i, v))
		}
	}
	body := func(weights bool, prefix string) {
		t.loops(prefix, n, i, []int{unroll, pair}, func(vectors int) {
			distances(weights, vectors, t.label(prefix+"column", vectors))
			for v := 0; v < vectors; v += pair {
				exponentials(v, min(v+pair, vectors), vectors)
			}
		})
		if weighted {
			t.totalOfFour(sums)
			Store(sums[0].(reg.Vec).AsX(), ReturnIndex(0))
		}
		Ret()
	}
	weightedOrPlain(w, body)
}
