package baseline

import (
	"math"

	"gonum.org/v1/gonum/optimize"
)

// axis is a number of a candidate that the search may change, and its bounds.
type axis struct {
	low, high float64
	of        func(*candidate) *float64
}

// The search for a penalty and a width: the best of a coarse grid, improved by the simplex
// of Nelder and Mead (1965) on their logarithms, which follows the valleys in which a
// larger width goes with a smaller penalty. Penalties are shares of the mean of k(x, x).
var (
	coarsePenalties = []float64{1e-6, 1e-4, 1e-2, 1}
	coarseWidths    = []float64{0.25, 0.5, 1, 2, 4}
)

const (
	// smallestPenalty is a share of the mean of k(x, x) at which rounding does not
	// decide the solution yet, and its inverse the largest penalty.
	smallestPenalty = 1e-10
	// widest and its inverse are the bounds of a width.
	widest = 1e3
	// The simplex begins with sides of the factor e^simplexSide and ends after
	// simplexTries tries, or when simplexStable of its steps did not change the score by
	// more than simplexChange. The score is a log likelihood, or n/2 times the log of an
	// error, so that a change below 1 means little.
	simplexSide   = 0.7
	simplexTries  = 40
	simplexStable = 8
	simplexChange = 1e-3
)

// refine improves the best candidate along the axes.
func (p *kernelProblem) refine(axes []axis) error {
	if p.alpha == nil {
		return p.failure
	}
	if len(axes) == 0 || math.IsInf(p.value, 0) { // all targets are equal
		return nil
	}
	var failed error
	begin := p.best
	start := make([]float64, len(axes))
	for i, a := range axes {
		start[i] = math.Log(*a.of(&begin))
	}
	score := func(at []float64) float64 {
		next := begin
		for i, a := range axes {
			*a.of(&next) = min(max(math.Exp(at[i]), a.low), a.high)
		}
		value, err := p.try(next)
		if err != nil {
			failed = err
		}
		return value
	}
	// The result is the best try, whatever made the simplex end.
	_, err := optimize.Minimize(optimize.Problem{Func: score}, start, &optimize.Settings{
		FuncEvaluations: simplexTries,
		Converger:       &optimize.FunctionConverge{Absolute: simplexChange, Iterations: simplexStable},
	}, &optimize.NelderMead{SimplexSize: simplexSide})
	if failed != nil {
		return failed
	}
	return err
}
