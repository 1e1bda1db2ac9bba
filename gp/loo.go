package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/gp/leavegroupout"
	"gpfit/internal/score"
)

// LeaveOneOut holds, for each training row, the prediction of its target from
// all other rows at the model's parameters, in original units: Rasmussen &
// Williams (2006), eq. 5.10 to 5.12. With κ = diag(Σ⁻¹),
//
//	mean      y_i − α_i/κ_i
//	variance  1/κ_i
//
// Rows with equal inputs are left out together: each is predicted from the rows with other
// inputs ([leavegroupout.Leave]).
//
// The parameters stay fixed, although they were fitted to all rows. Coefficients of
// the mean also stay fixed, unless least squares found them: then they are refitted
// without the row, and κ is the diagonal of Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹ (Dubrule
// 1983, Cross validation of kriging in a unique neighborhood).
type LeaveOneOut struct {
	// Places is the number of different inputs if some repeat, and 0 otherwise.
	Places int
	// Target is y. The prediction has the mean and the standard deviation of the
	// observation, including noise, without bounds and without StdLatent.
	Target []float64
	Prediction
	// Residual is y − Mean. Standardized is Residual/Std, standard normal if the model is correct. With a transform
	// of the target it belongs to the transformed target, the other fields to the target itself.
	Residual, Standardized []float64
	// LogDensity is the log predictive density of the target.
	LogDensity []float64
	// Deviations are Standardized for the noise of rows that fit, where the prediction is a mixture with rows that do not.
	Deviations []float64
}

func newLeaveOneOut(y []float64) *LeaveOneOut {
	column := func() []float64 { return make([]float64, len(y)) }
	out := &LeaveOneOut{Target: y, Prediction: Prediction{Mean: column(), Std: column()}, Residual: column(), Standardized: column(), LogDensity: column()}
	out.Deviations = out.Standardized
	return out
}

// LeaveOneOut computes all leave-one-out predictions from the existing factor in 2n³/3 flops, and
// up to n³ more if inputs repeat. Errors are [*device.UnsupportedError].
func (p *Posterior) LeaveOneOut(ctx context.Context) (*LeaveOneOut, error) {
	mod := p.model
	errors, variances, places, err := p.leavePlaces(ctx, mod.Alpha)
	if err != nil {
		return nil, err
	}
	out := newLeaveOneOut(mod.Y)
	out.Places = places
	scale := mod.Scaling.YScale
	for i, v := range variances {
		v -= mod.Jitter // which is part of Σ but not of the observations
		if !(v > 0) {
			return nil, fmt.Errorf("leave-one-out variance of row %d is %v: the covariance is too close to singular", mod.Row(i), v)
		}
		variances[i] = v
		out.Std[i] = math.Sqrt(v) * scale
		out.Residual[i] = errors[i] * scale
		out.Mean[i] = mod.Y[i] - out.Residual[i]
		z := out.Residual[i] / out.Std[i]
		out.Standardized[i] = z
		out.LogDensity[i] = -score.NegLogNormal(z*z, 2*math.Log(out.Std[i]), 1)
	}
	if mod.Scaling.Transform != nil || mod.Noise.OutlyingShare > 0 {
		out.invert(mod, errors, variances)
	}
	return out, nil
}

// invert replaces the predictions of a transformed target by predictions of the target itself, and predictions
// with rows' noise variances of their own by predictions that do not know which rows do not fit.
func (l *LeaveOneOut) invert(m *Model, errors, variances []float64) {
	means := m.Scaling.Targets(m.Y)
	floats.Sub(means, errors)
	if m.Noise.OutlyingShare > 0 {
		m.Noise.withoutOwn(variances, m.TrainNoise)
		l.Deviations = make([]float64, len(means))
	}
	p := newPrediction(m.Scaling, means, variances, make([]float64, len(means))).mixed(m)
	l.Prediction = Prediction{Mean: p.Mean, Std: p.Std, Transformed: p.Transformed, Outlying: p.Outlying}
	for i, y := range l.Target {
		l.Residual[i], l.LogDensity[i], l.Standardized[i] = y-p.Mean[i], -p.Density(i).NegLog(y), p.Density(i).Standardized(y)
		l.Deviations[i] = p.Fitting(i).Standardized(y)
	}
}

// leverage is a share of the diagonal of Σ⁻¹ that is rounding: cancellation can leave it of zero.
const leverage = 1e-12

// leavePlaces returns the errors and variances of all rows for the weights α of a target, in scaled units, each predicted
// from the rows of other places, and the number of places, 0 if none repeats.
func (s *system) leavePlaces(ctx context.Context, alpha []float64) (errors, variances []float64, places int, err error) {
	kappa, w, err := s.inverseDiagonal(ctx)
	if err != nil {
		return nil, nil, 0, err
	}
	errors = slices.Clone(alpha)
	for i, k := range kappa {
		errors[i] /= k
		kappa[i] = 1 / k
	}
	repeated := leavegroupout.Repeated(s.ws, s.x)
	if repeated == nil {
		return errors, kappa, 0, nil
	}
	err = leavegroupout.Leave(ctx, s.ws, repeated, leavegroupout.Fitted{Noise: s.whole.NoiseDiagonal(), Alpha: alpha, Mean: w}, errors, kappa)
	return errors, kappa, leavegroupout.Count(len(kappa), repeated), err
}

// inverseDiagonal returns the diagonal of Q, which is Σ⁻¹ or, if least squares found the mean's
// coefficients, Σ⁻¹ − wwᵀ = Σ⁻¹ − Σ⁻¹HM⁻¹HᵀΣ⁻¹, and w (n×q, column-major), nil without.
func (s *system) inverseDiagonal(ctx context.Context) (kappa, w []float64, err error) {
	if err := s.form(ctx); err != nil {
		return nil, nil, err
	}
	n := s.x.N
	kappa = make([]float64, n)
	inverse, err := device.Capability[device.InverseDiagonal](s.ws, "the diagonal of the inverse, which leave-one-out needs")
	if err == nil {
		err = inverse.InverseDiagonal(ctx, kappa)
	}
	if err != nil {
		return nil, nil, err
	}
	q, err := s.leastSquares(ctx)
	if q == 0 || err != nil {
		return kappa, nil, err
	}
	r := make([]float64, n*q)
	for j := range q {
		for i := range n {
			r[i*q+j] = s.solved[j*n+i]
		}
	}
	s.gls.Whiten(r)
	w = make([]float64, n*q)
	for i, k := range kappa {
		for c, v := range r[i*q : (i+1)*q] {
			kappa[i] -= v * v
			w[c*n+i] = v
		}
		if !(kappa[i] > leverage*k) {
			return nil, nil, fmt.Errorf("row %d alone determines a coefficient of the mean function, so the other rows cannot predict it", s.whole.Row(i))
		}
	}
	return kappa, w, nil
}

// LeaveOneOutSummary holds scores over all rows, in original units.
type LeaveOneOutSummary struct {
	N int `json:"n"`
	// Places is the number of different inputs if some repeat: rows with equal inputs are left
	// out together.
	Places int `json:"places,omitempty"`
	// RMSE is the root mean squared residual.
	RMSE float64 `json:"rmse"`
	// NLPD is the mean negative log predictive density.
	NLPD float64 `json:"nlpd"`
	// Q2 is 1 − Σ residual²/Σ(y − ȳ)², the leave-one-out R².
	Q2 float64 `json:"q2"`
	// Coverage50, 90 and 95 are the fractions of targets within the central 50, 90
	// and 95 % intervals of their predictions.
	Coverage50 float64 `json:"coverage50"`
	Coverage90 float64 `json:"coverage90"`
	Coverage95 float64 `json:"coverage95"`
	// MeanStandardized and RMSStandardized are the mean and the root mean square of
	// the standardized residuals; they are 0 and 1 if the model is correct.
	MeanStandardized float64 `json:"mean_standardized"`
	RMSStandardized  float64 `json:"rms_standardized"`
}

// Summary returns the scores of the predictions.
func (l *LeaveOneOut) Summary() LeaveOneOutSummary {
	var sum score.Tally
	z50, z90, z95 := score.CentralQuantile(0.50), score.CentralQuantile(0.90), score.CentralQuantile(0.95)
	n, mean := float64(len(l.Target)), 0.0
	for _, y := range l.Target {
		mean += y / n
	}
	out, squares, total := LeaveOneOutSummary{N: len(l.Target), Places: l.Places}, 0.0, 0.0
	for i, r := range l.Residual {
		z := l.Standardized[i]
		size := math.Abs(z)
		sum.Add(r, -l.LogDensity[i], size <= z50, size <= z90, size <= z95)
		squares += r * r
		total += (l.Target[i] - mean) * (l.Target[i] - mean)
		out.MeanStandardized += z
		out.RMSStandardized += z * z
	}
	out.RMSE, out.NLPD, out.Q2 = sum.RMSE(), sum.NLPD(), 1-squares/total
	out.Coverage50, out.Coverage90, out.Coverage95 = sum.Coverage(0), sum.Coverage(1), sum.Coverage(2)
	out.MeanStandardized, out.RMSStandardized = out.MeanStandardized/n, math.Sqrt(out.RMSStandardized/n)
	return out
}
