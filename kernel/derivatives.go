package kernel

import "gpfit/kernel/vec"

// derivativeRun computes the derivatives of a row of pairs by all parameters, each as a row.
type derivativeRun struct {
	*Gradient
	routine
	// factors multiply the sums; uses[s] lists the shares of sum s by their place among factors.
	factors []float64
	uses    [][]int
	// dst has a row of width numbers for each parameter.
	dst   []float64
	width int
	term  [2][]float64
}

// write runs the routine on a row of pairs, with weights of one, and writes to dst a row for each
// parameter.
func (r *derivativeRun) write(dst, ones []float64, p pairs) {
	r.dst, r.width = dst, len(ones)
	clear(r.dst)
	r.run(ones, p)
	r.dst = nil
}

func newDerivativeRun(g *Gradient, measures *measures) *derivativeRun {
	s := newSelection(g.List, g.Needed(), g.Features)
	for k, v := range g.Sums {
		s.columns(k, v)
	}
	for c, column := range g.Columns {
		s.columns(len(g.Sums)+c, column.Weight)
	}
	r := &derivativeRun{Gradient: g, routine: s.routine(measures), uses: make([][]int, g.NumSums())}
	for k, t := range g.shares {
		r.uses[t.sum] = append(r.uses[t.sum], k)
	}
	r.to = r
	return r
}

func (r *derivativeRun) bind(theta []float64) {
	r.routine.bind(theta)
	r.factors = r.Factors(r.factors[:0], r.measures.inverse, r.uniforms)
}

// columns adds the row of the k-th sum's values, or of the weights of a sum by columns.
func (r *derivativeRun) columns(k int, weights []float64) {
	if k < len(r.Sums) {
		r.add(k, weights)
		return
	}
	c := k - len(r.Sums)
	f := &r.Features[r.Columns[c].Feature]
	for q := range f.Dims {
		first, second := r.terms(f, r.Columns[c].Feature, q, len(weights))
		r.addTerm(r.offsets[c]+q, weights, first)
		if second != nil {
			r.addTerm(r.offsets[c]+len(f.Dims)+q, weights, second)
		}
	}
}

func (r *derivativeRun) addTerm(sum int, weights, term []float64) {
	if len(r.uses[sum]) > 0 {
		vec.Mul(term, term, weights)
		r.add(sum, term)
	}
}

// add adds a row to the derivatives that a sum contributes to.
func (r *derivativeRun) add(sum int, row []float64) {
	for _, k := range r.uses[sum] {
		dst := r.dst[r.shares[k].param*r.width:][:r.width]
		vec.Combine(dst, dst, row, 1, r.factors[k])
	}
}

// terms returns the row that the q-th column adds to a feature, without its weight, and for
// SinSquares also the row u·sin(2πu). They are valid until the next call.
func (r *derivativeRun) terms(f *Feature, k, q, m int) (first, second []float64) {
	for i := range r.term {
		if len(r.term[i]) < m {
			r.term[i] = make([]float64, m)
		}
	}
	first = r.term[0][:m]
	s, p := r.measures, &r.pairs
	point, y, column := s.points[k][q:q+1], p.others(), f.Dims[q:q+1]
	switch f.Kind {
	case SquaredDistance, Differences:
		vec.Differences(first, point, nil, y, p.y.N, column)
		if f.Kind == SquaredDistance {
			vec.Mul(first, first, first)
		}
	case SinSquares:
		second = r.term[1][:m]
		vec.SinSquaresSlope(first, second, point, s.frequencies[k][q:q+1], y, p.y.N, column)
	case Mismatches:
		vec.Mismatches(first, point, nil, y, p.y.N, column)
	case InnerProduct:
		vec.Scale(first, y[column[0]*p.y.N:][:m], point[0])
	case FirstNorm:
		clear(first)
		vec.Affine(first, first, 0, point[0]*point[0])
	case SecondNorm:
		vec.Mul(first, y[column[0]*p.y.N:][:m], y[column[0]*p.y.N:][:m])
	default:
		clear(first)
	}
	return first, second
}

var _ columnTaker = (*derivativeRun)(nil)
