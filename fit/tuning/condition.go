package tuning

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/method/merged"
)

const (
	// conditionTo is the number of rows up to which the condition is estimated:
	// every row of the factor is copied for it.
	conditionTo = 16_384
	// conditionRows is how many rows are copied at a time.
	conditionRows = 64
	// conditionSteps is how many systems are solved for the smallest eigenvalue.
	conditionSteps = 4
	// FewDigits is the number of decimal digits from which on down there is a warning.
	FewDigits = 4
)

// WarnCondition warns if the covariance that has just been formed leaves few digits
// of what is computed with it, such as the gradient.
func (s *Placement) WarnCondition(ctx context.Context) {
	if s.EstimateCondition(ctx); s.Digits != nil && *s.Digits < FewDigits {
		s.Warnings = append(s.Warnings, fmt.Sprintf("the covariance has a condition number of about %.0e: of the gradient and of predictions at most about %.0f of 16 digits are right; raise noise_variance, or shorten the lengthscales", *s.Condition, max(*s.Digits, 0)))
	}
}

// EstimateCondition sets Condition and Digits for the covariance that has just been formed.
func (s *Placement) EstimateCondition(ctx context.Context) {
	s.Condition, s.Digits = nil, nil
	ws := merged.Inner(s.Workspace)
	factor, ok := ws.(device.FactorStore)
	if !ok || ws.N() > conditionTo {
		return
	}
	largest, err := largestEigenvalue(factor, ws.N())
	inverse, failed := inverseNorm(context.WithoutCancel(ctx), ws)
	if err != nil || failed != nil {
		return // there is no factor to look at
	}
	if own := s.Job.Sample.Outlying; own != nil && slices.Max(own) > largest/2 {
		return // a row with a large noise variance of its own costs no digits of the others
	}
	condition := largest * inverse
	digits := DigitsLeft(condition)
	s.Condition, s.Digits = &condition, &digits
}

// DigitsLeft returns how many decimal digits a system with this condition number leaves.
func DigitsLeft(condition float64) float64 { return -math.Log10(0x1p-53 * condition) }

// inverseNorm returns a lower bound of the largest eigenvalue of Σ⁻¹ that is close to it as a rule,
// by power iteration from random signs. Every step solves one system and raises the bound.
func inverseNorm(ctx context.Context, w device.Workspace) (norm float64, err error) {
	rng := rand.New(rand.NewPCG(1, 1))
	b := make([]float64, w.N())
	for i := range b {
		b[i] = float64(1 - 2*rng.IntN(2))
	}
	for range conditionSteps {
		floats.Scale(1/floats.Norm(b, 2), b)
		if err := w.Solve(ctx, b, 1); err != nil {
			return 0, err
		}
		norm = floats.Norm(b, 2)
	}
	return norm, nil
}

// largestEigenvalue returns a lower bound of the largest eigenvalue of Σ = LLᵀ that is close to it
// as a rule: the larger of 1ᵀΣ1/n and ‖Lu‖²/‖u‖² for u = Lᵀe_m; the latter is close for kernels of
// low rank, if Σ_mm is large.
func largestEigenvalue(factor device.FactorStore, n int) (float64, error) {
	rows := make([]float64, min(n, conditionRows)*n)
	u, err := largestRow(factor, n, rows)
	if err != nil {
		return 0, err
	}
	lengthLu := 0.0
	sums := make([]float64, n) // Lᵀ1
	for r0 := 0; r0 < n; r0 += conditionRows {
		r1 := min(r0+conditionRows, n)
		if err := factor.ReadFactor(r0, r1, rows); err != nil {
			return 0, err
		}
		for i := r0; i < r1; i++ {
			row := rows[(i-r0)*n : (i-r0)*n+i+1]
			floats.Add(sums[:i+1], row)
			lengthLu = math.Hypot(lengthLu, floats.Dot(row, u[:i+1]))
		}
	}
	ratio := lengthLu / floats.Norm(u, 2)
	return max(ratio*ratio, floats.Dot(sums, sums)/float64(n)), nil
}

// largestRow returns the row of L with the largest norm, which is √Σ_mm, of the last
// rows. It uses rows as working space.
func largestRow(factor device.FactorStore, n int, rows []float64) ([]float64, error) {
	r0 := max(n-conditionRows, 0)
	if err := factor.ReadFactor(r0, n, rows); err != nil {
		return nil, err
	}
	norm := func(i int) float64 { return floats.Norm(rows[i*n:(i+1)*n], 2) }
	m := 0
	for i := range n - r0 {
		if norm(i) > norm(m) {
			m = i
		}
	}
	return slices.Clone(rows[m*n : (m+1)*n]), nil
}

// WarnGradient warns if rounding errors leave few digits of derivatives of grad, the
// gradient at the parameters of the last evaluation. Digits count from 1 nat or from
// the derivative if that is larger. Scores of predictions have no estimate.
func (s *Placement) WarnGradient(grad []float64) {
	if o := s.Job.Options.Objective; o.Predictive() || grad == nil {
		return
	}
	var names []string
	worst := math.Inf(1)
	for i, rounding := range s.Objective.GradientRounding() {
		digits := math.Log10(max(1, math.Abs(grad[i])) / rounding)
		if digits < FewDigits {
			names = append(names, s.Job.Params.Free[i].Name)
			worst = min(worst, digits)
		}
	}
	if names == nil {
		return
	}
	s.Warnings = append(s.Warnings, fmt.Sprintf("rounding leaves few digits of the gradient: at worst about %.0f are right in the derivatives by %s; raise noise_variance", max(math.Floor(worst), 0), strings.Join(names, ", ")))
}
