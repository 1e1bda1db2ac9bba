package gp

import (
	"context"
	"math"

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
	scaled, err := mod.scaledRows(rows, m)
	if err != nil {
		return nil, nil, err
	}
	xs := kernel.NewPoints(scaled, m, len(mod.Columns))
	parts, paths, err := mod.terms()
	if err != nil {
		return nil, nil, err
	}
	for i, part := range parts {
		t := TermPrediction{Path: paths[i], Text: mod.named(part.Text), Mean: make([]float64, m), Std: make([]float64, m)}
		theta, reduction := part.Theta(mod.Theta), make([]float64, m)
		if err := p.ws.Predict(ctx, part.Program, theta, mod.Alpha, xs, t.Mean, reduction); err != nil {
			return nil, nil, err
		}
		variance, err := p.priorVariance(ctx, part.Program, theta, xs, false)
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
	meanFunction = mod.means(scaled, m)
	for j, v := range meanFunction {
		meanFunction[j] = v*mod.Scaling.YScale + mod.Scaling.YMean
	}
	return terms, meanFunction, nil
}

// terms splits the kernel into its terms and returns their paths.
func (m *Model) terms() ([]kernel.Term, []string, error) {
	expr, err := m.expr()
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
