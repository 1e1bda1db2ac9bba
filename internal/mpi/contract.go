package mpi

import (
	"gpfit/internal/vec"
)

// contract inverts Σ and contracts the adjoint. The factor is there afterwards. The numbers of the call are the parameters and the vectors of the outer
// products; the result's vectors are the gradient and the diagonal.
func (s *share) contract(c *call) (r result) {
	theta, vectors := c.numbers[0], c.numbers[1]
	params := s.bind(c, theta).NumParams
	var err error
	if r.stopped, err = s.matrix.Invert(func(flops float64) bool { return s.agree(c, flops) }); err != nil {
		s.fail(err)
	}
	if r.stopped {
		return r
	}
	n := s.x.N
	a := adjoint{share: s, inv: c.Inv, outer: c.Outer, vectors: vectors, diag: make([]float64, n)}
	for k := range c.Outer {
		own := make([]float64, len(s.rowsAt))
		for i, at := range s.rowsAt {
			own[i] = vectors[k*n+at]
		}
		a.rows = append(a.rows, own)
	}
	parts := make([]float64, params*((len(s.colsAt)+columnsOfTask-1)/columnsOfTask))
	scratch := make([]float64, s.threads*rowLength)
	s.columns(len(s.colsAt), func(worker, group, j0, j1 int) {
		part, g := parts[group*params:][:params], scratch[worker*rowLength:][:rowLength]
		for j := j0; j < j1; j++ {
			pieces(0, s.matrix.Rows.Count(s.colsAt[j]+1), func(i0, i1 int) {
				a.column(g[:i1-i0], j, i0)
				s.evaluators[worker].RowGradient(part, g[:i1-i0], s.x, s.colsAt[j], s.rows, i0, i1)
			})
		}
	})
	for j, v := range s.pivots { // the inverse has the diagonal, and the factor all below
		if i := s.diagonal(j); i >= 0 {
			s.matrix.Column(j)[i] = v
		}
	}
	gradient := make([]float64, params)
	for i, v := range parts {
		gradient[i%params] += v
	}
	// The order of the sums is fixed, so that a grid repeats its bits.
	all := s.world.Gather(gradient)
	clear(gradient)
	for i, v := range all {
		gradient[i%params] += v
	}
	s.world.Sum(a.diag)
	r.vectors = [][]float64{gradient, a.diag}
	return r
}

// adjoint is the matrix G of a contraction, of which rank has the blocks of Σ⁻¹.
type adjoint struct {
	*share
	inv            float64
	outer, vectors []float64
	// rows are the vectors at the rows of the rank.
	rows [][]float64
	diag []float64
}

// column writes elements of column j of the rank, from row i on, to g: doubled above the diagonal.
func (a *adjoint) column(g []float64, j, i int) {
	at, n := a.colsAt[j], a.x.N
	inverse := a.matrix.Column(j)[i : i+len(g)]
	vec.Scale(g, inverse, 2*a.inv)
	for k, f := range a.outer {
		vec.Combine(g, g, a.rows[k][i:i+len(g)], 1, 2*f*a.vectors[k*n+at])
	}
	if last := len(g) - 1; i+last == a.diagonal(j) {
		v := a.inv * inverse[last]
		for k, f := range a.outer {
			v += f * a.vectors[k*n+at] * a.vectors[k*n+at]
		}
		g[last], a.diag[at] = v, v
	}
}
