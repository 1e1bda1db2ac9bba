package descent

import (
	"context"
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// descend minimizes from the start in rounds of L-BFGS on the parameters that can move, between which
// some are held at their bounds and others released. The status is the reason for the end.
func (d *descent) descend(ctx context.Context) (Status, error) {
	p := len(d.at.Z)
	q := &quasiNewton{descent: d, ctx: ctx, newton: d.start.Metric != nil, gain: gainRule{last: d.at.F}, held: make([]bool, p), released: make([]int, p), tried: make([]int, p)}
	if d.first.b != nil {
		t := &trust{quasiNewton: q, radius: trustFirst, insist: d.first.exact}
		t.see(d.at, d.first)
		q.end = t
	}
	q.hold()
	for range maxRounds {
		status, err := q.round()
		if err != nil {
			return StatusFailed, err
		}
		again, err := q.finish()
		if err != nil {
			return StatusFailed, err
		}
		if again || status == StatusNone {
			continue
		}
		if more, err := q.lookBack(); err != nil {
			return StatusFailed, err
		} else if !more {
			return status, nil
		}
	}
	return StatusStalled, nil
}

// hold holds the parameters at a bound that f pushes outwards and reports whether
// any of them was not held before.
func (q *quasiNewton) hold() (any bool) {
	index := q.arrived()
	for _, i := range index {
		q.held[i] = true
	}
	return len(index) > 0
}

// arrived lists the moving parameters at a bound that f pushes outwards.
func (q *quasiNewton) arrived() (index []int) {
	for i, held := range q.held {
		if !held && !q.space.fixed[i] && q.space.held(i, q.at.Z, q.at.G) {
			index = append(index, i)
		}
	}
	return index
}

// inward reports whether f pushes parameter i away from the bound at which it is held.
func (q *quasiNewton) inward(i int) bool {
	return q.held[i] && outward(q.space.side(i, q.at.Z[i]), -q.at.G[i])
}

// settled reports whether the parameters that are not held have converged.
func (q *quasiNewton) settled() bool {
	for i, g := range q.at.G {
		if !q.space.fixed[i] && !q.held[i] && math.Abs(g) > q.s.GradientTolerance && !q.space.held(i, q.at.Z, q.at.G) {
			return false
		}
	}
	return q.s.GradientTolerance >= 0
}

// stuck reports whether the largest gradient component belongs to a held parameter
// that f pushes away from its bound.
func (q *quasiNewton) stuck() bool {
	norm := q.space.norm(q.at.Z, q.at.G)
	for i, g := range q.at.G {
		if math.Abs(g) == norm && q.inward(i) && q.released[i] < maxReleases {
			return true
		}
	}
	return false
}

// finish holds and releases parameters after a round and reports whether another
// round is needed. It holds the parameters at a bound that f pushes outwards; if
// there are none, it releases the parameters that f pushes inwards.
func (q *quasiNewton) finish() (again bool, err error) {
	if best := q.ev.best; best.F < q.at.F-q.rounding(q.at.F) && !q.reverted {
		// In rare cases a trial that the line search rejected was better.
		q.reverted = true
		if ok, err := q.revert(best); ok || err != nil {
			clear(q.held)
			q.hold()
			return ok, err
		}
	}
	return q.hold() || q.release(), nil
}

// revert makes the best point the current iterate if its gradient is finite.
func (q *quasiNewton) revert(best Point) (bool, error) {
	g := make([]float64, len(best.Z))
	ok, err := q.ev.Gradient(q.ctx, best.Z, g)
	if err != nil || !ok {
		return false, err
	}
	p := Point{Z: best.Z, F: best.F, G: g}
	if q.end != nil {
		return true, q.end.jump(p)
	}
	q.step(p)
	q.resetFlat()
	q.notify(q.descent)
	return true, nil
}

// release releases the parameters that f pushes away from their bounds and reports
// whether there are any.
func (q *quasiNewton) release() (any bool) {
	for i, g := range q.at.G {
		if math.Abs(g) > math.Max(0, q.s.GradientTolerance) && q.inward(i) {
			q.held[i], any = false, true
			q.released[i]++
		}
	}
	return any
}

// round runs L-BFGS over the parameters that are neither fixed nor held, from the
// current iterate to convergence or until f no longer decreases. StatusNone means
// that a parameter has to be held or released, or that another round is needed.
func (q *quasiNewton) round() (Status, error) {
	if q.end != nil {
		return q.end.run()
	}
	if status := q.converged(); status != StatusNone || q.settled() {
		return status, nil
	}
	if moved, err := q.raiseVanishing(); moved || err != nil {
		return StatusNone, err
	}
	v := newView(q)
	if len(v.index) == 0 {
		return StatusStalled, nil // all parameters are held: see finish
	}
	step := v.dir.first(&v.loc, v.along)
	for {
		switch err := v.search(step); {
		case errors.Is(err, errNoStep) && v.dir.steepest:
			return q.blocked()
		case errors.Is(err, errNoStep): // retry without the memory
			q.newton, v.dir.newton = false, nil
			v.load()
			step = v.dir.first(&v.loc, v.along)
			continue
		case err != nil:
			return StatusNone, err
		}
		if status, done, err := q.arrive(v.point()); done || err != nil {
			return status, err
		}
		step = v.dir.next(&v.loc, v.along)
	}
}

// blocked ends a round in which even the steepest descent did not decrease f.
func (q *quasiNewton) blocked() (Status, error) {
	if q.promised() <= math.Max(q.noise, q.s.RelativeTolerance*math.Max(1, math.Abs(q.at.F))) {
		return StatusFunctionConverged, nil
	}
	if q.blunt || q.end != nil {
		return StatusStalled, nil
	}
	return StatusNone, trustAt(q, q.at) // the Hessian tells whether this is an optimum
}

// arrive makes p, the end of a search, the current iterate, and reports whether the round ends there.
func (q *quasiNewton) arrive(p Point) (status Status, done bool, err error) {
	if err := q.beginTrust(p); err != nil {
		return StatusNone, true, err
	}
	q.accept(p)
	if q.end != nil {
		return StatusNone, true, nil
	}
	if status := q.converged(); status != StatusNone || q.settled() {
		return status, true, nil
	}
	if done, err := q.exhausted(); done || err != nil {
		return StatusGainConverged, true, err
	}
	if q.iter == hessianAfter && !q.newton && len(q.at.Z) <= mostDifferenced {
		if ok, err := q.measure(); ok || err != nil {
			return StatusNone, true, err
		}
	}
	return StatusNone, q.stuck() || len(q.arrived()) > 0 || len(q.vanishing()) > 0, nil
}

// measure computes the Hessian at the current iterate and makes it the model of the
// following steps. It reports whether it succeeded.
func (q *quasiNewton) measure() (bool, error) {
	still := slices.Clone(q.space.fixed)
	for i, z := range q.at.Z {
		still[i] = still[i] || z-q.space.lo[i] < hessianStep || q.space.hi[i]-z < hessianStep
	}
	h, err := Hessian(q.ctx, q.ev, q.at.Z, HessianOptions{Fixed: still})
	if err != nil || h == nil {
		return false, err
	}
	m, err := h.floored(len(q.at.Z), metricFloor)
	if err != nil {
		return false, nil
	}
	q.model, q.newton = m, true
	return true, nil
}

// view restricts a start to the parameters that can move, for L-BFGS.
type view struct {
	q     *quasiNewton
	index []int     // of the parameters
	z, g  []float64 // all p
	limit stepLimit
	dir   *director
	// loc is the latest evaluation on the line from from along the direction along.
	loc         optimize.Location
	from, along []float64
}

func newView(q *quasiNewton) *view {
	v := &view{q: q, z: slices.Clone(q.at.Z), g: make([]float64, len(q.at.Z)), limit: stepLimit{max: math.Inf(1), noise: q.noise}}
	v.dir = &director{limit: &v.limit}
	for _, i := range q.space.free() {
		if !q.held[i] {
			v.index = append(v.index, i)
			v.dir.lo, v.dir.hi = append(v.dir.lo, q.space.lo[i]), append(v.dir.hi, q.space.hi[i])
		}
	}
	if q.newton {
		v.dir.newton = func(g, d []float64) bool { return q.model.newton(len(v.z), v.index, g, d) }
	}
	n := len(v.index)
	v.loc, v.from, v.along = optimize.Location{X: make([]float64, n), Gradient: make([]float64, n)}, make([]float64, n), make([]float64, n)
	v.load()
	return v
}

// load sets loc to the current iterate.
func (v *view) load() {
	v.loc.F = v.q.at.F
	for k, i := range v.index {
		v.loc.X[k], v.loc.Gradient[k] = v.q.at.Z[i], v.q.at.G[i]
	}
}

// search moves loc along the direction.
func (v *view) search(step float64) error {
	copy(v.from, v.loc.X)
	slope := floats.Dot(v.loc.Gradient, v.along)
	if slope >= 0 {
		return errNoStep
	}
	s := &lineSearch{limit: &v.limit, settings: v.q.s, line: v}
	return s.run(sample{f: v.loc.F, g: slope, slope: true}, step)
}

// point returns the latest evaluation, over all parameters.
func (v *view) point() Point { return Point{Z: slices.Clone(v.z), F: v.loc.F, G: slices.Clone(v.g)} }

func (v *view) value(a float64) (f float64, err error) {
	floats.AddScaledTo(v.loc.X, v.from, a, v.along)
	if floats.Equal(v.from, v.loc.X) {
		return 0, errNoStep // the step is within rounding
	}
	for k, i := range v.index {
		v.z[i] = v.q.space.snap(i, v.loc.X[k])
	}
	v.loc.F, err = v.q.ev.Value(v.q.ctx, v.z)
	return v.loc.F, err
}

func (v *view) slope() (float64, error) {
	if _, err := v.q.ev.Gradient(v.q.ctx, v.z, v.g); err != nil {
		return 0, err
	}
	for k, i := range v.index {
		v.loc.Gradient[k] = v.g[i]
	}
	return floats.Dot(v.loc.Gradient, v.along), nil
}

func (v *view) examine() (err error) {
	q := v.q
	if !v.limit.suspect || q.scattered {
		return nil
	}
	q.noise, err = q.scatter(q.ctx)
	q.scattered, v.limit.noise = err == nil, q.noise
	return err
}
