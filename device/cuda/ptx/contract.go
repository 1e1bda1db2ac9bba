package ptx

import (
	"fmt"

	"gpfit/kernel"
	"gpfit/kernel/oplist"
)

// A block of the contraction processes its tiles of G in a fixed order. For each tile
// it computes the sums, and the sums by columns, eight at a time. First every thread
// sums its pairs. Then, through shared memory, thread t sums part t mod 32 of sum t /
// 32, which consists of the numbers of 8 threads. A thread therefore keeps one number
// for every eight sums, in device memory that only it uses. At the end a block sums the
// 32 parts of each sum and writes its share; gpfit_reduce sums the blocks.

// contraction contains the operands of the passes of a contraction.
type contraction struct {
	*body
	n, s, lds, middle, ldm, i1, j0, j1 string
	vectors, outer, count              string
	inv, diag                          string
	// kept is the address of the thread's numbers, red its place among the numbers to
	// be summed, redPart the part that it sums.
	kept, red, redPart string
	groups             int
}

// writeContract writes the entry Contract.
func writeContract(b *body) {
	c := contraction{body: b, n: b.param("n"), groups: b.k.Rows() / group}
	x := b.pointer("x")
	c.s, c.lds, c.middle, c.ldm = b.pointer("s"), b.param("lds"), b.param("middle"), b.param("ldm")
	i0 := b.param("i0")
	c.i1, c.j0, c.j1 = b.param("i1"), b.param("j0"), b.param("j1")
	c.vectors, c.outer, c.count = b.pointer("vectors"), b.pointer("outer"), b.param("count")
	c.inv, c.diag = b.do("ld.param.f64", "[inv]"), b.pointer("diag")
	block, blocks := b.do("mov.u32", "%ctaid.x"), b.do("mov.u32", "%nctaid.x")
	first := b.do("mad.wide.u32", block, fmt.Sprint(Threads*c.groups), b.wide(b.t))
	c.kept = b.address(b.pointer("scratch"), first)
	red := b.do("mov.u64", "red")
	c.red = b.address(red, b.wide(b.t))
	c.redPart = b.address(red, b.wide(b.do("mad.lo.u32", b.ty, fmt.Sprint(Threads), b.tx)))
	c.eachGroup(func(kept string) { b.put("st.global.f64 [%s], %s", kept, number(0)) })

	rowTiles := b.tiles(b.do("sub.s64", c.i1, i0), tileRows)
	tiles := b.do("mul.lo.u32", rowTiles, b.tiles(b.do("sub.s64", c.j1, c.j0), tileCols))
	b.loop(".u32", block, tiles, blocks, true, func(k string) {
		ib, jb := b.split(k, rowTiles, i0, c.j0)
		end := b.do("min.s64", b.do("add.s64", jb, fmt.Sprint(tileCols)), c.j1)
		skip := b.label()
		b.put("@%s bra %s", b.do("setp.ge.s64", ib, end), skip) // below the diagonal
		b.stage(tile{x, c.n, ib, x, c.n, jb})                   // every pass ends with collect, which waits
		b.passes(c.pairsOfPass)
		b.here(skip)
	})
	c.finish(block, blocks)
}

// eachGroup writes do for the thread's number of every group.
func (c *contraction) eachGroup(do func(kept string)) {
	if c.groups == 0 {
		return
	}
	end := c.do("add.s64", c.kept, fmt.Sprint(8*Threads*c.groups))
	c.loop(".s64", c.kept, end, fmt.Sprint(8*Threads), false, do)
}

// finish sums the parts of a block.
func (c *contraction) finish(block, blocks string) {
	row := c.wide(c.ty)
	stride := c.wide(blocks)
	to := c.element(c.pointer("partial"), c.wide(block), row, stride)
	step := c.do("shl.b64", stride, "6") // eight rows
	c.eachGroup(func(kept string) {
		c.barrier()
		c.put("st.shared.f64 [%s], %s", c.red, c.do("ld.global.f64", at(kept, 0)))
		c.barrier()
		skip := c.label()
		c.put("@%s bra %s", c.do("setp.ne.u32", c.tx, "0"), skip)
		sum := c.do("ld.shared.f64", at(c.red, 0))
		c.loop(".s32", "1", "32", "1", false, func(k string) {
			part := c.do("ld.shared.f64", at(c.address(c.red, c.wide(k)), 0))
			c.put("add.rn.f64 %s, %s, %s", sum, sum, part)
		})
		c.put("st.global.f64 [%s], %s", to, sum)
		c.here(skip)
		c.put("add.s64 %s, %s, %s", to, to, step)
	})
}

// pairsOfPass sums the contributions of the pairs of a pass.
func (c *contraction) pairsOfPass() {
	c.measure()
	g := c.adjoints()
	c.live.born("g")
	sums := c.k.gradient.Sums
	for base := 0; base < len(sums); base += group {
		c.barrier() // other threads may still read red
		count := min(group, len(sums)-base)
		for q, v := range sums[base : base+count] {
			sum := ""
			if v == oplist.None {
				sum = c.total(g)
			} else {
				sum = c.dot(c.value(v), g)
			}
			c.live.used("g")
			c.put("st.shared.f64 %s, %s", at(c.red, 8*Threads*q), sum)
		}
		c.collect(at(c.kept, 8*Threads*(base/group)), fmt.Sprint(count), group)
	}
	next := (len(sums) + group - 1) / group
	weights := make([]vec, len(c.k.gradient.Columns))
	for i, sums := range c.k.gradient.Columns {
		if weights[i] = g; sums.Weight != oplist.None {
			weights[i] = c.mul(g, c.value(sums.Weight))
			c.live.born(&weights[i])
		}
	}
	c.live.used("g")
	for i, sums := range c.k.gradient.Columns {
		f := &c.k.features[sums.Feature]
		c.sumColumns(f, sums.Feature, weights[i], next)
		next += (len(f.Dims) + columnsOf(f) - 1) / columnsOf(f)
		c.live.used(&weights[i])
	}
}

// collect adds the first count of every width sums in red to the numbers that the threads keep.
func (c *contraction) collect(kept, count string, width int) {
	c.barrier()
	skip := c.label()
	own := c.do("and.b32", c.ty, fmt.Sprint(width-1))
	c.put("@%s bra %s", c.do("setp.ge.u32", own, count), skip)
	sum := c.do("ld.shared.f64", at(c.redPart, 0))
	for k := 1; k < Threads/32; k++ {
		sum = c.do("add.rn.f64", sum, c.do("ld.shared.f64", at(c.redPart, 8*32*k)))
	}
	before := c.do("ld.global.f64", kept)
	c.put("st.global.f64 %s, %s", kept, c.do("add.rn.f64", before, sum))
	c.here(skip)
}

// sumColumns sums by the columns of feature number i, from group next on.
func (c *contraction) sumColumns(f *kernel.Feature, i int, w vec, next int) {
	width := columnsOf(f)
	s := c.k.sweepOf(i)
	q := 0 // the column, if columns are written one after the other
	index := c.do("mov.b32", "0")
	kept := c.do("add.s64", c.kept, fmt.Sprint(8*Threads*next))
	c.eachColumn(s, 2*termCost[f.Kind], func(col column) {
		t := terms{body: c.body, column: col}
		t.x, t.y = c.coordinates(col)
		if col.place == "" {
			if q%width == 0 {
				c.barrier()
			}
			c.store(c.red, q%width, width, t.weighted(w, s, i, c.sum))
			if q++; q%width == 0 || q == len(f.Dims) {
				c.collect(at(kept, 8*Threads*((q-1)/width)), fmt.Sprint((q-1)%width+1), width)
			}
			return
		}
		c.sumInLoop(t, s, i, w, index, kept, width)
	})
}

// sumInLoop writes one column of a loop. index is the number of the group whose numbers
// are at kept.
func (c *contraction) sumInLoop(t terms, s *sweep, i int, w vec, index, kept string, width int) {
	begun, more := c.label(), c.label()
	c.put("@%s bra %s", c.do("setp.ne.u32", index, "0"), begun)
	c.barrier()
	c.here(begun)
	to := c.do("add.s64", c.red, c.do("mul.wide.u32", index, fmt.Sprint(8*Threads)))
	c.store(to, 0, width, t.weighted(w, s, i, c.sum))
	c.put("add.u32 %s, %s, 1", index, index)
	last := c.do("add.s64", c.uniforms, fmt.Sprint(8*(s.at+s.words*(len(s.dims)-1))))
	unfinished := c.do("and.pred", c.do("setp.lt.u32", index, fmt.Sprint(width)), c.do("setp.lt.s64", t.record, last))
	c.put("@%s bra %s", unfinished, more)
	c.times((len(s.dims) + width - 1) / width)
	c.collect(at(kept, 0), index, width)
	c.put("add.s64 %s, %s, %d", kept, kept, 8*Threads)
	c.put("mov.b32 %s, 0", index)
	c.here(more)
}

// store writes a column's sums to red, the second sum of SinSquares width places further on.
func (c *contraction) store(red string, slot, width int, sums []vec) {
	for k, sum := range sums {
		c.put("st.shared.f64 %s, %s", at(red, 8*Threads*(slot+k*width)), sum[0])
	}
}

func (k *Kernel) sweepOf(f int) *sweep {
	for i := range k.sweeps {
		if _, ok := k.sweeps[i].field[f]; ok {
			return &k.sweeps[i]
		}
	}
	return nil
}

// adjoints returns G of the pairs, with elements off the diagonal doubled and 0 outside
// the part of the launch. It writes the diagonal to diag.
func (c *contraction) adjoints() vec {
	g, index, inside := make(vec, c.pairs()), make([]string, c.pairs()), make([]string, c.pairs())
	hasMiddle := c.do("setp.ne.u64", c.middle, "0")
	middle := c.do("cvta.to.global.u64", c.middle)
	for p := range g {
		i, j := c.rowIndex[p/c.cols], c.colIndex[p%c.cols]
		index[p] = c.do("sub.s64", j, c.j0)
		inside[p] = c.do("and.pred", c.within(i, j), c.do("setp.le.s64", i, j))
		g[p] = c.do("mov.f64", number(0))
		c.put("@%s ld.global.f64 %s, [%s]", inside[p], g[p], c.element(c.s, i, index[p], c.lds))
		c.put("mul.rn.f64 %s, %s, %s", g[p], g[p], c.inv)
		m, more := c.do("mov.f64", number(0)), c.do("and.pred", inside[p], hasMiddle)
		c.put("@%s ld.global.f64 %s, [%s]", more, m, c.element(middle, i, index[p], c.ldm))
		c.put("add.rn.f64 %s, %s, %s", g[p], g[p], m)
	}
	c.addVectors(g)
	out := c.zeros()
	for p := range g {
		i, j := c.rowIndex[p/c.cols], c.colIndex[p%c.cols]
		inside := c.within(i, j)
		diagonal := c.do("and.pred", inside, c.do("setp.eq.s64", i, j))
		above := c.do("and.pred", inside, c.do("setp.lt.s64", i, j))
		c.put("@%s add.rn.f64 %s, %s, %s", above, out[p], g[p], g[p])
		c.put("@%s mov.f64 %s, %s", diagonal, out[p], g[p])
		c.put("@%s st.global.f64 [%s], %s", diagonal, c.address(c.diag, j), g[p])
	}
	return out
}

// within returns whether a pair is in the rows and columns of the launch.
func (c *contraction) within(i, j string) string {
	return c.do("and.pred", c.do("setp.lt.s64", i, c.i1), c.do("setp.lt.s64", j, c.j1))
}

// addVectors adds the products of the vectors.
func (c *contraction) addVectors(g vec) {
	column := c.do("mov.b64", c.vectors)
	rowAt, colAt := c.points(column, c.n, c.rowIndex), c.points(column, c.n, c.colIndex)
	c.loop(".s64", "0", c.count, "1", true, func(k string) {
		offset := c.do("shl.b64", c.do("mul.lo.s64", k, c.n), "3")
		load := func(point string) string {
			return c.do("ld.global.f64", at(c.do("add.s64", point, offset), 0))
		}
		factor := c.do("ld.global.f64", at(c.address(c.outer, k), 0))
		var rows, cols []string
		for _, p := range rowAt {
			rows = append(rows, c.do("mul.rn.f64", factor, load(p)))
		}
		for _, p := range colAt {
			cols = append(cols, load(p))
		}
		c.into(g, "fma.rn.f64", c.ofRows(rows), c.ofCols(cols), g)
	})
}
