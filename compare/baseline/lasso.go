package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Lasso minimizes
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
	if len(path.Lambdas) > 1 {
		if err := m.Validate(x, y, path); err != nil {
			return nil, err
		}
		out.Chosen = path.Best()
		out.Error = known(path.Errors[out.Chosen])
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

// Path fits the lasso for m.Lambdas, or for 100 penalties from the smallest one whose
// weights are all 0 down to a thousandth of it, each from the weights of the previous
// penalty. If a penalty does not converge, Path returns an error and the path up to it.
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
		freedom := float64(len(r.Free))
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
			return out, fmt.Errorf("the lasso of λ = %.4g violates its conditions by %.2g after %d passes; leave out smaller penalties and columns that are almost sums of others", lambda, violation, sweeps)
		}
	}
	return out, nil
}

// foldsOf deals n shuffled rows to ten folds, or to n, as package fit does: fold[i] is the
// fold of row i.
func foldsOf(n int, seed uint64) (fold []int, folds int, err error) {
	if folds = min(10, n); folds < 2 {
		return nil, 0, fmt.Errorf("%d rows; cross-validation needs at least 2; or give one penalty", n)
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
