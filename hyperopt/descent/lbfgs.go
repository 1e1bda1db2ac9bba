package descent

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// LBFGS is L-BFGS (N&W 7.2) on the parameters that are not held at a bound, or
// damped BFGS from a [Start.Metric] on. The search directions are gonum's
// [optimize.LBFGS] and the iteration is gonum's [optimize.LinesearchMethod], both
// driven step by step by their reverse-communication interface: no goroutine is
// involved, so that a panic, a cancellation or the evaluation limit acts at once,
// counts are exact, and the same input gives the same bits.
type LBFGS struct {
	// Memory is the number of correction pairs; 0 means DefaultMemory.
	Memory int
	// searcher replaces the line search, for comparisons in tests.
	searcher func(*stepLimit, Options) optimize.Linesearcher
}

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
	q := &quasiNewton{LBFGS: m, Descent: d, ctx: ctx, newton: d.start.Metric != nil, held: make([]bool, p), released: make([]int, p)}
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
		if !again && status != StatusNone {
			return status, nil
		}
	}
	return StatusStalled, nil
}

// quasiNewton is a descent by L-BFGS.
type quasiNewton struct {
	LBFGS
	*Descent
	ctx context.Context
	// newton says that the model of the Hessian gives the directions, as it does
	// after a start with a metric until it has misled.
	newton bool
	// held tells the parameters that stay on their bound, released how often each
	// was let go again.
	held     []bool
	released []int
	reverted bool // going back to the best point was tried
}

// hold holds the parameters at a bound that f pushes outwards, and reports
// whether there are any that were not held.
func (q *quasiNewton) hold() (any bool) {
	for i := range q.held {
		if !q.held[i] && !q.space.fixed[i] && q.space.held(i, q.at.Z, q.at.G) {
			q.held[i], any = true, true
		}
	}
	return any
}

// inward reports whether f pushes parameter i off the bound at which it is held.
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

// stuck reports whether the largest gradient component belongs to a parameter
// that is held and that f pushes off its bound.
func (q *quasiNewton) stuck() bool {
	norm := q.space.norm(q.at.Z, q.at.G)
	for i, g := range q.at.G {
		if math.Abs(g) == norm && q.inward(i) && q.released[i] < maxReleases {
			return true
		}
	}
	return false
}

// hit reports whether a parameter that moves has come to its bound, which f
// pushes it across.
func (q *quasiNewton) hit() bool {
	for i, held := range q.held {
		if !held && !q.space.fixed[i] && q.space.held(i, q.at.Z, q.at.G) {
			return true
		}
	}
	return false
}

// finish settles what is left once a round has ended, and reports whether there
// is reason for another: parameters at a bound that f pushes outwards are held
// there; if there are none, those pushed inwards are released.
func (q *quasiNewton) finish() (again bool, err error) {
	if best := q.ev.best; best.F < q.at.F-q.s.noise(q.at.F) && !q.reverted {
		// A trial that the line search passed over was better: rare.
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
	q.step(Point{Z: best.Z, F: best.F, G: g})
	q.restless()
	q.notify(q.Descent)
	return true, nil
}

// release lets the parameters go that f pushes off their bounds, and reports
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

// round runs L-BFGS over the parameters that are neither fixed nor held, from
// the current iterate to convergence or until f does not decrease any more.
// StatusNone asks for a parameter to be held or released, or for another round.
func (q *quasiNewton) round() (Status, error) {
	if status := q.Converged(); status != StatusNone || q.settled() {
		return status, nil
	}
	v := newView(q)
	if len(v.index) == 0 {
		return StatusStalled, nil // only held parameters are left: see finish
	}
	limit := &stepLimit{max: math.Inf(1)}
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
			// The search failed. Once more without the memory, unless that is
			// what just failed.
			if dir.steepest {
				if q.Promise() <= q.s.RelativeTolerance*math.Max(1, math.Abs(q.at.F)) {
					return StatusFunctionConverged, nil
				}
				return StatusStalled, nil
			}
			q.newton, dir.newton = false, nil
			v.load(loc)
			op, err = lsm.Init(loc)
			continue
		case op == optimize.MajorIteration:
			q.Accept(Point{Z: slices.Clone(v.z), F: loc.F, G: slices.Clone(v.g)})
			if status := q.Converged(); status != StatusNone || q.settled() {
				return status, nil
			}
			if q.iter == hessianAfter && !q.newton {
				if ok, err := q.look(); ok || err != nil {
					return StatusNone, err
				}
			}
			if q.stuck() || q.hit() {
				return StatusNone, nil
			}
		default:
			if err := v.evaluate(op, loc); err != nil {
				return StatusNone, err
			}
		}
		op, err = lsm.Iterate(loc)
	}
}

// look computes the Hessian at the current iterate and makes it the model of what
// follows. It reports whether it could.
func (q *quasiNewton) look() (bool, error) {
	still := slices.Clone(q.space.fixed)
	for i, z := range q.at.Z {
		still[i] = still[i] || z-q.space.lo[i] < hessianStep || q.space.hi[i]-z < hessianStep
	}
	h, err := Hessian(q.ctx, q.ev, q.at.Z, HessianOptions{Fixed: still})
	if err != nil || h == nil {
		return false, err
	}
	m, err := h.floored(len(q.at.Z))
	if err != nil {
		return false, nil
	}
	q.model, q.newton = m, true
	return true, nil
}

// view is what L-BFGS sees of a start: the parameters that can move.
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
		if math.IsInf(loc.F, 1) { // only from a search that asks for both at once
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
