package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Lasso minimises
//
//	Σ (y_i − b − wᵀx_i)²/(2n) + λ‖w‖₁
//
// on the columns of the design (ESL, eq. 3.52), by coordinate descent. λ is alpha of
// scikit-learn's Lasso on the same columns, and λ of glmnet. [Lasso.Path] fits the whole
// path. Fit chooses a penalty of the path by K-fold cross-validation: the penalty with the
// smallest mean squared error, each fold with a scaling of its own.
type Lasso struct {
	Design
	// Lambdas are the penalties of the path; one is used as it is. Nil stands for 100
	// penalties from the data.
	Lambdas []float64
	// Seed decides which rows the ten folds have, or fewer folds of one row each.
	Seed uint64

	sweeps int // replaces maxSweeps in a test
}

// LassoModel is the lasso with the chosen penalty.
type LassoModel struct {
	LinearModel
	// Path is the path up to the smallest penalty, with the cross-validated errors unless the penalty
	// was given. Chosen is the index of Lambda.
	Path   *Path
	Chosen int
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
		if err := m.Validate(x, y, path); err != nil {
			return nil, err
		}
		out.Chosen = path.Best()
		out.Error = path.Errors[out.Chosen]
	}
	out.Lambda, out.Weights, out.Intercept = path.Lambdas[out.Chosen], path.Weights[out.Chosen], path.Intercepts[out.Chosen]
	return out, nil
}

// Validate computes the errors of a path of the rows by cross-validation: means over the folds,
// weighted by their rows (ESL, section 7.10.1).
func (m Lasso) Validate(x mat.Matrix, y []float64, out *Path) error {
	fold, folds, err := foldsOf(len(y), m.Seed)
	if err != nil {
		return err
	}
	lambdas := out.Lambdas
	out.Errors = make([]float64, len(lambdas))
	for k := range folds {
		rows, rest := part(x, y, fold, k, false)
		path, err := m.path(rows, rest, lambdas)
		if err != nil {
			return fmt.Errorf("in fold %d of %d: %w", k+1, folds, err)
		}
		held, targets := part(x, y, fold, k, true)
		share := float64(len(targets)) / float64(len(y))
		for i := range lambdas {
			p, err := path.At(i).Predict(held)
			if err != nil {
				return err
			}
			floats.AddScaled(p.Mean, -1, targets)
			out.Errors[i] += share * (squares(p.Mean) / float64(len(targets)))
		}
	}
	return nil
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
func (p *Path) add(scale scaling, r *reduced, lambda float64, weights []float64, freedom float64) error {
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

// The end of a descent: violations of at most pathTolerance times the largest penalty, or
// maxSweeps passes for one penalty.
const (
	pathTolerance = 1e-11
	maxSweeps     = 100_000
)

// pathPoints and pathRatio are the number of default penalties and the smallest one as a
// share of the largest, as in scikit-learn.
const (
	pathPoints = 100
	pathRatio  = 1e-3
)

// At returns the model of the i-th penalty.
func (p *Path) At(i int) *LinearModel {
	return &LinearModel{Weights: p.Weights[i], Intercept: p.Intercepts[i], Lambda: p.Lambdas[i], Error: math.NaN()}
}

// Path fits the lasso for m.Lambdas, or for 100 penalties from the smallest one whose
// weights are all 0 down to a thousandth of it, each from the weights of the previous
// penalty. A penalty that does not converge is an error, beside the path that it ends.
func (m Lasso) Path(x mat.Matrix, y []float64) (*Path, error) {
	if err := errors.Join(checkPenalties(m.Lambdas), checkTable(x, y)); err != nil {
		return nil, err
	}
	return m.path(x, y, m.Lambdas)
}

func (m Lasso) path(x mat.Matrix, y []float64, lambdas []float64) (*Path, error) {
	scale, r, err := m.reduce(x, y)
	if err != nil {
		return nil, err
	}
	c := newCoordinates(r.z, r.y)
	top := c.largest()
	if !finite(top) {
		return nil, errRange
	}
	if lambdas == nil {
		lambdas = sequence(top, pathRatio, pathPoints)
	}
	out := &Path{}
	for _, lambda := range downwards(lambdas) {
		sweeps, violation := c.descend(lambda, pathTolerance*top, cmp.Or(m.sweeps, maxSweeps))
		out.Sweeps += sweeps
		if !finite(violation) {
			return nil, errRange
		}
		freedom := float64(len(r.yq))
		for _, w := range c.weights {
			if w != 0 {
				freedom++
			}
		}
		if err := out.add(scale, r, lambda, c.weights, freedom); err != nil {
			return nil, err
		}
		out.Violations = append(out.Violations, violation)
		if violation > pathTolerance*top {
			return out, fmt.Errorf("baseline: the lasso of λ = %.4g violates its conditions by %.2g after %d passes; leave out smaller penalties and columns that are almost sums of others", lambda, violation, sweeps)
		}
	}
	return out, nil
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

// foldsOf deals n shuffled rows to ten folds, or to n, as package fit does: fold[i] is the
// fold of row i.
func foldsOf(n int, seed uint64) (fold []int, folds int, err error) {
	if folds = min(10, n); folds < 2 {
		return nil, 0, fmt.Errorf("baseline: %d rows; cross-validation needs at least 2; or give one penalty", n)
	}
	fold = make([]int, n)
	for i, row := range rand.New(rand.NewPCG(seed, uint64(folds))).Perm(n) {
		fold[row] = i % folds
	}
	return fold, folds, nil
}

// part returns the rows of a fold, or the rows outside it.
func part(x mat.Matrix, y []float64, fold []int, k int, inside bool) (*mat.Dense, []float64) {
	_, d := x.Dims()
	var rows, targets []float64
	row := make([]float64, d)
	for i := range y {
		if (fold[i] == k) == inside {
			rows, targets = append(rows, mat.Row(row, i, x)...), append(targets, y[i])
		}
	}
	return mat.NewDense(len(targets), d, rows), targets
}
