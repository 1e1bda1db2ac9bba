package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/tuning"
)

// Profile fits the job, as [Run] does, and evaluates its objective along parameters.
// On a host and with several backends, points are evaluated side by side. It returns the errors
// of a fit, [*problem.OptionError], and [*problem.CancelledError] if ctx is cancelled: a part of
// a profile is not returned.
func Profile(ctx context.Context, j *tuning.Job, o ProfileOptions, backends ...device.Backend) (*summary.Profile, error) {
	began := time.Now()
	if err := j.SharedParameters("profiles"); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
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
	var p *profiler
	report, err := fitForProfile(ctx, j, backends)
	if err == nil {
		p, err = newProfiler(j, o, report)
	}
	if err == nil {
		p.layOut(sections, given)
		err = p.run(ctx, backends)
	}
	switch {
	case problem.IsCancelled(err):
		return nil, &problem.CancelledError{Msg: "interrupted before the profile was complete: nothing was written"}
	case err != nil:
		return nil, err
	}
	p.finish()
	p.out.Seconds = time.Since(began).Seconds()
	return p.out, nil
}

// fitForProfile fits the job and returns its report, with standard errors if there are any.
func fitForProfile(ctx context.Context, j *tuning.Job, backends []device.Backend) (*summary.Report, error) {
	sub := j.With(func(p *problem.Prepared) {
		p.Options.DiscardCancelled, p.Options.Posterior, p.Options.Checkpoint = true, "", ""
		p.Options.StdErrors = !p.Options.Objective.Predictive()
	})
	out, err := Run(ctx, sub, backends...)
	if out != nil {
		defer out.Close()
	}
	if err != nil {
		return nil, err
	}
	r := &out.Report
	if r.StdErrors != nil && r.StdErrors.Failure != "" { // nobody asked for them
		r.Warnings = slices.DeleteFunc(r.Warnings, func(w string) bool { return strings.HasPrefix(w, noStdErrors) })
		r.StdErrors = nil
	}
	return r, nil
}

// finish fills in what follows from the points.
func (p *profiler) finish() {
	out := p.out
	out.Evaluations = summary.Counts{Value: p.counts.Value, Gradient: p.counts.Gradient, Infeasible: p.counts.Infeasible,
		FullSizeValue: p.counts.Value, FullSizeGradient: p.counts.Gradient}
	if from := p.job.Sample; out.Show == summary.ProfileFits {
		out.Input, out.Target, out.Inputs, out.Targets = from.Data.FeatureNames[from.Columns[0]], from.TargetName(0), from.X, from.Y
	}
	likelihood := out.ObjectiveName == string(problem.NLML)
	first := 0
	for i := range out.Sections {
		s := &out.Sections[i]
		findLowest(s, p.around[first:first+len(s.Points)], first)
		if out.Show == summary.ProfileCurves && likelihood && (p.opts.Others == summary.OthersTuned || p.nothingElse(first)) {
			findInterval(s, p.job)
		}
		first += len(s.Points)
	}
	p.warnPoints()
	p.warnBetter()
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

// warnBetter warns if a point is lower than the best optimum of the fit.
func (p *profiler) warnBetter() {
	best, at := p.out.Optima[0].Objective-profileBetter, -1
	for k, point := range p.points {
		if point.F < best {
			best, at = point.F, k
		}
	}
	if at >= 0 {
		p.warn("%s is %.6f at %s, lower than at the best optimum of the fit, %.6f: the fit missed an optimum; option restarts tries more starts, and option bounds allows other values",
			problem.ObjectiveLabel(p.out.ObjectiveName), best, summary.PointName(p.section[at].Axes, p.points[at]), p.out.Optima[0].Objective)
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

func (p *profiler) warn(format string, args ...any) {
	p.out.Warnings = append(p.out.Warnings, fmt.Sprintf(format, args...))
}
