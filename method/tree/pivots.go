package tree

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// block is the block of a node while its pivots are chosen.
type block struct {
	*evaluation
	*node
	a, b *side
	// tolerance is the largest element that the interpolation may miss, and stop the smallest pivot.
	tolerance, stop float64
	threads         int
	// sampleA and sampleB are the sampled rows and columns, and inA and inB mark them.
	sampleA, sampleB []int
	inA, inB         []bool
	// nearA and nearB are the points in the order of their distance from the other side.
	nearA, nearB []int
	i, j         []int     // the pivots
	sizes        []float64 // their absolute values
}

// choosePivots chooses the pivots of a block.
func (e *evaluation) choosePivots(t *node, threads int) error {
	b := &block{evaluation: e, node: t, a: e.newSide(t.first, t.mid), b: e.newSide(t.mid, t.end), tolerance: e.tolerance, stop: e.tolerance / 4, threads: threads}
	b.inA, b.inB = make([]bool, b.a.N), make([]bool, b.b.N)
	if b.a.N > e.sample || b.b.N > e.sample {
		b.nearA, b.nearB = e.nearest(b.a, b.b), e.nearest(b.b, b.a)
	}
	for size := e.sample; ; size *= 2 {
		b.sampleA = widen(b.sampleA, b.inA, b.nearA, size)
		b.sampleB = widen(b.sampleB, b.inB, b.nearB, size)
		if err := b.settle(size); err != nil {
			return err
		}
		if b.whole() || b.i != nil {
			break
		}
	}
	for k := range b.i {
		t.rows, t.columns = append(t.rows, b.a.at[b.i[k]]), append(t.columns, b.b.at[b.j[k]])
	}
	return e.refuse(t, b.sizes)
}

// whole reports whether all rows and columns are in the sample.
func (b *block) whole() bool { return len(b.sampleA) == b.a.N && len(b.sampleB) == b.b.N }

// widen adds points to a sample: the nearest ones to the other side, and as many that lie evenly in the order.
func widen(sample []int, in []bool, near []int, size int) []int {
	n := len(in)
	put := func(i int) {
		if !in[i] {
			in[i] = true
			sample = append(sample, i)
		}
	}
	if n <= size {
		for i := range n {
			put(i)
		}
		return sample
	}
	for _, i := range near[:size/2] {
		put(i)
	}
	for k := range size / 2 {
		put((2*k + 1) * n / size)
	}
	return sample
}

// settle eliminates the sample until a check finds nothing that the pivots miss. It leaves no pivots if the sample is too small
// for their number.
func (b *block) settle(size int) error {
	const rounds = 6
	for range rounds {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		b.eliminate()
		if b.whole() {
			return nil
		}
		if err := b.refuse(b.node, b.sizes); err != nil {
			return err
		}
		if 5*len(b.i) > 2*min(len(b.sampleA), len(b.sampleB)) {
			break
		}
		missed := b.check()
		if len(missed) == 0 {
			return nil
		}
		most := max(32, size/4)
		for _, m := range missed[:min(most, len(missed))] {
			if !b.inA[m.i] {
				b.inA[m.i], b.sampleA = true, append(b.sampleA, m.i)
			}
			if !b.inB[m.j] {
				b.inB[m.j], b.sampleB = true, append(b.sampleB, m.j)
			}
		}
	}
	b.i, b.j = nil, nil
	return nil
}

// eliminate chooses pivots among the sample: each is the largest of what is left in its row and column, after at most three
// steps from the last pivot's column.
func (b *block) eliminate() {
	x, y := b.a.Pick(b.sampleA), b.b.Pick(b.sampleB)
	left := newMatrix(x.N, y.N)
	b.borrow(func(e *kernel.Evaluator) {
		for i := range x.N {
			e.Row(row(left, i), x, i, y, 0, y.N)
		}
	})
	b.i, b.j, b.sizes = make([]int, 0, 16), make([]int, 0, 16), nil
	usedRow, usedColumn := make([]bool, x.N), make([]bool, y.N)
	for r := 0; len(b.i) < min(x.N, y.N); {
		i, j := rook(left, r)
		if math.Abs(left.Data[i*left.Stride+j]) <= b.stop {
			if i, j = largest(left); !(math.Abs(left.Data[i*left.Stride+j]) > b.stop) {
				break
			}
		}
		b.i, b.j = append(b.i, b.sampleA[i]), append(b.j, b.sampleB[j])
		usedRow[i], usedColumn[j] = true, true
		pivots, p := row(left, i), left.Data[i*left.Stride+j]
		b.sizes = append(b.sizes, math.Abs(p))
		most, at := 0.0, 0
		for k := range x.N {
			if usedRow[k] {
				continue
			}
			other := row(left, k)
			f := other[j]
			if f != 0 {
				vec.Combine(other, other, pivots, 1, -f/p)
			}
			other[j] = 0
			if math.Abs(f) > most {
				most, at = math.Abs(f), k
			}
		}
		clear(pivots)
		r = at
	}
}

// rook returns the place of an element that is the largest of its row and column, or is after three steps from row i.
func rook(m blas64.General, i int) (row0, column int) {
	j := peak(row(m, i))
	for range 3 {
		next := i
		for k := range m.Rows {
			if math.Abs(m.Data[k*m.Stride+j]) > math.Abs(m.Data[next*m.Stride+j]) {
				next = k
			}
		}
		if next == i {
			break
		}
		i = next
		k := peak(row(m, i))
		if k == j {
			break
		}
		j = k
	}
	return i, j
}

// peak returns the place of the largest absolute value.
func peak(v []float64) (at int) {
	most := -1.0
	for j, x := range v {
		if x = math.Abs(x); x > most {
			most, at = x, j
		}
	}
	return at
}

// largest returns the place of the largest element.
func largest(m blas64.General) (i, j int) {
	most := -1.0
	for k := range m.Rows {
		at := peak(row(m, k))
		if v := math.Abs(m.Data[k*m.Stride+at]); v > most {
			most, i, j = v, k, at
		}
	}
	return i, j
}

// miss is an element that the interpolation misses by more than the tolerance.
type miss struct {
	i, j int
	by   float64
}

// check compares the interpolation with elements of the block, and returns what it misses most, one element of a row or a
// column, the largest first.
func (b *block) check() (missed []miss) {
	if b.unchecked {
		return nil
	}
	c := b.elements(b.threads, b.a.Points, b.b.Pick(b.j))
	y, x := b.interpolate(b.threads, b.a, b.b, b.a.Pick(b.i), b.b.Pick(b.j))
	p := &checking{block: b, c: c, x: x, y: y, most: b.missing(len(b.j))}
	missed = append(p.wholes(), p.partners(b.a, b.b, false)...)
	missed = append(missed, p.partners(b.b, b.a, true)...)
	slices.SortStableFunc(missed, func(m, o miss) int { return cmp.Compare(o.by, m.by) })
	return missed
}

// checking compares C·Xᵀ with a block.
type checking struct {
	*block
	c, x, y blas64.General
	// most is the largest element that it may miss, with rounding.
	most float64
}

// missing returns the largest element that a block of a rank may miss: the tolerance, and a rounding error that no pivot makes smaller.
func (e *evaluation) missing(rank int) float64 {
	const grain = 16 * 0x1p-53
	return e.tolerance + grain*e.amplitude*math.Sqrt(float64(rank))
}

// longest returns the rows with the largest norms, where an interpolation is at its worst.
func longest(m blas64.General, count int) []int {
	norms, all := make([]float64, m.Rows), make([]int, m.Rows)
	for i := range all {
		norms[i], all[i] = vec.Dot(row(m, i), row(m, i)), i
	}
	slices.SortFunc(all, func(i, j int) int { return cmp.Or(cmp.Compare(norms[j], norms[i]), cmp.Compare(i, j)) })
	return all[:min(count, len(all))]
}

// wholes compares some whole rows and columns: the nearest to the other side and the farthest, random ones, and some with the largest
// factors.
func (p *checking) wholes() (missed []miss) {
	const each = 4
	compare := func(x, y *side, i int, m blas64.General, v []float64, back bool) {
		values := make([]float64, y.N)
		p.borrow(func(e *kernel.Evaluator) { e.Row(values, x.Points, i, y.Points, 0, y.N) })
		worst := miss{}
		for j, want := range values {
			if d := math.Abs(want - vec.Dot(v, row(m, j))); d > p.most && d > worst.by {
				worst = miss{i, j, d}
			}
		}
		if back {
			worst.i, worst.j = worst.j, worst.i
		}
		if worst.by > 0 {
			missed = append(missed, worst)
		}
	}
	s := stream{uint64(p.first)<<32 ^ uint64(p.end) ^ 0x77}
	some := func(near []int, m blas64.General) []int {
		n := len(near)
		out := longest(m, each)
		for k := range min(each, n) {
			out = append(out, near[k], near[n-1-k], s.below(n))
		}
		return out
	}
	for _, i := range some(p.nearA, p.y) {
		compare(p.a, p.b, i, p.x, row(p.c, i), false)
	}
	for _, j := range some(p.nearB, p.x) {
		compare(p.b, p.a, j, p.c, row(p.x, j), true)
	}
	return missed
}

// partners compares the elements of every point of x and its partners of the other side: neighbours in the coordinates of
// the kernel, and random ones.
func (p *checking) partners(x, y *side, back bool) []miss {
	const random = 4
	ours, theirs := readings(p.prog, p.theta, x.Points), readings(p.prog, p.theta, y.Points)
	near := make([]*cells, len(theirs))
	spread(p.threads, len(near), func(k int) { near[k] = newCells(theirs[k], y.N) })
	mine, other := p.c, p.x
	if back {
		mine, other = other, mine
	}
	found := make([][]miss, (x.N+strip-1)/strip)
	strips(p.threads, x.N, func(first, end int) {
		var s search
		partners := make([]int, 0, len(ranks)*len(near)+random)
		gathered := &kernel.Points{D: x.D, X: make([]float64, x.D*cap(partners))}
		values := make([]float64, cap(partners))
		p.borrow(func(e *kernel.Evaluator) {
			for i := first; i < end; i++ {
				partners = partners[:0]
				for k, cell := range near {
					cell.find(ours[k].of(i), &s)
					for _, r := range ranks {
						if r < s.count {
							partners = append(partners, s.points[r])
						}
					}
				}
				draw := stream{uint64(p.first)<<40 ^ uint64(p.end)<<20 ^ uint64(i)}
				for range random {
					partners = append(partners, draw.below(y.N))
				}
				m := len(partners)
				gathered.N = m
				for c := range x.D {
					column := y.Column(c)
					for k, j := range partners {
						gathered.X[c*m+k] = column[j]
					}
				}
				e.Row(values[:m], x.Points, i, gathered, 0, m)
				worst := miss{}
				for k, j := range partners {
					if d := math.Abs(values[k] - vec.Dot(row(mine, i), row(other, j))); d > p.most && d > worst.by {
						worst = miss{i, j, d}
					}
				}
				if worst.by > 0 {
					if back {
						worst.i, worst.j = worst.j, worst.i
					}
					found[first/strip] = append(found[first/strip], worst)
				}
			}
		})
	})
	return slices.Concat(found...)
}

// stream is a stream of random numbers (SplitMix64; Steele, Lea & Flood, OOPSLA 2014).
type stream struct{ state uint64 }

func (s *stream) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	h := s.state
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// below returns a number below n.
func (s *stream) below(n int) int { return int(s.next() >> 11 % uint64(n)) }
