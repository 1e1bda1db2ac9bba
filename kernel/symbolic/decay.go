package symbolic

import (
	"math"
	"strconv"
	"strings"
)

// polynomial prints Σ_k poly[k]·t^(k−1), in parentheses if it has several terms.
func polynomial(poly []float64) string {
	powers := []string{"/t", "", "t", "t²", "t³", "t⁴", "t⁵", "t⁶", "t⁷", "t⁸", "t⁹"}
	var terms []string
	for k, c := range poly {
		if c == 0 {
			continue
		}
		power := "t^" + strconv.Itoa(k-1)
		if k < len(powers) {
			power = powers[k]
		}
		term := strconv.FormatFloat(math.Abs(c), 'g', 4, 64)
		if term == "1" && k > 1 {
			term = ""
		}
		sign := "+ "
		switch {
		case c < 0 && len(terms) == 0:
			sign = "-"
		case c < 0:
			sign = "− "
		case len(terms) == 0:
			sign = ""
		}
		terms = append(terms, sign+term+power)
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return "(" + strings.Join(terms, " ") + ")"
}

// decaySlope returns the coefficients, starting with t^−1, of the derivative of
// (Σ_k p_k t^k)·e^−t by a = t², which is 1/(2t) times the derivative by t:
//
//	½ Σ_k ((k+2)·p_(k+2) − p_(k+1))·t^k,   k ≥ −1.
func decaySlope(poly []float64) []float64 {
	p := func(k int) float64 { // the coefficient of t^k
		if k+1 < len(poly) {
			return poly[k+1]
		}
		return 0
	}
	out := make([]float64, len(poly))
	for i := range out {
		k := i - 1
		out[i] = (float64(k+2)*p(k+2) - p(k+1)) / 2
	}
	return out
}
