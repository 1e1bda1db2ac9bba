package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	. "gpfit/internal/asm"
)

// columnMode is the term that columnSums adds.
type columnMode int

const (
	squares  columnMode = iota // w·(x − y)²
	products                   // w·(x·y), in this order: symmetric to the last bit
	plain                      // w·(x − y)
	unequal                    // w·[x ≠ y]
)

// columnSums generates a routine that keeps a block of dst in registers while it
// loops over the columns, so that it reads every column once and writes dst once.
func (t *isa) columnSums(mode columnMode) {
	name := map[columnMode]string{squares: "squaredDistances", products: "innerProducts", plain: "differences", unequal: "mismatches"}[mode]
	term := map[columnMode]string{squares: "(x[q] − y[index[q]·stride + j])²", products: "x[q]·y[index[q]·stride + j]", plain: "(x[q] − y[index[q]·stride + j])", unequal: "[x[q] ≠ y[index[q]·stride + j]]"}[mode]
	t.function(name+"*", "func(dst *float64, n int, x, w, y *float64, stride int, index *int, d int)",
		"sets dst[j] = Σ_q w[q]·"+term+" for j < n; without",
		"weights if w is nil. d ≥ 1.")
	dst, n, x, w, y, stride, index, d := reg.RDI, reg.RCX, reg.RSI, reg.RBX, reg.RDX, reg.R8, reg.R9, reg.R10
	i, q, col := reg.RAX, reg.R11, reg.R12
	Params("dst n x w y stride index d", dst, n, x, w, y, stride, index, d)
	SHLQ(operand.Imm(3), stride)
	const unroll = 8
	acc, xq, wq, diff := t.allocs(unroll), t.alloc(), t.alloc(), t.allocs(3)
	scaled := append(diff[1:], diff[0]) // e·(w·e) needs a second register; AVX-512 has some to spare
	if t.Wide() {
		scaled = t.allocs(3)
	}
	var one operand.Op
	if mode == unequal {
		one = t.constant(cOne)
	}
	columns := func(weights bool, vectors int, label string) {
		for v := range vectors {
			t.Zero(acc[v])
		}
		if mode == unequal && !weights {
			VMOVUPD(one, wq)
		}
		columnLoop(label, index, stride, y, d, col, q, func() {
			VBROADCASTSD(Indexed(x, q, 8, 0), xq)
			if weights {
				VBROADCASTSD(Indexed(w, q, 8, 0), wq)
			}
			for v := range vectors {
				e := diff[v%len(diff)]
				if mode == unequal {
					var m operand.Op = t.at(col, i, v)
					if t.masked {
						t.load(t.at(col, i, v), e)
						m = e
					}
					t.addUnequal(m, xq, wq, acc[v], e, v)
					continue
				}
				if mode == products {
					t.load(t.at(col, i, v), e)
					if weights {
						VMULPD(xq, e, e)
						VFMADD231PD(wq, e, acc[v])
					} else {
						VFMADD231PD(xq, e, acc[v])
					}
					continue
				}
				t.difference(t.at(col, i, v), xq, e)
				switch {
				case mode == plain && weights:
					VFMADD231PD(wq, e, acc[v])
				case mode == plain:
					VADDPD(e, acc[v], acc[v])
				case !weights:
					VFMADD231PD(e, e, acc[v])
				default:
					VMULPD(wq, e, scaled[v%len(scaled)])
					VFMADD231PD(scaled[v%len(scaled)], e, acc[v])
				}
			}
		})
		for v := range vectors {
			t.store(acc[v], t.at(dst, i, v))
		}
	}
	t.columnBlocks(w, n, i, unroll, columns)
}

// weightedOrPlain generates a routine twice: with weights, and without for w = nil. prefix tells
// the labels of both.
func weightedOrPlain(w reg.Register, body func(weights bool, prefix string)) {
	TESTQ(w, w)
	JZ(Ref("plainstart"))
	body(true, "w")
	Label("plainstart")
	body(false, "p")
}

// columnBlocks generates the loop over j with weights and without. columns generates the loop
// over q for the given number of vectors, with a separate label.
func (t *isa) columnBlocks(w, n, i reg.Register, unroll int, columns func(weights bool, vectors int, label string)) {
	weightedOrPlain(w, func(weights bool, prefix string) {
		t.loop(prefix, n, i, unroll, func(vectors int) { columns(weights, vectors, t.label(prefix+"column", vectors)) })
		Ret()
	})
}

// addUnequal adds w to acc where m ≠ x. Lane masks alternate with v.
func (t *isa) addUnequal(m operand.Op, x, w, acc, scratch reg.Register, v int) {
	if t.Wide() {
		k := []reg.Register{reg.K2, reg.K3, reg.K4, reg.K5}[v%4]
		VCMPPD(operand.Imm(notEqual), m, x, k)
		VADDPD(w, acc, k, acc)
		return
	}
	VCMPPD(operand.Imm(notEqual), m, x, scratch)
	VANDPD(w, scratch, scratch)
	VADDPD(scratch, acc, acc)
}

// weightedSums generates a routine that processes a group of columns at a time, each with one
// accumulator, so that it reads the weights once for all of them. mode is squares or unequal.
func (t *isa) weightedSums(mode columnMode, columns int) {
	name, term := "weightedSquares", "(x[q] − y[index[q]·stride + j])²"
	if mode == unequal {
		name, term = "weightedMismatches", "[x[q] ≠ y[index[q]·stride + j]]"
	}
	t.function(fmt.Sprintf("%s*x%d", name, columns), "func(sums, x, w *float64, n int, y *float64, stride int, index *int)",
		"sets sums[q] = Σ_j w[j]·"+term+" over j < n, for",
		fmt.Sprintf("q < %d.", columns))
	sums, x, w, n, y, stride, index, i := reg.RDI, reg.RSI, reg.RDX, reg.RCX, reg.RBX, reg.R8, reg.R9, reg.RAX
	Params("sums x w n y stride index", sums, x, w, n, y, stride, index)
	SHLQ(operand.Imm(3), stride)
	// R15 is for the mask. The registers of x and sums are reused once x is read;
	// the stride becomes the last pointer.
	pointers := append([]reg.Register{reg.R10, reg.R11, reg.R12, reg.R13, reg.R14, x, sums}[:columns-1], stride)
	// The registers for total must be below 16.
	e, wj := t.allocs(2), t.alloc()
	acc, xq := t.allocs(columns), t.allocs(columns)
	for q := range columns {
		VBROADCASTSD(Mem(x, 8*q), xq[q])
		t.Zero(acc[q])
	}
	for q, p := range pointers {
		if p == stride {
			IMULQ(Mem(index, 8*q), p)
		} else {
			MOVQ(Mem(index, 8*q), p)
			IMULQ(stride, p)
		}
		ADDQ(y, p)
	}
	t.loop("", n, i, 1, func(int) {
		t.load(t.at(w, i, 0), wj)
		for q := range columns {
			d, s := e[0], e[1]
			if mode == unequal { // w is 0 in lanes outside the mask
				t.load(t.at(pointers[q], i, 0), d)
				t.addUnequal(d, xq[q], wj, acc[q], d, q)
				continue
			}
			t.difference(t.at(pointers[q], i, 0), xq[q], d)
			VMULPD(wj, d, s)
			VFMADD231PD(s, d, acc[q])
		}
	})
	Load(Param("sums"), sums)
	for q := range columns {
		t.total(acc[q], e[0])
		VMOVSD(acc[q].(reg.Vec).AsX(), Mem(sums, 8*q))
	}
	Ret()
}
