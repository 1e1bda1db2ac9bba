package fit

import (
	"math"
	"math/rand/v2"
	"slices"

	"gpfit/hyperopt"
	"gpfit/kernel"
)

// Coarse says whether a fit tunes on subsets of the rows before all of them.
type Coarse string

// The values of Coarse; empty means CoarseAuto.
const (
	// CoarseAuto does from coarseFrom rows on.
	CoarseAuto Coarse = "auto"
	CoarseOn   Coarse = "on"
	CoarseOff  Coarse = "off"
)

// Coarses lists them, the default first.
func Coarses() []string { return []string{string(CoarseAuto), string(CoarseOn), string(CoarseOff)} }

// The schedule of coarse to fine: rows double from stage to stage, so that the
// stage before the last costs an eighth of an evaluation at full size for each
// of its own, and all before that hardly anything.
const (
	// coarseFrom is the number of rows from which CoarseAuto is on.
	coarseFrom = 2000
	// coarseLeast is the least number of rows of a stage, in rows and in rows
	// for each parameter: fewer say little about the optimum.
	coarseLeast, coarseLeastPerParameter = 400, 20
	// looseGradient and looseChange are the tolerances of a descent that is not
	// the last, see hyperopt.Settings.
	looseGradient, looseChange = 0.3, 1e-5
	// hessianShare is the share of a full-size evaluation that the differences
	// for the Hessian may cost.
	hessianShare = 1
)

// stageSizes returns the numbers of rows to tune on, ascending; the last is n.
func (t *Task) stageSizes() []int {
	n := t.N()
	sizes := []int{n}
	least := max(coarseLeast, coarseLeastPerParameter*t.freeParameters())
	switch {
	case t.opts.Coarse == CoarseOff, t.freeParameters() == 0, t.opts.Coarse != CoarseOn && n < coarseFrom, t.halved():
		return sizes
	case t.opts.Coarse == CoarseOn:
		least = min(least, max(n/2, 2))
	}
	for m := (n + 1) / 2; m >= least; m = (m + 1) / 2 {
		sizes = append(sizes, m)
	}
	slices.Reverse(sizes)
	return sizes
}

func (t *Task) freeParameters() int {
	free := 0
	for _, p := range t.params {
		if !p.fixed {
			free++
		}
	}
	return free
}

// hessianSize returns the rows for the Hessian that the full size begins with:
// at most half, and as many as the share of a full-size evaluation allows its 2p
// gradients.
func (t *Task) hessianSize(share float64) int {
	n := float64(t.N())
	m := n * math.Cbrt(share/float64(2*t.freeParameters()))
	return int(min(m, n/2))
}

// hasMetric reports whether the method takes a metric, and m rows give one.
func (t *Task) hasMetric(m int) bool {
	return (t.opts.Settings.Method == "" || t.opts.Settings.Method == hyperopt.LBFGS) && m >= t.freeParameters()
}

// order returns the rows in the random order of which every stage takes the
// first: the stages are nested.
func (t *Task) order() []int {
	return rand.New(rand.NewPCG(t.opts.Settings.Seed, 0x636f61727365)).Perm(t.N())
}

// first returns the task on the first m rows of an order.
func (t *Task) first(m int, order []int) *Task {
	return t.withRows(slices.Sorted(slices.Values(order[:m])))
}

// determined reports whether the task's rows determine the coefficients of a mean
// found by least squares: few rows may not.
func (t *Task) determined() bool {
	return t.meanFree || t.basis.CheckRank(t.basis.Evaluate(t.points)) == nil
}

// cutLengthscale is the largest lengthscale of a column, in units of its
// standard deviation and as a logarithm, that a stage begins with. A column
// that looks irrelevant on few rows drifts to where the gradient vanishes, and
// would stay switched off where it matters. On elevators (4,000 rows) 2.5, 3,
// 3.5, 4 and 5 need 24, 14, 11, 12 and 14 gradients to half a nat.
const cutLengthscale = 3.5

// withinReach cuts ARD lengthscales of free parameters to cutLengthscale.
func (t *Task) withinReach(z []float64) []float64 {
	z = slices.Clone(z)
	for _, p := range t.program.Params {
		if p.Kind != kernel.Lengthscale || !p.Vector {
			continue
		}
		for i, name := range p.ElementNames() {
			k := slices.IndexFunc(t.params, func(q parameter) bool { return q.name == name })
			if k < 0 || t.params[k].fixed {
				continue // tied to another, or fixed
			}
			limit := cutLengthscale + 0.5*math.Log(meanSquare(t.points.Column(p.Dims[i])))
			z[k] = min(z[k], max(limit, t.params[k].toZ(t.params[k].lo)))
		}
	}
	return z
}

// scaled returns the metric for rows of another number: the NLML and its
// curvatures grow with them.
func scaled(metric []float64, factor float64) []float64 {
	if metric == nil {
		return nil
	}
	out := slices.Clone(metric)
	for i := range out {
		out[i] *= factor
	}
	return out
}

// looseSettings are those of a descent that is not the last: there is no point
// in following an optimum that moves by more at the next stage.
func (t *Task) looseSettings() hyperopt.Settings {
	s := t.settings()
	if s.GradientTolerance >= 0 {
		s.GradientTolerance = max(s.GradientTolerance, looseGradient)
	}
	if s.RelativeTolerance >= 0 {
		s.RelativeTolerance = max(s.RelativeTolerance, looseChange)
	}
	return s
}

// telling makes the callback tell on how many rows the task is.
func (t *Task) telling(s hyperopt.Settings) hyperopt.Settings {
	if callback := s.Callback; callback != nil {
		s.Callback = func(it hyperopt.Iteration) {
			it.Rows = t.N()
			callback(it)
		}
	}
	return s
}
