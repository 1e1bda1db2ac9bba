package spd

import "context"

const (
	// parallelOrder is the order from which several threads share the solution of equations
	// with few right-hand sides. Below it they would mostly wait for each other.
	parallelOrder = 400
	// unknowns is the number of unknowns in a block.
	unknowns = 96
)

// SolveTriangle replaces the right-hand sides b, as in SolveEquations, by L⁻¹·b or, if
// transposed, by L⁻ᵀ·b.
func (m *Symmetric) SolveTriangle(ctx context.Context, b []float64, count int, transposed bool) error {
	return m.solvePanels(ctx, b, count, !transposed, transposed)
}

// solvePanels replaces b by L⁻¹·b if forward, and then by L⁻ᵀ·b if backward.
func (m *Symmetric) solvePanels(ctx context.Context, b []float64, count int, forward, backward bool) error {
	l := m.lanes
	panels := (count + l - 1) / l
	if len(m.sides) < panels*l*m.order {
		m.sides = aligned(panels * l * m.order)
	}
	s := substitution{Symmetric: m, x: m.sides, count: count, panels: panels}
	s.load(b, count)
	s.scratch = m.workers(unknowns * l)
	first, second := s.forward, s.backward
	if !forward {
		first = nil
	}
	if !backward {
		second = nil
	}
	if err := m.substitute(ctx, first, second); err != nil {
		return err
	}
	s.unload(b, count)
	return nil
}

// substitute executes the tasks of a forward and of a backward substitution, either of which may
// be nil, in blocks of unknowns:
// block (i, i) is solved, and then subtracted from each later block j. The counter of a block is
// the number of blocks subtracted from it, plus one if it is solved. A task gets the unknowns [i0,
// i1) of block i and [c0, c1) of block j. The backward substitution counts blocks from the last.
func (m *Symmetric) substitute(ctx context.Context, forward, backward func(worker, i0, i1, c0, c1 int)) error {
	blocks := m.blocksOf(unknowns)
	for pass, task := range []func(worker, i0, i1, c0, c1 int){forward, backward} {
		if task == nil {
			continue
		}
		r := &m.run
		r.begin(ctx, blocks, nil)
		for i := range blocks {
			for j := i; j < blocks; j++ {
				r.add(i, j)
			}
		}
		unknownsOf := func(block int) (first, end int) {
			if pass == 1 {
				block = blocks - 1 - block
			}
			return block * unknowns, min((block+1)*unknowns, m.order)
		}
		err := m.finish(r, m.order-parallelOrder+serialOrder, func(worker int, t pair) int64 {
			if r.await(t.j, t.i) && (t.i == t.j || r.await(t.i, t.i+1)) {
				i0, i1 := unknownsOf(t.i)
				c0, c1 := unknownsOf(t.j)
				task(worker, i0, i1, c0, c1)
				r.done[t.j].Store(int32(t.i + 1))
			}
			return 0
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// A substitution solves L·y = b and Lᵀ·x = y in panels of right-hand sides.
type substitution struct {
	*Symmetric
	x             []float64
	count, panels int // of right-hand sides
	scratch       [][]float64
}

// at returns the address of unknown i in panel p.
func (s *substitution) at(p, i int) *float64 { return &s.x[p*s.lanes*s.order+i*s.lanes] }

func (s *substitution) load(b []float64, count int) {
	l := s.lanes
	for p := range s.panels {
		x := s.x[p*l*s.order : (p+1)*l*s.order]
		clear(x)
		for r := range min(l, count-p*l) {
			for i, v := range b[(p*l+r)*s.n : (p*l+r+1)*s.n] {
				x[i*l+r] = v
			}
		}
	}
}

func (s *substitution) unload(b []float64, count int) {
	l := s.lanes
	for q := range count {
		x := s.x[q/l*l*s.order+q%l:]
		for i := range s.n {
			b[q*s.n+i] = x[i*l]
		}
	}
}

// each calls f with groups of panels.
func (s *substitution) each(f func(p, nv int)) {
	for p := 0; p < s.panels; p += group {
		f(p, min(group, s.panels-p))
	}
}

// forward solves a block of unknowns of L·y = b, or subtracts one from a later block.
func (s *substitution) forward(_, i0, i1, c0, c1 int) {
	stride := s.lanes * s.order
	for c := c0; c < c1; c += s.lanes {
		s.each(func(p, nv int) {
			if i0 == c0 {
				s.solve(nv, c-i0, s.p(c, i0), s.at(p, i0), stride, s.tile(c), s.at(p, c), stride, 0)
			} else {
				s.product(nv, i1-i0, s.p(c, i0), s.at(p, i0), stride, s.at(p, c), stride, subtract)
			}
		})
	}
}

// backward solves a block of unknowns of Lᵀ·x = y, or subtracts one from an earlier block.
func (s *substitution) backward(worker, i0, i1, c0, c1 int) {
	l, stride := s.lanes, s.lanes*s.order
	columns := s.scratch[worker]
	for c := c1 - l; c >= c0; c -= l {
		first := i0
		if i0 == c0 {
			first = c + l
		}
		if rows := i1 - first; rows > 0 {
			s.transposeTiles(rows/l, s.p(first, c), l, s.stride(), &columns[0], l, l*l)
			s.each(func(p, nv int) {
				s.product(nv, rows, &columns[0], s.at(p, first), stride, s.at(p, c), stride, subtract)
			})
		}
		if i0 == c0 {
			for p := range s.panels {
				s.backTile(c, min(l, s.count-p*l), s.x[p*stride+c*l:][:l*l])
			}
		}
	}
}

// backTile solves for the unknowns of one tile and the first sides of its panel.
func (m *matrix) backTile(c, sides int, x []float64) {
	l := m.lanes
	t := m.tiles[c*l : (c+l)*l]
	for j := l - 1; j >= 0; j-- {
		xj, column := x[j*l:j*l+sides], t[j*l:(j+1)*l]
		for i := range xj {
			sum := xj[i]
			for r := j + 1; r < len(column); r++ {
				// A rounded product has the same bits on all processors; a fused one has not.
				sum -= float64(column[r] * x[r*l+i])
			}
			xj[i] = sum * column[j]
		}
	}
}
