package fit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
)

const (
	// conditionTo is the number of rows up to which the condition is looked at:
	// every row of the factor is copied for it.
	conditionTo = 16_384
	// conditionRows is how many rows are copied at a time.
	conditionRows = 64
	// fewDigits is the number of decimal digits from which on down there is a
	// warning.
	fewDigits = 4
)

// warnCondition warns if the covariance that has just been formed leaves few digits
// of what is computed with it, such as the gradient.
func (s *session) warnCondition() {
	factor, ok := s.ws.(device.FactorStore)
	if !ok || s.ws.N() > conditionTo {
		return
	}
	condition, err := factorCondition(factor, s.ws.N())
	if err != nil {
		return // there is no factor to look at
	}
	if digits := -math.Log10(0x1p-53 * condition); digits < fewDigits {
		s.warnings = append(s.warnings, fmt.Sprintf("the covariance has a condition number of about %.0e: of the gradient and of predictions about %.0f of 16 digits are right; raise noise_variance, or shorten the lengthscales", condition, max(digits, 0)))
	}
}

// factorCondition is a lower bound of the condition number of Σ = LLᵀ, and about it
// as a rule: the largest eigenvalue is no less than 1ᵀΣ1/n and every L_ii², the
// smallest no more than the least L_ii².
func factorCondition(factor device.FactorStore, n int) (float64, error) {
	rows := make([]float64, min(n, conditionRows)*n)
	least, largest := math.Inf(1), 0.0
	sums := make([]float64, n) // Lᵀ1
	for r0 := 0; r0 < n; r0 += conditionRows {
		r1 := min(r0+conditionRows, n)
		if err := factor.ReadFactor(r0, r1, rows); err != nil {
			return 0, err
		}
		for i := r0; i < r1; i++ {
			row := rows[(i-r0)*n : (i-r0)*n+i+1]
			floats.Add(sums[:i+1], row)
			least, largest = min(least, row[i]*row[i]), max(largest, row[i]*row[i])
		}
	}
	return max(largest, floats.Dot(sums, sums)/float64(n)) / least, nil
}
