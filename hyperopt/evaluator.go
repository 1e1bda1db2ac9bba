package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"gpfit/device"
)

// PanicError is a panic of an [Objective], turned into an error.
type PanicError struct {
	// Value is what panic was called with.
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
var errMaxEvaluations = errors.New("hyperopt: evaluation limit reached")

// errHalted ends a start that the race has left behind.
var errHalted = errors.New("hyperopt: left behind")

// point is a place that was evaluated; g is nil where the gradient was not.
type point struct {
	z []float64
	f float64
	g []float64
}

// evaluator calls the objective for one start: it counts, turns infeasible
// points into +Inf, and remembers the best point and the last gradient.
type evaluator struct {
	ctx    context.Context
	obj    Objective
	max    int
	halt   Status // if not StatusNone, the next evaluation ends the start with it
	counts Evaluations
	best   point // lowest finite value seen; z nil before the first
	last   point // latest finite gradient
	valued point // latest Value, finite or not
	reason error // why the latest infeasible point was infeasible
	buf    []float64
}

// value returns f(z), +Inf where f is not defined. An error ends the start.
func (e *evaluator) value(z []float64) (float64, error) {
	if slices.Equal(z, e.last.z) {
		return e.last.f, nil
	}
	if err := cancelled(e.ctx); err != nil {
		return 0, err
	}
	if e.halt != StatusNone {
		return 0, errHalted
	}
	if e.counts.Value >= e.max {
		return 0, errMaxEvaluations
	}
	e.counts.Value++
	e.buf = append(e.buf[:0], z...)
	f, err := call(func() (float64, error) { return e.obj.Value(e.ctx, e.buf) })
	if f, err = e.judge(f, err); err != nil {
		return 0, err
	}
	e.valued = point{z: append(e.valued.z[:0], z...), f: f}
	if f < math.Inf(1) && (e.best.z == nil || f < e.best.f) {
		e.best = point{z: slices.Clone(z), f: f}
	}
	return f, nil
}

// gradient writes ∂f/∂z to grad and reports whether it is finite. An error ends
// the start. The objective has always just been asked for its value at z: if
// the latest value was asked for elsewhere, it is asked for again.
func (e *evaluator) gradient(z, grad []float64) (ok bool, err error) {
	if slices.Equal(z, e.last.z) {
		copy(grad, e.last.g)
		return true, nil
	}
	if !slices.Equal(z, e.valued.z) {
		if _, err := e.value(z); err != nil {
			return false, err
		}
	}
	if err := cancelled(e.ctx); err != nil {
		return false, err
	}
	e.counts.Gradient++
	e.buf = append(e.buf[:0], z...)
	f, err := call(func() (float64, error) { return e.obj.ValueGradient(e.ctx, e.buf, grad) })
	if err == nil {
		for i, g := range grad {
			if math.IsNaN(g) || math.IsInf(g, 0) {
				f, err = math.NaN(), &nonFiniteError{what: fmt.Sprintf("component %d of the gradient", i), value: g}
				break
			}
		}
	}
	if f, err = e.judge(f, err); err != nil {
		return false, err
	}
	if math.IsInf(f, 1) {
		for i := range grad {
			grad[i] = math.NaN()
		}
		return false, nil
	}
	e.last = point{z: slices.Clone(z), f: e.valued.f, g: slices.Clone(grad)}
	if slices.Equal(z, e.best.z) {
		e.best.g = e.last.g
	}
	return true, nil
}

// judge sorts the outcome of a call into finite, infeasible (+Inf, counted) and
// error.
func (e *evaluator) judge(f float64, err error) (float64, error) {
	var nf *nonFiniteError
	switch {
	case err == nil && !math.IsNaN(f) && !math.IsInf(f, 0):
		return f, nil
	case err == nil:
		err = &nonFiniteError{what: "the objective", value: f}
	case errors.As(err, &nf), device.IsNotPD(err):
	default:
		if cause := cancelled(e.ctx); cause != nil && !errors.Is(err, context.Cause(e.ctx)) {
			err = errors.Join(cause, err)
		}
		return 0, err
	}
	e.counts.Infeasible++
	e.reason = err
	return math.Inf(1), nil
}

// cancelled returns nil while ctx lasts, then its error together with the cause
// that was given, if any.
func cancelled(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || cause == err {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// call runs f and turns a panic into an error.
func call(f func() (float64, error)) (v float64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{Value: r, Stack: debug.Stack()}
		}
	}()
	return f()
}

// nonFiniteError is the reason for an infeasible point that has no error of its
// own.
type nonFiniteError struct {
	what  string
	value float64
}

func (e *nonFiniteError) Error() string { return fmt.Sprintf("%s is %g", e.what, e.value) }

// StartError says why a start could not begin: f is not defined there.
type StartError struct {
	// Start is the index of the start.
	Start int
	// Err is the reason; [gpfit/device.IsNotPD] may hold for it.
	Err error
}

func (e *StartError) Error() string {
	if device.IsNotPD(e.Err) {
		return fmt.Sprintf("start %d: %v; likely causes are duplicate rows with a tiny noise variance, "+
			"wildly scaled data, or a lengthscale far beyond the extent of the data: "+
			"raise the start value of the noise variance or its lower bound, or set other start values", e.Start, e.Err)
	}
	return fmt.Sprintf("start %d: %v; likely causes are NaN or wildly scaled data: "+
		"check the data, or set other start values", e.Start, e.Err)
}

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }
