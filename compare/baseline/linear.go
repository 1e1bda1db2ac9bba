package baseline

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// LinearModel is b + wᵀx.
type LinearModel struct {
	// Intercept and Weights are in original units.
	Intercept float64   `json:"intercept"`
	Weights   []float64 `json:"weights"`
	// Lambda is the penalty.
	Lambda float64 `json:"lambda"`
	// Error is the leave-one-out or cross-validated mean squared error for Lambda, nil
	// if Lambda was given.
	Error *float64 `json:"validation_mse,omitempty"`
}

// Parameters implements [Tuned].
func (m *LinearModel) Parameters() map[string]float64 { return map[string]float64{"lambda": m.Lambda} }

func (m *LinearModel) complete(d int) error { return check(len(m.Weights) == d) }

// Predict returns means.
func (m *LinearModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, len(m.Weights)); err != nil {
		return Prediction{}, err
	}
	n, _ := x.Dims()
	out := make([]float64, n)
	row := make([]float64, len(m.Weights))
	for i := range out {
		mat.Row(row, i, x)
		out[i] = m.Intercept + floats.Dot(m.Weights, row)
	}
	return Prediction{Mean: out}, nil
}

// Path is ridge regression or the lasso for a sequence of penalties.
type Path struct {
	// Lambdas are the penalties, largest first.
	Lambdas []float64
	// Weights and Intercepts are in original units, one of each for every penalty.
	Weights    [][]float64
	Intercepts []float64
	// Freedom are the effective numbers of parameters, with the intercept: the trace of the hat
	// matrix of ridge regression (ESL, eq. 3.50), and for the lasso the number of weights that are
	// not 0 (Zou, Hastie and Tibshirani 2007).
	Freedom []float64
	// Errors are estimates of the mean squared error of new rows: by leave-one-out in closed form for
	// ridge regression, +∞ where a row determines its own prediction, and by cross-validation for the
	// lasso; nil if they were not computed.
	Errors []float64
	// Violations are the largest violations of the conditions of Karush, Kuhn and Tucker by the
	// weights of scaled columns, in units of λ: for the gradient g_j = x_jᵀ(y − Xw)/n, |g_j − λ
	// sign(w_j)| where w_j ≠ 0, and |g_j| − λ where it is 0 (ESL, exercise 3.27).
	// Ridge regression has none.
	Violations []float64
	// Sweeps counts the passes over columns, all penalties together.
	Sweeps int
}

// add appends the model with a penalty, whose weights belong to scaled columns.
func (p *Path) add(scale Scaling, r *reduced, lambda float64, weights []float64, freedom float64) error {
	w, b := scale.original(weights, r.level(weights))
	if !allFinite(append(w, b)...) {
		return errRange
	}
	p.Lambdas, p.Freedom = append(p.Lambdas, lambda), append(p.Freedom, freedom)
	p.Weights, p.Intercepts = append(p.Weights, w), append(p.Intercepts, b)
	return nil
}

// Best returns the index of the smallest error, of the larger penalty if two are equal; −1 without errors.
func (p *Path) Best() int {
	best := -1
	for i, e := range p.Errors {
		if best < 0 || e < p.Errors[best] {
			best = i
		}
	}
	return best
}

// At returns the model of the i-th penalty.
func (p *Path) At(i int) *LinearModel {
	return &LinearModel{Weights: p.Weights[i], Intercept: p.Intercepts[i], Lambda: p.Lambdas[i]}
}

// sequence returns count penalties from top down to a share of it, at equal ratios.
func sequence(top, share float64, count int) []float64 {
	if top == 0 {
		return []float64{0}
	}
	out := make([]float64, count)
	for i := range out {
		out[i] = top * math.Pow(share, float64(i)/float64(count-1))
	}
	return out
}

// downwards returns penalties, the largest first.
func downwards(lambdas []float64) []float64 {
	return slices.SortedFunc(slices.Values(lambdas), func(a, b float64) int { return cmp.Compare(b, a) })
}
