package descent

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// Name implements [Method].
func (LBFGS) Name() string { return "lbfgs" }

// Descend implements [Method]: rounds of L-BFGS on the parameters that can move,
// between which some are held at their bounds and others released.
func (m LBFGS) Descend(ctx context.Context, d *Descent) (Status, error) {
	if m.Memory <= 0 {
		m.Memory = DefaultMemory
	}
	if m.searcher == nil {
		m.searcher = func(l *stepLimit, s Options) optimize.Linesearcher { return &valueFirst{limit: l, settings: s} }
	}
	p := len(d.at.Z)
	q := &quasiNewton{LBFGS: m, Descent: d, ctx: ctx, newton: d.start.Metric != nil, gain: gainRule{last: d.at.F}, held: make([]bool, p), released: make([]int, p), tried: make([]int, p)}
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
		if more, err := q.revive(); err != nil {
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
	q.restless()
	q.notify(q.Descent)
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
	if status := q.Converged(); status != StatusNone || q.settled() {
		return status, nil
	}
	if moved, err := q.vanish(); moved || err != nil {
		return StatusNone, err
	}
	v := newView(q)
	if len(v.index) == 0 {
		return StatusStalled, nil // all parameters are held: see finish
	}
	limit := &stepLimit{max: math.Inf(1), noise: q.noise}
	dir := &director{memory: q.Memory, lo: v.lo, hi: v.hi, limit: limit}
	if q.newton {
		dir.newton = func(g, d []float64) bool { return q.model.newton(v.index, g, d) }
	}
	lsm := &optimize.LinesearchMethod{NextDirectioner: dir, Linesearcher: q.searcher(limit, q.s)}
	loc := &optimize.Location{X: make([]float64, len(v.index)), Gradient: make([]float64, len(v.index))}
	v.load(loc)
	op, err := lsm.Init(loc)
	for {
		switch {
		case err != nil:
			// The search failed. Retry without the memory, unless steepest descent just failed.
			if dir.steepest {
				if q.Promise() <= math.Max(q.noise, q.s.RelativeTolerance*math.Max(1, math.Abs(q.at.F))) {
					return StatusFunctionConverged, nil
				}
				if q.blunt || q.end != nil {
					return StatusStalled, nil
				}
				return StatusNone, trustAt(q, q.at) // the Hessian tells whether this is an optimum
			}
			q.newton, dir.newton = false, nil
			v.load(loc)
			op, err = lsm.Init(loc)
			continue
		case op == optimize.MajorIteration:
			p := Point{Z: slices.Clone(v.z), F: loc.F, G: slices.Clone(v.g)}
			if err := q.beginTrust(p); err != nil {
				return StatusNone, err
			}
			q.Accept(p)
			if q.end != nil {
				return StatusNone, nil
			}
			if status := q.Converged(); status != StatusNone || q.settled() {
				return status, nil
			}
			if done, err := q.exhausted(); done || err != nil {
				return StatusGainConverged, err
			}
			if q.iter == hessianAfter && !q.newton {
				if ok, err := q.measure(); ok || err != nil {
					return StatusNone, err
				}
			}
			if q.stuck() || len(q.arrived()) > 0 || len(q.vanishing()) > 0 {
				return StatusNone, nil
			}
		default:
			if err := v.evaluate(op, loc); err != nil {
				return StatusNone, err
			}
		}
		if limit.suspect && !q.scattered {
			if q.noise, err = q.scatter(q.ctx); err != nil {
				return StatusNone, err
			}
			q.scattered, limit.noise = true, q.noise
		}
		op, err = lsm.Iterate(loc)
	}
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
	q      *quasiNewton
	index  []int // of the parameters
	lo, hi []float64
	z, g   []float64 // all p
}

func newView(q *quasiNewton) *view {
	v := &view{q: q, z: slices.Clone(q.at.Z), g: make([]float64, len(q.at.Z))}
	for _, i := range q.space.free() {
		if !q.held[i] {
			v.index = append(v.index, i)
			v.lo, v.hi = append(v.lo, q.space.lo[i]), append(v.hi, q.space.hi[i])
		}
	}
	return v
}

// load sets loc to the current iterate.
func (v *view) load(loc *optimize.Location) {
	loc.F = v.q.at.F
	for k, i := range v.index {
		loc.X[k], loc.Gradient[k] = v.q.at.Z[i], v.q.at.G[i]
	}
}

func (v *view) evaluate(op optimize.Operation, loc *optimize.Location) error {
	for k, i := range v.index {
		v.z[i] = v.q.space.snap(i, loc.X[k])
	}
	if op&optimize.FuncEvaluation != 0 {
		f, err := v.q.ev.Value(v.q.ctx, v.z)
		if err != nil {
			return err
		}
		loc.F = f
	}
	if op&optimize.GradEvaluation != 0 {
		if math.IsInf(loc.F, 1) { // only from a search that requests both at once
			for k := range loc.Gradient {
				loc.Gradient[k] = math.NaN()
			}
			return nil
		}
		if _, err := v.q.ev.Gradient(v.q.ctx, v.z, v.g); err != nil {
			return err
		}
		for k, i := range v.index {
			loc.Gradient[k] = v.g[i]
		}
	}
	return nil
}
