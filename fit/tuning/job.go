package tuning

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/kernel"
	"gpfit/mean"
)

// Job is a problem to solve on devices.
type Job struct {
	*problem.Prepared
	Events problem.Events
	// Meter measures how far the fit is; nil without Events.OnFit.
	Meter *hyperopt.Meter
	// Tightened counts how often the tolerance of a method that is not exact was divided by ten.
	Tightened int
	// ResidualFrom is the constant of the same name; tests lower it.
	ResidualFrom int
	// Notice is how long a fit works on after its context was cancelled, to write a model and to score it; tests change it.
	Notice time.Duration
}

// notice leaves two of the ten seconds that documentation promises to what nobody can stop, such as writing.
const notice = 8 * time.Second

// New returns the job of a problem.
func New(p *problem.Prepared, events problem.Events) *Job {
	return &Job{Prepared: p, Events: events, Meter: hyperopt.NewMeter(events.OnFit), ResidualFrom: residualFrom, Notice: notice}
}

// residualFrom is the number of points from which a fit checks factors if the device
// can. The check costs n² operations, less than a hundredth of the factorization.
const residualFrom = 1000

// On returns the job on another sample of the same table. Basis functions and parameters
// still come from all rows.
func (j *Job) On(s *problem.Sample) *Job {
	return j.With(func(p *problem.Prepared) { p.Sample = s })
}

// With returns the job with a changed copy of its problem.
func (j *Job) With(change func(p *problem.Prepared)) *Job {
	sub, p := *j, *j.Prepared
	change(&p)
	sub.Prepared = &p
	return &sub
}

// Expected returns the stages of a fit and about how many values each takes.
func (j *Job) Expected() []hyperopt.Expectation {
	settings := j.Options.Settings
	settings.Restarts = j.Restarts()
	return hyperopt.Expected(settings, j.N(), j.Params.NumFree())
}

// Workload returns what decides about devices and methods for the job: the evaluations of all rows, or
// of the largest expert. The program is unknown if a fit chooses the kernel.
func Workload(j *Job) device.Workload {
	if j.Experts != nil {
		return device.Workload{N: j.LargestMatrix(), D: j.D(), Program: j.Program()}
	}
	w := j.workload()
	if j.Options.Auto() {
		w.Program = nil
	}
	return w
}

// Parts returns how many parts of a fit can run at the same time: starts, of which twice as many begin on half of the rows.
// Local experts are one part.
func Parts(j *Job) int {
	if j.Experts != nil || j.Options.Settings.Restarts == 0 {
		return 1
	}
	return 2 * (1 + j.Options.Settings.Restarts)
}

// workload describes the evaluations of the job.
func (j *Job) workload() device.Workload {
	w := j.Options.Objective.Workload(j.N(), j.D(), j.Sample.FoldEnds())
	noise := j.Sample.Noise
	w.Points, w.Program = j.Sample.Points, j.Program()
	w.Tolerance = (&gp.Approximation{Tolerance: j.Tolerance(), Tightened: j.Tightened}).Wanted(j.Sample.T())
	w.NoiseByRow = j.Options.Robust || len(noise.Known)+len(noise.Weights)+len(noise.Group) > 0
	return w
}

// backend returns the backend on which the job computes: b, with the method for the job if that was left to it, or
// one with its experts on b.
func (j *Job) backend(b device.Backend) device.Backend {
	if j.Experts == nil {
		return device.For(b, j.workload())
	}
	return j.Experts.On(b)
}

// plain returns the job without experts if a number of rows is no more than the largest of
// them has. One exact process then says more about the parameters and costs no more.
func (j *Job) plain(rows int) *Job {
	if j.Experts == nil || rows > j.Experts.Largest() {
		return j
	}
	return j.With(func(p *problem.Prepared) { p.Experts = nil })
}

// usualExpert is the number of rows of each expert in advice: an evaluation takes a fraction
// of a second for each.
const usualExpert = 2000

// AdviseExperts adds local experts to the advice of an error about memory.
func (j *Job) AdviseExperts(err error) error {
	memory, ok := errors.AsType[*device.MemoryError](err)
	if !ok || memory.What != "" || j.N() < 2*usualExpert {
		return err
	}
	if j.Experts != nil {
		return fmt.Errorf("%w; or more local experts with fewer rows each (option experts)", err)
	}
	return fmt.Errorf("%w; or divide the rows among local experts, which is an approximation (option experts kmeans:%d)", err, (j.N()+usualExpert-1)/usualExpert)
}

// noCovariance returns the error that the kernel is not a covariance function, if it is none and this
// explains a failure of the factorization or of a check of the device.
func (j *Job) noCovariance(err error) error {
	if !device.IsNotPD(err) && !isA[*device.WrongError](err) || isCondition(err) {
		return nil
	}
	return j.Disproof()
}

// ExplainStart adds the likely cause and a remedy to a failure at given parameters.
func (j *Job) ExplainStart(err error) error {
	if none := j.noCovariance(err); none != nil {
		return none
	}
	switch {
	case isCondition(err):
	case device.IsNotPD(err) && j.Options.NoNoise:
		return fmt.Errorf("%w: without noise, duplicate rows, or rows that are close compared with the lengthscale, make the covariance singular; leave out option noise none, use a rougher kernel such as matern12 or a shorter lengthscale, or allow option max-jitter", err)
	case device.IsNotPD(err):
		cause, remedy := singular(j.Prepared)
		return fmt.Errorf("%w: the likely cause is %s; raise noise_variance, %s, or allow option max-jitter", err, cause, remedy)
	case isA[*device.NonFiniteError](err), descent.IsInfeasible(err):
		return fmt.Errorf("%w: the data or the parameters are at the limits of double precision; let option standardize scale inputs and targets, or set other parameters", err)
	}
	return err
}

// singular returns the likely cause of a covariance with noise that is singular to rounding, and a
// remedy, by what the kernel and the rows have.
func singular(j *problem.Prepared) (cause, remedy string) {
	cause, remedy = "a noise_variance that is tiny beside the variance of the kernel", "reduce the signal variance"
	if scaled(j) {
		cause, remedy = "a lengthscale far longer than the range of the data", "shorten the lengthscale"
	}
	if x := j.Sample.Points; len(x.Places()) < x.N {
		cause = "duplicate rows with a tiny noise_variance, or " + cause
	}
	return cause, remedy
}

// scaled reports whether distances are divided by a lengthscale.
func scaled(j *problem.Prepared) bool {
	return slices.ContainsFunc(j.Program().Params, func(p kernel.Param) bool { return p.Kind == kernel.Lengthscale })
}

// isCondition reports whether err is a [*mean.ConditionError].
func isCondition(err error) bool { return isA[*mean.ConditionError](err) }

// isA reports whether an error is of a type.
func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// Settings returns the settings for tuning on devices such as b.
func (j *Job) Settings(b device.Backend) hyperopt.Settings {
	s := j.Options.Settings
	s.Precision, s.Restarts = b.Capabilities().Precision, j.Restarts()
	return s
}

// A fit of fewer than restartRows rows without the option has defaultRestarts: they cost a fraction of a second, and
// find a better optimum in one of four such fits. More parameters than restartParameters make each start dear, and
// without noise a start may succeed by rounding alone.
const restartRows, restartParameters, defaultRestarts = 300, 30, 20

// Restarts returns the number of restarts.
func (j *Job) Restarts() int {
	s := j.Options.Settings
	few := j.N() < restartRows && j.Params.NumFree() <= restartParameters
	if s.Restarts == 0 && few && !j.Options.NoNoise && s.Metric == nil && (s.Coarse == "" || s.Coarse == hyperopt.CoarseAuto) {
		return defaultRestarts
	}
	return s.Restarts
}

// WithBest adds the best parameters found to an error that ends a fit.
func (j *Job) WithBest(err error, r *hyperopt.Result) error {
	if r == nil || r.X == nil {
		return err
	}
	out := &problem.UnfinishedError{Err: err}
	for i, p := range j.Params.Free {
		out.Parameters = append(out.Parameters, problem.Assignment{Name: p.Name, Value: p.Natural(r.X[i]), Given: true})
	}
	if !math.IsNaN(r.F) {
		out.Best = fmt.Sprintf("%s %.6f", problem.ObjectiveLabel(j.ObjectiveName()), r.F)
	}
	return out
}

// ExplainFit replaces an optimizer's advice on a start that cannot be evaluated if a
// larger noise variance is not the remedy, or if the kernel has no lengthscale.
func (j *Job) ExplainFit(err error) error {
	if none := j.noCovariance(err); none != nil {
		return none
	}
	if isA[*device.NonFiniteError](err) {
		return j.ExplainStart(err)
	}
	if start, ok := descent.Undefined(err); ok && (j.Options.NoNoise || isCondition(err) || device.IsNotPD(err) && !scaled(j.Prepared)) {
		return j.ExplainStart(start.Err)
	}
	return err
}
