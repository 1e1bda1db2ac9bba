package kernel

// Points is a set of n points in d dimensions, stored by column so that the
// inner loops run over consecutive numbers.
type Points struct {
	N, D int
	// X holds column c at X[c*N : (c+1)*N].
	X []float64
}

// NewPoints copies row-major points: point i is rows[i*d : (i+1)*d].
func NewPoints(rows []float64, n, d int) *Points {
	p := &Points{N: n, D: d, X: make([]float64, n*d)}
	for i := range n {
		for c := range d {
			p.X[c*n+i] = rows[i*d+c]
		}
	}
	return p
}

// Pick returns some of the points.
func (p *Points) Pick(rows []int) *Points {
	out := &Points{N: len(rows), D: p.D, X: make([]float64, 0, len(rows)*p.D)}
	for c := range p.D {
		column := p.Column(c)
		for _, i := range rows {
			out.X = append(out.X, column[i])
		}
	}
	return out
}

// Column returns column c, of length N, without copying it.
func (p *Points) Column(c int) []float64 { return p.X[c*p.N : (c+1)*p.N] }
