package ptx

import (
	"fmt"
	"slices"

	"gpfit/kernel/oplist"
)

// A block of Derivatives has 64 rows and takes the columns in tiles. A thread adds the terms of its
// pairs, for each sum, vector and half of the rows, to a number in device memory that only it uses.
// At the end thread t sums the numbers of 8 threads for row t mod 64.

// products contains the operands of the passes of Derivatives.
type products struct {
	*body
	v, ldv, n string
	vectors   int
	// kept is the address of the thread's numbers, which are Threads numbers apart.
	kept string
	// factors are the elements of each vector for the columns of the pairs.
	factors []vec
}

// stride returns the number of bytes from the numbers of one sum to the numbers of the next.
func (p *products) stride() int { return 8 * Threads * rowHalves * p.vectors }

// writeDerivatives writes Derivatives for a number of vectors.
func writeDerivatives(b *body, vectors int) {
	p := products{body: b, n: b.param("n"), vectors: vectors}
	x := b.pointer("x")
	p.v, p.ldv = b.pointer("v"), b.param("ldv")
	block, i0 := b.wide(b.do("mov.u32", "%ctaid.x")), b.param("i0")
	ib := b.do("mad.lo.s64", block, fmt.Sprint(tileRows), i0)
	size := p.stride() * b.k.NumSums()
	scratch := b.do("mad.lo.s64", block, fmt.Sprint(size), b.pointer("scratch"))
	p.kept = b.address(scratch, b.wide(b.t))
	end := b.do("add.s64", scratch, fmt.Sprint(size))
	b.loop(".s64", p.kept, end, fmt.Sprint(8*Threads), true, func(kept string) { b.put("st.global.f64 [%s], %s", kept, number(0)) })
	b.loop(".s64", "0", p.n, fmt.Sprint(tileCols), true, func(jb string) {
		b.barrier()
		b.stage(tile{x, p.n, ib, x, p.n, jb})
		b.passes(p.pairsOfPass)
	})
	p.finish(scratch, end, ib)
}

// pairsOfPass adds the terms of the pairs of a pass.
func (p *products) pairsOfPass() {
	p.loadFactors()
	p.measure()
	ones := slices.Repeat(vec{number(1)}, p.pairs())
	valueOf := func(v oplist.ID) vec {
		if v == oplist.None {
			return ones
		}
		return p.value(v)
	}
	g := p.k.gradient
	for i, v := range g.Sums {
		p.accumulate(p.kept, i*p.stride(), valueOf(v))
	}
	for i, sums := range g.Columns {
		p.barrier() // or the assembler keeps the differences that measure computed, and spills
		f := &p.k.features[sums.Feature]
		weight, s := valueOf(sums.Weight), p.k.sweepOf(sums.Feature)
		kept := p.do("add.s64", p.kept, fmt.Sprint(g.ColumnOffset(i)*p.stride()))
		q := 0 // the column, if columns are written one after the other
		p.eachColumn(s, 2*termCost[f.Kind]+p.vectors, func(col column) {
			t := terms{body: p.body, column: col}
			t.x, t.y = p.coordinates(col)
			for k, term := range t.weighted(weight, s, sums.Feature, p.product) {
				p.accumulate(kept, (q+k*len(f.Dims))*p.stride(), term)
			}
			if q++; col.place != "" {
				p.put("add.s64 %s, %s, %d", kept, kept, p.stride())
				q = 0
			}
		})
		p.live.used(sums.Weight)
	}
}

// loadFactors loads the elements of the vectors, with 0 beyond the last point.
func (p *products) loadFactors() {
	p.factors = make([]vec, p.vectors)
	for k := range p.factors {
		for _, j := range p.colIndex {
			factor := p.do("mov.f64", number(0))
			p.put("@%s ld.global.f64 %s, [%s]", p.do("setp.lt.s64", j, p.n), factor, p.element(p.v, j, fmt.Sprint(k), p.ldv))
			p.factors[k] = append(p.factors[k], factor)
		}
	}
}

// accumulate adds the products of a term with the vectors to the numbers at an offset from kept.
func (p *products) accumulate(kept string, offset int, term vec) {
	for k, factors := range p.factors {
		for a := range p.rows {
			to := at(kept, offset+8*Threads*(rowHalves*k+a))
			sum := p.do("ld.global.f64", to)
			for c, factor := range factors {
				p.put("fma.rn.f64 %s, %s, %s, %s", sum, term[a*p.cols+c], factor, sum)
			}
			p.put("st.global.f64 %s, %s", to, sum)
		}
	}
}

// finish writes the sums of the rows. Thread t begins with the numbers of sum and vector t/64.
func (p *products) finish(scratch, end, ib string) {
	const step = Threads / tileRows
	p.barrier()
	row, slot := p.do("and.b32", p.t, fmt.Sprint(tileRows-1)), p.do("shr.u32", p.t, "6")
	i := p.do("add.s64", ib, p.wide(row))
	outside := p.label()
	p.put("@%s bra %s", p.do("setp.ge.s64", i, p.param("i1")), outside)
	half := p.do("mad.lo.u32", slot, fmt.Sprint(rowHalves), p.do("shr.u32", row, "5"))
	first := p.do("mad.lo.u32", half, fmt.Sprint(Threads), p.tx)
	ldy := p.param("ldy")
	to := p.element(p.pointer("y"), p.do("sub.s64", i, p.param("i0")), p.wide(slot), ldy)
	next := p.do("mul.lo.s64", ldy, fmt.Sprint(8*step))
	p.loop(".s64", p.address(scratch, p.wide(first)), end, fmt.Sprint(8*Threads*rowHalves*step), true, func(part string) {
		sum := p.do("ld.global.f64", at(part, 0))
		for k := 1; k < Threads/32; k++ {
			sum = p.do("add.rn.f64", sum, p.do("ld.global.f64", at(part, 8*32*k)))
		}
		p.put("st.global.f64 [%s], %s", to, sum)
		p.put("add.s64 %s, %s, %s", to, to, next)
	})
	p.here(outside)
}
