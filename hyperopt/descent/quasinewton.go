package descent

import (
	"context"

	"gonum.org/v1/gonum/optimize"
)

// LBFGS is L-BFGS (N&W 7.2) on the parameters that are not held at a bound, or
// damped BFGS from a [Start.Metric]. The search directions are gonum's
// [optimize.LBFGS] and the iteration is gonum's [optimize.LinesearchMethod], both
// driven step by step through their reverse-communication interface. No goroutine
// is involved, so panics, cancellation and the evaluation limit act at once, counts
// are exact, and the same input gives the same bits.
type LBFGS struct {
	// Memory is the number of correction pairs; 0 means DefaultMemory.
	Memory int
	// searcher replaces the line search, for comparisons in tests.
	searcher func(*stepLimit, Options) optimize.Linesearcher
}

// quasiNewton is a descent by L-BFGS.
type quasiNewton struct {
	LBFGS
	*Descent
	ctx context.Context
	// newton means that the model of the Hessian determines the directions: after a
	// start with a metric, until the model misleads.
	newton bool
	// held marks the parameters that stay at their bound; released counts how often
	// each was released.
	held     []bool
	released []int
	tried    []int // how often the bound of each was tried, see vanish
	revived  bool  // whether parameters beyond their limits were looked at again
	reverted bool  // the best point was restored once
	gain     gainRule
	// scattered says that the noise of f was estimated.
	scattered bool
}

// gainRule notices that nothing is left to gain.
type gainRule struct {
	last      float64   // the value before the latest iteration
	decreases []float64 // by the latest iterations, since the latest comparison with the Hessian
	looks     int       // comparisons with the Hessian so far
}
