package mpi

import (
	"context"

	"gpfit/internal/vec"
)

// multiply computes the products of the derivatives with M vectors, for an equal part of the rows. The numbers of the call
// are the parameters and the vectors; the result's vector is the products.
func (s *share) multiply(c *call) result {
	theta, vectors := c.numbers[0], c.numbers[1]
	n, params := s.x.N, s.bind(c, theta).NumParams
	first, last := n*s.world.Rank/s.world.Size, n*(s.world.Rank+1)/s.world.Size
	products := make([]float64, params*c.M*n)
	rows := make([]float64, s.threads*params*rowLength)
	_ = s.team.For(context.Background(), s.threads, last-first, func(worker, task int) {
		i, own := first+task, rows[worker*params*rowLength:][:params*rowLength]
		pieces(0, n, func(j0, j1 int) {
			s.evaluators[worker].RowDerivatives(own, s.x, i, s.x, j0, j1)
			for k := range c.M {
				v := vectors[k*n+j0 : k*n+j1]
				for p := range params {
					products[(p*c.M+k)*n+i] += vec.Dot(v, own[p*(j1-j0):])
				}
			}
		})
	})
	s.world.Sum(products)
	return result{vectors: [][]float64{products}, stopped: s.agree(c, 0)}
}
