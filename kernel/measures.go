package kernel

import (
	"math"

	"gpfit/kernel/vec"
)

// pairs are the pairs (x_i, y_j) of a row, from j0 on.
type pairs struct {
	x  *Points
	i  int
	y  *Points
	j0 int
}

// others returns the coordinates of the second points; column c begins at c·y.N.
func (p *pairs) others() []float64 { return p.y.X[p.j0:] }

// measures computes features of rows of pairs and the sums of their columns.
type measures struct {
	// inverse holds 1/θ and invSquare 1/θ² for every element.
	inverse, invSquare []float64
	// points[f] are the coordinates of the row's first point that feature f uses, weights[f] the
	// weights of its columns, nil if all are 1, and frequencies[f] its inverse periods.
	points, weights, frequencies [][]float64
	row                          []float64
}

func (s *measures) bind(prog *Program, theta []float64) {
	s.inverse, s.invSquare = s.inverse[:0], s.invSquare[:0]
	for _, v := range theta {
		s.inverse, s.invSquare = append(s.inverse, 1/v), append(s.invSquare, 1/(v*v))
	}
	if s.points == nil {
		s.weights = make([][]float64, len(prog.Features))
		for _, f := range prog.Features {
			s.points = append(s.points, make([]float64, len(f.Dims)))
			s.frequencies = append(s.frequencies, make([]float64, len(f.Dims)))
		}
	}
	for k, f := range prog.Features {
		s.weights[k] = s.weightsOf(&f)
		if f.Kind != SinSquares {
			continue
		}
		for q := range f.Dims {
			s.frequencies[k][q] = s.inverse[f.Period+min(q, f.Periods-1)]
		}
	}
}

// weightsOf returns the weights of a feature's columns, or nil if all are 1.
func (s *measures) weightsOf(f *Feature) []float64 {
	switch {
	case f.Param < 0:
		return nil
	case f.Power() == 1:
		return s.inverse[f.Param : f.Param+len(f.Dims)]
	}
	return s.invSquare[f.Param : f.Param+len(f.Dims)]
}

// measure sets the points of the features and fills rows[f] with feature f of m pairs,
// without the squared distances that are not read. Distances are sums over differences of coordinates, because the shorter
// form with inner products suffers from cancellation. SinePhases may follow the
// program's features.
func (s *measures) measure(rows [][]float64, features []Feature, read []bool, p *pairs, m int) {
	phases := len(s.points) // index of the phases of the next SinSquares that has them
	for k := range s.points {
		f, point := &features[k], s.points[k]
		for q, c := range f.Dims {
			point[q] = p.x.X[c*p.x.N+p.i]
		}
		if f.Kind == SquaredDistance && !read[k] {
			continue
		}
		row, w, y := rows[k][:m], s.weights[k], p.others()
		switch f.Kind.dependence() {
		case ofFirst:
			s.ofOnePoint(row[:1], f, point, w, y, p.y.N)
			continue
		case ofSecond: // see seconds
			continue
		}
		switch f.Kind {
		case SquaredDistance:
			vec.SquaredDistances(row, point, w, y, p.y.N, f.Dims)
		case InnerProduct:
			vec.InnerProducts(row, point, w, y, p.y.N, f.Dims)
		case Differences:
			vec.Differences(row, point, w, y, p.y.N, f.Dims)
		case SinSquares:
			if phases < len(features) && f.OnePeriod() && features[phases].Period == f.Period {
				vec.SinSquaresSlope(row, rows[phases][:m], point, s.frequencies[k], y, p.y.N, f.Dims)
				phases++
				continue
			}
			vec.SinSquares(row, point, w, s.frequencies[k], y, p.y.N, f.Dims)
		case Mismatches:
			vec.Mismatches(row, point, w, y, p.y.N, f.Dims)
		}
	}
}

// ofOnePoint fills row with a feature of one of the two points.
func (s *measures) ofOnePoint(row []float64, f *Feature, point, w, y []float64, stride int) {
	offset := 0.0
	clear(row)
	for q, c := range f.Dims {
		weight, x, others := 1.0, point[q], y[c*stride:][:len(row)]
		if w != nil {
			weight = w[q]
		}
		switch f.Kind {
		case First:
			offset += x
		case FirstNorm:
			offset += weight * x * x
		case Second:
			vec.Combine(row, row, others, 1, 1)
		case SecondNorm:
			squares := s.scratch(len(row))
			vec.Mul(squares, others, others)
			vec.Combine(row, row, squares, 1, weight)
		}
	}
	if f.Kind == First || f.Kind == FirstNorm {
		vec.Affine(row, row, 0, offset)
	}
}

// sumColumns sets sums[q] = Σ_j weights[j]·s_q(j), where s_q is the part of column q in feature
// number k, without its weight. For SinSquares it also sets sums[d+q] = Σ_j weights[j]·u sin(2πu).
func (s *measures) sumColumns(sums []float64, f *Feature, k int, weights []float64, p *pairs) {
	d, point, y := len(f.Dims), s.points[k], p.others()
	switch f.Kind {
	case SquaredDistance:
		vec.WeightedSquares(sums, point, weights, y, p.y.N, f.Dims)
	case SinSquares:
		vec.SinSums(sums[:d], sums[d:], point, s.frequencies[k], weights, y, p.y.N, f.Dims)
	case Mismatches:
		vec.WeightedMismatches(sums, point, weights, y, p.y.N, f.Dims)
	case InnerProduct:
		for q, c := range f.Dims {
			sums[q] = point[q] * vec.Dot(weights, y[c*p.y.N:])
		}
	case Differences:
		for q := range f.Dims {
			sums[q] = s.weightedDifferences(f, q, point, weights, p)
		}
	case FirstNorm:
		total := vec.Sum(weights)
		for q := range f.Dims {
			sums[q] = total * point[q] * point[q]
		}
	case SecondNorm:
		for q, c := range f.Dims {
			column := y[c*p.y.N:][:len(weights)]
			sums[q] = vec.TripleDot(weights, column, column)
		}
	}
}

// weightedDifferences returns Σ_j w_j (x_c − y_jc) of the feature's q-th column.
func (s *measures) weightedDifferences(f *Feature, q int, point, w []float64, p *pairs) float64 {
	row := s.scratch(len(w))
	vec.Differences(row, point[q:], nil, p.others(), p.y.N, f.Dims[q:q+1])
	return vec.Dot(w, row)
}

// inputSlope returns the row ∂s(j)/∂x_c of the q-th column of feature number k, in scratch space:
//
//	∂Δ²/∂x = 2Δ,   ∂xy/∂x = y,   ∂sin²(πΔ/p)/∂x = (π/p) sin(2πΔ/p),   ∂Δ/∂x = 1,   ∂x²/∂x = 2x.
//
// It is nil for 0. Mismatches have no derivative, because their columns are categories.
func (s *measures) inputSlope(f *Feature, k, q, m int, p *pairs) []float64 {
	point, y, weight := s.points[k][q], p.others()[f.Dims[q]*p.y.N:][:m], 1.0
	if w := s.weights[k]; w != nil {
		weight = w[q]
	}
	row := s.scratch(m)
	switch f.Kind {
	case SquaredDistance:
		vec.Differences(row, s.points[k][q:q+1], nil, p.others(), p.y.N, f.Dims[q:q+1])
		vec.Scale(row, row, 2*weight)
	case InnerProduct:
		vec.Scale(row, y, weight)
	case SinSquares:
		frequency := s.frequencies[k][q]
		for j, v := range y {
			row[j] = math.Pi * frequency * weight * vec.SinTurns((point-v)*frequency)
		}
	case Differences, First:
		vec.Affine(row, y, 0, weight)
	case FirstNorm:
		vec.Affine(row, y, 0, 2*weight*point)
	default:
		return nil
	}
	return row
}

// scratch returns a row of length m.
func (s *measures) scratch(m int) []float64 {
	if len(s.row) < m {
		s.row = make([]float64, m)
	}
	return s.row[:m]
}
