package blas

// A ForwardSolve replaces vectors b by L⁻¹·b, for one lower triangle L and as many
// vectors as the caller likes. It is Dtrsm for callers that compute the vectors
// themselves and distribute them to threads: a thread computes a panel of vectors,
// solves it and uses the solution while the panel is in its cache. The steps are
//
//	for each band of rows of L: Begin, Pack every item, Solve every panel
//
// where calls of Pack may overlap, and calls of Solve for different panels. It packs
// each row of L once for all panels.
//
// The solution of a vector is one chain of fused multiply-adds for each element,
// which depends on n alone: not on the number of vectors, their panels or the bands.
type ForwardSolve struct {
	impl  *Implementation
	n     int
	order int // n, in whole tiles
	block int // unknowns whose products are subtracted at a time
	l     view
	bands []int // the first rows of the bands, and order
	band  int   // the packed one, −1 if none is
	mem   []float64
}

// A Panel holds up to [ForwardSolve.Width] vectors.
type Panel struct {
	m  int // vectors
	nv int // vector registers for an unknown of all of them
	x  []float64
}

const (
	// forwardBlock is the largest number of unknowns that a panel is multiplied by at
	// a time: the part of eight panels, 800 KB, stays in the second-level cache. Measured
	// on two cores of a Xeon (Sapphire Rapids) at n = 2000, eight panels of 512 unknowns
	// ran 8 % faster than four, and 256 to 2048 unknowns within the noise of 5 %.
	forwardBlock = 512
	// packRows is the number of rows of L in an item of Pack, a multiple of all tiles.
	packRows = 64
)

// NewForwardSolve prepares to solve with the lower triangle of order n > 0 in l. It
// packs bands of at most memory numbers, or 64 rows. It reads l in Pack.
func (impl *Implementation) NewForwardSolve(n int, l []float64, ldl, memory int) *ForwardSolve {
	checkSize(n, nLT0)
	checkLd(ldl, n, badLdA)
	checkLen(l, n, n, ldl, shortA)
	s := &ForwardSolve{impl: impl, n: n, order: n, l: rowMajor(l, ldl), bands: []int{0}, band: -1}
	e := impl.e
	s.l.shape = lower
	s.order = roundUp(n, e.mr)
	s.block = roundUp(n/max(1, panels(n, forwardBlock))+1, packRows)
	begin := 0
	for r := packRows; r < s.order; r += packRows {
		if s.offset(min(r+packRows, s.order))-s.offset(begin) > memory {
			s.bands = append(s.bands, r)
			begin = r
		}
	}
	s.bands = append(s.bands, s.order)
	return s
}

// offset returns the position of row i, a multiple of mr, in the packed triangle: the
// rows before it in panels of mr, each as long as its last row.
func (s *ForwardSolve) offset(i int) int { return i * (i + s.impl.e.mr) / 2 }

// Width returns the number of vectors in a full panel.
func (s *ForwardSolve) Width() int {
	return s.impl.e.nr
}

// Bands returns the number of bands.
func (s *ForwardSolve) Bands() int { return len(s.bands) - 1 }

// Numbers returns the size of the packed band in numbers.
func (s *ForwardSolve) Numbers() int { return len(s.mem) }

// Reset says that L has changed.
func (s *ForwardSolve) Reset() { s.band = -1 }

// Begin makes a band the current one and returns the number of items that Pack must
// pack before Solve: none if the band is packed already.
func (s *ForwardSolve) Begin(band int) (items int) {
	if s.band == band {
		return 0
	}
	s.band = band
	if s.mem == nil {
		s.mem = aligned(s.largest())
	}
	return panels(s.bands[band+1]-s.bands[band], packRows)
}

// largest returns the size of the largest band in numbers.
func (s *ForwardSolve) largest() (size int) {
	for i := range s.Bands() {
		size = max(size, s.offset(s.bands[i+1])-s.offset(s.bands[i]))
	}
	return size
}

// Pack packs an item of the band.
func (s *ForwardSolve) Pack(item int) {
	e := s.impl.e
	begin, end := s.bands[s.band], s.bands[s.band+1]
	first := begin + item*packRows
	for i := first; i < min(first+packRows, end); i += e.mr {
		rows := min(e.mr, s.n-i)
		dst := s.mem[s.offset(i)-s.offset(begin):][:(i+e.mr)*e.mr]
		e.packPanel(dst, e.mr, &s.l, i, rows, 0, i+rows)
		e.invertDiagonal(dst, i, rows)
	}
}

// NewPanel returns an empty panel.
func (s *ForwardSolve) NewPanel() *Panel { return &Panel{x: aligned(s.Width() * s.order)} }

// Len returns the memory of the panel in numbers.
func (p *Panel) Len() int { return len(p.x) }

// ScratchRows is the number of vectors in the working space of Load.
const ScratchRows = 8

// Load fills the panel with m vectors, 0 < m ≤ Width. vector writes vector i to dst, of
// length n. scratch has room for [ScratchRows] vectors.
func (s *ForwardSolve) Load(p *Panel, m int, scratch []float64, vector func(i int, dst []float64)) {
	p.m = m
	n := s.n
	e := s.impl.e
	p.nv = e.vectors(m)
	w := p.nv * e.lanes
	for i0 := 0; i0 < m; i0 += e.lanes {
		for i := range e.lanes {
			row := scratch[i*n : (i+1)*n]
			if i0+i < m {
				vector(i0+i, row)
			} else {
				clear(row)
			}
		}
		e.packLines(p.x[i0:], w, scratch, n)
	}
	clear(p.x[n*w : s.order*w])
}

// packLines packs as many rows of n elements as a vector has lanes into lines of a
// panel of width w.
func (ks *kernels) packLines(dst []float64, w int, rows []float64, n int) {
	l := ks.lanes
	tiles := n / l
	if tiles > 0 {
		ks.transposeTiles(tiles, &rows[0], n, l, &dst[0], w, w*l)
	}
	for p := tiles * l; p < n; p++ {
		for r := range l {
			dst[p*w+r] = rows[r*n+p]
		}
	}
}

// Solve solves the equations of the current band for the vectors of the panels. The
// bands before it must have been solved.
func (s *ForwardSolve) Solve(ps []*Panel) {
	e := s.impl.e
	begin, end := s.bands[s.band], s.bands[s.band+1]
	origin := s.offset(begin)
	for k0 := 0; k0 < end; k0 += s.block {
		k1 := min(k0+s.block, s.order)
		for i := max(begin, k0); i < end; i += e.mr {
			a := s.mem[s.offset(i)-origin:][:(i+e.mr)*e.mr]
			for _, p := range ps {
				w := p.nv * e.lanes
				if i < k1 {
					e.forward(p.nv, i-k0, &a[k0*e.mr], &p.x[k0*w], &a[i*e.mr], &p.x[i*w])
				} else {
					e.subtract(p.nv, k1-k0, &a[k0*e.mr], &p.x[k0*w], &p.x[i*w])
				}
			}
		}
	}
}

// subtract subtracts the product of packed panels from a tile x of a packed panel.
func (ks *kernels) subtract(nv, k int, a, b, x *float64) {
	w := nv * ks.lanes
	if w == ks.nr {
		ks.full(k, a, b, x, w, -1, 1)
		return
	}
	var mask tileMask
	mask.set(ks.lanes, ks.mr, w, dense, 0)
	ks.edge(nv, k, a, b, w, x, w, -1, 1, &mask)
}

// SquaredNorms writes the squared norms of the panel's vectors to dst.
func (s *ForwardSolve) SquaredNorms(p *Panel, dst []float64) {
	var sums [24]float64
	s.impl.e.squares(p.nv, s.order, &p.x[0], &sums[0])
	copy(dst[:p.m], sums[:])
}
