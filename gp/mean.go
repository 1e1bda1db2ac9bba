package gp

import (
	"context"
	"encoding/json"
	"fmt"

	"gpfit/kernel"
	"gpfit/mean"
)

// Mean is a fitted mean function, m(x) = Σ_j β_j h_j(x) of scaled inputs and in
// scaled units of the target. The zero value is m = 0.
type Mean struct {
	// Text is the text that the user gave.
	Text string `json:"text"`
	// Basis holds the functions h, Coefficients their coefficients β.
	Basis        mean.Basis `json:"basis,omitempty"`
	Coefficients []float64  `json:"coefficients,omitempty"`
	// LeastSquares means that generalised least squares on the training rows found
	// β. Predictions then include the uncertainty of β.
	LeastSquares bool `json:"least_squares"`
}

func (m *Mean) validate(columns int) error {
	if len(m.Coefficients) != len(m.Basis) {
		return fmt.Errorf("%d coefficients for %d basis functions", len(m.Coefficients), len(m.Basis))
	}
	return m.Basis.Validate(columns)
}

// version1Mean is the mean in a model file of schema version 1.
type version1Mean struct {
	Columns      []int     `json:"columns"`
	MeanConstant float64   `json:"mean_constant"`
	MeanLinear   []float64 `json:"mean_linear"`
}

// upgradeMean reads the mean function of a version-1 header, whose coefficients
// were parameters.
func upgradeMean(text []byte) (Mean, error) {
	var old version1Mean
	if err := json.Unmarshal(text, &old); err != nil {
		return Mean{}, err
	}
	m := Mean{Text: "zero"}
	switch {
	case len(old.MeanLinear) > 0 && len(old.MeanLinear) != len(old.Columns):
		return m, fmt.Errorf("linear mean of %d columns for %d", len(old.MeanLinear), len(old.Columns))
	case len(old.MeanLinear) > 0:
		m.Text = "linear"
		for c, label := range old.Columns {
			m.Basis = append(m.Basis, mean.Function{Group: mean.Linear, Column: c, Label: label, Index: 1})
		}
	case old.MeanConstant == 0:
		return m, nil
	default:
		m.Text = "constant"
	}
	m.Basis = append(m.Basis, mean.Function{Group: mean.Constant})
	m.Coefficients = append(append([]float64(nil), old.MeanLinear...), old.MeanConstant)
	return m, nil
}

// means returns the values of the mean function at n scaled rows, in scaled units.
func (m *Model) means(scaled []float64, n int) []float64 {
	d := len(m.Columns)
	out := make([]float64, n)
	for j, f := range m.Mean.Basis {
		for i := range out {
			out[i] += m.Mean.Coefficients[j] * f.At(scaled[i*d+f.Column])
		}
	}
	return out
}

// meanSlopes adds the derivatives of the mean function at n scaled rows by their
// coordinates to grad, n×len(Columns), in scaled units.
func (m *Model) meanSlopes(scaled, grad []float64) {
	d := len(m.Columns)
	for j, f := range m.Mean.Basis {
		for i := f.Column; i < len(grad); i += d {
			grad[i] += m.Mean.Coefficients[j] * f.Slope(scaled[i])
		}
	}
}

// meanUncertainty returns the part of the posterior covariance at the scaled points
// xs that is due to the uncertainty of the mean's coefficients. It returns a q×m
// matrix; the covariance of points i and j is the product of its columns i and j.
// The matrix is nil if least squares did not find the coefficients. This is RᵀM⁻¹R
// of Rasmussen & Williams (2006), eq. 2.42, with R = H* − HᵀΣ⁻¹K* and M = HᵀΣ⁻¹H,
// for a vague prior on β (universal kriging). K* is the covariance of prog, which
// is the model's kernel or one of its terms; without withMean, H* is omitted. The
// cost is 2nqm flops and the kernel at m×n pairs.
func (p *Posterior) meanUncertainty(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, withMean bool) ([]float64, error) {
	mod := p.model
	q := len(mod.Mean.Basis)
	if !mod.Mean.LeastSquares || q == 0 {
		return nil, nil
	}
	if err := p.leastSquares(ctx); err != nil {
		return nil, err
	}
	m := xs.N
	part, w := make([]float64, m*q), make([]float64, q*m)
	if err := p.ws.Predict(ctx, prog, theta, p.solved, xs, part, nil); err != nil {
		return nil, err
	}
	for j, f := range mod.Mean.Basis {
		for i, x := range xs.Column(f.Column) {
			w[i*q+j] = -part[j*m+i]
			if withMean {
				w[i*q+j] += f.At(x)
			}
		}
	}
	p.gls.Whiten(w)
	return w, nil
}

// leastSquares solves for Σ⁻¹H and forms M, on the first call only.
func (p *Posterior) leastSquares(ctx context.Context) error {
	if p.gls != nil {
		return nil
	}
	mod := p.model
	h := mod.Mean.Basis.Evaluate(mod.points())
	solved := append([]float64(nil), h...)
	if err := p.ws.Solve(ctx, solved, len(mod.Mean.Basis)); err != nil {
		return err
	}
	gls, err := mean.NewGLS(h, solved, mod.N())
	if err != nil {
		return err
	}
	p.gls, p.solved = gls, solved
	return nil
}
