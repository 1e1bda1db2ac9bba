package baseline

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// BayesianLinear is Bayesian linear regression: y = b + wᵀx + ε with w ~ N(0, s·Σ_p) and
// ε ~ N(0, σ²) (RW, section 2.1.1). The intercept b has a flat prior. The weights are
// those of the columns of the design: set Unscaled for a prior on weights in original
// units. The means equal [Ridge] with λ = σ²/s if Σ_p = I.
//
// The noise σ² and the scale s maximise the marginal likelihood unless they are given
// (RW, eq. 2.30; PRML, section 3.5). With an intercept it is the likelihood of contrasts,
// which do not depend on b (RW, eq. 2.45 with a flat prior; REML).
type BayesianLinear struct {
	Design
	// Prior is Σ_p, d×d and positive semidefinite; nil is the identity.
	Prior mat.Symmetric
	// PriorScale is s; 0 chooses it. Set 1 to use Prior as it is.
	PriorScale float64
	// Noise is σ²; 0 chooses it.
	Noise float64
	// Form is primal (RW, eq. 2.8) if d ≤ n and dual (RW, eq. 2.12) otherwise, unless
	// it is given.
	Form Form
}

// BayesianModel is the posterior of a Bayesian linear regression.
type BayesianModel struct {
	// Weights are posterior means; with Intercept, they are in original units.
	Weights   []float64
	Intercept float64
	// Noise and PriorScale are σ² and s.
	Noise, PriorScale float64
	// LogEvidence is the log marginal likelihood. With an intercept it leaves out a
	// constant that depends on the columns of the flat prior alone.
	LogEvidence float64

	scale    scaling
	factor   *mat.Dense // Σ_p = LLᵀ, or nil for the identity
	reduced  *reduced
	solution *solution
}

// Fit fits a [*BayesianModel].
func (m BayesianLinear) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	n, d := x.Dims()
	if err := m.check(d); err != nil {
		return nil, err
	}
	form, err := m.Form.resolve(n, d)
	if err != nil {
		return nil, err
	}
	out := &BayesianModel{scale: newScaling(x, m.Design)}
	z := out.scale.apply(x)
	if m.Prior != nil {
		if out.factor, err = root(m.Prior); err != nil {
			return nil, err
		}
		z = product(z, out.factor)
	}
	if out.reduced, err = newReduced(m.ones(n), z, y); err != nil {
		return nil, err
	}
	return out, out.fit(m, form)
}

func (m BayesianLinear) check(d int) error {
	for name, v := range map[string]float64{"PriorScale": m.PriorScale, "Noise": m.Noise} {
		if !finite(v) || v < 0 {
			return fmt.Errorf("baseline: %s is %v; give a positive finite number, or 0 to choose it by marginal likelihood", name, v)
		}
	}
	if m.Prior != nil && m.Prior.SymmetricDim() != d {
		return fmt.Errorf("baseline: Prior is %d×%[1]d for %d columns", m.Prior.SymmetricDim(), d)
	}
	return nil
}

// fit computes the posterior for w = √s·Lv with v ~ N(0, I): of √s·v, by ridge regression
// with λ = σ²/s.
func (m *BayesianModel) fit(how BayesianLinear, form Form) error {
	spectrum, err := newSpectrum(m.reduced)
	if err != nil {
		return err
	}
	lambda, noise, nlml, err := spectrum.mostLikely(how.Noise, how.PriorScale)
	if err != nil {
		return err
	}
	m.Noise, m.PriorScale, m.LogEvidence = noise, noise/lambda, -nlml
	if m.solution, err = solve(m.reduced, form, lambda); err != nil {
		return err
	}
	level := m.reduced.level(m.solution.weights)
	m.Weights, m.Intercept = m.scale.original(m.expand(m.solution.weights), level)
	if !allFinite(append(m.Weights, m.Intercept, m.Noise, m.PriorScale, m.LogEvidence)...) {
		return errRange
	}
	return nil
}

// expand returns Lv.
func (m *BayesianModel) expand(v []float64) []float64 {
	if m.factor == nil {
		return v
	}
	return multiply(m.factor, v)
}

// Predict returns means and variances: σ² + xᵀA⁻¹x (RW, eq. 2.9 with the noise), and the
// share of the intercept.
func (m *BayesianModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, len(m.Weights)); err != nil {
		return Prediction{}, err
	}
	z := m.scale.apply(x)
	if m.factor != nil {
		z = product(z, m.factor)
	}
	n, _ := x.Dims()
	out := Prediction{make([]float64, n), make([]float64, n)}
	for i := range n {
		g, rest := m.reduced.row([]float64{1}, z.RawRowView(i))
		out.Mean[i] = dot(g, m.reduced.yq) + dot(rest, m.solution.weights)
		out.Variance[i] = m.Noise * (1 + squares(g) + m.solution.spread(rest))
	}
	return out, nil
}

// Covariance returns the posterior covariance of the weights, in original units (RW, eq.
// 2.8). It has d² numbers.
func (m *BayesianModel) Covariance() *mat.SymDense {
	d := len(m.Weights)
	rows := mat.NewDense(d, d, nil) // the unit vector of each weight in original units, in v
	for c := range d {
		if m.scale.constant[c] {
			continue
		}
		if m.factor == nil {
			rows.Set(c, c, 1/m.scale.scale[c])
			continue
		}
		for j := range d {
			rows.Set(c, j, m.factor.At(c, j)/m.scale.scale[c])
		}
	}
	plus, minus := make([][]float64, d), make([][]float64, d)
	for c := range d {
		plus[c], minus[c] = m.solution.halves(rows.RawRowView(c))
	}
	out := mat.NewSymDense(d, nil)
	for a := range d {
		for b := range a + 1 {
			out.SetSym(a, b, m.Noise*(dot(plus[a], plus[b])-dot(minus[a], minus[b])))
		}
	}
	return out
}

// semidefinite is the share of the largest eigenvalue of a prior by which rounding may
// make others negative.
const semidefinite = 1e-12

// root returns L with LLᵀ = Σ, from the eigenvectors, so that Σ may be singular.
func root(sigma mat.Symmetric) (*mat.Dense, error) {
	d := sigma.SymmetricDim()
	for i := range d {
		for j := range d {
			if !finite(sigma.At(i, j)) {
				return nil, fmt.Errorf("baseline: Prior has %v at %d, %d; it needs finite numbers", sigma.At(i, j), i, j)
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(sigma, true) {
		return nil, errRange
	}
	values, vectors := eigen.Values(nil), &mat.Dense{}
	eigen.VectorsTo(vectors)
	largest := values[d-1]
	if largest <= 0 || values[0] < -semidefinite*largest {
		return nil, fmt.Errorf("baseline: Prior has the eigenvalues %.4g to %.4g; a covariance matrix has none below 0, and one above", values[0], largest)
	}
	for i := range d {
		for j, v := range values {
			vectors.Set(i, j, vectors.At(i, j)*math.Sqrt(max(0, v)))
		}
	}
	return vectors, nil
}

func product(a, b *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(a, b)
	return &out
}
