package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

// TermPrediction is the posterior, in original units, of one term f_t of f = m + f₁
// + f₂ + …, which corresponds to a term of a sum of covariance functions.
type TermPrediction struct {
	// Path is the path in the names of the term's parameters: "k1", "k2", or in
	// nested sums "k1.k2". Text is its expression.
	Path, Text string
	// For each row, Mean is k_t*ᵀα and Std is the square root of k_t** − k_t*ᵀΣ⁻¹k_t*.
	Mean, Std []float64
}

// Terms predicts each term of the outermost sum of the kernel separately, at m rows of features.
// The means of all terms and the mean function, which includes the scaling's mean, sum to the
// posterior mean. Variances do not sum, because terms are correlated given the data (Duvenaud,
// Automatic Model Construction with Gaussian Processes, 2014, section 2.4.5). If least squares
// found the mean's coefficients, a term's variance includes its share of their uncertainty. The
// cost is n²m flops per term.
func (p *Posterior) Terms(ctx context.Context, rows []float64, m int) (terms []TermPrediction, meanFunction []float64, err error) {
	mod := p.model
	xs, err := p.oneProcessAt(ctx, "predictions of single terms", rows, m)
	if err != nil {
		return nil, nil, err
	}
	parts, err := mod.terms()
	if err != nil {
		return nil, nil, err
	}
	for _, part := range parts {
		mean, std, err := p.predict(ctx, covariance{part.Program, part.Theta(mod.Theta)}, mod.Alpha, xs, false)
		if err != nil {
			return nil, nil, err
		}
		for j := range m {
			mean[j] *= mod.Scaling.YScale
			std[j] = math.Sqrt(std[j]) * mod.Scaling.YScale
		}
		terms = append(terms, TermPrediction{Path: part.Path, Text: kernel.Text(part.Expr, mod.FeatureNames), Mean: mean, Std: std})
	}
	meanFunction = mod.Mean.at(xs)
	mod.Scaling.toOriginal(meanFunction)
	return terms, meanFunction, nil
}

// oneProcessAt returns rows as points, in scaled units, for results that need one process of all rows.
func (s *system) oneProcessAt(ctx context.Context, what string, rows []float64, m int) (*kernel.Points, error) {
	if err := s.oneProcess(ctx, what); err != nil {
		return nil, err
	}
	return s.whole.inputs().at(rows, m)
}

// terms splits the kernel into its terms.
func (m *Model) terms() ([]kernel.Term, error) {
	expr, err := m.Expression()
	if err != nil {
		return nil, err
	}
	return kernel.Terms(expr, m.Columns)
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
	if err := p.oneProcess(ctx, "weights of linear terms"); err != nil {
		return nil, err
	}
	parts, err := p.model.terms()
	if err != nil {
		return nil, err
	}
	var out []Weights
	for _, part := range parts {
		f, err := p.model.features(part)
		if err != nil {
			return nil, err
		}
		if f == nil {
			continue
		}
		w, err := p.weights(ctx, f)
		if err != nil {
			return nil, err
		}
		w.Path, w.Text = part.Path, kernel.Text(part.Expr, p.model.FeatureNames)
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
// weights. It returns the errors of [kernel.Program.FiniteFeatures].
func HasWeights(m *Model) (bool, error) {
	parts, err := m.terms()
	if err != nil {
		return false, err
	}
	for _, part := range parts {
		if f, err := m.features(part); f != nil || err != nil {
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

// features returns the features of a term, or nil if it has none or infinitely many.
func (m *Model) features(part kernel.Term) (*features, error) {
	points, s := m.Points(), m.Scaling
	f, err := part.Program.FiniteFeatures(part.Theta(m.Theta), points)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kernel.Text(part.Expr, m.FeatureNames), err)
	}
	if f == nil {
		return nil, nil
	}
	out := &features{variance: f.Variances}
	names := make([]string, len(m.Columns))
	for c := range names {
		if names[c] = m.FeatureNames[m.Columns[c]]; s.XTransforms != nil && s.XTransforms[c] != nil {
			names[c] = "T(" + names[c] + ")"
		}
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
	return out, nil
}

// weights computes the posterior of the weights of features.
func (p *Posterior) weights(ctx context.Context, f *features) (Weights, error) {
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
	extra, err := p.weightUncertainty(ctx, x, k)
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
func (s *system) weightUncertainty(ctx context.Context, x []float64, k int) ([]float64, error) {
	n := s.x.N
	q, err := s.leastSquares(ctx)
	if q == 0 || err != nil {
		return nil, err
	}
	// r is HᵀΣ⁻¹X, q×k column-major: k×q row-major.
	r, out := make([]float64, k*q), make([]float64, k*k)
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, blas64.General{Rows: k, Cols: n, Stride: n, Data: x},
		blas64.General{Rows: q, Cols: n, Stride: n, Data: s.solved}, 0, blas64.General{Rows: k, Cols: q, Stride: q, Data: r})
	s.gls.Whiten(r)
	white := blas64.General{Rows: k, Cols: q, Stride: q, Data: r}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, white, white, 0, blas64.General{Rows: k, Cols: k, Stride: k, Data: out})
	return out, nil
}

// MeanGradient returns the derivatives of the posterior mean by the features at m
// rows, m×len(FeatureNames) row-major, in units of the target over units of the
// feature; 0 for features that are not in use. It evaluates
//
//	∂/∂x* (m(x*) + k*ᵀα) = ∂m/∂x* + Σ_i α_i ∂k(x*, x_i)/∂x*
//
// on the host, at a cost of O(nd) per row. At a kink of the kernel (matern12 at a
// training point) it returns the mean of both one-sided derivatives.
func (p *Posterior) MeanGradient(ctx context.Context, rows []float64, m int) ([]float64, error) {
	mod, n, d := p.model, p.x.N, p.x.D
	xs, err := p.oneProcessAt(ctx, "derivatives of predictions", rows, m)
	if err != nil {
		return nil, err
	}
	grad := make([]float64, m*d)
	err = p.eachRow(ctx, 0, m, func(e *kernel.Evaluator, _ []float64, i int) {
		for j := 0; j < n; j += rowPiece {
			end := min(j+rowPiece, n)
			e.RowInputGradient(grad[i*d:(i+1)*d], mod.Alpha[j:end], xs, i, p.x, j, end)
		}
	})
	if err != nil {
		return nil, err
	}
	mod.Mean.addSlopes(xs, grad)
	return mod.inputs().slopes(rows, grad), nil
}

// solveColumns is the number of right-hand sides per solve for the variances of
// derivatives, or the number for one point if that is more.
const solveColumns = 64

// GradientStd returns the posterior standard deviations of the function's derivatives by the
// features at m rows, laid out as by [Posterior.MeanGradient]; 0 for features that are not in
// use. The variance for column c follows from the derivatives of the covariance (Rasmussen &
// Williams 2006, section 9.4), with k_c = ∂k(x*, X)/∂x*_c:
//
//	∂²k(x, x′)/∂x_c∂x′_c − k_cᵀΣ⁻¹k_c,   both at x = x′ = x*,
//
// If least squares found the mean's coefficients, their uncertainty is added. The
// cost is 2n²d flops per row. The error is a [*kernel.CompileError] for a kernel with
// a kink at distance 0, such as matern12.
func (p *Posterior) GradientStd(ctx context.Context, rows []float64, m int) ([]float64, error) {
	mod, d := p.model, p.x.D
	xs, err := p.oneProcessAt(ctx, "derivatives of predictions", rows, m)
	if err != nil {
		return nil, err
	}
	prior, err := kernel.NewSlopes(p.prog, p.theta)
	if err != nil {
		return nil, err
	}
	variance, all := make([]float64, m*d), matrixrows.All(m)
	for i := range m {
		if err := prior.Variance(variance[i*d:(i+1)*d], xs.Pick(all[i:i+1]).X); err != nil {
			return nil, err
		}
	}
	step := max(1, solveColumns/d)
	for i := 0; i < m; i += step {
		end := min(i+step, m)
		if err := p.reduceSlopes(ctx, xs.Pick(all[i:end]), variance[i*d:end*d]); err != nil {
			return nil, err
		}
	}
	for i, v := range variance {
		variance[i] = math.Sqrt(max(v, 0)) // rounding can make a variance of 0 negative
	}
	return mod.inputs().slopes(rows, variance), nil
}

// reduceSlopes subtracts the information of the data from the prior variances of
// the derivatives at points, with a row of all columns for each point.
func (s *system) reduceSlopes(ctx context.Context, xs *kernel.Points, variance []float64) error {
	n, d, columns := s.x.N, s.x.D, len(variance)
	slopes := make([]float64, n*columns)
	err := s.eachRow(ctx, 0, xs.N, func(e *kernel.Evaluator, _ []float64, i int) {
		piece := make([]float64, rowPiece*d)
		for j := 0; j < n; j += rowPiece {
			end := min(j+rowPiece, n)
			e.RowSlopes(piece, xs, i, s.x, j, end)
			for c := range d {
				copy(slopes[(i*d+c)*n+j:], piece[c*(end-j):(c+1)*(end-j)])
			}
		}
	})
	if err != nil {
		return err
	}
	solved := slices.Clone(slopes)
	if err := s.ws.Solve(ctx, solved, columns); err != nil {
		return err
	}
	for k := range variance {
		variance[k] -= floats.Dot(slopes[k*n:(k+1)*n], solved[k*n:(k+1)*n])
	}
	return s.addMeanSlopes(ctx, xs, slopes, variance)
}

// addMeanSlopes adds RᵀM⁻¹R of the derivatives, the analogue of
// meanUncertainty for derivatives: R = ∂h − HᵀΣ⁻¹k_c.
func (s *system) addMeanSlopes(ctx context.Context, xs *kernel.Points, slopes, variance []float64) error {
	n, d := s.x.N, s.x.D
	q, err := s.leastSquares(ctx)
	if q == 0 || err != nil {
		return err
	}
	w := make([]float64, q*len(variance))
	for k := range variance {
		for j, f := range s.whole.Mean.Basis {
			w[k*q+j] = -floats.Dot(s.solved[j*n:(j+1)*n], slopes[k*n:(k+1)*n])
			if f.Column == k%d {
				w[k*q+j] += f.Slope(xs.Column(f.Column)[k/d])
			}
		}
	}
	s.gls.Whiten(w)
	for k := range variance {
		variance[k] += floats.Dot(w[k*q:(k+1)*q], w[k*q:(k+1)*q])
	}
	return nil
}
