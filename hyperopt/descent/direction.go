package descent

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// director chooses search directions: gonum's L-BFGS (N&W algorithms 7.4 and 7.5). It clears their
// memory where the curvature condition fails, and limits the step, in particular by the bounds.
type director struct {
	lo, hi []float64 // bounds of the variables
	limit  *stepLimit
	// newton, unless nil, computes directions from a metric instead of L-BFGS. It
	// returns false if it cannot.
	newton func(grad, dir []float64) bool
	// reach bounds the next first trial along such a direction; tried is the
	// distance of the latest first trial.
	reach, tried float64

	lbfgs    *optimize.LBFGS
	prevX    []float64
	prevG    []float64
	steepest bool // the latest direction is the steepest descent
}

// first returns the first trial along the direction of a metric or else the steepest descent, which it writes to dir.
func (d *director) first(loc *optimize.Location, dir []float64) float64 {
	if step, ok := d.newtonStep(loc, dir); ok {
		return step
	}
	d.lbfgs = &optimize.LBFGS{Store: pairs}
	d.lbfgs.InitDirection(loc, dir)
	d.remember(loc)
	d.steepest = true
	floats.ScaleTo(dir, -1, loc.Gradient)
	norm := floats.Norm(dir, math.Inf(1))
	step := math.Min(1, firstMax/norm)
	d.restrain(loc, dir, step)
	d.limit.max = d.room(loc, dir, firstMax/norm)
	return math.Min(step, d.limit.max)
}

// next is first for a direction after a step.
func (d *director) next(loc *optimize.Location, dir []float64) float64 {
	if d.newton != nil || !d.curved(loc) {
		return d.first(loc, dir)
	}
	d.lbfgs.NextDirection(loc, dir)
	d.remember(loc)
	d.steepest = false
	if step, ok := d.fullStep(loc, dir); ok {
		return step
	}
	return d.first(loc, dir)
}

// newtonStep computes the direction from the metric, if there is a metric and the
// direction is usable.
func (d *director) newtonStep(loc *optimize.Location, dir []float64) (step float64, ok bool) {
	if d.newton == nil {
		return 0, false
	}
	d.adapt(loc)
	if d.newton(loc.Gradient, dir) {
		if step, ok = d.fullStep(loc, dir); ok {
			d.remember(loc)
			d.tried = step * floats.Norm(dir, math.Inf(1))
			d.steepest = false
			return step, true
		}
	}
	d.newton = nil
	return 0, false
}

// adapt sets the reach from the ratio of the latest accepted step to its first trial.
func (d *director) adapt(loc *optimize.Location) {
	if d.tried == 0 {
		d.reach = newtonReach
		return
	}
	switch moved := floats.Distance(loc.X, d.prevX, math.Inf(1)); {
	case moved < 0.9*d.tried:
		d.reach = math.Max(newtonLeast, d.reach/2)
	case d.tried >= 0.9*d.reach:
		d.reach = math.Min(stepMax, 2*d.reach)
	}
}

// fullStep returns the first trial along dir, whose natural length is 1, and false
// if dir is not clearly a descent direction.
func (d *director) fullStep(loc *optimize.Location, dir []float64) (step float64, ok bool) {
	norm := floats.Norm(dir, math.Inf(1))
	if !(norm > 0) || math.IsInf(norm, 0) {
		return 0, false
	}
	first := float64(stepMax)
	if d.newton != nil {
		first = d.reach
	}
	step = math.Min(1, first/norm)
	d.restrain(loc, dir, step)
	cos := -floats.Dot(loc.Gradient, dir) / (floats.Norm(loc.Gradient, 2) * floats.Norm(dir, 2))
	if !(cos > minCosine) {
		return 0, false
	}
	d.limit.max = d.room(loc, dir, stepMax/norm)
	return math.Min(step, d.limit.max), true
}

// curved reports whether the step s and the change of the gradient y since the
// latest direction clearly satisfy sᵀy > 0.
func (d *director) curved(loc *optimize.Location) bool {
	var sy, ss, yy float64
	for i, x := range loc.X {
		s, y := x-d.prevX[i], loc.Gradient[i]-d.prevG[i]
		sy += s * y
		ss += s * s
		yy += y * y
	}
	return sy > minCosine*math.Sqrt(ss)*math.Sqrt(yy)
}

func (d *director) remember(loc *optimize.Location) {
	d.prevX = append(d.prevX[:0], loc.X...)
	d.prevG = append(d.prevG[:0], loc.Gradient...)
}

// restrain shortens the components of dir that would take a variable beyond its
// bound at the given step. If they make up much of the slope along dir, shortening
// would spoil the descent, and they limit the step instead; see room.
func (d *director) restrain(loc *optimize.Location, dir []float64, step float64) {
	slope := math.Abs(floats.Dot(loc.Gradient, dir))
	for i, x := range loc.X {
		lo, hi := d.lo[i], d.hi[i]
		if x > lo && x < hi && math.Abs(dir[i]*loc.Gradient[i]) > 0.1*slope {
			continue
		}
		switch target := x + step*dir[i]; {
		case dir[i] < 0 && (x <= lo || target < lo):
			dir[i] = math.Min(0, lo-x) / step
		case dir[i] > 0 && (x >= hi || target > hi):
			dir[i] = math.Max(0, hi-x) / step
		}
	}
}

// room returns the longest step, at most limit, that takes no variable across its bound.
func (d *director) room(loc *optimize.Location, dir []float64, limit float64) float64 {
	for i, x := range loc.X {
		switch {
		case dir[i] < 0:
			limit = math.Min(limit, (d.lo[i]-x)/dir[i])
		case dir[i] > 0:
			limit = math.Min(limit, (d.hi[i]-x)/dir[i])
		}
	}
	return limit
}

// quasiNewton is a descent by L-BFGS (N&W 7.2) on the parameters that are not held at a bound, or by
// damped BFGS from a [Start.Metric]. No goroutine is involved, so panics, cancellation and the
// evaluation limit act at once, counts are exact, and the same input gives the same bits.
type quasiNewton struct {
	*descent
	ctx context.Context
	// newton means that the model of the Hessian determines the directions: after a
	// start with a metric, until the model misleads.
	newton bool
	// held marks the parameters that stay at their bound; released counts how often
	// each was released.
	held       []bool
	released   []int
	tried      []int // how often the bound of each was tried, see raiseVanishing
	lookedBack bool  // whether parameters beyond their limits were looked at again
	reverted   bool  // the best point was restored once
	gain       gainRule
	// scattered says that the noise of f was estimated.
	scattered bool
	// end is the second-order end of the descent, nil before; blunt says that it cannot be.
	end   *trust
	blunt bool
}

// gainRule notices that nothing is left to gain.
type gainRule struct {
	last      float64   // the value before the latest iteration
	decreases []float64 // by the latest iterations, since the latest comparison with the Hessian
	looks     int       // comparisons with the Hessian so far
}
