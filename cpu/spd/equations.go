package spd

import "context"

// parallelOrder is the order from which several threads share the solution of equations
// with few right-hand sides. Below it they would mostly wait for each other.
const parallelOrder = 1200

// SolveEquations replaces the right-hand sides b by Σ⁻¹·b. There are count of them, of N
// numbers each, one after the other. The error is that of ctx.
func (m *Matrix) SolveEquations(ctx context.Context, b []float64, count int) error {
	l := m.lanes
	panels := (count + l - 1) / l
	if len(m.sides) < panels*l*m.order {
		m.sides = aligned(panels * l * m.order)
	}
	s := substitution{Matrix: m, x: m.sides, panels: panels, blocks: m.blocksOf(chunk)}
	s.load(b, count)
	s.scratch = m.workers(chunk * l)
	for _, task := range []func(worker, task int) int64{s.forward, s.backward} {
		m.run.begin(ctx, s.blocks, nil)
		for i := range s.blocks {
			m.run.column(s.blocks - i)
		}
		if err := m.finish(&m.run, m.order-parallelOrder, task); err != nil {
			return err
		}
	}
	s.unload(b, count)
	return nil
}

// A substitution solves L·y = b and Lᵀ·x = y in panels of right-hand sides. Each block of
// unknowns, once solved, is subtracted from the blocks that follow. The counter of a block
// is the number of blocks subtracted from it, plus one if it is solved.
type substitution struct {
	*Matrix
	x              []float64
	panels, blocks int
	scratch        [][]float64
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

// begin waits for what a task needs and returns the solved block and the block to change.
// The task solves the block if they are the same.
func (s *substitution) begin(task int) (from, to int, ok bool) {
	from, number := s.run.place(task)
	to = from + number
	ok = s.run.await(to, from)
	if ok && number > 0 {
		ok = s.run.await(from, from+1)
	}
	return from, to, ok
}

// bounds returns the unknowns of a block.
func (s *substitution) bounds(block int) (i0, i1 int) {
	return block * chunk, min((block+1)*chunk, s.order)
}

// forward solves a block of unknowns of L·y = b, or subtracts one from a later block.
func (s *substitution) forward(_, task int) int64 {
	from, to, ok := s.begin(task)
	if !ok {
		return 0
	}
	i0, i1 := s.bounds(from)
	c0, c1 := s.bounds(to)
	stride := s.lanes * s.order
	for c := c0; c < c1; c += s.lanes {
		s.each(func(p, nv int) {
			if from == to {
				s.solve(nv, c-i0, s.p(c, i0), s.at(p, i0), stride, s.tile(c), s.at(p, c), stride, 0)
			} else {
				s.product(nv, i1-i0, s.p(c, i0), s.at(p, i0), stride, s.at(p, c), stride, subtract)
			}
		})
	}
	s.run.done[to].Store(int32(from + 1))
	return 0
}

// backward solves a block of unknowns of Lᵀ·x = y, or subtracts one from an earlier block.
// Blocks count from the last.
func (s *substitution) backward(worker, task int) int64 {
	from, to, ok := s.begin(task)
	if !ok {
		return 0
	}
	i0, i1 := s.bounds(s.blocks - 1 - from)
	c0, c1 := s.bounds(s.blocks - 1 - to)
	l, stride := s.lanes, s.lanes*s.order
	columns := s.scratch[worker]
	for c := c1 - l; c >= c0; c -= l {
		first := i0
		if from == to {
			first = c + l
		}
		if rows := i1 - first; rows > 0 {
			s.transposeTiles(rows/l, s.p(first, c), l, s.stride(), &columns[0], l, l*l)
			s.each(func(p, nv int) {
				s.product(nv, rows, &columns[0], s.at(p, first), stride, s.at(p, c), stride, subtract)
			})
		}
		if from == to {
			for p := range s.panels {
				s.backTile(c, s.x[p*stride+c*l:][:l*l])
			}
		}
	}
	s.run.done[to].Store(int32(from + 1))
	return 0
}

// backTile solves for the unknowns of one tile.
func (s *substitution) backTile(c int, x []float64) {
	l := s.lanes
	t := s.tiles[c*l : (c+l)*l]
	for j := l - 1; j >= 0; j-- {
		xj := x[j*l : (j+1)*l]
		for r := j + 1; r < l; r++ {
			subtractMultiple(xj, x[r*l:(r+1)*l], t[j*l+r])
		}
		for i := range xj {
			xj[i] *= t[j*l+j]
		}
	}
}
