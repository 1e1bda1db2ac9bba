package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/optimize"
)

// maxRounds bounds how often parameters are pinned to or released from bounds.
const maxRounds = 200

// slowIterations without convergence raise the question of whether a clamp is
// the reason.
const slowIterations = 50

// After hessianAfter iterations without convergence the scales of the parameters
// differ too much for what L-BFGS learns, and the Hessian there is worth its 2p
// gradients: the CO2 model of Rasmussen & Williams (2006), with a curvature of
// 2e7 along its period, needs 290 gradients without and 141 with. Where nothing
// is slow it saves little; and from the start point on it led to worse optima on
// four of eight data sets and kernels with a lengthscale per column.
const hessianAfter = 100

// local is the state of one start. It shares nothing with other starts, so that
// starts may run in any order, and on objectives of their own at the same time.
type local struct {
	p      *checked
	s      Settings
	ev     evaluator
	notify func(l *local) // after each accepted iteration

	at       point  // the current iterate, with its gradient
	pinned   []Side // parameters held at a bound
	direct   []bool // parameters that move without a clamp, see finish
	released []int  // how often a parameter was released
	reverted bool   // going back to ev.best was tried
	iter     int
	change   float64 // relative change of the latest iteration
	flat     int     // iterations in a row with a change within tolerance
	flatFrom int     // infeasible trials before the first of those
	warnings []string
	// hessian is what the steps have taught so far. It gives the directions if
	// the start came with a metric, until it has misled.
	hessian curvatures
	newton  bool
}

// runStart minimises from z. The error, also in the result's Err, is non-nil if
// the start failed or was cancelled.
func runStart(ctx context.Context, p *checked, s Settings, index int, start Start, notify func(*local)) StartResult {
	z := start.Z
	l := &local{
		p: p, s: s, notify: notify,
		ev:       evaluator{ctx: ctx, obj: p.obj, max: s.MaxEvaluations},
		pinned:   make([]Side, len(z)),
		direct:   make([]bool, len(z)),
		released: make([]int, len(z)),
		change:   math.NaN(),
		hessian:  curvatures{p: len(z)},
	}
	if start.Metric != nil {
		var err error
		if l.hessian, err = floored(start.Metric, len(z)); err != nil {
			return l.result(z, StatusFailed, &StartError{Start: index, Err: err})
		}
		l.newton = true
		for i, c := range p.clamps {
			if side, b := c.near(z[i]); z[i] == b && !p.fixed[i] {
				l.pinned[i] = side
			}
		}
	}
	for i, c := range p.clamps {
		l.direct[i] = c.hi-c.lo < narrowWidth
	}
	status, err := l.run(index, slices.Clone(z))
	return l.result(z, status, err)
}

func (l *local) run(index int, z []float64) (Status, error) {
	f, err := l.ev.value(z)
	if err != nil {
		return l.ended(err)
	}
	if math.IsInf(f, 1) {
		return StatusFailed, &StartError{Start: index, Err: l.ev.reason}
	}
	if len(l.p.free()) == 0 {
		return StatusAllFixed, nil
	}
	g := make([]float64, len(z))
	ok, err := l.ev.gradient(z, g)
	if err != nil {
		return l.ended(err)
	}
	if !ok {
		return StatusFailed, &StartError{Start: index, Err: l.ev.reason}
	}
	l.at = point{z: z, f: f, g: g}
	l.notify(l)
	switch l.s.Method {
	case Adam:
		return l.adam()
	case NelderMead:
		return l.nelderMead()
	}
	for range maxRounds {
		status, err := l.descend()
		if err != nil {
			return l.ended(err)
		}
		again, err := l.finish()
		if err != nil {
			return l.ended(err)
		}
		if !again && status != StatusNone {
			return status, nil
		}
	}
	return StatusStalled, nil
}

// ended sorts the error that ended a start into a status.
func (l *local) ended(err error) (Status, error) {
	if errors.Is(err, errMaxEvaluations) {
		return StatusMaxEvaluations, nil
	}
	if errors.Is(err, errHalted) {
		return l.ev.halt, nil
	}
	if l.ev.ctx.Err() != nil {
		return StatusCancelled, err
	}
	return StatusFailed, err
}

// descend runs L-BFGS over the parameters that are neither fixed nor pinned,
// from l.at to convergence or until f does not decrease any more. StatusNone
// asks for a stuck parameter to be released, for one at its bound to be pinned,
// or to be called again.
func (l *local) descend() (Status, error) {
	if status := l.converged(); status != StatusNone || l.settled() {
		return status, nil
	}
	v, from := newView(l), l.iter
	if len(v.index) == 0 {
		return StatusStalled, nil // only pinned parameters are left: see finish
	}
	limit := &stepLimit{max: math.Inf(1)}
	dir := &director{memory: l.s.Memory, clamps: v.clamps, direct: v.direct, limit: limit}
	if l.newton {
		dir.newton = func(x, g, d []float64) bool { return l.hessian.newton(v, x, g, d) }
	}
	lsm := &optimize.LinesearchMethod{NextDirectioner: dir, Linesearcher: l.s.searcher(limit)}
	loc := &optimize.Location{X: make([]float64, len(v.index)), Gradient: make([]float64, len(v.index))}
	v.load(loc)
	op, err := lsm.Init(loc)
	for {
		switch {
		case err != nil:
			// The search failed. Once more without the memory, unless that is
			// what just failed.
			if dir.steepest {
				if l.promised() <= l.s.RelativeTolerance*math.Max(1, math.Abs(l.at.f)) {
					return StatusFunctionConverged, nil
				}
				return StatusStalled, nil
			}
			l.newton, dir.newton = false, nil
			v.load(loc)
			op, err = lsm.Init(loc)
			continue
		case op == optimize.MajorIteration:
			v.accept(loc)
			l.notify(l)
			if status := l.converged(); status != StatusNone || l.settled() {
				return status, nil
			}
			if l.iter == hessianAfter && !l.newton {
				if ok, err := l.look(); ok || err != nil {
					return StatusNone, err
				}
			}
			if slow := l.iter - from; l.stuck() || l.hit() || slow%slowIterations == 0 && l.unclamp() {
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

// look computes the Hessian at l.at and makes it the metric of what follows. It
// reports whether it could.
func (l *local) look() (ok bool, err error) {
	at, still := l.at, slices.Clone(l.p.fixed)
	for i, c := range l.p.clamps {
		still[i] = still[i] || at.z[i]-c.lo < hessianStep || c.hi-at.z[i] < hessianStep
	}
	h, err := hessianOf(at.z, still, func(z, g []float64) error {
		_, err := l.ev.value(z)
		if err == nil {
			_, err = l.ev.gradient(z, g)
		}
		return err
	})
	if err != nil {
		return false, err
	}
	if h == nil {
		return false, nil
	}
	metric, err := floored(h, len(at.z))
	if err != nil {
		return false, nil
	}
	l.hessian, l.newton = metric, true
	return true, nil
}

// converged tests the criteria at l.at.
func (l *local) converged() Status {
	if l.norm(l.at.z, l.at.g) <= l.s.GradientTolerance {
		return StatusGradientConverged
	}
	if l.flat >= relativeIterations {
		if l.ev.counts.Infeasible > l.flatFrom {
			// Not an optimum: the way down leads where f is not defined.
			return StatusStalled
		}
		return StatusFunctionConverged
	}
	return StatusNone
}

// norm returns the largest gradient component over the parameters that can
// move: those that are free and not at a bound that f pushes outwards. It is NaN
// if g is nil.
func (l *local) norm(z, g []float64) float64 {
	if g == nil {
		return math.NaN()
	}
	norm := 0.0
	for i := range z {
		if !l.p.fixed[i] && !l.bound(i, z, g) {
			norm = math.Max(norm, math.Abs(g[i]))
		}
	}
	return norm
}

// step makes p the current iterate.
func (l *local) step(p point) {
	l.change = math.Abs(l.at.f-p.f) / math.Max(1, math.Abs(p.f))
	if l.change <= l.s.RelativeTolerance {
		l.flat++
	} else {
		l.flat, l.flatFrom = 0, l.ev.counts.Infeasible
	}
	s, y := make([]float64, len(p.z)), make([]float64, len(p.z))
	for i := range s {
		if !l.p.fixed[i] {
			s[i], y[i] = p.z[i]-l.at.z[i], p.g[i]-l.at.g[i]
		}
	}
	l.hessian.learn(s, y)
	l.at = p
	l.iter++
}

// view is what L-BFGS sees of a start: the parameters that can move, as
// unconstrained variables u.
type view struct {
	l      *local
	index  []int // of the parameters
	clamps []clamp
	direct []bool    // those that move without their clamp
	z, g   []float64 // all p
}

func newView(l *local) *view {
	v := &view{l: l, z: slices.Clone(l.at.z), g: make([]float64, len(l.at.z))}
	for _, i := range l.p.free() {
		if l.pinned[i] == NoSide {
			v.index = append(v.index, i)
			v.clamps = append(v.clamps, l.p.clamps[i])
			v.direct = append(v.direct, l.direct[i])
		}
	}
	return v
}

// load sets loc to the current iterate.
func (v *view) load(loc *optimize.Location) {
	loc.F = v.l.at.f
	for k, i := range v.index {
		if v.direct[k] {
			loc.X[k], loc.Gradient[k] = v.l.at.z[i], v.l.at.g[i]
			continue
		}
		c := v.clamps[k]
		// A z that was rounded to its bound has no finite u: 37·s outside it
		// the clamp is within rounding of the bound.
		loc.X[k] = math.Min(math.Max(c.invert(v.l.at.z[i]), c.lo-37*c.s), c.hi+37*c.s)
		loc.Gradient[k] = v.l.at.g[i] * c.slope(loc.X[k])
	}
}

func (v *view) evaluate(op optimize.Operation, loc *optimize.Location) error {
	for k, i := range v.index {
		c := v.clamps[k]
		if v.direct[k] {
			v.z[i] = c.snap(loc.X[k])
		} else {
			v.z[i] = c.apply(loc.X[k])
		}
	}
	if op&optimize.FuncEvaluation != 0 {
		f, err := v.l.ev.value(v.z)
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
		if _, err := v.l.ev.gradient(v.z, v.g); err != nil {
			return err
		}
		for k, i := range v.index {
			loc.Gradient[k] = v.g[i]
			if !v.direct[k] {
				loc.Gradient[k] *= v.clamps[k].slope(loc.X[k])
			}
		}
	}
	return nil
}

// accept makes loc, just evaluated with its gradient, the current iterate.
func (v *view) accept(loc *optimize.Location) {
	v.l.step(point{z: slices.Clone(v.z), f: loc.F, g: slices.Clone(v.g)})
}

// result reports the start.
func (l *local) result(start []float64, status Status, err error) StartResult {
	r := StartResult{
		Start: slices.Clone(start), F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: l.change,
		Status: status, Err: err, Iterations: l.iter, Evaluations: l.ev.counts,
	}
	at := l.ev.best
	if l.at.z != nil && (status.Converged() || l.at.f <= at.f+noise(at.f)) {
		at = l.at // has its gradient
	}
	var begin *StartError
	if at.z == nil || errors.As(err, &begin) {
		return r
	}
	r.X, r.F, r.Metric = slices.Clone(at.z), at.f, l.hessian.b
	if status == StatusAllFixed {
		r.GradientNorm = 0
	}
	if at.g != nil {
		r.Gradient = slices.Clone(at.g)
		r.GradientNorm = l.norm(at.z, at.g)
		for i := range at.z {
			if !l.p.fixed[i] && l.bound(i, at.z, at.g) {
				side, b := l.p.clamps[i].near(at.z[i])
				r.AtBound = append(r.AtBound, Bound{Index: i, Name: l.p.names[i], Side: side})
				beyond := "smaller"
				if side == Upper {
					beyond = "larger"
				}
				l.warnf("%s is at its %s bound %.6g: a %s value would fit the data better; widen the bound if that makes sense",
					l.p.names[i], side, l.p.natural(i, b), beyond)
			}
		}
	}
	switch status {
	case StatusStalled:
		l.warnf("stalled: the objective cannot be decreased any further in floating point, although its gradient norm is %.3g (tolerance %.3g; %d trials were infeasible)",
			r.GradientNorm, l.s.GradientTolerance, l.ev.counts.Infeasible)
	case StatusMaxEvaluations:
		l.warnf("stopped at the limit of %d value evaluations before convergence", l.s.MaxEvaluations)
	}
	r.Warnings = l.warnings
	return r
}

func (l *local) warnf(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}
