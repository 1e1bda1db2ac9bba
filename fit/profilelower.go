package fit

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/textform"
)

// A profile with a point below the fit fits again from there, over all parameters, and begins
// again at the lower optimum.
const (
	// profileBetter is the least distance of the lower optimum, in nats, and profileHint the least
	// distance of the point, of a curve whose points may lie on both sides of its minimum.
	profileBetter, profileHint = 0.1, 0.01
	// profileFits is the largest number of lower optima.
	profileFits = 20
)

// profileLowest fits the job and evaluates its profile, again from each lower optimum.
func profileLowest(ctx context.Context, j *tuning.Job, o ProfileOptions, sections [][]int, given map[int]problem.Interval, backends []device.Backend) (*profiler, error) {
	report, err := fitForProfile(ctx, j, backends)
	if err != nil {
		return nil, err
	}
	first, where := report.Objective, ""
	p := &profiler{job: j, opts: o}
	for fits, left := 0, profileFits; ; {
		if err := p.begin(report); err != nil {
			return nil, err
		}
		p.layOut(sections, given)
		if err := p.run(ctx, backends, func() bool { return left > 0 && p.lower(profileBetter) != nil }); err != nil {
			return nil, err
		}
		if q := p.lower(profileHint); q != nil && left > 0 {
			next, err := p.fitFrom(ctx, q, backends)
			if err != nil {
				return nil, err
			}
			switch {
			case next.Objective < report.Objective-profileBetter:
				next.Evaluations.Add(report.Evaluations)
				next.Iterations, next.Seconds, next.EvaluationSeconds = next.Iterations+report.Iterations, next.Seconds+report.Seconds, next.EvaluationSeconds+report.EvaluationSeconds
				report, where = next, q.name()
				fits, left = fits+1, left-1
				continue
			case p.lower(profileBetter) != nil: // the profile is not complete
				left = 0
				continue
			}
			e := next.Evaluations
			p.counts.Add(descent.Evaluations{Value: e.Value, Gradient: e.Gradient, Infeasible: e.Infeasible, Hessian: e.Hessian})
		}
		if fits > 0 {
			p.warn("the fit missed an optimum: it ended at %s %.6f, and %s from lower points of the profile, the last with %s, at %.6f, to which all of this profile belongs; option set starts gpfit fit at its parameters",
				problem.ObjectiveLabel(p.out.ObjectiveName), first, textform.Counted(fits, "further fit"), where, report.Objective)
		}
		return p, nil
	}
}

// fitForProfile fits the job and returns its report, with standard errors if there are any.
func fitForProfile(ctx context.Context, j *tuning.Job, backends []device.Backend) (*summary.Report, error) {
	sub := j.With(func(p *problem.Prepared) {
		p.Options.DiscardCancelled, p.Options.Posterior, p.Options.Checkpoint = true, "", ""
		p.Options.NoiseFloor = cmp.Or(p.Options.NoiseFloor, problem.NoNoiseFloor) // only the objective
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

// fitFrom fits the job from a point, as the fit before did from the start values. It ends no
// higher than a descent from there.
func (p *profiler) fitFrom(ctx context.Context, from *gridPoint, backends []device.Backend) (*summary.Report, error) {
	return fitForProfile(ctx, p.job.With(func(q *problem.Prepared) {
		q.Params = startingAt(q.Params, from.Z)
		s := &q.Options.Settings
		s.Metric = nil
		if s.Coarse != hyperopt.CoarseOff {
			s.Coarse = hyperopt.CoarseCheck
		}
	}), backends)
}

// startingAt returns the parameters with the start values of z, moved within the bounds.
func startingAt(p *problem.ParameterList, z []float64) *problem.ParameterList {
	return p.Changed(func(i int, q *problem.Parameter) {
		if !q.Fixed {
			q.Start = min(max(q.Natural(z[i]), q.Lower), q.Upper)
		}
	})
}

// lower returns the lowest point to which a fit may go, and that is this many nats or more below the fit; nil if there is
// none.
func (p *profiler) lower(nats float64) (lowest *gridPoint) {
	best := p.out.Optima[0].Objective - nats
	for _, q := range p.points {
		if q.F < best && q.allowed(p.job.Params.Free) {
			best, lowest = q.F, q
		}
	}
	return lowest
}

// warnLower warns of points below the fit.
func (p *profiler) warnLower() {
	best := p.out.Optima[0].Objective
	lowest := func(s *summary.ProfileSection) float64 {
		if s.Lowest < 0 {
			return math.Inf(1)
		}
		return s.Points[s.Lowest].F
	}
	if q := p.lower(profileBetter); q != nil {
		p.warn("fits from lower points have not led to the lowest: %s is %.6f at the optimum and %.6f at %s, so there are no intervals; option restarts tries more starts, and option max-evals lets descents go on",
			problem.ObjectiveLabel(p.out.ObjectiveName), best, q.F, q.name())
		return
	}
	for i := range p.out.Sections {
		if s := &p.out.Sections[i]; lowest(s) < best-profileBetter {
			p.warn("%s is %.6f at %s, lower than at the optimum of the fit, %.6f: a fit with other bounds (option bounds), or without option fix, goes there",
				problem.ObjectiveLabel(p.out.ObjectiveName), lowest(s), summary.PointName(s.Axes, &s.Points[s.Lowest]), best)
		}
	}
}

// atFit reports whether the lowest point of a curve is the fit, and no curve has a lower one: only
// then is the curve a profile likelihood around the fit.
func (p *profiler) atFit(s *summary.ProfileSection) bool {
	return s.Lowest >= 0 && math.Abs(s.Points[s.Lowest].F-p.out.Optima[0].Objective) <= profileBetter && p.lower(profileBetter) == nil
}
