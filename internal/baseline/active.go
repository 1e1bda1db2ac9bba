package baseline

import (
	"gonum.org/v1/gonum/mat"
)

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
