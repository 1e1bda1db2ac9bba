package mpi

// form forms and factors Σ. The numbers of the call are the parameters and the noise; the result's vector is the diagonal
// of the factor.
func (s *share) form(c *call) (r result) {
	theta, noise := c.numbers[0], c.numbers[1]
	s.bind(c, theta)
	s.columns(len(s.colsAt), func(worker, _, j0, j1 int) {
		e := s.evaluators[worker]
		for j := j0; j < j1; j++ {
			at, column := s.colsAt[j], s.matrix.Column(j)
			first := s.matrix.Rows.Count(at)
			pieces(first, len(column), func(i0, i1 int) { e.Row(column[i0:i1], s.x, at, s.rows, i0, i1) })
			if s.diagonal(j) >= 0 {
				column[first] += noise[min(at, len(noise)-1)]
			}
		}
	})
	if s.agree(c, 0) {
		return result{stopped: true}
	}
	r.minor, r.stopped = s.matrix.Factor(func(flops float64) bool { return s.agree(c, flops) })
	if r.minor > 0 || r.stopped {
		return r
	}
	s.pivots = make([]float64, len(s.colsAt))
	d := make([]float64, s.x.N)
	for j, at := range s.colsAt {
		if i := s.diagonal(j); i >= 0 {
			s.pivots[j] = s.matrix.Column(j)[i]
			d[at] = s.pivots[j]
		}
	}
	s.world.Sum(d)
	r.vectors = [][]float64{d}
	return r
}

// sidesAtOnce bounds the right-hand sides that all ranks have at the same time.
const sidesAtOnce = 64

// solve solves with Σ, or with one of its factors, for M right-hand sides, which are the numbers of the call and, solved, the result's vector.
func (s *share) solve(c *call) result {
	n, all := s.x.N, c.numbers[0]
	for j0 := 0; j0 < c.M; j0 += sidesAtOnce {
		sides := all[j0*n : min(j0+sidesAtOnce, c.M)*n]
		b := s.grid.NewMatrix(n, len(sides)/n)
		columns := b.Cols.Globals()
		for j, at := range columns {
			for i, row := range s.rowsAt {
				b.Column(j)[i] = sides[at*n+row]
			}
		}
		switch c.Op {
		case opSolve:
			s.matrix.Solve(b)
		default:
			s.matrix.SolveTriangle(b, c.Op == opWhitenTransposed)
		}
		clear(sides)
		for j, at := range columns {
			for i, row := range s.rowsAt {
				sides[at*n+row] = b.Column(j)[i]
			}
		}
		s.world.Sum(sides)
		if s.agree(c, 0) {
			return result{stopped: true}
		}
	}
	return result{vectors: [][]float64{all}}
}
