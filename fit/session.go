package fit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/graph"
)

// session is a task on a device: a workspace and the objective on it. It is the
// objective that the optimiser sees. If its device is lost, or turns out too
// small, it moves to the fallback that the options allow and evaluates the same
// point there: the optimiser goes on as if nothing had happened.
type session struct {
	task *Task
	ws   device.Workspace
	obj  *graph.Objective
	info device.Info
	// owned is a fallback backend that the session opened itself.
	owned device.Backend
	// before counts the evaluations on devices that were lost, repeated those
	// that failed there and were done again.
	before   graph.Evaluations
	repeated graph.Evaluations
	warnings []string
	// spent is the time in evaluations.
	spent time.Duration
}

// open puts the task on b, or on the fallback if its memory does not suffice.
func (t *Task) open(ctx context.Context, b device.Backend) (*session, error) {
	s := &session{task: t}
	err := s.attach(ctx, b)
	if s.canMove(err) {
		err = s.move(ctx, err, b.Info().Name)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// attach builds workspace and objective on b.
func (s *session) attach(ctx context.Context, b device.Backend) error {
	t := s.task
	if err := b.Supports(t.program); err != nil {
		return err
	}
	ws, err := b.NewWorkspace(ctx, t.points)
	if err != nil {
		return err
	}
	obj, err := graph.Build(ws, t.spec())
	if err != nil {
		ws.Close()
		return err
	}
	names := obj.Names()
	if !slices.EqualFunc(names, t.params, func(n string, p parameter) bool { return n == p.name }) {
		ws.Close()
		return fmt.Errorf("fit: the graph's parameters are %v", names)
	}
	s.ws, s.obj, s.info = ws, obj, b.Info()
	s.ws.OnProgress(t.opts.OnProgress)
	return nil
}

func (s *session) close() {
	if s.ws != nil {
		_ = s.ws.Close()
	}
	if s.owned != nil {
		_ = s.owned.Close()
	}
	s.ws, s.owned = nil, nil
}

// canMove says whether an error is the device's and a fallback is left.
func (s *session) canMove(err error) bool {
	var lost *device.LostError
	var memory *device.MemoryError
	var unsupported *device.UnsupportedKernelError
	return s.owned == nil && s.task.opts.Fallback != nil &&
		(errors.As(err, &lost) || errors.As(err, &memory) || errors.As(err, &unsupported))
}

// move goes on on the fallback device.
func (s *session) move(ctx context.Context, cause error, from string) error {
	b, err := s.task.opts.Fallback(ctx)
	if err != nil {
		return errors.Join(cause, fmt.Errorf("and the fallback device cannot be had: %w", err))
	}
	if s.ws != nil {
		e := s.obj.Evaluations()
		s.before.Value += e.Value
		s.before.Gradient += e.Gradient
		_ = s.ws.Close()
	}
	s.ws, s.owned = nil, b
	if err := s.attach(ctx, b); err != nil {
		return errors.Join(cause, err)
	}
	warning := fmt.Sprintf("%s failed (%v): went on on %s from evaluation %d", from, cause, s.info.Name, s.before.Value)
	s.warnings = append(s.warnings, warning)
	if s.task.opts.OnWarning != nil {
		s.task.opts.OnWarning(warning)
	}
	return nil
}

// retry calls f, and once more on the fallback if the device failed. once is
// what f counts as.
func (s *session) retry(ctx context.Context, once graph.Evaluations, f func() (float64, error)) (float64, error) {
	began := time.Now()
	defer func() { s.spent += time.Since(began) }()
	v, err := f()
	if !s.canMove(err) {
		return v, err
	}
	if err := s.move(ctx, err, s.info.Name); err != nil {
		return 0, err
	}
	s.repeated.Value += once.Value
	s.repeated.Gradient += once.Gradient
	return f()
}

// Value implements [hyperopt.Objective].
func (s *session) Value(ctx context.Context, z []float64) (float64, error) {
	return s.retry(ctx, graph.Evaluations{Value: 1}, func() (float64, error) { return s.obj.Value(ctx, z) })
}

// ValueGradient implements [hyperopt.Objective].
func (s *session) ValueGradient(ctx context.Context, z, grad []float64) (float64, error) {
	return s.retry(ctx, graph.Evaluations{Value: 1, Gradient: 1}, func() (float64, error) { return s.obj.ValueGradient(ctx, z, grad) })
}

// evaluations counts those on all devices that the session was on.
func (s *session) evaluations() graph.Evaluations {
	e := s.obj.Evaluations()
	return graph.Evaluations{Value: e.Value + s.before.Value, Gradient: e.Gradient + s.before.Gradient}
}

// residualFrom is the number of points from which a factor is checked where the
// device can: beyond the sizes that libraries are commonly used at.
const residualFrom = 40000

// residual checks the factor of the last evaluation, nil if that was not done.
func (s *session) residual(ctx context.Context) (*float64, error) {
	checker, ok := s.ws.(device.ResidualChecker)
	if !ok || s.ws.N() < s.task.residualFrom {
		return nil, nil
	}
	r, err := checker.Residual(ctx)
	if err == nil && !(r <= maxResidual) {
		err = fmt.Errorf("fit: the factor computed by %s is wrong: ‖ΣΣ⁻¹e − e‖ = %g on sampled columns; do not use this device or its libraries", s.info.Name, r)
	}
	return &r, err
}

// maxResidual is what no stable factorisation exceeds at noise variances down
// to 1e-6 of the signal; 1e-8 is to be expected.
const maxResidual = 1e-4
