package markov

func (f *filter) filterSmall(p *square, first, last int, det *determinant) (int, error) { panic(0) }
func (f *filter) innovateSmall(b, mean []float64, first, last int)                      {}
func (f *filter) smoothSmall(b, back []float64, first, last int)                        {}
func (b *information) contractSmall(g *sums, inv float64, diag []float64, first, last int) {
}
func (f *filter) collectSmall(all, state, v []float64, first, last int)         {}
func (f *filter) returnSmall(g *sums, all, state, v []float64, first, last int) {}
