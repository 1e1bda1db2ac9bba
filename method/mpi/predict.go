package mpi

import (
	"context"

	"gpfit/kernel"
)

// predict computes means, and the reductions of the variances if the call asks for them, for M points. The numbers of the
// call are the parameters, the points and the weights; the result's vectors are the means and the reductions.
func (s *share) predict(c *call) (r result) {
	theta, xs := c.numbers[0], &kernel.Points{N: c.M, D: c.D, X: c.numbers[1]}
	prog := s.program(c)
	means, stopped := s.predictMeans(c, theta, xs)
	if stopped {
		return result{stopped: true}
	}
	r.vectors = [][]float64{means, nil}
	if !c.Variances {
		return r
	}
	reduction := make([]float64, c.M)
	step := s.part.PointsAtOnce()
	for j0 := 0; j0 < c.M; j0 += step {
		j1 := min(j0+step, c.M)
		s.part.SquaredNorms(prog, theta, xs, j0, reduction[j0:j1])
		s.inOrder(reduction[j0:j1])
		if s.agree(c, float64(s.x.N)*float64(s.x.N)*float64(j1-j0)) {
			return result{stopped: true}
		}
	}
	r.vectors[1] = reduction
	return r
}

// predictMeans divides the points among the ranks. Each computes the means of its own as a CPU alone does.
func (s *share) predictMeans(c *call, theta []float64, xs *kernel.Points) (means []float64, stopped bool) {
	weights := c.numbers[2]
	first, last := xs.N*s.world.Rank/s.world.Size, xs.N*(s.world.Rank+1)/s.world.Size
	places := make([]int, last-first)
	for i := range places {
		places[i] = first + i
	}
	sides := len(weights) / s.x.N
	own, all := make([]float64, sides*len(places)), make([]float64, sides*xs.N)
	if err := s.means.PredictMeans(context.Background(), s.x, s.prog, theta, weights, xs.Pick(places), own); err != nil {
		s.fail(err)
	}
	for q := range sides {
		copy(all[q*xs.N+first:], own[q*len(places):(q+1)*len(places)])
	}
	s.world.Sum(all)
	return all, s.agree(c, 0)
}
