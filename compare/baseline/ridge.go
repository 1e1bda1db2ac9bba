package baseline

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Ridge is ridge regression: weights w and intercept b that minimize
//
//	Σ (y_i − b − wᵀx_i)² + λ‖w‖²
//
// on the columns of the design (ESL, eq. 3.41). λ is scikit-learn's alpha of Ridge, and n
// times λ of glmnet with alpha = 0 for a target of variance 1. It is σ²/τ² for noise σ²
// and weights of prior variance τ². The cost is O(nd·min(n, d)) flops.
type Ridge struct {
	Design
	// Lambdas are the penalties to choose from by leave-one-out in closed form; one is used as it
	// is. Nil stands for all in a wide range around the eigenvalues of XᵀX. 0 gives least squares
	// or, if that has several solutions, the solution with the shortest w.
	Lambdas []float64
}

// ridgePoints, ridgeTop and ridgeRatio are the number of default penalties of a path, the largest
// one as a multiple of the largest eigenvalue of XᵀX, and the smallest one as a share of the largest.
const (
	ridgePoints = 100
	ridgeTop    = 1e3
	ridgeRatio  = 1e-9
)

// Path returns ridge regression for m.Lambdas, or for 100 penalties around the eigenvalues of XᵀX,
// with the leave-one-out errors, from one singular value decomposition.
func (m Ridge) Path(x mat.Matrix, y []float64) (*Path, error) {
	if err := checkPenalties(m.Lambdas); err != nil {
		return nil, err
	}
	scale, s, err := m.spectrum(x, y)
	if err != nil {
		return nil, err
	}
	lambdas := m.Lambdas
	if lambdas == nil {
		lambdas = sequence(ridgeTop*s.s0()*s.s0(), ridgeRatio, ridgePoints)
	}
	out := &Path{}
	for _, lambda := range downwards(lambdas) {
		freedom := float64(len(s.of.Free))
		for j := range s.rank {
			freedom += 1 - s.shrink(j, lambda)
		}
		if err := out.add(scale, s.of, lambda, s.weights(lambda), freedom); err != nil {
			return nil, err
		}
		out.Errors = append(out.Errors, s.leaveOneOut(lambda))
	}
	return out, nil
}

// Fit fits a [*LinearModel].
func (m Ridge) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkPenalties(m.Lambdas); err != nil {
		return nil, err
	}
	scale, s, err := m.spectrum(x, y)
	if err != nil {
		return nil, err
	}
	lambda, loo, err := s.penalty(m.Lambdas)
	if err != nil {
		return nil, err
	}
	var path Path
	if err := path.add(scale, s.of, lambda, s.weights(lambda), math.NaN()); err != nil {
		return nil, err
	}
	out := path.At(0)
	out.Error = known(loo)
	return out, nil
}
