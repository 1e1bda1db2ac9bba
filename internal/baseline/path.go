package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Path is the lasso for a sequence of penalties.
type Path struct {
	// Lambdas are the penalties, largest first.
	Lambdas []float64
	// Weights and Intercepts are in original units, one of each for every penalty.
	Weights    [][]float64
	Intercepts []float64
	// Violations are the largest violations of the conditions of Karush, Kuhn and
	// Tucker by the weights of scaled columns, in units of λ: for the gradient
	// g_j = x_jᵀ(y − Xw)/n, |g_j − λ sign(w_j)| where w_j ≠ 0, and |g_j| − λ where it
	// is 0 (ESL, exercise 3.27).
	Violations []float64
	// Sweeps counts the passes over columns, all penalties together.
	Sweeps int
}

// The end of a descent: violations of at most pathTolerance times the largest penalty, or
// MaxSweeps passes for one penalty.
const (
	pathTolerance    = 1e-11
	defaultMaxSweeps = 100_000
)

// ErrConvergence marks a lasso whose coordinate descent did not converge.
var ErrConvergence = errors.New("baseline: no convergence")

// pathPoints and pathRatio are the number of default penalties and the smallest one as a
// share of the largest, as in scikit-learn.
const (
	pathPoints = 100
	pathRatio  = 1e-3
)

// coordinates is coordinate descent for the lasso on columns z and targets y, both
// centred if there is an intercept. It keeps the gradient up to date by inner products
// of columns, which it computes once a column becomes active (FHT, section 2.2).
type coordinates struct {
	z       *mat.Dense // d×n: a row for each column
	y       []float64
	weights []float64
	// gradient is x_jᵀ(y − Xw)/n, and size x_jᵀx_j/n.
	gradient, size []float64
	// products holds x_jᵀX/n for the columns that have been active.
	products map[int][]float64
}

func newCoordinates(x *mat.Dense, y []float64) *coordinates {
	_, d := x.Dims()
	c := &coordinates{z: mat.DenseCopyOf(x.T()), y: y, weights: make([]float64, d), size: make([]float64, d), products: map[int][]float64{}}
	for j := range d {
		c.size[j] = squares(c.z.RawRowView(j)) / float64(len(y))
	}
	c.refresh()
	return c
}

// refresh computes the gradient from the residual, which removes the rounding of updates.
func (c *coordinates) refresh() {
	residual := append([]float64(nil), c.y...)
	add(residual, -1, multiplyTransposed(c.z, c.weights))
	c.gradient = multiply(c.z, residual)
	blas64.Scal(1/float64(len(c.y)), blas64.Vector{N: len(c.gradient), Inc: 1, Data: c.gradient})
}

// largest returns the smallest penalty for which all weights are 0.
func (c *coordinates) largest() float64 {
	top := 0.0
	for _, g := range c.gradient {
		top = max(top, math.Abs(g))
	}
	return top
}

// softThreshold moves v towards 0 by λ, at most to 0 (FHT, eq. 6).
func softThreshold(v, lambda float64) float64 {
	switch {
	case v > lambda:
		return v - lambda
	case v < -lambda:
		return v + lambda
	}
	return 0
}

// update minimises over one weight and returns the change of its derivative.
func (c *coordinates) update(j int, lambda float64) float64 {
	if c.size[j] == 0 {
		return 0
	}
	old := c.weights[j]
	w := softThreshold(c.gradient[j]+c.size[j]*old, lambda) / c.size[j] // FHT, eq. 5
	if w == old {
		return 0
	}
	c.weights[j] = w
	products, ok := c.products[j]
	if !ok {
		products = multiply(c.z, c.z.RawRowView(j))
		c.products[j] = products
	}
	add(c.gradient, (old-w)/float64(len(c.y)), products)
	return math.Abs(w-old) * c.size[j]
}

// violation returns the largest violation of the conditions of the minimum.
func (c *coordinates) violation(lambda float64) float64 {
	worst := 0.0
	for j, g := range c.gradient {
		switch w := c.weights[j]; {
		case c.size[j] == 0:
		case w > 0:
			worst = max(worst, math.Abs(g-lambda))
		case w < 0:
			worst = max(worst, math.Abs(g+lambda))
		default:
			worst = max(worst, math.Abs(g)-lambda)
		}
	}
	return worst
}

// descend minimises for λ from the present weights: passes over all columns, and between
// them passes over the active ones until they settle (FHT, section 2.6). Where that takes
// long, because columns are nearly sums of others, it solves for the active weights.
func (c *coordinates) descend(lambda, tolerance float64, maxSweeps int) (sweeps int, violation float64) {
	var active []int
	for sweeps < maxSweeps {
		active = active[:0]
		for j := range c.weights {
			c.update(j, lambda)
			if c.weights[j] != 0 {
				active = append(active, j)
			}
		}
		sweeps++
		c.refresh()
		if violation = c.violation(lambda); violation <= tolerance {
			return sweeps, violation
		}
		change := math.Inf(1)
		for pass := 0; change > tolerance/4 && pass < slowSweeps && sweeps < maxSweeps; pass++ {
			change = 0
			for _, j := range active {
				change = max(change, c.update(j, lambda))
			}
			sweeps++
		}
		if change > tolerance/4 {
			c.solveActive(lambda)
		}
	}
	c.refresh()
	return sweeps, c.violation(lambda)
}

// Path fits the lasso for m.Lambdas, or for [Lasso.Points] penalties from the smallest
// one whose weights are all 0 down to a thousandth of it, each from the weights of the
// one before. A penalty that does not converge is an [ErrConvergence], beside the path
// that it ends.
func (m Lasso) Path(x mat.Matrix, y []float64) (*Path, error) {
	if err := m.check(x, y); err != nil {
		return nil, err
	}
	return m.path(x, y, m.Lambdas)
}

func (m Lasso) path(x mat.Matrix, y []float64, lambdas []float64) (*Path, error) {
	n, _ := x.Dims()
	scale := newScaling(x, m.Design)
	r, err := newReduced(m.ones(n), scale.apply(x), y)
	if err != nil {
		return nil, err
	}
	c := newCoordinates(r.z, r.y)
	top := c.largest()
	if !finite(top) {
		return nil, errRange
	}
	if lambdas == nil {
		lambdas = m.sequence(top)
	}
	lambdas = slices.Clone(lambdas)
	slices.SortFunc(lambdas, func(a, b float64) int { return cmp.Compare(b, a) })
	out := &Path{}
	maxSweeps := m.MaxSweeps
	if maxSweeps == 0 {
		maxSweeps = defaultMaxSweeps
	}
	for _, lambda := range lambdas {
		sweeps, violation := c.descend(lambda, pathTolerance*top, maxSweeps)
		out.Sweeps += sweeps
		w, b := scale.original(c.weights, r.level(c.weights))
		if !allFinite(append(w, b, violation)...) {
			return nil, errRange
		}
		out.Lambdas, out.Violations = append(out.Lambdas, lambda), append(out.Violations, violation)
		out.Weights, out.Intercepts = append(out.Weights, w), append(out.Intercepts, b)
		if violation > pathTolerance*top {
			return out, fmt.Errorf("baseline: the lasso of λ = %.4g violates its conditions by %.2g after %d passes; raise MaxSweeps, or leave out smaller penalties and columns that are almost sums of others%.0w",
				lambda, violation, sweeps, ErrConvergence)
		}
	}
	return out, nil
}

// sequence returns the default penalties below top, at equal ratios.
func (m Lasso) sequence(top float64) []float64 {
	if top == 0 {
		return []float64{0}
	}
	points := m.Points
	if points == 0 {
		points = pathPoints
	}
	out := make([]float64, points)
	for i := range out {
		out[i] = top * math.Pow(pathRatio, float64(i)/float64(max(1, points-1)))
	}
	return out
}
