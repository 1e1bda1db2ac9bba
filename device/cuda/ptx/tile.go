package ptx

import (
	"fmt"
	"slices"

	"gpfit/kernel/oplist"
)

// body is the text of an entry during writing.
type body struct {
	values
	// tx and ty are thread mod 32 and thread / 32, thread itself is t.
	t, tx, ty string
	tile      tile
	// rowIndex and colIndex are the indices of the pairs' points.
	rowIndex, colIndex []string
	// rowAt and colAt are the locations of the pass's coordinates: one address in
	// shared memory, or an address for each point.
	rowAt, colAt []string
	// written is the approximate number of operations on columns that are written out one by one.
	written int
}

// tile pairs points ib … ib+63 of xa (na points) with points jb … jb+31 of xb (nb
// points). Positions beyond the last point refer to the last point.
type tile struct{ xa, na, ib, xb, nb, jb string }

func newBody(k *Kernel, pairs int) *body {
	b := &body{values: values{k: k, rows: min(pairs, 2), cols: max(pairs/2, 1)}}
	b.uniforms = b.pointer("uniforms")
	b.t = b.do("mov.u32", "%tid.x")
	b.tx, b.ty = b.do("and.b32", b.t, "31"), b.do("shr.u32", b.t, "5")
	return b
}

// operands computes addresses and other integers.
type operands struct{ arithmetic }

func (b *operands) param(name string) string { return b.do("ld.param.u64", "["+name+"]") }

func (b *operands) pointer(name string) string { return b.do("cvta.to.global.u64", b.param(name)) }

// wide extends a non-negative 32-bit integer to 64 bits.
func (b *operands) wide(i string) string { return b.do("cvt.u64.u32", i) }

// address returns base + 8·index.
func (b *operands) address(base, index string) string { return b.do("mad.lo.s64", index, "8", base) }

// element returns the address of element (i, j) of a column-major matrix.
func (b *operands) element(base, i, j, ld string) string {
	return b.address(base, b.do("mad.lo.s64", j, ld, i))
}

// tiles returns ⌈count/size⌉ in 32 bits.
func (b *operands) tiles(count string, size int) string {
	up := b.do("add.s64", count, fmt.Sprint(size-1))
	return b.do("cvt.u32.u64", b.do("shr.s64", up, fmt.Sprint(map[int]int{tileRows: 6, tileCols: 5}[size])))
}

// split returns the first row and column of tile number n, with rowTiles tiles in a
// column of tiles, from row i0 and column j0 on.
func (b *operands) split(n, rowTiles, i0, j0 string) (ib, jb string) {
	row, col := b.do("rem.u32", n, rowTiles), b.do("div.u32", n, rowTiles)
	return b.do("mad.lo.s64", b.wide(row), fmt.Sprint(tileRows), i0), b.do("mad.lo.s64", b.wide(col), fmt.Sprint(tileCols), j0)
}

// stage copies the coordinates of the tile to shared memory. All threads call it, and
// none may still be reading the coordinates of another tile.
func (b *body) stage(t tile) {
	b.tile = t
	if !b.k.resident() || len(b.k.columns) == 0 {
		return
	}
	stageSide(b, t.xa, t.na, t.ib, tileRows, 0)
	stageSide(b, t.xb, t.nb, t.jb, tileCols, 8*tileRows)
	b.barrier()
}

// stageSide copies the coordinates of size points. Thread t copies point t mod size,
// and the threads divide the columns among them.
func stageSide(b *body, x, n, first string, size, offset int) {
	r, step := b.do("and.b32", b.t, fmt.Sprint(size-1)), Threads/size
	q0 := b.do("div.u32", b.t, fmt.Sprint(size))
	point := b.do("min.s64", b.do("add.s64", first, b.wide(r)), b.do("sub.s64", n, "1"))
	to := b.address(b.do("mov.u64", "stage"), b.wide(b.do("mad.lo.u32", q0, fmt.Sprint(stageBytes/8), r)))
	for base := 0; base < len(b.k.columns); base += step {
		guard := ""
		if base+step > len(b.k.columns) {
			guard = "@" + b.do("setp.lt.u32", q0, fmt.Sprint(len(b.k.columns)-base)) + " "
		}
		column, v := b.reg('l'), b.reg('d')
		b.put("%sld.global.nc.u64 %s, %s", guard, column, at(b.address(b.uniforms, b.wide(q0)), 8*base))
		b.put("%sld.global.nc.f64 %s, [%s]", guard, v, b.element(x, point, column, n))
		b.put("%sst.shared.f64 %s, %s", guard, at(to, base*stageBytes+offset), v)
	}
}

// passes writes body for all pairs of the thread, as a loop if there are several passes.
func (b *body) passes(body func()) {
	count := tileRows * tileCols / Threads / b.pairs()
	if count == 1 {
		writePass(b, "0", "0", body)
		return
	}
	b.loop(".s32", "0", fmt.Sprint(count), "1", false, func(i string) {
		if b.rows == 1 {
			writePass(b, b.do("shl.b32", b.do("shr.u32", i, "2"), "5"), b.do("shl.b32", b.do("and.b32", i, "3"), "3"), body)
			return
		}
		writePass(b, "0", b.do("mul.lo.u32", i, fmt.Sprint(8*b.cols)), body)
	})
}

// writePass begins a pass whose pairs are shifted by the given rows and columns.
func writePass(b *body, rowShift, colShift string, body func()) {
	b.features, b.known, b.roots, b.live = map[int]vec{}, map[oplist.ID]vec{}, map[oplist.ID]*decayed{}, lifetimes{}
	row, col := b.wide(b.do("add.u32", b.tx, rowShift)), b.wide(b.do("add.u32", b.ty, colShift))
	b.rowIndex, b.colIndex = nil, nil
	for a := range b.rows {
		b.rowIndex = append(b.rowIndex, b.do("add.s64", b.do("add.s64", b.tile.ib, row), fmt.Sprint(32*a)))
	}
	for a := range b.cols {
		b.colIndex = append(b.colIndex, b.do("add.s64", b.do("add.s64", b.tile.jb, col), fmt.Sprint(8*a)))
	}
	switch {
	case len(b.k.columns) == 0:
	case b.k.resident():
		stage := b.do("mov.u64", "stage")
		b.rowAt, b.colAt = []string{b.address(stage, row)}, []string{b.address(stage, col)}
	default:
		b.rowAt, b.colAt = b.points(b.tile.xa, b.tile.na, b.rowIndex), b.points(b.tile.xb, b.tile.nb, b.colIndex)
	}
	body()
}

// points returns the addresses of the first coordinates of points.
func (b *operands) points(x, n string, indices []string) []string {
	var out []string
	last := b.do("sub.s64", n, "1")
	for _, i := range indices {
		out = append(out, b.address(x, b.do("min.s64", i, last)))
	}
	return out
}

// column is a column of a sweep: its position, and the base and offset of its record.
type column struct {
	place  string
	static int
	record string
	offset int
}

// eachColumn writes do for every column of a sweep, one after the other while the text
// is short, and otherwise as a loop. cost is the number of operations for a pair.
func (b *body) eachColumn(s *sweep, cost int, do func(c column)) {
	const longest, longestText = 256, 1600
	text := len(s.dims) * cost * b.pairs()
	if b.k.resident() && len(s.dims)*cost <= longest && b.written+text <= longestText {
		b.written += text
		for q, dim := range s.dims {
			do(column{static: stageBytes * b.k.position(dim), record: b.uniforms, offset: 8 * (s.at + q*s.words)})
		}
		return
	}
	record := b.do("add.s64", b.uniforms, fmt.Sprint(8*s.at))
	end := b.do("add.s64", record, fmt.Sprint(8*s.words*len(s.dims)))
	b.times(len(s.dims))
	b.loop(".s64", record, end, fmt.Sprint(8*s.words), false, func(i string) {
		do(column{place: b.do("ld.global.nc.u64", at(i, 0)), record: i})
	})
	b.times(1)
}

// field returns a number of a column's record.
func (b *body) field(c column, field int) string {
	return b.do("ld.global.nc.f64", at(c.record, c.offset+8*field))
}

// coordinates returns the coordinates of the pass's points, for every pair.
func (b *body) coordinates(c column) (rows, cols vec) {
	var r, l []string
	if !b.k.resident() {
		r, l = readPoints(b, b.rowAt, c.place, b.tile.na), readPoints(b, b.colAt, c.place, b.tile.nb)
	} else {
		rowAt, colAt := b.rowAt[0], b.colAt[0]
		if c.place != "" {
			rowAt, colAt = b.do("add.s64", rowAt, c.place), b.do("add.s64", colAt, c.place)
		}
		for a := range b.rows {
			r = append(r, b.do("ld.shared.f64", at(rowAt, c.static+8*32*a)))
		}
		for a := range b.cols {
			l = append(l, b.do("ld.shared.f64", at(colAt, c.static+8*tileRows+8*8*a)))
		}
	}
	return b.ofRows(r), b.ofCols(l)
}

// readPoints reads a column's coordinates from device memory.
func readPoints(b *body, points []string, column, n string) []string {
	var out []string
	offset := b.do("mul.lo.s64", b.do("shl.b64", column, "3"), n)
	for _, p := range points {
		out = append(out, b.do("ld.global.nc.f64", at(b.do("add.s64", p, offset), 0)))
	}
	return out
}

// ofRows assigns every pair the value of its row, ofCols the value of its column.
func (b *body) ofRows(values []string) vec {
	out := make(vec, b.pairs())
	for p := range out {
		out[p] = values[p/b.cols]
	}
	return out
}

func (b *body) ofCols(values []string) vec {
	out := make(vec, b.pairs())
	for p := range out {
		out[p] = values[p%b.cols]
	}
	return out
}

// decayed contains √a, e^−√a and whether that counts as 0, which all Decays of one argument share.
type decayed struct{ root, exp, small vec }

// lifetimes records how many numbers of a pair are held at a time.
type lifetimes struct {
	clock       int
	first, last map[any]int
}

func (l *lifetimes) born(what any) {
	if l.first == nil {
		l.first, l.last = map[any]int{}, map[any]int{}
	}
	l.clock++
	l.first[what], l.last[what] = l.clock, l.clock
}

func (l *lifetimes) used(what any) {
	l.clock++
	if l.last != nil {
		l.last[what] = l.clock
	}
}

// most returns the largest number of values held at a time.
func (l *lifetimes) most() int {
	var events []int // births are even, ends the odd numbers after them
	for what, t := range l.first {
		events = append(events, 2*t, 2*l.last[what]+1)
	}
	slices.Sort(events)
	now, most := 0, 0
	for _, e := range events {
		if e%2 == 1 {
			now--
			continue
		}
		now++
		most = max(most, now)
	}
	return most
}
