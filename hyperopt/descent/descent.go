package descent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Defaults of [Options].
const (
	DefaultMaxEvaluations    = 1000
	DefaultGradientTolerance = 1e-4
	DefaultRelativeTolerance = 1e-10
	// DefaultPrecision is the precision of a likelihood computed by a Cholesky
	// factorization in float64 arithmetic.
	DefaultPrecision = 1e-12
)

// Options configures the minimization. The zero value is ready to use.
type Options struct {
	// MaxEvaluations limits the value evaluations of each start; 0 means
	// DefaultMaxEvaluations. Gradients do not count; each value has at most one.
	MaxEvaluations int
	// GradientTolerance is the largest component of ∂f/∂z with which a start has
	// converged. Free parameters at a bound that f pushes outwards do not count. 0
	// means DefaultGradientTolerance, negative means never.
	GradientTolerance float64
	// RelativeTolerance is the tolerance of the change: a start has converged when
	// |f_k − f_{k+1}| ≤ RelativeTolerance·max(1, |f_{k+1}|) in five consecutive
	// iterations. 0 means DefaultRelativeTolerance, negative means never.
	RelativeTolerance float64
	// ToleranceNats ends a start when its quadratic model promises a further
	// decrease of f of no more than this and products of the Hessian confirm it
	// (StatusGainConverged); 0 means never.
	ToleranceNats float64
	// Precision, times max(1, |f|), is the difference of two values below which
	// their order counts as rounding; 0 means DefaultPrecision. A method that
	// estimates f has a larger precision value.
	Precision float64
	// Race runs the starts in turns, one iteration at a time, and stops a start early if
	// its quadratic model puts it in the basin of a better one (StatusMerged), or if even six
	// times the decrease that its model promises would not reach the best (StatusDropped). That
	// saves half of the evaluations or more, but may drop a start that creeps along a saddle and
	// would have found the best.
	Race bool
	// Reach is the distance above the best, in units of f, within which an end
	// still counts in a race. Starts that may reach it are not dropped.
	Reach float64
	// Eager lets a start without a metric try the bounds of parameters beyond their limits
	// from its first iteration on, and not only near its end: for descents that prepare
	// others, and should differ.
	Eager bool
	// FewRows says that a Hessian of a [Curved] function costs more than some gradients. A descent
	// then ends without one if its steps change f as the average information promises.
	FewRows bool
	// Beat, unless nil, is the value that an end must go below to be of any use. A descent that promises
	// much less ends without a Hessian.
	Beat *float64
	// Callback, unless nil, is called at each start's first point and after each
	// accepted iteration. Calls never overlap, but with several objectives they
	// come from different goroutines.
	Callback func(Iteration)
}

func (s Options) withDefaults() (Options, error) {
	for _, o := range []struct {
		name   string
		v      float64
		signed bool
	}{
		{"MaxEvaluations", float64(s.MaxEvaluations), false}, {"GradientTolerance", s.GradientTolerance, true}, {"RelativeTolerance", s.RelativeTolerance, true},
		{"ToleranceNats", s.ToleranceNats, false}, {"Precision", s.Precision, false}, {"Reach", s.Reach, false},
	} {
		switch {
		case math.IsNaN(o.v):
			return s, fmt.Errorf("hyperopt: %s is NaN", o.name)
		case !o.signed && o.v < 0:
			return s, fmt.Errorf("hyperopt: %s is negative: %g", o.name, o.v)
		}
	}
	s.MaxEvaluations = cmp.Or(s.MaxEvaluations, DefaultMaxEvaluations)
	s.GradientTolerance = cmp.Or(s.GradientTolerance, DefaultGradientTolerance)
	s.RelativeTolerance = cmp.Or(s.RelativeTolerance, DefaultRelativeTolerance)
	s.Precision = cmp.Or(s.Precision, DefaultPrecision)
	return s, nil
}

// noise returns the expected rounding error of f.
func (s Options) noise(f float64) float64 { return s.Precision * math.Max(1, math.Abs(f)) }

// descent is the state of one start. Starts share no state,
// so they may run in any order, and concurrently on separate objectives.
type descent struct {
	space  *space
	s      Options
	index  int
	start  Start
	ev     *Oracle
	notify func(*descent) // after each accepted iteration
	dear   bool           // the Hessian takes more than some gradients

	at       Point // the current iterate, with its gradient
	iter     int
	change   float64 // relative change of the latest iteration
	flat     int     // iterations in a row with a change within tolerance
	flatFrom int     // infeasible trials before the first of these iterations
	// model approximates the Hessian from the steps so far and is positive definite; nil before.
	model Metric
	// noise is the estimated scatter of f, 0 if it is unknown.
	noise float64
	// left is the status with which it left a race.
	left Status
	// first are the second derivatives at a start with a metric.
	first second
}

// rounding returns the difference of two values that says nothing about their order.
func (d *descent) rounding(f float64) float64 { return math.Max(d.s.noise(f), d.noise) }

// accept makes p, with its gradient, the current iterate and notifies the callback.
func (d *descent) accept(p Point) {
	d.step(p)
	d.notify(d)
}

// step makes p the current iterate, from which the model learns.
func (d *descent) step(p Point) {
	d.model = d.model.learned(d.secant(p))
	d.advance(p)
}

// secant returns the step from the current iterate to p and the change of the gradient, 0 for
// fixed parameters.
func (d *descent) secant(p Point) (s, y []float64) {
	s, y = make([]float64, len(p.Z)), make([]float64, len(p.Z))
	for i := range s {
		if !d.space.fixed[i] {
			s[i], y[i] = p.Z[i]-d.at.Z[i], p.G[i]-d.at.G[i]
		}
	}
	return s, y
}

// advance makes p the current iterate.
func (d *descent) advance(p Point) {
	d.change = math.Abs(d.at.F-p.F) / math.Max(1, math.Abs(p.F))
	if d.change <= d.s.RelativeTolerance || d.s.RelativeTolerance >= 0 && math.Abs(d.at.F-p.F) <= d.noise {
		d.flat++
	} else {
		d.resetFlat()
	}
	d.at = p
	d.iter++
}

// jump makes p, a step of which the model of the Hessian can learn nothing, the current
// iterate and notifies the callback.
func (d *descent) jump(p Point) {
	d.resetFlat()
	d.at = p
	d.iter++
	d.notify(d)
}

// resetFlat resets the count of iterations with little change.
func (d *descent) resetFlat() { d.flat, d.flatFrom = 0, d.ev.counts.Infeasible }

// converged tests the criteria at the current iterate. It returns StatusNone if none holds.
func (d *descent) converged() Status {
	if d.space.norm(d.at.Z, d.at.G) <= d.s.GradientTolerance {
		return StatusGradientConverged
	}
	if d.flat >= relativeIterations {
		if d.ev.counts.Infeasible > d.flatFrom {
			// This is no optimum: f decreases towards points where it is not defined.
			return StatusStalled
		}
		return StatusFunctionConverged
	}
	return StatusNone
}

// moving returns the parameters that are neither fixed nor, at the current iterate, at a bound that
// f pushes outwards.
func (d *descent) moving() []int { return d.space.moving(d.at) }

// promised returns the decrease of f to the minimum of its quadratic model over the
// parameters that can move, or +Inf without a model.
func (d *descent) promised() float64 {
	if d.at.G == nil {
		return math.Inf(1)
	}
	return d.model.promise(d.moving(), d.at.G)
}

// run descends from the start. The result has an error if the start failed or was cancelled.
func (d *descent) run(ctx context.Context) StartResult {
	status, err := d.begin(ctx)
	if status == StatusNone && err == nil {
		status, err = d.descend(ctx)
	}
	switch {
	case err == nil:
	case errors.Is(err, errMaxEvaluations):
		status, err = StatusMaxEvaluations, nil
	case errors.Is(err, errHalted):
		status, err = d.left, nil
	case ctx.Err() != nil:
		status = StatusCancelled
	default:
		status = StatusFailed
	}
	return d.result(status, err)
}

// begin evaluates the start point.
func (d *descent) begin(ctx context.Context) (Status, error) {
	if d.start.Metric != nil {
		var err error
		if d.model, err = d.start.Metric.floored(len(d.start.Z), metricFloor); err != nil {
			return StatusFailed, &StartError{Start: d.index, Err: err}
		}
	}
	z := slices.Clone(d.start.Z)
	f, err := d.ev.Value(ctx, z)
	if err != nil {
		return StatusFailed, err
	}
	if math.IsInf(f, 1) {
		return StatusFailed, &StartError{Start: d.index, Err: d.ev.reason}
	}
	if len(d.space.free()) == 0 {
		return StatusAllFixed, nil
	}
	g := make([]float64, len(z))
	ok, err := d.ev.Gradient(ctx, z, g)
	if err == nil && !ok {
		err = &StartError{Start: d.index, Err: d.ev.reason}
	}
	if err != nil {
		return StatusFailed, err
	}
	if d.start.Metric != nil {
		if d.first, err = d.second(ctx, z, d.s.hessianFirst()); err != nil {
			return StatusFailed, err
		}
	}
	d.at = Point{Z: z, F: f, G: g}
	d.notify(d)
	return StatusNone, nil
}

// hessianFirst reports whether a descent from a start with a metric begins with the Hessian: with many
// rows that costs less than the steps that the average information wastes.
func (s Options) hessianFirst() bool { return !s.FewRows && !s.Eager }

// second has the second derivatives of f at a point: b is the Hessian, if exact, or else an
// approximation; nil if there is none. The information is the approximation if b is exact.
type second struct {
	b, information Metric
	exact          bool
}

// second returns the second derivatives at z, whose gradient was just evaluated.
func (d *descent) second(ctx context.Context, z []float64, exact bool) (second, error) {
	b, err := d.ev.Curvature(ctx, z, exact)
	h := second{b: b, exact: exact}
	if exact && b != nil && err == nil && d.space.limits != nil {
		h.information, err = d.ev.Curvature(ctx, z, false)
	}
	return h, err
}

// result returns the outcome of the start.
func (d *descent) result(status Status, err error) StartResult {
	r := StartResult{
		Start: slices.Clone(d.start.Z), F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: d.change,
		Status: status, Err: err, Iterations: d.iter, Evaluations: d.ev.counts,
	}
	at := d.ev.best
	if d.at.Z != nil && (status.Converged() || d.at.F <= at.F+d.rounding(at.F)) {
		at = d.at // includes the gradient
	}
	if _, undefined := Undefined(err); undefined || at.Z == nil {
		return r
	}
	r.X, r.F, r.Metric = slices.Clone(at.Z), at.F, d.model
	if status == StatusAllFixed {
		r.GradientNorm = 0
	}
	if at.G != nil {
		r.Gradient, r.GradientNorm = slices.Clone(at.G), d.space.norm(at.Z, at.G)
		for i, p := range d.space.params {
			if d.space.fixed[i] || !d.space.held(i, at.Z, at.G) {
				continue
			}
			side := Lower
			if at.Z[i] == d.space.hi[i] {
				side = Upper
			}
			r.AtBound = append(r.AtBound, Bound{Index: i, Name: p.Name, Side: side})
		}
	}
	switch status {
	case StatusStalled:
		r.warnf("stalled: floating-point precision allows no further decrease of the objective, although its gradient norm is %.3g (tolerance %.3g; %d trials were infeasible)",
			r.GradientNorm, d.s.GradientTolerance, d.ev.counts.Infeasible)
	case StatusMaxEvaluations:
		r.warnf("stopped before convergence: the largest number of values is %d (option max-evals)", d.s.MaxEvaluations)
	}
	return r
}

func (r *StartResult) warnf(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}
