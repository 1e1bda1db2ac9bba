package gp

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
)

// TermPrediction is the posterior, in original units, of one term f_t of f = m + f₁
// + f₂ + …, which corresponds to a term of a sum of covariance functions.
type TermPrediction struct {
	// Path is the path in the names of the term's parameters: "k1", "k2", or in
	// nested sums "k1.k2". Text is its expression.
	Path, Text string
	// For each row, Mean is k_t*ᵀα and Std is the square root of k_t** −
	// k_t*ᵀΣ⁻¹k_t*.
	Mean, Std []float64
}

// Terms predicts each term of the outermost sum of the kernel separately, at m rows
// of features. The means of all terms and the mean function, which includes the
// scaling's mean, sum to the posterior mean. Variances do not sum, because terms
// are correlated given the data (Duvenaud, Automatic Model Construction with
// Gaussian Processes, 2014, section 2.4.5). If least squares found the mean's
// coefficients, a term's variance includes its share of their uncertainty. The cost
// is n²m flops per term.
func (p *Posterior) Terms(ctx context.Context, rows []float64, m int) (terms []TermPrediction, meanFunction []float64, err error) {
	if err := p.whole.oneProcess("predictions of single terms"); err != nil {
		return nil, nil, err
	}
	mod := p.model
	scaled, err := scaledRows(mod, rows, m)
	if err != nil {
		return nil, nil, err
	}
	xs := kernel.NewPoints(scaled, m, len(mod.Columns))
	parts, paths, err := termsOf(mod)
	if err != nil {
		return nil, nil, err
	}
	for i, part := range parts {
		t := TermPrediction{Path: paths[i], Text: namedKernel(mod, part.Text), Mean: make([]float64, m), Std: make([]float64, m)}
		theta, reduction := part.Theta(mod.Theta), make([]float64, m)
		if err := p.ws.Predict(ctx, part.Program, theta, mod.Alpha, xs, t.Mean, reduction); err != nil {
			return nil, nil, err
		}
		variance, err := priorVariance(ctx, p, part.Program, theta, xs, false)
		if err != nil {
			return nil, nil, err
		}
		for j := range m {
			t.Mean[j] *= mod.Scaling.YScale
			// Rounding can make the difference slightly negative.
			t.Std[j] = math.Sqrt(max(variance[j]-reduction[j], 0)) * mod.Scaling.YScale
		}
		terms = append(terms, t)
	}
	meanFunction = meanValues(mod, scaled, m)
	for j, v := range meanFunction {
		meanFunction[j] = v*mod.Scaling.YScale + mod.Scaling.YMean
	}
	return terms, meanFunction, nil
}

// termsOf splits the kernel into its terms and returns their paths.
func termsOf(m *Model) ([]kernel.Term, []string, error) {
	expr, err := parsedKernel(m)
	if err != nil {
		return nil, nil, err
	}
	parts, err := kernel.Terms(expr, m.Columns)
	if err != nil {
		return nil, nil, err
	}
	if _, sum := expr.(kernel.Sum); !sum {
		expr = kernel.Sum{expr}
	}
	return parts, termPaths(expr, ""), nil
}

// termPaths lists the paths of the terms of e in order, including the terms of
// nested sums.
func termPaths(e kernel.Expr, prefix string) []string {
	sum, ok := e.(kernel.Sum)
	if !ok {
		return []string{prefix[:len(prefix)-1]}
	}
	var out []string
	for i, t := range sum {
		out = append(out, termPaths(t, childPrefix(prefix, i))...)
	}
	return out
}

// Weights is the posterior of the weights of one term of the kernel with finitely many
// features, f_t(x) = wᵀφ(x), in original units. For a linear term φ(x) = x − x̄, where x̄
// is the scaling's mean of the inputs, or 0 without scaling; for poly these are powers and
// products of these. See [kernel.FiniteFeatures] for others.
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

// Weights returns the posterior of the weights of every term of the outermost sum that has
// finitely many features, such as linear and poly. With w ~ N(0, T), T diagonal, and X the
// features of the rows, f_t = Xw is a Gaussian process of covariance XTXᵀ, and given the
// data (Rasmussen & Williams 2006, sections 2.1 and 2.1.2, in the form of eq. 2.12)
//
//	E[w]   = TXᵀα
//	cov(w) = T − TXᵀΣ⁻¹XT
//
// for any other terms. Without other terms this is Bayesian linear regression, and
// the mean equals ridge regression with λ = σ²/τ². The cost is 2n²k flops per term.
func (p *Posterior) Weights(ctx context.Context) ([]Weights, error) {
	if err := p.whole.oneProcess("weights of linear terms"); err != nil {
		return nil, err
	}
	parts, paths, err := termsOf(p.model)
	if err != nil {
		return nil, err
	}
	var out []Weights
	for i, part := range parts {
		f, err := featuresOf(p.model, part)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		w, err := weightsOf(ctx, p, f)
		if err != nil {
			return nil, err
		}
		w.Path, w.Text = paths[i], namedKernel(p.model, part.Text)
		for _, v := range [][]float64{w.Mean, w.Cov, w.PriorVariance} {
			if firstNonFinite(v) >= 0 {
				return nil, &RangeError{What: "posterior of the weights of " + w.Path, Row: -1}
			}
		}
		out = append(out, w)
	}
	return out, nil
}

// HasWeights reports whether a term of the kernel has finitely many features, and so
// weights. Its errors are those of [kernel.Program.FiniteFeatures].
func HasWeights(m *Model) (bool, error) {
	parts, _, err := termsOf(m)
	if err != nil {
		return false, err
	}
	for _, part := range parts {
		if f, err := featuresOf(m, part); f != nil || err != nil {
			return f != nil, err
		}
	}
	return false, nil
}

// features are the features of a term of the kernel, with what Weights needs of each.
type features struct {
	names    []string
	values   []float64 // n×k, by column
	variance []float64 // prior variances of the weights, for scaled data
	scale    []float64 // original units of the features: products of the columns' scales
}

// featuresOf returns the features of a term, or nil if it has none or infinitely many.
func featuresOf(m *Model, part kernel.Term) (*features, error) {
	theta, points, s := part.Theta(m.Theta), trainingPoints(m), m.Scaling
	out := &features{}
	if dims, variance, ok := linearTerm(part.Program, theta); ok {
		for _, c := range dims {
			out.names = append(out.names, m.FeatureNames[m.Columns[c]])
			out.values = append(out.values, points.Column(c)...)
			out.scale = append(out.scale, s.XScale[c])
		}
		out.variance = variance
		return out, nil
	}
	f, err := part.Program.FiniteFeatures(theta, points)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", namedKernel(m, part.Text), err)
	}
	if f == nil {
		return nil, nil
	}
	names := make([]string, len(m.Columns))
	for c := range names {
		names[c] = m.FeatureNames[m.Columns[c]]
	}
	for j := range f.Variances {
		scale := 1.0
		for _, c := range f.Columns(j) {
			scale *= s.XScale[c]
		}
		out.names = append(out.names, f.Name(j, names, s.XScale))
		out.values = append(out.values, f.Values(j, points)...)
		out.scale = append(out.scale, scale)
	}
	out.variance = f.Variances
	return out, nil
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

// weightsOf computes the posterior of the weights of features.
func weightsOf(ctx context.Context, p *Posterior, f *features) (Weights, error) {
	mod := p.model
	n, k := mod.N(), len(f.variance)
	x, variance, size := f.values, f.variance, mod.Scaling.YScale
	solved := append([]float64(nil), x...)
	if err := p.ws.Solve(ctx, solved, k); err != nil {
		return Weights{}, err
	}
	w := Weights{Mean: make([]float64, k), Cov: make([]float64, k*k), PriorVariance: make([]float64, k)}
	// Columns of length n are the rows of the transpose, k×n.
	rows := func(a []float64) blas64.General { return blas64.General{Rows: k, Cols: n, Stride: n, Data: a} }
	cov := blas64.General{Rows: k, Cols: k, Stride: k, Data: w.Cov}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, rows(x), rows(solved), 0, cov)
	extra, err := weightUncertainty(ctx, p, x, k)
	if err != nil {
		return w, err
	}
	w.Names = f.names
	for i := range k {
		unit := size / f.scale[i]
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
			v *= unit * size / f.scale[j]
			w.Cov[i*k+j], w.Cov[j*k+i] = v, v
		}
	}
	return w, nil
}

// weightUncertainty returns XᵀΣ⁻¹HM⁻¹HᵀΣ⁻¹X, k×k, the covariance due to the
// uncertainty of the mean's coefficients; nil if least squares did not find them.
func weightUncertainty(ctx context.Context, p *Posterior, x []float64, k int) ([]float64, error) {
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
