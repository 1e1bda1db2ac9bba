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
	// Text is the form that the user gave.
	Text string `json:"text"`
	// Basis are the functions h, Coefficients their β.
	Basis        mean.Basis `json:"basis,omitempty"`
	Coefficients []float64  `json:"coefficients,omitempty"`
	// LeastSquares says that β was found by generalised least squares on the
	// training rows. Predictions then have the uncertainty of β in them.
	LeastSquares bool `json:"least_squares"`
}

func (m *Mean) validate(columns int) error {
	if len(m.Coefficients) != len(m.Basis) {
		return fmt.Errorf("%d coefficients of %d basis functions", len(m.Coefficients), len(m.Basis))
	}
	return m.Basis.Validate(columns)
}

// version1Mean is what a model file of schema version 1 says of the mean.
type version1Mean struct {
	Columns      []int     `json:"columns"`
	MeanConstant float64   `json:"mean_constant"`
	MeanLinear   []float64 `json:"mean_linear"`
}

// upgradeMean reads the mean function of a version-1 header. Its coefficients
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

// means returns the mean function at n scaled rows, in scaled units.
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

// meanUncertainty returns what not knowing the mean's coefficients adds to the
// posterior at the scaled points xs: the covariance of points i and j is the
// product of the columns i and j of the q×m matrix that is returned, nil where
// the coefficients are not by least squares. That is RᵀM⁻¹R of Rasmussen &
// Williams (2006), eq. 2.42, with R = H* − HᵀΣ⁻¹K* and M = HᵀΣ⁻¹H, for a vague
// prior on β: universal kriging. K* is that of prog, the model's kernel or a
// term of it; H* is left out where the mean function is (withMean). Cost 2nqm
// flops, and the kernel at m×n pairs.
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

// leastSquares solves for Σ⁻¹H and forms M, once.
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
