package mpi

// multiply computes the products of the derivatives with M vectors. The numbers of the call
// are the parameters and the vectors; the result's vector is the products.
func (s *share) multiply(c *call) result {
	prog := s.program(c)
	products := make([]float64, prog.NumParams*c.M*s.x.N)
	s.part.Multiply(s.world.Rank, s.world.Size, prog, c.numbers[0], c.numbers[1], c.M, products)
	s.world.Sum(products)
	return result{vectors: [][]float64{products}, stopped: s.agree(c, 0)}
}
