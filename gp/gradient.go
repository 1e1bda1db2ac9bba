package gp

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/kernel"
)

// MeanGradient returns the derivatives of the posterior mean by the features at m
// rows, m×len(FeatureNames) row-major, in units of the target over units of the
// feature; 0 for features that are not in use. It evaluates
//
//	∂/∂x* (m(x*) + k*ᵀα) = ∂m/∂x* + Σ_i α_i ∂k(x*, x_i)/∂x*
//
// on the host, at a cost of O(nd) per row. At a kink of the kernel (matern12 at a
// training point) it returns the mean of both one-sided derivatives.
func (p *Posterior) MeanGradient(ctx context.Context, rows []float64, m int) ([]float64, error) {
	if err := p.whole.oneProcess("derivatives of predictions"); err != nil {
		return nil, err
	}
	mod := p.model
	all, d := len(mod.FeatureNames), len(mod.Columns)
	scaled, err := scaledRows(mod, rows, m)
	if err != nil {
		return nil, err
	}
	grad := make([]float64, m*d)
	if err := kernelGradient(ctx, p, kernel.NewPoints(scaled, m, d), grad); err != nil {
		return nil, err
	}
	meanSlopes(mod, scaled, grad)
	out := make([]float64, m*all)
	for i := range m {
		for q, c := range mod.Columns {
			out[i*all+c] = grad[i*d+q] * mod.Scaling.YScale / mod.Scaling.XScale[q]
		}
	}
	return out, nil
}

// solveColumns is the number of right-hand sides per solve for the variances of
// derivatives, or those of one point if that is more.
const solveColumns = 64

// GradientStd returns the posterior standard deviations of the function's
// derivatives by the features at m rows, laid out as by [Posterior.MeanGradient]; 0
// for features that are not in use. The variance for column c follows from the
// derivatives of the covariance (Rasmussen & Williams 2006, section 9.4), with k_c
// = ∂k(x*, X)/∂x*_c:
//
//	∂²k(x, x′)/∂x_c∂x′_c − k_cᵀΣ⁻¹k_c,   both at x = x′ = x*,
//
// If least squares found the mean's coefficients, their uncertainty is added. The
// cost is 2n²d flops per row. The error is a [*kernel.CompileError] for a kernel with
// a kink at distance 0, such as matern12.
func (p *Posterior) GradientStd(ctx context.Context, rows []float64, m int) ([]float64, error) {
	if err := p.whole.oneProcess("derivatives of predictions"); err != nil {
		return nil, err
	}
	mod := p.model
	all, d := len(mod.FeatureNames), len(mod.Columns)
	scaled, err := scaledRows(mod, rows, m)
	if err != nil {
		return nil, err
	}
	prior, err := kernel.NewSlopes(p.prog, mod.Theta)
	if err != nil {
		return nil, err
	}
	variance := make([]float64, m*d)
	for i := range m {
		if err := prior.Variance(variance[i*d:(i+1)*d], scaled[i*d:(i+1)*d]); err != nil {
			return nil, err
		}
	}
	step := max(1, solveColumns/d)
	for i := 0; i < m; i += step {
		end := min(i+step, m)
		if err := reduceSlopes(ctx, p, scaled[i*d:end*d], variance[i*d:end*d]); err != nil {
			return nil, err
		}
	}
	out := make([]float64, m*all)
	for i := range m {
		for q, c := range mod.Columns {
			// Rounding can make a variance of 0 negative.
			out[i*all+c] = math.Sqrt(max(variance[i*d+q], 0)) * mod.Scaling.YScale / mod.Scaling.XScale[q]
		}
	}
	return out, nil
}

// reduceSlopes subtracts the information of the data from the prior variances of
// the derivatives at scaled points, with a row of all columns for each point.
func reduceSlopes(ctx context.Context, p *Posterior, scaled, variance []float64) error {
	mod, columns := p.model, len(variance)
	n, d, x := mod.N(), len(mod.Columns), trainingPoints(p.model)
	xs := kernel.NewPoints(scaled, columns/d, d)
	slopes := make([]float64, n*columns)
	err := eachRow(ctx, xs.N, p.prog, mod.Theta, func(e *kernel.Evaluator, _ []float64, i int) {
		piece := make([]float64, rowPiece*d)
		for j := 0; j < n; j += rowPiece {
			end := min(j+rowPiece, n)
			e.RowSlopes(piece, xs, i, x, j, end)
			for c := range d {
				copy(slopes[(i*d+c)*n+j:], piece[c*(end-j):(c+1)*(end-j)])
			}
		}
	})
	if err != nil {
		return err
	}
	solved := slices.Clone(slopes)
	if err := p.ws.Solve(ctx, solved, columns); err != nil {
		return err
	}
	for k := range variance {
		variance[k] -= floats.Dot(slopes[k*n:(k+1)*n], solved[k*n:(k+1)*n])
	}
	return addMeanSlopes(ctx, p, scaled, slopes, variance)
}

// addMeanSlopes adds RᵀM⁻¹R of the derivatives, the analogue of
// [Posterior.meanUncertainty] for derivatives: R = ∂h − HᵀΣ⁻¹k_c.
func addMeanSlopes(ctx context.Context, p *Posterior, scaled, slopes, variance []float64) error {
	mod := p.model
	n, d, q := mod.N(), len(mod.Columns), len(mod.Mean.Basis)
	if !mod.Mean.LeastSquares || q == 0 {
		return nil
	}
	if err := p.leastSquares(ctx); err != nil {
		return err
	}
	w := make([]float64, q*len(variance))
	for k := range variance {
		for j, f := range mod.Mean.Basis {
			w[k*q+j] = -floats.Dot(p.solved[j*n:(j+1)*n], slopes[k*n:(k+1)*n])
			if f.Column == k%d {
				w[k*q+j] += f.Slope(scaled[k])
			}
		}
	}
	p.gls.Whiten(w)
	for k := range variance {
		variance[k] += floats.Dot(w[k*q:(k+1)*q], w[k*q:(k+1)*q])
	}
	return nil
}

// kernelGradient adds Σ_i α_i ∂k(x*, x_i)/∂x* for every point of xs to its row
// of grad.
func kernelGradient(ctx context.Context, p *Posterior, xs *kernel.Points, grad []float64) error {
	mod := p.model
	n, d, x := mod.N(), xs.D, trainingPoints(mod)
	return eachRow(ctx, xs.N, p.prog, mod.Theta, func(e *kernel.Evaluator, _ []float64, i int) {
		for j := 0; j < n; j += rowPiece {
			end := min(j+rowPiece, n)
			e.RowInputGradient(grad[i*d:(i+1)*d], mod.Alpha[j:end], xs, i, x, j, end)
		}
	})
}
