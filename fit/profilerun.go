package fit

import (
	"context"
	"math"
	"time"

	"gpfit/device"
	"gpfit/fit/internal/auto"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
)

// Profile fits the job, as [Run] does, and evaluates its objective along parameters.
// On a host and with several backends, points are evaluated side by side. It returns the errors
// of a fit, [*problem.OptionError], and [*problem.CancelledError] if ctx is cancelled: a part of
// a profile is not returned.
func Profile(ctx context.Context, j *tuning.Job, o ProfileOptions, backends ...device.Backend) (*summary.Profile, error) {
	began := time.Now()
	if j.Options.Robust {
		return nil, problem.OptionErrorf("robust", "", "profiles do not know the noise variances of single rows: profile a fit without the option, and not from a robust model")
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if j.Options.Auto() { // the kernel's parameters are the axes
		w := &tuning.Workplace{Job: j, Backends: backends, Crew: &tuning.Crew{}}
		_, err := auto.Choose(ctx, w, nil)
		w.Close()
		if err != nil {
			return nil, err
		}
		j = w.Job
	}
	sections, err := profiled(j.Prepared, o)
	if err == nil {
		err = checkProfileSize(o, sections)
	}
	if err != nil {
		return nil, err
	}
	given, err := optionRanges(j.Prepared, o, sections)
	if err == nil && o.Show == summary.ProfileFits {
		err = checkFits(j.Prepared)
	}
	if err != nil {
		return nil, err
	}
	p, err := profileLowest(ctx, j, o, sections, given, backends)
	switch {
	case problem.IsCancelled(err):
		return nil, &problem.CancelledError{Msg: "interrupted before the profile was complete: nothing was written", Err: err}
	case err != nil:
		return nil, err
	}
	p.finish()
	p.out.Seconds = time.Since(began).Seconds()
	return p.out, nil
}

// finish fills in what follows from the points.
func (p *profiler) finish() {
	out := p.out
	out.Evaluations = counts(p.counts, p.counts)
	if from := p.job.Sample; out.Show == summary.ProfileFits {
		out.Input, out.Target, out.Inputs, out.Targets = from.Data.FeatureNames[from.Columns[0]], from.TargetName(0), from.X, from.Y
	}
	out.Warnings = append(out.Warnings, p.moves...)
	likelihood := out.ObjectiveName == string(problem.NLML)
	first := 0
	for i := range out.Sections {
		s := &out.Sections[i]
		findLowest(s, p.points[first:first+len(s.Points)])
		if out.Show == summary.ProfileCurves && likelihood && (p.opts.Others == summary.OthersTuned || p.nothingElse(p.points[first])) && p.atFit(s) {
			findInterval(s, p.job)
		}
		first += len(s.Points)
	}
	p.warnPoints()
	p.warnLower()
	p.warnEnds()
}

// warnPoints warns of points at which the objective is not defined, or the others are not tuned
// to the end.
func (p *profiler) warnPoints() {
	undefined, cut := 0, 0
	for _, point := range p.points {
		if math.IsInf(point.F, 1) {
			undefined++
		}
		if point.Cut {
			cut++
		}
	}
	if undefined > 0 {
		p.warn("the objective is not defined at %d of %d points, which are empty: the covariance is not positive definite there; option range leaves them out, and option max-jitter allows a jitter", undefined, len(p.points))
	}
	if cut > 0 {
		p.warn("at %d of %d points the evaluations were used up before the other parameters converged: option max-evals allows more", cut, len(p.points))
	}
}

// warnEnds warns of curves that are lowest at an end which is no bound.
func (p *profiler) warnEnds() {
	if p.out.Show != summary.ProfileCurves {
		return
	}
	for i := range p.out.Sections {
		s := &p.out.Sections[i]
		last := len(s.Points) - 1
		if s.Lowest != 0 && s.Lowest != last {
			continue
		}
		a := &s.Axes[0]
		q, v := p.job.Params.Free[a.Index], a.Values[s.Lowest]
		const near = 1e-9
		if s.Lowest == 0 && v <= q.Lower*(1+near) && q.Log || s.Lowest == last && v >= q.Upper*(1-near) && q.Log {
			continue
		}
		p.warn("the curve of %s is lowest at the end of its range, %.6g: option range gives it another one", a.Name, v)
	}
}
