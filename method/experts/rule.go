package experts

import (
	"fmt"
	"math"
	"slices"
)

// Rule says how the predictions of the experts become one.
type Rule string

// The rules.
const (
	// Nearest takes the prediction of the expert whose centre is nearest.
	Nearest Rule = "nearest"
	// RBCM is the robust Bayesian committee machine (Deisenroth and Ng 2015, Distributed
	// Gaussian Processes, eq. 20 and 21). For experts with mean μ_k and variance σ_k² of the
	// function at a point, and the prior mean 0 and variance σ₀² there,
	//
	//	1/σ² = Σ_k β_k/σ_k² + (1 − Σ_k β_k)/σ₀²
	//	μ = σ² Σ_k β_k μ_k/σ_k²
	//	β_k = ½(log σ₀² − log σ_k²)
	//
	// so that an expert counts by what its rows say about the point. Experts that agree count
	// as independent there, so that σ² is too small where their rows are close to one
	// another. Therefore [Calibrate] finds a temperature T, and predictions have
	//
	//	1/σ² = (Σ_k β_k (1/σ_k² − 1/σ₀²))/T + 1/σ₀²
	//
	// which is the formula above for T = 1; the mean does not depend on it. An only expert
	// counts fully: it is the exact process.
	RBCM Rule = "rbcm"
)

// Rules lists the rules, the default first.
func Rules() []Rule { return []Rule{RBCM, Nearest} }

// Check returns an error for an unknown rule.
func (r Rule) Check() error {
	if slices.Contains(Rules(), r) {
		return nil
	}
	return fmt.Errorf("%q: must be %s or %s", string(r), RBCM, Nearest)
}

// leastShare bounds variances from below, as a share of the prior variance, because
// rounding of a point that an expert knows exactly may leave 0.
const leastShare = 1e-14

// committee adds up the predictions of experts at one point by [RBCM].
type committee struct {
	prior       float64 // σ₀²
	temperature float64
	precision   float64 // Σ_k β_k (1/σ_k² − 1/σ₀²)
}

// add adds an expert of this variance, and returns the factor of its mean in the sum of which μ/σ² consists.
func (c *committee) add(variance float64) (factor float64) {
	if !(c.prior > 0) {
		return 0
	}
	variance = min(max(variance, leastShare*c.prior), c.prior)
	beta := 0.5 * math.Log(c.prior/variance)
	// β/σ_k² − β/σ₀² is never negative.
	c.precision += beta * (1/variance - 1/c.prior)
	return beta / variance
}

// variance returns σ².
func (c *committee) variance() float64 {
	if !(c.prior > 0) {
		return 0
	}
	return 1 / (c.precision/c.temperature + 1/c.prior)
}

// mean returns μ for the sum of factors times means.
func (c *committee) mean(sum float64) float64 {
	if !(c.prior > 0) {
		return 0
	}
	return sum / (c.precision + 1/c.prior)
}
