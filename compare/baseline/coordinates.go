package baseline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
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
	residual := slices.Clone(c.y)
	floats.AddScaled(residual, -1, multiplyTransposed(c.z, c.weights))
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

// update minimizes over one weight and returns the change of its derivative.
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
	floats.AddScaled(c.gradient, (old-w)/float64(len(c.y)), products)
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

// descend minimizes for λ from the present weights: passes over all columns, and between
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

// slowSweeps is the number of passes over the active columns after which their weights are
// solved for.
const slowSweeps = 500

// solveActive moves the weights that are not 0 to the minimum for their signs, where
// X_AᵀX_A w_A/n = X_Aᵀy/n − λ sign(w_A). A weight that would change its sign stops the move
// at 0, and the others go on: each move lowers the objective (the feature-sign steps of Lee,
// Battle, Raina and Ng, Efficient sparse coding algorithms, NIPS 2006). Nothing moves if the
// active columns depend on one another.
func (c *coordinates) solveActive(lambda float64) {
	for {
		var active []int
		for j, w := range c.weights {
			if w != 0 {
				active = append(active, j)
			}
		}
		step, ok := c.activeStep(active, lambda)
		if !ok {
			return
		}
		share, first := 1.0, -1
		for i, j := range active {
			if w := c.weights[j]; (w+step.AtVec(i))*w < 0 {
				if s := -w / step.AtVec(i); s < share {
					share, first = s, j
				}
			}
		}
		for i, j := range active {
			c.weights[j] += share * step.AtVec(i)
		}
		if first >= 0 {
			c.weights[first] = 0
		}
		c.refresh()
		if first < 0 {
			return
		}
	}
}

// activeStep returns the step of the active weights to the minimum for their signs.
func (c *coordinates) activeStep(active []int, lambda float64) (step *mat.VecDense, ok bool) {
	k := len(active)
	if k == 0 {
		return nil, false
	}
	gram, slope := mat.NewSymDense(k, nil), mat.NewVecDense(k, nil)
	for i, a := range active {
		for j, b := range active[:i+1] {
			gram.SetSym(i, j, c.products[a][b]/float64(len(c.y)))
		}
		sign := 1.0
		if c.weights[a] < 0 {
			sign = -1
		}
		slope.SetVec(i, c.gradient[a]-lambda*sign)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return nil, false
	}
	step = mat.NewVecDense(k, nil)
	err := factor.SolveVecTo(step, slope)
	return step, err == nil
}
