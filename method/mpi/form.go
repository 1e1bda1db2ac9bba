package mpi

import "gpfit/device"

// form forms and factors Σ. The numbers of the call are the parameters and the noise; the result's vector is the diagonal
// of the factor.
func (s *share) form(c *call) (r result) {
	d := make([]float64, s.x.N)
	r.minor, r.stopped = s.part.Form(s.program(c), c.numbers[0], c.numbers[1], d, s.progress(c))
	if r.minor == 0 && !r.stopped {
		s.world.Sum(d)
		r.vectors = [][]float64{d}
	}
	return r
}

// sidesAtOnce bounds the right-hand sides that all ranks have at the same time.
const sidesAtOnce = 64

// solve solves with Σ, or with one of its factors, for M right-hand sides, which are the numbers of the call and, solved, the result's vector.
func (s *share) solve(c *call) result {
	n, all := s.x.N, c.numbers[0]
	for j0 := 0; j0 < c.M; j0 += sidesAtOnce {
		sides := all[j0*n : min(j0+sidesAtOnce, c.M)*n]
		s.part.Solve(c.With, sides)
		s.world.Sum(sides)
		if s.agree(c, 0) {
			return result{stopped: true}
		}
	}
	return result{vectors: [][]float64{all}}
}

// contract inverts Σ and contracts the adjoint. The numbers of the call are the parameters and the vectors of the outer
// products; the result's vectors are the gradient and the diagonal.
func (s *share) contract(c *call) (r result) {
	prog, adj := s.program(c), device.Adjoint{Inv: c.Inv, Outer: c.Outer, Vectors: c.numbers[1]}
	gradient, diag := make([]float64, prog.NumParams), make([]float64, s.x.N)
	var err error
	r.stopped, err = s.part.Contract(adj, prog, c.numbers[0], gradient, diag, s.progress(c))
	if s.check(err); r.stopped {
		return r
	}
	s.inOrder(gradient)
	s.world.Sum(diag)
	r.vectors = [][]float64{gradient, diag}
	return r
}

// inOrder adds the vectors of all ranks on rank 0, in the order of the ranks, so that a grid repeats its bits.
func (s *share) inOrder(v []float64) {
	all := s.world.Gather(v)
	clear(v)
	for i, x := range all {
		v[i%len(v)] += x
	}
}
