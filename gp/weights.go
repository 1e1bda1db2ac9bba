package gp

import (
	"context"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
)

// Weights is the posterior of the weights of one linear term of the kernel, f_t(x)
// = wᵀ(x − x̄), in original units: x̄ is the scaling's mean of the inputs, or 0
// without scaling.
type Weights struct {
	// Path and Text identify the term (see [TermPrediction]).
	Path, Text string
	// Names are the features of the weights.
	Names []string
	// Mean has k elements, Cov is their k×k covariance, row-major.
	Mean, Cov []float64
	// PriorVariance is the variance of each weight before any data.
	PriorVariance []float64
}

// Weights returns the posterior of the weights of every linear term, that is, of
// every term of the outermost sum that is a linear kernel. With w ~ N(0, T), T
// diagonal, f_t = Xw is a Gaussian process of covariance XTXᵀ, and given the data
// (Rasmussen & Williams 2006, section 2.1, in the form of eq. 2.12)
//
//	E[w]   = TXᵀα
//	cov(w) = T − TXᵀΣ⁻¹XT
//
// for any other terms. Without other terms this is Bayesian linear regression, and
// the mean equals ridge regression with λ = σ²/τ². The cost is 2n²k flops per term.
func (p *Posterior) Weights(ctx context.Context) ([]Weights, error) {
	parts, paths, err := p.model.terms()
	if err != nil {
		return nil, err
	}
	var out []Weights
	for i, part := range parts {
		if dims, variance, ok := linearTerm(part.Program, part.Theta(p.model.Theta)); ok {
			w, err := p.weights(ctx, dims, variance)
			if err != nil {
				return nil, err
			}
			w.Path, w.Text = paths[i], p.model.named(part.Text)
			for _, v := range [][]float64{w.Mean, w.Cov, w.PriorVariance} {
				if firstNonFinite(v) >= 0 {
					return nil, &RangeError{What: "posterior of the weights of " + w.Path, Row: -1}
				}
			}
			out = append(out, w)
		}
	}
	return out, nil
}

// HasLinearTerm reports whether the kernel has a linear term.
func (m *Model) HasLinearTerm() (bool, error) {
	parts, _, err := m.terms()
	if err != nil {
		return false, err
	}
	for _, part := range parts {
		if _, _, ok := linearTerm(part.Program, part.Theta(m.Theta)); ok {
			return true, nil
		}
	}
	return false, nil
}

// linearTerm returns the columns and the prior variances of their weights if a
// program is a linear kernel.
func linearTerm(prog *kernel.Program, theta []float64) (dims []int, variance []float64, ok bool) {
	index, factor, ok := prog.LinearIn(theta)
	if !ok || prog.Features[index].Kind != kernel.InnerProduct {
		return nil, nil, false
	}
	f := prog.Features[index]
	for q := range f.Dims {
		v := factor
		if f.Param >= 0 {
			v /= theta[f.Param+q] * theta[f.Param+q]
		}
		variance = append(variance, v)
	}
	return f.Dims, variance, true
}

// weights computes the posterior for columns with the given prior variances.
func (p *Posterior) weights(ctx context.Context, dims []int, variance []float64) (Weights, error) {
	mod := p.model
	n, k := mod.N(), len(dims)
	points := mod.points()
	x := make([]float64, 0, n*k)
	for _, c := range dims {
		x = append(x, points.Column(c)...)
	}
	solved := append([]float64(nil), x...)
	if err := p.ws.Solve(ctx, solved, k); err != nil {
		return Weights{}, err
	}
	w := Weights{Mean: make([]float64, k), Cov: make([]float64, k*k), PriorVariance: make([]float64, k)}
	// Columns of length n are the rows of the transpose, k×n.
	rows := func(a []float64) blas64.General { return blas64.General{Rows: k, Cols: n, Stride: n, Data: a} }
	cov := blas64.General{Rows: k, Cols: k, Stride: k, Data: w.Cov}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, rows(x), rows(solved), 0, cov)
	extra, err := p.weightUncertainty(ctx, x, k)
	if err != nil {
		return w, err
	}
	s := mod.Scaling
	for i, c := range dims {
		w.Names = append(w.Names, mod.FeatureNames[mod.Columns[c]])
		unit := s.YScale / s.XScale[c]
		dot := blas64.Dot(blas64.Vector{N: n, Inc: 1, Data: x[i*n:]}, blas64.Vector{N: n, Inc: 1, Data: mod.Alpha})
		w.Mean[i], w.PriorVariance[i] = variance[i]*dot*unit, variance[i]*unit*unit
		for j := range i + 1 {
			// The two computations differ only by rounding; take their mean.
			v := -(w.Cov[i*k+j] + w.Cov[j*k+i]) / 2
			if extra != nil {
				v += extra[i*k+j]
			}
			v *= variance[i] * variance[j]
			if i == j {
				v += variance[i]
			}
			v *= unit * s.YScale / s.XScale[dims[j]]
			w.Cov[i*k+j], w.Cov[j*k+i] = v, v
		}
	}
	return w, nil
}

// weightUncertainty returns XᵀΣ⁻¹HM⁻¹HᵀΣ⁻¹X, k×k, the covariance due to the
// uncertainty of the mean's coefficients; nil if least squares did not find them.
func (p *Posterior) weightUncertainty(ctx context.Context, x []float64, k int) ([]float64, error) {
	n, q := p.model.N(), len(p.model.Mean.Basis)
	if !p.model.Mean.LeastSquares || q == 0 {
		return nil, nil
	}
	if err := p.leastSquares(ctx); err != nil {
		return nil, err
	}
	// r is HᵀΣ⁻¹X, q×k column-major: k×q row-major.
	r, out := make([]float64, k*q), make([]float64, k*k)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, blas64.General{Rows: k, Cols: n, Stride: n, Data: x},
		blas64.General{Rows: q, Cols: n, Stride: n, Data: p.solved}, 0, blas64.General{Rows: k, Cols: q, Stride: q, Data: r})
	p.gls.Whiten(r)
	white := blas64.General{Rows: k, Cols: q, Stride: q, Data: r}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, white, white, 0, blas64.General{Rows: k, Cols: k, Stride: k, Data: out})
	return out, nil
}
