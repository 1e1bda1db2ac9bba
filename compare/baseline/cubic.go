package baseline

import "math"

// naturalCubic are functions of one column whose span, with the lines, is the natural cubic splines
// with some knots. The second derivative of such a spline is piecewise linear, with values γ at the inner
// knots and 0 at both ends and beyond. With hat_k, the piecewise linear function that is 1 at knot k,
//
//	f(x) = line + Σ_k γ_k h_k(x),  h_k″ = hat_k,  ∫f″² = γᵀRγ,  R = ∫ hat hatᵀ
//
// (Green and Silverman, Nonparametric Regression and Generalized Linear Models, 1994, section 2.1.2). With
// R = LLᵀ and u = Lᵀγ the penalty is ‖u‖², and the functions are z(x) = L⁻¹h(x). R has two diagonals, and so
// has L.
type naturalCubic struct {
	knots []float64
	// diagonal and below are the diagonals of L.
	diagonal, below []float64
}

// newNaturalCubic returns the functions for ascending, distinct knots: two fewer than knots.
func newNaturalCubic(knots []float64) *naturalCubic {
	s := &naturalCubic{knots: knots}
	for k := range s.functions() {
		left, right := knots[k+1]-knots[k], knots[k+2]-knots[k+1]
		pivot := (left + right) / 3
		if k > 0 {
			s.below = append(s.below, left/6/s.diagonal[k-1])
			pivot -= s.below[k-1] * s.below[k-1]
		}
		s.diagonal = append(s.diagonal, math.Sqrt(pivot))
	}
	return s
}

// functions is the number of functions.
func (s *naturalCubic) functions() int { return max(0, len(s.knots)-2) }

// values writes the functions at x.
func (s *naturalCubic) values(out []float64, x float64) {
	for k := range out {
		out[k] = s.bent(k, x)
		if k > 0 {
			out[k] -= s.below[k-1] * out[k-1]
		}
		out[k] /= s.diagonal[k]
	}
}

// bent is h_k, which is 0 up to knot k and a line from knot k + 2 on.
func (s *naturalCubic) bent(k int, x float64) float64 {
	first, middle, last := s.knots[k], s.knots[k+1], s.knots[k+2]
	left, right := middle-first, last-middle
	switch {
	case x <= first:
		return 0
	case x <= middle:
		return (x - first) * (x - first) * (x - first) / (6 * left)
	}
	line := (left + right) / 2 * (x - middle - (right-left)/3)
	if x < last {
		line += (last - x) * (last - x) * (last - x) / (6 * right)
	}
	return line
}
