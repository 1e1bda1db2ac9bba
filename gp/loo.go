package gp

import (
	"context"
	"fmt"
	"math"

	"gpfit/device"
	"gpfit/internal/score"
)

// LeaveOneOut holds, for each training row, the prediction of its target from
// all other rows at the model's parameters, in original units: Rasmussen &
// Williams (2006), eq. 5.10 to 5.12. With κ = diag(Σ⁻¹),
//
//	mean      y_i − α_i/κ_i
//	variance  1/κ_i
//
// The parameters stay fixed, although they were fitted to all rows. Coefficients of
// the mean also stay fixed, unless least squares found them: then they are refitted
// without the row, and κ is the diagonal of Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹ (Dubrule
// 1983, Cross validation of kriging in a unique neighborhood).
type LeaveOneOut struct {
	// Target is y. Mean and Std are the mean and standard deviation of the
	// predicted observation, including noise.
	Target, Mean, Std []float64
	// Residual is y − Mean. Standardized is Residual/Std, standard normal if the
	// model is correct.
	Residual, Standardized []float64
	// LogDensity is the log predictive density of the target.
	LogDensity []float64
}

// LeaveOneOut computes all leave-one-out predictions from the existing factor in
// 2n³/3 flops. Errors are [*device.UnsupportedError].
func (p *Posterior) LeaveOneOut(ctx context.Context) (*LeaveOneOut, error) {
	if p.locals != nil {
		return p.locals.leaveOneOut(ctx, p.model.Y)
	}
	mod, n := p.model, p.model.N()
	kappa := make([]float64, n)
	inverse, err := device.Capability[device.InverseDiagonal](p.ws, "the diagonal of the inverse, which leave-one-out needs")
	if err != nil {
		return nil, err
	}
	if err := inverse.InverseDiagonal(ctx, kappa); err != nil {
		return nil, err
	}
	if err := projectMean(ctx, p, kappa); err != nil {
		return nil, err
	}
	out := &LeaveOneOut{
		Target: mod.Y, Mean: make([]float64, n), Std: make([]float64, n),
		Residual: make([]float64, n), Standardized: make([]float64, n), LogDensity: make([]float64, n),
	}
	scale := mod.Scaling.YScale
	for i, k := range kappa {
		// The jitter is part of Σ but not of the observations.
		v := 1/k - mod.Jitter
		if !(v > 0) {
			return nil, fmt.Errorf("gp: leave-one-out variance of row %d is %v: the covariance is too close to singular", mod.Row(i), v)
		}
		out.Std[i] = math.Sqrt(v) * scale
		out.Residual[i] = mod.Alpha[i] / k * scale
		out.Mean[i] = mod.Y[i] - out.Residual[i]
		z := out.Residual[i] / out.Std[i]
		out.Standardized[i] = z
		out.LogDensity[i] = -z*z/2 - math.Log(out.Std[i]) - math.Log(2*math.Pi)/2
	}
	return out, nil
}

// projectMean subtracts the diagonal of Σ⁻¹HM⁻¹HᵀΣ⁻¹ from kappa if least squares
// found the mean's coefficients.
func projectMean(ctx context.Context, p *Posterior, kappa []float64) error {
	n, q := p.model.N(), len(p.model.Mean.Basis)
	if !p.model.Mean.LeastSquares || q == 0 {
		return nil
	}
	if err := p.leastSquares(ctx); err != nil {
		return err
	}
	r := make([]float64, n*q)
	for j := range q {
		for i := range n {
			r[i*q+j] = p.solved[j*n+i]
		}
	}
	p.gls.Whiten(r)
	for i, v := range r {
		kappa[i/q] -= v * v
	}
	return nil
}

// LeaveOneOutSummary holds scores over all rows, in original units.
type LeaveOneOutSummary struct {
	N int `json:"n"`
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
	// the standardised residuals; they are 0 and 1 if the model is correct.
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
	out, squares, total := LeaveOneOutSummary{N: len(l.Target)}, 0.0, 0.0
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
