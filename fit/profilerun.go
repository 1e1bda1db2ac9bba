package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gpfit/device"
)

// Profile fits the job, as [Job.Fit] does, and evaluates its objective along parameters.
// On a host and with several backends, points are evaluated side by side. Errors are those
// of a fit, [*OptionError], and [*CancelledError] if ctx is cancelled: a part of a profile
// is not returned.
func (j *Job) Profile(ctx context.Context, o ProfileOptions, backends ...device.Backend) (*Profile, error) {
	began := time.Now()
	if err := j.sharedParameters("profiles"); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	sections, err := j.profiled(o)
	if err != nil {
		return nil, err
	}
	if err := checkProfileSize(o, sections); err != nil {
		return nil, err
	}
	given, err := j.optionRanges(o, sections)
	if err != nil {
		return nil, err
	}
	if o.Show == ProfileFits {
		if err := j.checkFits(); err != nil {
			return nil, err
		}
	}
	report, err := j.fitForProfile(ctx, backends)
	if err != nil {
		return nil, err
	}
	p, err := j.newProfiler(o, report)
	if err != nil {
		return nil, err
	}
	p.layOut(sections, given)
	if err := p.run(ctx, backends); err != nil {
		if isCancelled(err) {
			err = &CancelledError{Msg: "interrupted before the profile was complete: nothing was written"}
		}
		return nil, err
	}
	p.finish()
	p.out.Seconds = time.Since(began).Seconds()
	return p.out, nil
}

// fitForProfile fits the job and returns its report, with standard errors if there are any.
func (j *Job) fitForProfile(ctx context.Context, backends []device.Backend) (*Report, error) {
	sub := j.with(func(p *Prepared) {
		p.opts.DiscardCancelled, p.opts.Posterior, p.opts.Checkpoint = true, "", ""
		p.opts.StdErrors = !p.opts.Objective.predictive()
	})
	out, err := sub.Fit(ctx, backends...)
	if out != nil {
		defer out.Close()
	}
	if isCancelled(err) {
		return nil, &CancelledError{Msg: "interrupted before the profile was complete: nothing was written"}
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
	out.Evaluations = Counts{Value: p.counts.Value, Gradient: p.counts.Gradient, Infeasible: p.counts.Infeasible,
		FullSizeValue: p.counts.Value, FullSizeGradient: p.counts.Gradient}
	if from := p.job.sample; out.Show == ProfileFits {
		out.Input, out.Target, out.Inputs, out.Targets = from.data.FeatureNames[from.columns[0]], from.targetName(0), from.x, from.y
	}
	likelihood := out.ObjectiveName == string(NLML)
	first := 0
	for i := range out.Sections {
		s := &out.Sections[i]
		s.findLowest(p.around[first:first+len(s.Points)], first)
		if out.Show == ProfileCurves && likelihood && (p.opts.Others == OthersTuned || p.nothingElse(first)) {
			s.findInterval(p.job)
		}
		first += len(s.Points)
	}
	p.warnUndefined()
	p.warnCut()
	p.warnBetter()
	p.warnEnds()
}

// warnUndefined warns of points at which the objective is not defined.
func (p *profiler) warnUndefined() {
	undefined := 0
	for _, point := range p.points {
		if math.IsInf(point.f, 1) {
			undefined++
		}
	}
	if undefined > 0 {
		p.warn("the objective is not defined at %d of %d points, which are empty: the covariance is not positive definite there; option range leaves them out, and option max-jitter allows a jitter", undefined, len(p.points))
	}
}

// warnCut warns of points at which the others are not tuned to the end.
func (p *profiler) warnCut() {
	cut := 0
	for _, point := range p.points {
		if point.cut {
			cut++
		}
	}
	if cut > 0 {
		p.warn("at %d of %d points the evaluations were used up before the other parameters converged: option max-evals allows more", cut, len(p.points))
	}
}

// warnBetter warns if a point is lower than the best optimum of the fit.
func (p *profiler) warnBetter() {
	best, at := p.out.Optima[0].Objective-profileBetter, -1
	for k, point := range p.points {
		if point.f < best {
			best, at = point.f, k
		}
	}
	if at >= 0 {
		p.warn("%s is %.6f at %s, lower than at the best optimum of the fit, %.6f: the fit missed an optimum; option restarts tries more starts, and option bounds allows other values",
			objectiveLabel(p.out.ObjectiveName), best, pointName(p.section[at].Axes, p.points[at]), p.out.Optima[0].Objective)
	}
}

// warnEnds warns of curves that are lowest at an end which is no bound.
func (p *profiler) warnEnds() {
	if p.out.Show != ProfileCurves {
		return
	}
	for i := range p.out.Sections {
		s := &p.out.Sections[i]
		last := len(s.Points) - 1
		if s.Lowest != 0 && s.Lowest != last {
			continue
		}
		a := &s.Axes[0]
		q, v := p.job.params.free[a.index], a.Values[s.Lowest]
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
