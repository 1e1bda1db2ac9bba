package hyperopt

import (
	"math"
	"slices"
)

// plan says which starts a run has, and on how many rows they descend.
type plan struct {
	Settings
	rows  int
	equal int // how many of the rows cost as much as all, if that is fewer
	free  int // parameters that are not fixed
	pool  int // starts that take part without restarts
	count int // starts
}

// raced reports whether several starts begin on fewer rows and race. Without restarts
// these are the starts that the problem suggests.
func (p *plan) raced() bool { return p.count > 1 && p.racing() }

// racing reports whether starts on fewer rows are allowed and worth it. Without restarts
// they are not worth it if the given start has a metric.
func (p *plan) racing() bool {
	return p.Coarse != CoarseOff && p.free > 0 && (p.Restarts > 0 || p.Metric == nil)
}

// halved reports whether each start uses a different half of the rows.
func (p *plan) halved() bool { return p.lined() && p.rows >= halvesFrom }

// lined reports whether the starts that reach all rows line up: see finals.go.
func (p *plan) lined() bool {
	return p.raced() && p.rows < coarseFrom && (p.Coarse != CoarseOn || p.Restarts > 0 && p.rows >= halvesFrom)
}

// finals returns the largest number of starts that reach all rows.
func (p *plan) finals() int {
	switch {
	case p.halved():
		return 1 + max(leastFinals, p.Restarts)
	case p.lined():
		return p.count
	}
	return 1 + p.Restarts
}

// hessianSize returns the number of rows for the Hessian with which the stage over
// all rows begins: at most half, and as many as keep its 2p gradients within the
// given share of an evaluation over all rows.
func (p *plan) hessianSize(share float64) int {
	n := float64(p.rows)
	if p.equal > 0 {
		n = min(n, float64(p.equal))
	}
	return int(min(n*math.Cbrt(share/float64(2*p.free)), n/2))
}

// stageSizes returns the ascending numbers of rows of the stages before the last.
func (p *plan) stageSizes() []int {
	least := max(coarseLeast, coarseLeastPerParameter*p.free)
	switch {
	case p.Coarse == CoarseOff, p.free == 0, p.Coarse != CoarseOn && p.rows < coarseFrom, p.halved():
		return nil
	case p.Coarse == CoarseOn:
		least = min(least, max(p.rows/2, 2))
	}
	var sizes []int
	for m := (p.rows + 1) / 2; m >= least; m = (m + 1) / 2 {
		sizes = append(sizes, m)
	}
	slices.Reverse(sizes)
	if p.equal == 0 {
		return sizes
	}
	// The last of these, too, costs no more than an eighth of an evaluation over all rows.
	return slices.DeleteFunc(sizes, func(m int) bool { return m > sizes[0] && m > (p.equal+1)/2 })
}

// poolOf returns the number of starts among which the restarts choose.
func (p *plan) poolOf(restarts int) int {
	if p.perRestart() == 1 {
		return p.pool + restarts
	}
	return p.pool + pool*max(0, restarts-leastFinals)
}

// perRestart returns the number of starts on fewer rows that a restart adds.
func (p *plan) perRestart() int {
	if subset, _ := subsetSize(p.rows); subset < p.rows && p.rows < coarseFrom {
		return 1
	}
	return pool
}

// screened reports whether starts are compared with the best end on fewer rows before they line up.
func (p *plan) screened() bool {
	subset, _ := subsetSize(p.rows)
	return p.halved() && subset < p.rows
}

// many reports whether a value over all rows is too dear for each alternative.
func (p *plan) many() bool { return p.rows >= coarseFrom || p.Coarse == CoarseOn }

// startCount returns the number of starts, if the problem suggests enough.
func (p *plan) startCount() int {
	switch {
	case p.racing() && p.rows >= halvesFrom:
		return p.poolOf(p.Restarts)
	case p.racing():
		return max(p.pool, 1+p.Restarts)
	}
	return 1 + p.Restarts
}

// subsetSize returns the number of rows, of n, on which starts and alternatives take their first steps, and
// the largest number of values of each.
func subsetSize(n int) (rows, evaluations int) {
	if n <= wholeUpTo {
		return n, wholeEvaluations
	}
	return (n + 1) / 2, halfEvaluations
}
