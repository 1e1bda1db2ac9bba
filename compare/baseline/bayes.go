package baseline

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// BayesianLinear is Bayesian linear regression: y = b + wᵀx + ε with w ~ N(0, sI) and
// ε ~ N(0, σ²) (RW, section 2.1.1). The intercept b has a flat prior. The weights
// belong to the columns of the design: set Unscaled for a prior on weights in original
// units. The means equal [Ridge] with λ = σ²/s.
//
// The noise σ² and the scale s maximize the marginal likelihood unless they are given
// (RW, eq. 2.30; PRML, section 3.5). With an intercept it is the likelihood of contrasts,
// which do not depend on b (RW, eq. 2.45 with a flat prior; REML).
type BayesianLinear struct {
	Design
	// PriorScale is s; 0 chooses it.
	PriorScale float64
	// Noise is σ²; 0 chooses it.
	Noise float64
}

// BayesianModel is the posterior of a Bayesian linear regression.
type BayesianModel struct {
	additive // Noise is σ²
	// Intercept and Weights are posterior means, in original units.
	Intercept float64   `json:"intercept"`
	Weights   []float64 `json:"slopes"`
	// PriorScale is s.
	PriorScale float64 `json:"prior_scale"`
	// LogEvidence is the log marginal likelihood. With an intercept it leaves out a
	// constant that depends only on the columns of the flat prior.
	LogEvidence float64 `json:"log_evidence"`
}

// Parameters implements [Tuned].
func (m *BayesianModel) Parameters() map[string]float64 {
	return map[string]float64{"noise_variance": *m.Noise, "prior_scale": m.PriorScale}
}

func (m *BayesianModel) complete(d int) error {
	if m.Noise == nil || len(m.Weights) != d {
		return errParts
	}
	return m.check(d, 1, d)
}

// Fit fits a [*BayesianModel].
func (m BayesianLinear) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	scale, s, err := m.spectrum(x, y)
	if err != nil {
		return nil, err
	}
	out := &BayesianModel{additive: additive{Scale: scale}}
	return out, out.fit(s, m)
}

func (m BayesianLinear) check() error {
	for name, v := range map[string]float64{"PriorScale": m.PriorScale, "Noise": m.Noise} {
		if !finite(v) || v < 0 {
			return fmt.Errorf("%s is %v; give a positive finite number, or 0 to choose it by marginal likelihood", name, v)
		}
	}
	return nil
}

// fit computes the posterior by ridge regression with λ = σ²/s.
func (m *BayesianModel) fit(s *spectrum, how BayesianLinear) error {
	lambda, noise, nlml, err := s.mostLikely(how.Noise, how.PriorScale)
	if err != nil {
		return err
	}
	m.Noise, m.PriorScale, m.LogEvidence = &noise, noise/lambda, -nlml
	if err := m.solve(s, lambda); err != nil {
		return err
	}
	m.Weights, m.Intercept = m.Scale.original(m.Penalized, m.level(m.Penalized))
	if !allFinite(append(m.Weights, m.Intercept, noise, m.PriorScale, m.LogEvidence)...) {
		return errRange
	}
	return nil
}

// Predict returns means and variances: σ² + xᵀA⁻¹x (RW, eq. 2.9 with the noise), and the
// share of the intercept.
func (m *BayesianModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, len(m.Weights)); err != nil {
		return Prediction{}, err
	}
	n, _ := x.Dims()
	ones := Design{}.ones(n)
	return m.predict(ones, m.Scale.apply(x)), nil
}
