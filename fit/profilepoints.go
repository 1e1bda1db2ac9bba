package fit

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt/descent"
	"gpfit/internal/textform"
)

const (
	// profileStarts is the largest number of optima from which the others are tuned at each point.
	profileStarts = 5
	// profileFree is the distance of the points that also start without the Hessian of the best
	// optimum: longer first steps see other valleys, which the points between learn from these.
	profileFree = 8
	// profileGain is the decrease of the objective that makes a start from a neighbouring
	// point worth a descent. Descents end within about 1e-8.
	profileGain = 1e-5
	// profileRounds is the largest number of times that points learn from their neighbours.
	profileRounds = 200
)

// profiler evaluates the points of a profile.
type profiler struct {
	job      *tuning.Job
	opts     ProfileOptions
	out      *summary.Profile
	settings descent.Options // of the descents of the others
	// metric is the Hessian at the best optimum, nil if it is not known.
	metric descent.Metric
	// optima are the fit's optima, the best first.
	optima   [][]float64
	points   []*gridPoint // of all sections
	sessions []*tuning.Placement
	// moves are the warnings of sessions that are closed.
	moves []string
	// done counts the points of a pass for ProfileOptions.OnPoint.
	done   int
	counts descent.Evaluations
	mu     sync.Mutex // of these numbers
}

// unlikely is the difference to the best objective from which a profile does not show an
// optimum: its likelihood is less than a hundredth. Its place would only stretch the ranges.
const unlikely = 4.6

// begin begins a profile around the fit with this report. The counts of one before go on.
func (p *profiler) begin(r *summary.Report) error {
	j, o := p.job, p.opts
	p.optima, p.points, p.metric = nil, nil, nil
	p.out = &summary.Profile{Type: "profile", SchemaVersion: summary.SchemaVersion, ObjectiveName: r.ObjectiveName, Show: o.Show, Others: o.Others, Report: r, Warnings: slices.Clone(r.Warnings)}
	for _, e := range j.Params.All {
		p.out.Names = append(p.out.Names, e.Name)
	}
	far := 0
	for _, found := range r.Optima {
		switch {
		case found.Dropped:
		case found.Objective > r.Objective+unlikely:
			far++
		default:
			p.out.Optima = append(p.out.Optima, found)
		}
	}
	if far > 0 {
		p.warn("not shown: %s more than %.1f above the best", textform.Counted(far, "optimum", "optima"), unlikely)
	}
	if len(p.out.Optima) == 0 {
		p.out.Optima = []summary.OptimumReport{onlyOptimum(j, r)}
	}
	if e := r.StdErrors; e != nil {
		p.metric = j.Params.Metric(e.Names, e.Hessian)
	}
	for _, found := range p.out.Optima {
		z, err := j.Params.At(found.Parameters)
		if err != nil {
			return err
		}
		p.optima = append(p.optima, z)
	}
	return nil
}

// onlyOptimum describes the end of a fit from one start.
func onlyOptimum(j *tuning.Job, r *summary.Report) summary.OptimumReport {
	o := summary.OptimumReport{Objective: r.Objective, Parameters: map[string]float64{}, Starts: 1, Best: true,
		Value: r.Evaluations.Value, Gradient: r.Evaluations.Gradient, LeaveOneOut: r.Scores.LeaveOneOut}
	for _, name := range j.FreeNames() {
		o.Parameters[name] = r.Parameters[name]
	}
	if r.ObjectiveName == string(problem.NLML) {
		o.NLML = &r.NLML
	}
	return o
}

func (p *profiler) warn(format string, args ...any) {
	p.out.Warnings = append(p.out.Warnings, fmt.Sprintf(format, args...))
}

// stdError returns the standard error of an element of z, NaN if it is not known.
func (p *profiler) stdError(i int) float64 {
	q := p.job.Params.Free[i]
	if e := p.out.Report.StdErrors; e != nil {
		if interval, ok := e.Interval95[q.Name]; ok {
			return (q.Z(interval[1]) - q.Z(interval[0])) / (2 * quantile975)
		}
	}
	return math.NaN()
}

// layOut makes the sections and their points.
func (p *profiler) layOut(sections [][]int, given map[int]problem.Interval) {
	j := p.job
	best := j.Params.Values(p.optima[0])
	p.out.Sections = make([]summary.ProfileSection, len(sections))
	for k, parameters := range sections {
		s := &p.out.Sections[k]
		count := 1
		for _, i := range parameters {
			a := axis(j.Prepared, i, p.opts, given, p.optima, p.stdError(i))
			addOriginal(j.Prepared, &a, best)
			s.Axes = append(s.Axes, a)
			count *= len(a.Values)
		}
		s.Points = make([]summary.ProfilePoint, count)
		for at := range s.Points {
			point := &s.Points[at]
			point.Z, point.F = slices.Clone(p.optima[0]), math.Inf(1)
			point.Moved = make([]float64, len(s.Axes))
			rest := at
			for a := len(s.Axes) - 1; a >= 0; a-- {
				axis := &s.Axes[a]
				point.Moved[a] = axis.Values[rest%len(axis.Values)]
				point.Z[axis.Index] = j.Params.Free[axis.Index].Z(point.Moved[a])
				rest /= len(axis.Values)
			}
			p.points = append(p.points, &gridPoint{point, s.Axes, len(p.points), gridNeighbours(s.Axes, at, len(p.points)-at)})
		}
	}
}

// gridPoint is a point of a profile in the grid of its section.
type gridPoint struct {
	*summary.ProfilePoint
	axes   []summary.ProfileAxis
	index  int   // among all points
	around []int // indices of its neighbours
}

func (q *gridPoint) name() string { return summary.PointName(q.axes, q.ProfilePoint) }

// fixed fixes the axes in a list of parameters.
func (q *gridPoint) fixed(list []descent.Parameter) []descent.Parameter {
	for i, a := range q.axes {
		o := &list[a.Index]
		o.Fixed, o.Start = true, q.Moved[i]
		o.Lower, o.Upper = min(o.Lower, o.Start), max(o.Upper, o.Start)
	}
	return list
}

// through returns z moved to the values of the axes.
func (q *gridPoint) through(z []float64) []float64 {
	z = slices.Clone(z)
	for _, a := range q.axes {
		z[a.Index] = q.Z[a.Index]
	}
	return z
}

// allowed reports whether a fit may go to the point: none of its axes is fixed, and its values are
// within the bounds.
func (q *gridPoint) allowed(free []*problem.Parameter) bool {
	return !slices.ContainsFunc(q.axes, func(a summary.ProfileAxis) bool {
		p, z := free[a.Index], q.Z[a.Index]
		lo, hi := p.Z(p.Lower), p.Z(p.Upper)
		const rounding = 1e-12 // of the ends of a range that are bounds
		return p.Fixed || z < lo-rounding*math.Abs(lo) || z > hi+rounding*math.Abs(hi)
	})
}

// gridNeighbours returns the indices of the points next to a point of a grid, whose first point
// has the index first.
func gridNeighbours(axes []summary.ProfileAxis, at, first int) []int {
	var out []int
	stride := 1
	for a := len(axes) - 1; a >= 0; a-- {
		size := len(axes[a].Values)
		if k := at / stride % size; k > 0 {
			out = append(out, first+at-stride)
		}
		if k := at / stride % size; k < size-1 {
			out = append(out, first+at+stride)
		}
		stride *= size
	}
	return out
}

// run evaluates the points. It ends early if enough says so.
func (p *profiler) run(ctx context.Context, backends []device.Backend, enough func() bool) error {
	w := &tuning.Workplace{Job: p.job, Backends: backends, Crew: &tuning.Crew{}}
	defer w.Close()
	p.settings = p.job.Settings(backends[0]).Descents(p.job.N())
	for k := range min(w.Workers(p.job.N()), len(p.points)) {
		if _, err := w.Open(ctx, k, nil); err != nil {
			return err
		}
	}
	p.sessions = w.Full
	err := p.each(ctx, p.points, p.first)
	if tuned := p.tuned(); len(tuned) > 0 {
		if err == nil && !enough() {
			err = p.learn(ctx)
		}
		if err == nil && !enough() {
			err = p.each(ctx, tuned, p.conclude)
		}
	}
	for _, s := range w.Full {
		p.moves = append(p.moves, s.Warnings...)
	}
	return err
}

// tell reports how many points of a pass are done.
func (p *profiler) tell(done, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done++; done == 0 {
		p.done = 0
	}
	if p.opts.OnPoint != nil && all > 0 {
		p.opts.OnPoint(p.done, all)
	}
}

// each calls do for the points of a pass, side by side on the sessions, and reports how many are done. The first error
// ends it.
func (p *profiler) each(ctx context.Context, points []*gridPoint, do func(ctx context.Context, s *tuning.Placement, q *gridPoint) error) error {
	p.tell(0, len(points))
	return descent.SideBySide(ctx, len(points), p.sessions, func(ctx context.Context, s *tuning.Placement, i int) error {
		defer p.tell(1, len(points))
		return do(ctx, s, points[i])
	})
}

// count adds the evaluations of an oracle or a descent.
func (p *profiler) count(e descent.Evaluations) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.Add(e)
}

// first evaluates a point with the others held, or tunes them from the optima of the fit.
func (p *profiler) first(ctx context.Context, s *tuning.Placement, q *gridPoint) error {
	if !p.tunes(q) {
		return p.conclude(ctx, s, q)
	}
	var starts []descent.Start
	for i, z := range p.optima[:min(len(p.optima), profileStarts)] {
		start := descent.Start{Z: q.through(z)}
		if i == 0 {
			start.Metric = p.metric
		}
		starts = append(starts, start)
	}
	if p.metric != nil && q.index%profileFree == 0 {
		starts = append(starts, descent.Start{Z: starts[0].Z})
	}
	return p.tune(ctx, s, q, starts)
}

// tuned returns the points at which other parameters are tuned.
func (p *profiler) tuned() []*gridPoint {
	return slices.DeleteFunc(slices.Clone(p.points), func(q *gridPoint) bool { return !p.tunes(q) })
}

// tunes reports whether other parameters are tuned at a point: there may be none.
func (p *profiler) tunes(q *gridPoint) bool {
	return p.opts.Others == summary.OthersTuned && !p.nothingElse(q)
}

// nothingElse reports whether there are no other parameters to tune at a point.
func (p *profiler) nothingElse(q *gridPoint) bool {
	return !slices.ContainsFunc(q.fixed(p.job.Params.List()), func(o descent.Parameter) bool { return !o.Fixed })
}

// tune minimizes over the other parameters and keeps the result if it is the lowest so far.
// A point at which the objective is not defined at any start stays undefined.
func (p *profiler) tune(ctx context.Context, s *tuning.Placement, q *gridPoint, starts []descent.Start) error {
	result, err := descent.Minimize(ctx, descent.Search{Objectives: []descent.Func{s}, Parameters: q.fixed(p.job.Params.List()), Starts: starts}, p.settings)
	if result != nil {
		p.count(result.Evaluations)
	}
	switch _, undefined := descent.Undefined(err); {
	case undefined && !problem.IsCancelled(err):
		return nil
	case err == nil && result.F < q.F:
		q.Z, q.F, q.Cut = q.through(result.X), result.F, result.Status == descent.StatusMaxEvaluations
	}
	return err
}

// learn lets points start from the others' values of their neighbours, until no point gets
// lower: along a curve the others may move from the valley of one optimum to another's.
func (p *profiler) learn(ctx context.Context) error {
	changed := make([]bool, len(p.points))
	for k := range changed {
		changed[k] = true
	}
	for range profileRounds {
		var points []*gridPoint
		before := make([]summary.ProfilePoint, len(p.points))
		for k, q := range p.points {
			before[k] = *q.ProfilePoint
			if p.tunes(q) && slices.ContainsFunc(q.around, func(n int) bool { return changed[n] }) {
				points = append(points, q)
			}
		}
		err := p.each(ctx, points, func(ctx context.Context, s *tuning.Placement, q *gridPoint) error {
			return p.follow(ctx, s, q, before, changed)
		})
		if err != nil {
			return err
		}
		again := false
		for k, point := range p.points {
			changed[k] = point.F < before[k].F-profileGain*max(1, math.Abs(point.F))
			again = again || changed[k]
		}
		if !again {
			return nil
		}
	}
	return nil
}

// follow tunes the other parameters of a point from each neighbour that changed, if it
// is a better start than the point itself.
func (p *profiler) follow(ctx context.Context, s *tuning.Placement, q *gridPoint, before []summary.ProfilePoint, changed []bool) error {
	ev := descent.NewOracle(s, nil)
	defer func() { p.count(ev.Counts()) }()
	var starts []descent.Start
	for _, n := range q.around {
		if !changed[n] || math.IsInf(before[n].F, 1) {
			continue
		}
		z := q.through(before[n].Z)
		f, err := ev.Value(ctx, z)
		if err != nil {
			return err
		}
		if f < before[q.index].F-profileGain*max(1, math.Abs(f)) {
			starts = append(starts, descent.Start{Z: z})
		}
	}
	if starts == nil {
		return nil
	}
	return p.tune(ctx, s, q, starts)
}

// conclude evaluates the terms of a point, and its prediction.
func (p *profiler) conclude(ctx context.Context, s *tuning.Placement, q *gridPoint) error {
	point := q.ProfilePoint
	point.Parameters = map[string]float64{}
	for i, v := range p.job.Params.Values(point.Z) {
		e := p.job.Params.All[i]
		for k, a := range q.axes {
			if a.Index == e.Index {
				v = point.Moved[k] // exp z has a rounding error
			}
		}
		point.Parameters[e.Name] = v
	}
	undefined := summary.Number(math.NaN())
	point.Objective, point.NLML, point.DataFit, point.Complexity, point.Constant = undefined, undefined, undefined, undefined, undefined
	ev := descent.NewOracle(s, nil)
	f, err := ev.Value(ctx, point.Z)
	p.count(ev.Counts())
	if point.F = f; err != nil || math.IsInf(f, 1) {
		return err
	}
	terms := s.Objective.Terms()
	point.Objective, point.NLML, point.Jitter = summary.Number(f), summary.Number(terms.NLML()), terms.Jitter
	point.DataFit, point.Complexity, point.Constant = summary.Number(terms.DataFit), summary.Number(terms.Complexity), summary.Number(terms.Constant)
	if len(p.job.Params.Priors) > 0 {
		prior := summary.Number(terms.NegLogPrior)
		point.NegLogPrior = &prior
	}
	if p.opts.Show == summary.ProfileFits {
		if point.Prediction, err = alongColumn(ctx, s, point.Z); err != nil {
			return fmt.Errorf("prediction for %s: %w", q.name(), err)
		}
	}
	return nil
}
