package ptx

import (
	"fmt"
	"slices"

	"gpfit/kernel"
	"gpfit/kernel/oplist"
)

// Text returns the module of an entry for a target.
func (k *Kernel) Text(e *Entry, target string) []byte {
	b := k.body(e, k.Pairs(e))
	shared := map[string]int{}
	if k.resident() {
		shared["stage"] = len(k.columns) * stageBytes
	}
	if e == Contract || e == Multiply {
		shared["red"] = redBytes
	}
	return []byte(header(target) + b.entry(e, shared))
}

func (k *Kernel) body(e *Entry, pairs int) *body {
	b := newBody(k, pairs)
	if e.Vectors > 0 {
		writeDerivatives(b, e.Vectors)
		return b
	}
	map[*Entry]func(*body){Fill: writeFill, Cross: writeCross, Multiply: writeMultiply, Contract: writeContract}[e](b)
	return b
}

// Pairs returns the number of pairs in a pass: the largest for which the registers hold
// the live values and the temporary values of an operation on all pairs. A text for two
// pairs shows how many values of a pair live.
func (k *Kernel) Pairs(e *Entry) int {
	live, scratch, sums := k.body(e, 2).live.most(), k.scratch(), 0
	if e == Multiply {
		sums = 2 * vectors
	}
	for _, pairs := range []int{8, 4, 2} {
		if (live+scratch)*pairs+sums+pairs/2*e.Vectors <= registers {
			return pairs
		}
	}
	if e == Multiply || e.Vectors > 0 { // sums belong to two rows
		return 2
	}
	return 1
}

// registers is the number of float64 values that a thread can hold besides addresses, in
// the 128 registers that it has if two blocks share a multiprocessor.
const registers = 44

// scratch returns the number of temporary float64 values that operations need for each pair.
func (k *Kernel) scratch() int {
	most := 2
	if slices.ContainsFunc(k.features, func(f kernel.Feature) bool { return waves(&f) }) {
		most = 3
	}
	for id, needed := range k.need {
		v := k.list.Values[id]
		if long := []oplist.Op{oplist.Log, oplist.Log1p, oplist.LogOrZero, oplist.Power, oplist.Arcsine, oplist.Erf, oplist.Sinc}; needed && !v.Uniform && slices.Contains(long, v.Op) {
			most = 4
		}
	}
	return most
}

// writeFill writes the entry Fill.
func writeFill(b *body) {
	x, n, j0 := b.pointer("x"), b.param("n"), b.param("j0")
	a, lda, j1 := b.pointer("a"), b.param("lda"), b.param("j1")
	noise, noises := b.pointer("noise"), b.param("noises")
	ib, jb := b.split(b.do("mov.u32", "%ctaid.x"), b.tiles(b.do("sub.s64", n, j0), tileRows), j0, j0)
	last := b.do("min.s64", b.do("add.s64", ib, fmt.Sprint(tileRows)), n)
	b.put("@%s ret", b.do("setp.le.s64", last, jb)) // above the diagonal
	b.stage(tile{x, n, ib, x, n, jb})
	b.passes(func() {
		k := b.covariance()
		for p, v := range k {
			i, j := b.rowIndex[p/b.cols], b.colIndex[p%b.cols]
			inside := b.do("and.pred", b.do("setp.lt.s64", i, n), b.do("setp.lt.s64", j, j1))
			below := b.do("and.pred", inside, b.do("setp.gt.s64", i, j))
			diagonal := b.do("and.pred", inside, b.do("setp.eq.s64", i, j))
			to, own := b.element(a, i, j, lda), b.reg('d')
			b.put("@%s st.global.f64 [%s], %s", below, to, v)
			index := b.do("selp.b64", "0", j, b.do("setp.eq.s64", noises, "1"))
			b.put("@%s ld.global.f64 %s, [%s]", diagonal, own, b.address(noise, index))
			b.put("@%s add.rn.f64 %s, %s, %s", diagonal, own, own, v)
			b.put("@%s st.global.f64 [%s], %s", diagonal, to, own)
		}
	})
}

// covariance returns k of the pairs of a pass.
func (b *body) covariance() vec {
	b.measure()
	return b.value(b.k.value)
}

// writeCross writes the entry Cross.
func writeCross(b *body) {
	x, n, xs, m := b.pointer("x"), b.param("n"), b.pointer("xs"), b.param("m")
	r0, r1, out, ldo := b.param("r0"), b.param("r1"), b.pointer("out"), b.param("ldo")
	ib, jb := b.split(b.do("mov.u32", "%ctaid.x"), b.tiles(n, tileRows), "0", r0)
	b.stage(tile{x, n, ib, xs, m, jb})
	b.passes(func() {
		for p, v := range b.covariance() {
			i, j := b.rowIndex[p/b.cols], b.colIndex[p%b.cols]
			inside := b.do("and.pred", b.do("setp.lt.s64", i, n), b.do("setp.lt.s64", j, r1))
			b.put("@%s st.global.f64 [%s], %s", inside, b.element(out, i, b.do("sub.s64", j, r0), ldo), v)
		}
	})
}

// vectors is the number of columns of v that one regeneration of Σ serves.
const vectors = 4

// writeMultiply writes the entry Multiply.
func writeMultiply(b *body) {
	x, n, m := b.pointer("x"), b.param("n"), b.param("m")
	v, ldv := b.pointer("v"), b.param("ldv")
	block := b.wide(b.do("mov.u32", "%ctaid.x"))
	ib := b.do("mad.lo.s64", block, fmt.Sprint(tileRows), b.param("i0"))
	b.loop(".s64", "0", m, fmt.Sprint(vectors), true, func(q0 string) {
		var sums [vectors]vec // for each row
		for q := range sums {
			sums[q] = make(vec, b.rows)
			for a := range sums[q] {
				sums[q][a] = b.do("mov.f64", number(0))
			}
		}
		b.loop(".s64", "0", n, fmt.Sprint(tileCols), true, func(jb string) {
			b.barrier()
			b.stage(tile{x, n, ib, x, n, jb})
			b.passes(func() { multiplyPairs(b, sums[:], b.covariance(), v, ldv, n, q0, m) })
		})
		multiplyEnd(b, sums[:], v, ldv, n, q0, m)
	})
}

// multiplyPairs adds the contributions of the pairs of a pass to the rows' sums.
func multiplyPairs(b *body, sums []vec, k vec, v, ldv, n, q0, m string) {
	for q := range sums {
		column := b.do("add.s64", q0, fmt.Sprint(q))
		there := b.do("setp.lt.s64", column, m)
		for c, j := range b.colIndex {
			factor := b.do("mov.f64", number(0))
			inside := b.do("and.pred", there, b.do("setp.lt.s64", j, n))
			b.put("@%s ld.global.f64 %s, [%s]", inside, factor, b.element(v, j, column, ldv))
			for a := range b.rows {
				b.put("fma.rn.f64 %s, %s, %s, %s", sums[q][a], k[a*b.cols+c], factor, sums[q][a])
			}
		}
	}
}

// multiplyEnd sums the threads of a row and adds the diagonal: thread t completes
// vector t / 64 of row t mod 64.
func multiplyEnd(b *body, sums []vec, v, ldv, n, q0, m string) {
	const parts = Threads / 32
	red := b.do("mov.u64", "red")
	b.barrier()
	mine := b.address(red, b.wide(b.do("mad.lo.u32", b.tx, fmt.Sprint(parts), b.ty)))
	for q := range sums {
		for a, s := range sums[q] {
			b.put("st.shared.f64 %s, %s", at(mine, 8*parts*(tileRows*q+32*a)), s)
		}
	}
	b.barrier()
	row := b.do("and.b32", b.t, fmt.Sprint(tileRows-1))
	i := b.do("add.s64", b.do("mad.lo.s64", b.wide(b.do("mov.u32", "%ctaid.x")), fmt.Sprint(tileRows), b.param("i0")), b.wide(row))
	q := b.do("add.s64", q0, b.wide(b.do("shr.u32", b.t, "6")))
	inside := b.do("and.pred", b.do("setp.lt.s64", q, m), b.do("setp.lt.s64", i, b.param("i1")))
	end := b.label()
	b.put("@!%s bra %s", inside, end)
	index := b.do("selp.b64", "0", i, b.do("setp.eq.s64", b.param("noises"), "1"))
	noise := b.do("ld.global.f64", at(b.address(b.pointer("noise"), index), 0))
	sum := b.do("mul.rn.f64", noise, b.do("ld.global.f64", at(b.element(v, i, q, ldv), 0)))
	part := b.address(red, b.wide(b.do("mul.lo.u32", b.t, fmt.Sprint(parts))))
	for k := range parts {
		sum = b.do("add.rn.f64", sum, b.do("ld.shared.f64", at(part, 8*k)))
	}
	to := b.element(b.pointer("y"), b.do("sub.s64", i, b.param("i0")), q, b.param("ldy"))
	b.put("st.global.f64 [%s], %s", to, sum)
	b.here(end)
}
