package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/transform"
	"gpfit/method/experts"
)

// Placement is a job on a device: a workspace and the objective on it, which the optimizer
// evaluates. If its device is lost, or turns out too small, the session moves to the fallback that
// the options allow and evaluates the same point there, so that the optimizer does not notice.
type Placement struct {
	Job       *Job
	Workspace device.Workspace
	Objective *graph.Objective
	Info      device.Info
	// from is the backend on which the session was opened.
	from device.Backend
	// owned is a fallback backend that the session opened itself.
	owned device.Backend
	// gauge counts operations, plan has the operations of a value, and under is the latest progress of the evaluation under way.
	gauge    func(flops float64)
	plan     func() device.Plan
	under    device.Progress
	asked    int // values requested, for messages
	Warnings []string
	spent    time.Duration // in evaluations
	// Checked says whether a factor was checked since it was set to false, and
	// checkedResidual is the result.
	Checked         bool
	checkedResidual *float64
	// Condition is the condition number that EstimateCondition found, and Digits are the decimal digits that it leaves; nil if
	// it found none.
	Condition, Digits *float64
	// Approximation says how far a method may be off that is not exact; nil for others, and before Approximate.
	Approximation *gp.Approximation
	correction    correction
	// Crew, if not nil, are the sessions that share the threads of the device.
	Crew *Crew
	// Best is the lowest value so far; nil before the first.
	Best *Best
	// onClose, if not nil, is called when the session is closed.
	onClose func(*Placement)
}

// Open opens the job on b, or on the fallback if b cannot take it.
func (j *Job) Open(ctx context.Context, b device.Backend) (*Placement, error) {
	s := &Placement{Job: j}
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
func (s *Placement) attach(ctx context.Context, b device.Backend) error {
	j := s.Job
	if j.Options.TargetTransform == transform.Auto {
		return problem.OptionErrorf("target-transform", string(transform.Auto), "only a fit chooses it: give one of the transforms")
	}
	s.from = b
	return s.on(ctx, j.backend(b))
}

// on builds workspace and objective on the backend for the job.
func (s *Placement) on(ctx context.Context, b device.Backend) error {
	j := s.Job
	if err := b.Supports(j.workload()); err != nil {
		return err
	}
	ws, err := b.NewWorkspace(ctx, j.Sample.Points)
	if err != nil {
		return err
	}
	spec := j.Spec()
	spec.Device, spec.Threads = b.Info().Name, b.Info().Threads
	obj, err := graph.Build(ws, spec)
	if err == nil && !slices.Equal(obj.Names(), j.Params.IndexedNames()) {
		err = fmt.Errorf("fit: the graph's parameters are %v", obj.Names())
	}
	if err != nil {
		ws.Close()
		return err
	}
	s.Workspace, s.Objective, s.Info, s.Checked, s.checkedResidual = ws, obj, b.Info(), false, nil
	s.plan = sync.OnceValue(func() device.Plan { return b.Plan(j.workload()) })
	s.gauge = j.Meter.Gauge(func() float64 {
		return cmp.Or(device.GradientTime(b, j.workload()).Seconds(), unknownTime) / max(1, s.plan().FlopsGradient)
	})
	s.Listen(j.Events.OnProgress)
	return nil
}

// Listen calls f, unless it is nil, with the progress of evaluations, which count as work of the fit.
func (s *Placement) Listen(f func(device.Progress)) {
	if s.Job.Meter == nil {
		s.Workspace.OnProgress(f)
		return
	}
	s.Workspace.OnProgress(func(p device.Progress) {
		s.gauge(worked(s.under, p, s.plan()))
		s.under = p
		if f != nil {
			f(p)
		}
	})
}

// worked returns the operations of an evaluation since the progress before, by the plan: methods also count other things, or only
// large operations.
func worked(before, now device.Progress, plan device.Plan) float64 {
	more := now.Done
	if now.Stage == before.Stage && now.Done >= before.Done {
		more -= before.Done
	}
	planned := map[string]float64{"factor": plan.FlopsValue, "gradient": plan.FlopsGradient - plan.FlopsValue}
	return more * max(1, planned[now.Stage]/max(1, now.Total))
}

// Close implements [hyperopt.Session]. It may be called twice.
func (s *Placement) Close() {
	if s.onClose != nil {
		s.onClose(s)
		s.onClose = nil
	}
	if s.Workspace != nil {
		_ = s.Workspace.Close()
	}
	if s.owned != nil {
		_ = s.owned.Close()
	}
	s.Workspace, s.owned = nil, nil
}

// canMove reports whether an error is the device's and a fallback is left.
func (s *Placement) canMove(err error) bool {
	return s.owned == nil && s.Job.Events.Fallback != nil &&
		(isA[*device.LostError](err) || isA[*device.MemoryError](err) || isA[*device.UnsupportedKernelError](err) || isA[*device.WrongError](err))
}

// move continues on the fallback device.
func (s *Placement) move(ctx context.Context, cause error, from string) error {
	b, err := s.Job.Events.Fallback(ctx)
	if err != nil {
		return errors.Join(cause, fmt.Errorf("and the fallback device cannot be opened: %w", err))
	}
	if s.Workspace != nil {
		_ = s.Workspace.Close()
	}
	s.Workspace, s.owned = nil, b
	if err := s.attach(ctx, b); err != nil {
		return errors.Join(cause, err)
	}
	warning := fmt.Sprintf("%s failed (%v): gpfit continued on %s from evaluation %d", from, cause, s.Info.Name, s.asked)
	s.Warnings = append(s.Warnings, warning)
	if s.Job.Events.OnWarning != nil {
		s.Job.Events.OnWarning(warning)
	}
	return nil
}

// retry calls f for the objective. If the device failed or was wrong, it calls f again on the
// fallback.
func (s *Placement) retry(ctx context.Context, z, grad []float64, f func(o *graph.Objective, ctx context.Context, z, grad []float64) (float64, error)) (float64, error) {
	began := time.Now()
	s.under = device.Progress{}
	leave := s.Crew.enter(s.Workspace, s.Info.Threads)
	defer func() {
		leave()
		s.spent += time.Since(began)
	}()
	v, err := f(s.Objective, ctx, z, grad)
	if gone, rest := s.goExact(ctx, err); gone {
		v, err = f(s.Objective, ctx, z, grad)
	} else {
		err = rest
	}
	if err == nil && v-v == 0 {
		_, err = s.Residual(context.WithoutCancel(ctx)) // it takes n² operations
	}
	if !s.canMove(err) {
		return v, err
	}
	if err := s.move(ctx, err, s.Info.Name); err != nil {
		return 0, err
	}
	return f(s.Objective, ctx, z, grad)
}

// Value implements [descent.Func].
func (s *Placement) Value(ctx context.Context, z []float64) (float64, error) {
	s.asked++
	f, err := s.retry(ctx, z, nil, func(o *graph.Objective, ctx context.Context, z, _ []float64) (float64, error) { return o.Value(ctx, z) })
	if err == nil {
		s.Job.Meter.Valued(f, s.Job.N())
	}
	if err == nil && f-f == 0 && (s.Best == nil || f < s.Best.F) {
		s.Best = &Best{Job: s.Job, Z: slices.Clone(z), F: f, kept: s.Objective.Keep(z)}
	}
	return f, err
}

// Best is an evaluation of a job with all that a model needs of it.
type Best struct {
	Job  *Job
	Z    []float64
	F    float64
	kept *graph.Kept
}

// Recall makes an evaluation of the same problem the last one, in O(n) operations. The factor is formed when
// something needs it.
func (s *Placement) Recall(b *Best) error {
	s.Checked, s.checkedResidual = false, nil
	return b.kept.Recall(s.Objective)
}

// ValueGradient implements [descent.Func].
func (s *Placement) ValueGradient(ctx context.Context, z, grad []float64) (float64, error) {
	return s.retry(ctx, z, grad, (*graph.Objective).ValueGradient)
}

// Curvature implements [descent.Curved].
func (s *Placement) Curvature(ctx context.Context, z []float64, exact bool) (h descent.Metric, err error) {
	_, err = s.retry(ctx, z, make([]float64, len(z)), func(o *graph.Objective, ctx context.Context, z, grad []float64) (float64, error) {
		f, err := o.ValueGradient(ctx, z, grad) // it costs nothing at the point of the last one
		if err == nil {
			h, err = o.Curvature(ctx, exact)
		}
		return f, err
	})
	if isA[*device.UnsupportedError](err) {
		return nil, nil
	}
	return h, err
}

// HessianIsDear reports whether a Hessian takes more than some gradients: a method with a bound computes it by differences of these.
func (s *Placement) HessianIsDear() bool {
	_, bounded := s.Workspace.(device.Bounded)
	return bounded
}

// LeaveOut returns the scores of leave-one-out and of leave-one-place-out at z, for any objective.
func (s *Placement) LeaveOut(ctx context.Context, z []float64) (rows, places graph.LeftOut, err error) {
	_, err = s.retry(ctx, z, nil, func(o *graph.Objective, ctx context.Context, z, _ []float64) (float64, error) {
		f, err := o.Value(ctx, z)
		if err != nil {
			return 0, err
		}
		if rows, err = o.LeaveOneOut(ctx); err == nil {
			places, err = o.LeavePlacesOut(ctx)
		}
		return f, err
	})
	return rows, places, err
}

// maxResidual is a residual that no stable factorization exceeds at noise variances
// down to 1e-6 of the signal. The expected residual is 1e-8.
const maxResidual = 1e-4

// residualLimit returns the largest residual that is accepted for a factor, given the
// residual that rounding explains on average. The limit is √n times the average, in
// case roundings do not cancel, but this factor does not raise it above maxResidual.
func residualLimit(n int, average float64) float64 {
	return max(average, min(maxResidual, math.Sqrt(float64(n))*average))
}

// Residual checks the factor of the last evaluation if no factor was checked since
// checked was last false. It returns the residual of the last check, or nil if the device
// cannot check or the problem is small.
func (s *Placement) Residual(ctx context.Context) (*float64, error) {
	checker, ok := s.Workspace.(device.ResidualChecker)
	if s.Checked || !ok || s.Workspace.N() < s.Job.ResidualFrom {
		return s.checkedResidual, nil
	}
	if err := s.Objective.Restore(ctx); err != nil {
		return nil, err
	}
	r, err := checker.Residual(ctx)
	if limit := residualLimit(s.Workspace.N(), s.Objective.ResidualLimit()); err == nil && !(r <= limit) {
		err = &device.WrongError{Device: s.Info.Name, What: fmt.Sprintf("factor: ‖ΣΣ⁻¹e − e‖ = %.3g on sampled vectors, of which rounding explains %.3g", r, limit)}
	}
	s.Checked, s.checkedResidual = err == nil, &r
	return &r, err
}

// Posterior returns the posterior of a model of the session's last evaluation. It calibrates
// local experts.
func (s *Placement) Posterior(ctx context.Context, m *gp.Model) (*gp.Posterior, error) {
	if err := s.Objective.Restore(ctx); err != nil {
		return nil, err
	}
	if s.Job.Experts.Several() {
		in := experts.Training{Program: s.Job.Program(), Theta: m.Theta, Noise: m.NoiseDiagonal(), Residual: m.Residuals(), Alpha: m.Alpha}
		p, err := experts.Calibrate(ctx, s.Workspace, in)
		if err != nil {
			return nil, err
		}
		m.State = p.State()
	}
	return m.Attach(s.Workspace)
}

// sideBySide is the number of rows up to which starts on one host are evaluated at the same
// time, each with its share of the threads. An evaluation does not get faster in proportion
// to its threads, and least on few rows. sideBySideBytes limits the memory of the matrices.
const (
	sideBySide      = 2000
	sideBySideBytes = 1 << 29
)

// Crew counts the sessions that are evaluating on the threads of a host.
type Crew struct{ busy atomic.Int32 }

// CrewSize returns how many sessions over a number of rows share a host with a number of threads.
func CrewSize(rows, threads int) int {
	if rows > sideBySide {
		return 1
	}
	return max(1, min(threads, sideBySideBytes/(8*max(rows, 1)*max(rows, 1))))
}

// enter gives a workspace that begins an evaluation its share of a host's threads. The
// shares of others change with their next evaluation. Call leave after the evaluation.
func (c *Crew) enter(ws device.Workspace, threads int) (leave func()) {
	limiter, ok := ws.(device.ThreadLimiter)
	if c == nil || !ok {
		return func() {}
	}
	limiter.LimitThreads(threads / int(c.busy.Add(1)))
	return func() { c.busy.Add(-1) }
}
