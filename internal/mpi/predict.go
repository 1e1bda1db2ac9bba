package mpi

import (
	"context"

	"gpfit/kernel"
)

// predict computes means, and the reductions of the variances if the call asks for them, for M points. The numbers of the
// call are the parameters, the points and the weights; the result's vectors are the means and the reductions.
func (s *share) predict(c *call) (r result) {
	theta, xs := c.numbers[0], &kernel.Points{N: c.M, D: c.D, X: c.numbers[1]}
	s.bind(c, theta)
	means, stopped := s.means(c, theta, xs)
	if stopped {
		return result{stopped: true}
	}
	r.vectors = [][]float64{means, nil}
	if !c.Variances {
		return r
	}
	reduction := make([]float64, c.M)
	step := s.pointsAtOnce()
	for j0 := 0; j0 < c.M; j0 += step {
		j1 := min(j0+step, c.M)
		s.reduce(xs, j0, reduction[j0:j1])
		if s.agree(c, float64(s.x.N)*float64(s.x.N)*float64(j1-j0)) {
			return result{stopped: true}
		}
	}
	r.vectors[1] = reduction
	return r
}

// means divides the points among the ranks. Each computes the means of its own as a CPU alone does.
func (s *share) means(c *call, theta []float64, xs *kernel.Points) (means []float64, stopped bool) {
	weights := c.numbers[2]
	first, last := xs.N*s.world.Rank/s.world.Size, xs.N*(s.world.Rank+1)/s.world.Size
	places := make([]int, last-first)
	for i := range places {
		places[i] = first + i
	}
	sides := len(weights) / s.x.N
	own, all := make([]float64, sides*len(places)), make([]float64, sides*xs.N)
	if err := s.host.PredictMeans(context.Background(), s.x, s.prog, theta, weights, xs.Pick(places), own); err != nil {
		s.fail(err)
	}
	for q := range sides {
		copy(all[q*xs.N+first:], own[q*len(places):(q+1)*len(places)])
	}
	s.world.Sum(all)
	return all, s.agree(c, 0)
}

// pointsAtOnce returns the number of points whose covariances a rank has at the same time. It is the same on all ranks.
func (s *share) pointsAtOnce() int {
	rows, _ := s.grid.Largest(s.x.N)
	blocks := max(1, predictionNumbers/(rows*s.grid.Block))
	return blocks * s.grid.Block * s.grid.Shape.Cols
}

// reduce computes |L⁻¹k*|² for the points from j0 on.
func (s *share) reduce(xs *kernel.Points, j0 int, reduction []float64) {
	v := s.grid.NewMatrix(s.x.N, len(reduction))
	places := v.Cols.Globals()
	s.columns(len(places), func(worker, _, first, last int) {
		for j := first; j < last; j++ {
			column := v.Column(j)
			pieces(0, len(column), func(i0, i1 int) {
				s.evaluators[worker].Row(column[i0:i1], xs, j0+places[j], s.rows, i0, i1)
			})
		}
	})
	s.matrix.SolveTriangle(v, false)
	own := make([]float64, len(reduction))
	for j, at := range places {
		for _, x := range v.Column(j) {
			own[at] += x * x
		}
	}
	clear(reduction)
	for i, x := range s.world.Gather(own) { // in order, so that a grid repeats its bits
		reduction[i%len(reduction)] += x
	}
}
