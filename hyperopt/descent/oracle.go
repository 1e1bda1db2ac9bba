package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/hyperopt/journal"
)

// Func is a differentiable function of p numbers z: logarithms of positive
// parameters, and other parameters unchanged.
//
// Both methods read z only during the call. An error for which [IsInfeasible]
// returns true means that f is not defined at z; a trial step then counts as
// infeasible, as it does for a value that is not finite. Any other error ends the
// run. A panic becomes a [*PanicError] and also ends the run.
type Func interface {
	// Value returns f(z). It costs n³/3 operations.
	Value(ctx context.Context, z []float64) (float64, error)
	// ValueGradient returns f(z) and writes ∂f/∂z to grad (length p), including
	// fixed parameters. An [Oracle] calls it only directly after Value at the same
	// z. It can reuse that factor and then costs 2n³/3 more operations.
	ValueGradient(ctx context.Context, z, grad []float64) (float64, error)
}

// Curved is a [Func] with approximations of its Hessian.
type Curved interface {
	Func
	// Curvature returns at z, the point of the latest ValueGradient, the Hessian ∂²f/∂z² if exact,
	// up to an error that does not change steps much, and otherwise a positive semidefinite
	// approximation of it that costs next to nothing. It is nil if the function has none.
	Curvature(ctx context.Context, z []float64, exact bool) (Metric, error)
}

// dear is a [Curved] function that may have a Hessian which takes more than some gradients, whatever the number of rows.
type dear interface {
	// HessianIsDear reports whether it has.
	HessianIsDear() bool
}

// IsInfeasible reports whether err means that a function is not defined at a point. This is so if
// an error in its chain has a method Infeasible() bool that returns true, for example the error for
// a covariance matrix that is not positive definite, or if the value or the gradient is not finite.
func IsInfeasible(err error) bool {
	var e interface{ Infeasible() bool }
	return errors.Is(err, errUndefined) || errors.As(err, &e) && e.Infeasible()
}

// PanicError is the error for a panic in a [Func].
type PanicError struct {
	// Value is the argument of panic.
	Value any
	// Stack is the stack at the panic.
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("hyperopt: the objective panicked: %v", e.Value)
}

// Unwrap returns Value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// errMaxEvaluations ends a start whose evaluations are used up.
var errMaxEvaluations = errors.New("evaluation limit reached")

// errHalted ends a start that the race has stopped.
var errHalted = errors.New("start stopped by the race")

// Evaluations counts calls of an objective, including replayed ones.
type Evaluations struct {
	// Value counts values, including infeasible ones; Gradient counts gradients.
	Value, Gradient int
	// Infeasible counts the trials at which the covariance was not positive
	// definite, or the value or the gradient was not finite.
	Infeasible int
	// Hessian counts Hessians of a [Curved] function, Information its other approximations of them.
	Hessian, Information int
}

// Add adds the counts of o to e.
func (e *Evaluations) Add(o Evaluations) {
	e.Value += o.Value
	e.Gradient += o.Gradient
	e.Infeasible += o.Infeasible
	e.Hessian += o.Hessian
	e.Information += o.Information
}

// Point is an evaluated point; G is the gradient, or nil if it was not evaluated.
type Point struct {
	Z []float64
	F float64
	G []float64
}

// Oracle makes all calls of an objective. It counts, records and replays
// evaluations, converts infeasible points to +Inf and panics to errors, and
// remembers the best point and the last gradient.
type Oracle struct {
	obj    Func
	log    *journal.Sequence
	max    int  // of values; 0 for no limit
	halt   bool // the next evaluation ends the start with errHalted
	counts Evaluations
	best   Point // lowest finite value seen; Z nil before the first
	last   Point // latest finite gradient
	valued Point // latest value, finite or not
	// sloped is the point of the latest evaluation if it was a gradient; live says that the
	// objective made it, and not an earlier run.
	sloped []float64
	live   bool
	reason error // why the latest infeasible point was infeasible
	buf    []float64
}

// NewOracle returns the oracle of an objective. It records evaluations in log, which may be nil.
func NewOracle(obj Func, log *journal.Sequence) *Oracle {
	return &Oracle{obj: obj, log: log}
}

// Counts returns the evaluations so far.
func (e *Oracle) Counts() Evaluations { return e.counts }

// Best returns the point with the lowest finite value; Z is nil before there is one.
func (e *Oracle) Best() Point { return e.best }

// Reason returns the error that made the latest infeasible point infeasible.
func (e *Oracle) Reason() error { return e.reason }

// move switches to another objective, the same function on another device.
func (e *Oracle) move(obj Func) { e.obj, e.valued, e.sloped = obj, Point{}, nil }

// Value returns f(z), or +Inf where f is not defined.
func (e *Oracle) Value(ctx context.Context, z []float64) (float64, error) {
	if slices.Equal(z, e.last.Z) {
		return e.last.F, nil
	}
	if err := cancelled(ctx); err != nil {
		return 0, err
	}
	if e.halt {
		return 0, errHalted
	}
	if e.max > 0 && e.counts.Value >= e.max {
		return 0, errMaxEvaluations
	}
	e.counts.Value++
	f, err := e.evaluate(ctx, z, nil)
	if f, err = e.judge(ctx, f, err); err != nil {
		return 0, err
	}
	e.valued = Point{Z: append(e.valued.Z[:0], z...), F: f}
	if f < math.Inf(1) && (e.best.Z == nil || f < e.best.F) {
		e.best = Point{Z: slices.Clone(z), F: f}
	}
	return f, nil
}

// Gradient writes ∂f/∂z to grad and reports whether it is finite. The objective's latest value
// must be the value at z; if it is not, Gradient evaluates that first.
func (e *Oracle) Gradient(ctx context.Context, z, grad []float64) (ok bool, err error) {
	if slices.Equal(z, e.last.Z) {
		copy(grad, e.last.G)
		return true, nil
	}
	if !slices.Equal(z, e.valued.Z) {
		if _, err := e.Value(ctx, z); err != nil {
			return false, err
		}
	}
	if err := cancelled(ctx); err != nil {
		return false, err
	}
	e.counts.Gradient++
	f, err := e.evaluate(ctx, z, grad)
	if err == nil {
		for i, g := range grad {
			if math.IsNaN(g) || math.IsInf(g, 0) {
				f, err = math.NaN(), undefined(fmt.Sprintf("component %d of the gradient", i), g)
				break
			}
		}
	}
	if f, err = e.judge(ctx, f, err); err != nil {
		return false, err
	}
	if math.IsInf(f, 1) {
		for i := range grad {
			grad[i] = math.NaN()
		}
		return false, nil
	}
	e.last = Point{Z: slices.Clone(z), F: e.valued.F, G: slices.Clone(grad)}
	if slices.Equal(z, e.best.Z) {
		e.best.G = e.last.G
	}
	return true, nil
}

// Curvature returns the objective's curvature at z, a point with a finite gradient; see [Curved]. It
// is nil if there is none, or with more than [MostModelled] parameters. If the objective has evaluated another point since, it evaluates z again.
func (e *Oracle) Curvature(ctx context.Context, z []float64, exact bool) (h Metric, err error) {
	obj, ok := e.obj.(Curved)
	if !ok || len(z) > MostModelled {
		return nil, nil
	}
	if err := cancelled(ctx); err != nil {
		return nil, err
	}
	if !slices.Equal(e.sloped, z) {
		e.counts.Value++
		e.counts.Gradient++
		e.sloped, e.live = append(e.sloped[:0], z...), false
	}
	h = make(Metric, len(z)*len(z))
	if found, err := e.log.ReplayMatrix(z, h); found || err != nil {
		return e.counted(h, exact), err
	}
	defer catch(&err)
	e.buf = append(e.buf[:0], z...)
	if !e.live {
		grad := make([]float64, len(z))
		if _, err := obj.Value(ctx, e.buf); err != nil {
			return nil, err
		}
		if _, err := obj.ValueGradient(ctx, e.buf, grad); err != nil {
			return nil, err
		}
		e.live = true
	}
	got, err := obj.Curvature(ctx, e.buf, exact)
	switch {
	case IsInfeasible(err):
		got = nil
	case err != nil:
		_, err = e.judge(ctx, 0, err)
		return nil, err
	}
	if clear(h); got != nil {
		copy(h, got)
	}
	return e.counted(h, exact), e.log.RecordMatrix(z, h)
}

// counted counts a matrix and returns it, or nil if it is 0 or not finite.
func (e *Oracle) counted(h Metric, exact bool) Metric {
	size := floats.Norm(h, 1)
	switch {
	case !(size > 0) || math.IsInf(size, 1):
		return nil
	case exact:
		e.counts.Hessian++
	default:
		e.counts.Information++
	}
	return h
}

// evaluate returns the next evaluation from the log, if it has one. Otherwise it
// calls the objective and records the result.
func (e *Oracle) evaluate(ctx context.Context, z, grad []float64) (f float64, err error) {
	if e.sloped, e.live = e.sloped[:0], false; grad != nil {
		e.sloped = append(e.sloped, z...)
	}
	if f, found, err := e.log.Replay(z, grad); found || err != nil {
		return f, err
	}
	defer catch(&err)
	e.buf, e.live = append(e.buf[:0], z...), true
	if grad == nil {
		f, err = e.obj.Value(ctx, e.buf)
	} else {
		f, err = e.obj.ValueGradient(ctx, e.buf, grad)
	}
	if failure := e.log.Record(z, f, grad, err); failure != nil {
		return 0, failure
	}
	return f, err
}

// catch converts a panic of an objective to an error; call it by defer.
func catch(err *error) {
	if r := recover(); r != nil {
		*err = &PanicError{Value: r, Stack: debug.Stack()}
	}
}

// judge classifies the outcome of a call as finite, infeasible (+Inf, counted) or error.
func (e *Oracle) judge(ctx context.Context, f float64, err error) (float64, error) {
	switch {
	case err == nil && !math.IsNaN(f) && !math.IsInf(f, 0):
		return f, nil
	case err == nil:
		err = undefined("the objective", f)
	case IsInfeasible(err):
	default:
		if cause := cancelled(ctx); cause != nil && !errors.Is(err, context.Cause(ctx)) {
			err = errors.Join(cause, err)
		}
		return 0, err
	}
	e.counts.Infeasible++
	e.reason = err
	return math.Inf(1), nil
}

// cancelled returns nil while ctx is active, and then its error with the cause, if one was given.
func cancelled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// undefined returns the reason for an infeasible point without another error: the objective
// or a component of its gradient is NaN or an infinity there.
func undefined(what string, value float64) error {
	return fmt.Errorf("%s is %g%.0w", what, value, errUndefined) // the text alone
}

var errUndefined = errors.New("not a finite number")
