package baseline

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Lasso minimises
//
//	Σ (y_i − b − wᵀx_i)²/(2n) + λ‖w‖₁
//
// on the columns of the design (ESL, eq. 3.52), by coordinate descent. λ is alpha of
// scikit-learn's Lasso on the same columns, and λ of glmnet. [Lasso.Path] fits the whole
// path. Fit chooses a penalty of the path by K-fold cross-validation: the one with the
// smallest mean squared error, each fold with a scaling of its own.
type Lasso struct {
	Design
	// Lambdas are the penalties of the path; one is used as it is. Nil stands for
	// Points penalties from the data.
	Lambdas []float64
	// Points is the number of default penalties; 0 means 100.
	Points int
	// Folds is the number of folds, 10 if it is 0 (or one for each row, if there are
	// fewer), and Seed decides which rows they have.
	Folds int
	Seed  uint64
	// OneStandardError takes the largest penalty whose error is within one standard
	// error of the smallest (ESL, section 7.10; lambda.1se of glmnet).
	OneStandardError bool
	// MaxSweeps is the largest number of passes over the columns for one penalty; 0
	// means 100,000.
	MaxSweeps int
}

// LassoModel is the lasso with the chosen penalty.
type LassoModel struct {
	LinearModel
	// Path is the path up to the smallest penalty, and Chosen the index of Lambda.
	Path   *Path
	Chosen int
	// Errors are the cross-validated mean squared errors of the path, and
	// StandardErrors their standard errors over the folds; nil for a given penalty.
	Errors, StandardErrors []float64
}

func (m Lasso) check(x mat.Matrix, y []float64) error {
	if err := checkChoices("Lambdas", m.Lambdas, true); err != nil {
		return err
	}
	for name, v := range map[string]int{"Points": m.Points, "Folds": m.Folds, "MaxSweeps": m.MaxSweeps} {
		if v < 0 {
			return fmt.Errorf("baseline: %s is %d; give a number above 0, or 0 for the default", name, v)
		}
	}
	return checkTable(x, y)
}

// Fit fits a [*LassoModel].
func (m Lasso) Fit(x mat.Matrix, y []float64) (Model, error) {
	path, err := m.Path(x, y)
	if err != nil {
		return nil, err
	}
	out := &LassoModel{Path: path}
	out.Error = math.NaN()
	if len(path.Lambdas) > 1 {
		if err := m.validate(x, y, out); err != nil {
			return nil, err
		}
		out.choose(m.OneStandardError)
		out.Error = out.Errors[out.Chosen]
	}
	out.Lambda, out.Weights, out.Intercept = path.Lambdas[out.Chosen], path.Weights[out.Chosen], path.Intercepts[out.Chosen]
	return out, nil
}

// validate computes the errors of a path by cross-validation: means over the folds,
// weighted by their rows, and standard errors of these means (ESL, section 7.10.1).
func (m Lasso) validate(x mat.Matrix, y []float64, out *LassoModel) error {
	fold, folds, err := foldsOf(len(y), m.Folds, m.Seed)
	if err != nil {
		return err
	}
	lambdas := out.Path.Lambdas
	errors, share := make([][]float64, folds), make([]float64, folds)
	for k := range folds {
		rows, rest := part(x, y, fold, k, false)
		path, err := m.path(rows, rest, lambdas)
		if err != nil {
			return fmt.Errorf("in fold %d of %d: %w", k+1, folds, err)
		}
		held, targets := part(x, y, fold, k, true)
		share[k] = float64(len(targets)) / float64(len(y))
		for i := range lambdas {
			p, err := path.at(i).Predict(held)
			if err != nil {
				return err
			}
			add(p.Mean, -1, targets)
			errors[k] = append(errors[k], squares(p.Mean)/float64(len(targets)))
		}
	}
	out.Errors, out.StandardErrors = make([]float64, len(lambdas)), make([]float64, len(lambdas))
	for i := range lambdas {
		for k := range folds {
			out.Errors[i] += share[k] * errors[k][i]
		}
		for k := range folds {
			e := errors[k][i] - out.Errors[i]
			out.StandardErrors[i] += share[k] * e * e
		}
		out.StandardErrors[i] = math.Sqrt(out.StandardErrors[i] / float64(folds-1))
	}
	return nil
}

// choose sets Chosen to the smallest error or, with oneStandardError, to the largest
// penalty whose error is within a standard error of it.
func (m *LassoModel) choose(oneStandardError bool) {
	for i, e := range m.Errors {
		if e < m.Errors[m.Chosen] {
			m.Chosen = i
		}
	}
	if !oneStandardError {
		return
	}
	limit := m.Errors[m.Chosen] + m.StandardErrors[m.Chosen]
	for i, e := range m.Errors {
		if e <= limit {
			m.Chosen = i
			return
		}
	}
}

// at returns the model of the i-th penalty.
func (p *Path) at(i int) *LinearModel {
	return &LinearModel{Weights: p.Weights[i], Intercept: p.Intercepts[i], Lambda: p.Lambdas[i], Error: math.NaN()}
}
