package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/hyperopt"
)

// StageReport is one step of coarse to fine: a descent from every start that is
// left, on so many rows, or the Hessian at the best of them.
type StageReport struct {
	// Step is "descent" or "hessian"; or with restarts on few rows "halves",
	// descents that have a random half of the rows each, and "hessians", at the
	// end of each.
	Step string `json:"step"`
	Rows int    `json:"rows"`
	// Starts counts the descents, Optima the distinct ones among their ends.
	Starts int `json:"starts,omitempty"`
	Optima int `json:"optima,omitempty"`
	// Objective, over these rows, and Parameters are those of the best end. NLML
	// is the objective where that is the NLML. Of halves it is the lowest, though
	// they are of different rows.
	Objective  float64            `json:"objective"`
	NLML       *float64           `json:"nlml,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	Value      int                `json:"value"`
	Gradient   int                `json:"gradient"`
	Seconds    float64            `json:"seconds"`
}

// tuning takes the starts of a fit through its stages.
type tuning struct {
	task     *Task
	log      *journal
	backends []device.Backend
	// fullSize and coarse count the evaluations over all rows and over fewer.
	fullSize, coarse counter
	infeasible       int
	warnings         []string      // of sessions that are closed
	spent            time.Duration // theirs in evaluations
	path             []StageReport
	optima           []candidate // found over all rows, best first
	dropped          []candidate // over all rows, and on fewer
	anew             bool        // whether the full size began anew, see full
}

// retire closes sessions whose work is done, and keeps what they have to tell.
func (u *tuning) retire(sessions []*session, counts *counter) {
	for _, s := range sessions {
		u.spent += s.spent
		counts.add(s.repeated.Value, s.repeated.Gradient)
		u.warnings = append(u.warnings, s.warnings...)
	}
	closeAll(sessions)
}

// run returns the optimiser's result over all rows, and the sessions that it
// ended on, nil if it did not come so far.
func (u *tuning) run(ctx context.Context, open func() ([]*session, error)) ([]*session, *hyperopt.Result, error) {
	t := u.task
	sizes, order := t.stageSizes(), t.order()
	if len(sizes) > 1 {
		if err := t.probe(ctx, u.backends); err != nil {
			return nil, nil, err
		}
	}
	found, err := t.firstStarts()
	if err != nil {
		return nil, nil, err
	}
	if t.halved() {
		if found, err = u.halves(ctx, found); err != nil {
			return nil, u.unfinished(found), err
		}
	}
	for i, m := range sizes[:len(sizes)-1] {
		if found, err = u.descend(ctx, t.first(m, order), found); err != nil {
			return nil, u.unfinished(found), err
		}
		for k := range found {
			found[k].Z = t.withinReach(found[k].Z)
			found[k].Metric = scaled(found[k].Metric, float64(sizes[i+1])/float64(m))
		}
	}
	if len(sizes) > 1 {
		found = u.shortlist(found, sizes[len(sizes)-2])
		if err := u.refine(ctx, order, found); err != nil {
			return nil, u.unfinished(found), err
		}
	}
	sessions, err := open()
	if err != nil {
		return nil, nil, err
	}
	result, err := u.finish(ctx, sessions, found)
	return sessions, result, err
}

// firstStarts returns what the first stage begins at: the task's own start and,
// with restarts, others.
func (t *Task) firstStarts() ([]candidate, error) {
	n := 1 + t.opts.Settings.Restarts
	if t.raced() && !t.halved() {
		n *= pool
	}
	starts, err := hyperopt.LatinStarts(t.problem(nil), t.opts.Settings, n)
	if err != nil {
		return nil, err
	}
	var out []candidate
	for k, s := range starts {
		out = append(out, candidate{Start: s, f: math.Inf(1), starts: []int{k}})
	}
	return out, nil
}

// shortlist keeps what goes on at full size from the last stage, which had so
// many rows: the best, as many as starts were asked for.
func (u *tuning) shortlist(found []candidate, rows int) []candidate {
	keep := min(len(found), 1+u.task.opts.Settings.Restarts)
	for keep > 1 && found[keep-1].f > found[0].f+hopeless {
		keep--
	}
	for _, c := range found[keep:] {
		c.rows, c.left = rows, true
		u.dropped = append(u.dropped, c)
	}
	return found[:keep:keep]
}

// unfinished is the result of a fit that ended before its last stage: the best
// point so far, nil if nothing was evaluated.
func (u *tuning) unfinished(found []candidate) *hyperopt.Result {
	if math.IsInf(found[0].f, 1) {
		return nil
	}
	return &hyperopt.Result{
		X: found[0].Z, F: math.NaN(), Status: hyperopt.StatusCancelled, GradientNorm: math.NaN(), RelativeChange: math.NaN(),
		Seed: u.task.opts.Settings.Seed, BestStart: -1,
	}
}

// finish runs the descents at full size.
func (u *tuning) finish(ctx context.Context, sessions []*session, found []candidate) (*hyperopt.Result, error) {
	t := u.task
	settings := t.settings()
	settings.Race = t.raced()
	result, err := u.full(ctx, sessions, found, "descent", settings)
	if err != nil {
		return result, err
	}
	optima, dropped, err := t.distinct(result, found, u.between(ctx, sessions[0], "descent", &u.fullSize))
	u.optima, u.dropped = optima, append(dropped, u.dropped...)
	return result, err
}

// between returns the objective of a stage for looks between its ends.
func (u *tuning) between(ctx context.Context, s *session, stage string, counts *counter) func(z []float64) (float64, error) {
	var obj *recorder
	return func(z []float64) (float64, error) {
		if obj == nil {
			obj = u.log.recorder(stage+"-between", s, counts)
		}
		return obj.Value(ctx, z)
	}
}

// full runs descents over all rows. If the stages before have led to where the
// NLML is not defined over all rows, it begins anew at the start values.
func (u *tuning) full(ctx context.Context, sessions []*session, from []candidate, step string, settings hyperopt.Settings) (*hyperopt.Result, error) {
	began := time.Now()
	var counts counter
	result, err := hyperopt.Minimize(ctx, u.problem(u.task, sessions, step, from, &counts), settings)
	u.fullSize.add(counts.value, counts.gradient)
	var begin *hyperopt.StartError
	if errors.As(err, &begin) && len(u.path) > 0 && !u.anew {
		u.anew = true
		own := []candidate{{Start: hyperopt.Start{Z: u.task.startZ()}, f: math.Inf(1), starts: from[0].starts}}
		result, err := u.full(ctx, sessions, own, step+"-anew", settings)
		if result != nil {
			result.Warnings = append(result.Warnings, fmt.Sprintf("the optimum on fewer rows is of no use on all: began anew at the start values (%v)", begin))
		}
		return result, err
	}
	if result != nil && result.X != nil {
		u.record(step, u.task.N(), result, began, &counts)
	}
	return result, err
}

// problem is the optimiser's over the rows of task, from the candidates or, if
// there are none yet, the task's own start.
func (u *tuning) problem(task *Task, sessions []*session, stage string, from []candidate, counts *counter) hyperopt.Problem {
	p := task.problem(sessions)
	p.Start, p.Metric, p.Further = from[0].Z, from[0].Metric, []hyperopt.Start{}
	for _, c := range from[1:] {
		p.Further = append(p.Further, c.Start)
	}
	p.Wrap = func(start int, obj hyperopt.Objective) hyperopt.Objective {
		return u.log.recorder(stage+"-"+strconv.Itoa(start), obj, counts)
	}
	return p
}

// descend runs a stage before the last and returns its distinct ends, or from if
// it failed.
func (u *tuning) descend(ctx context.Context, sub *Task, from []candidate) ([]candidate, error) {
	began := time.Now()
	if !sub.determined() {
		return from, nil
	}
	sessions, err := sub.openAll(ctx, u.backends, len(from))
	if err != nil {
		return from, err
	}
	defer u.retire(sessions, &u.coarse)
	var counts counter
	settings := sub.telling(sub.looseSettings())
	settings.Race, settings.Reach = sub.opts.Settings.Restarts > 0, hopeless
	result, err := hyperopt.Minimize(ctx, u.problem(sub, sessions, strconv.Itoa(sub.N()), from, &counts), settings)
	u.coarse.add(counts.value, counts.gradient)
	var begin *hyperopt.StartError
	switch {
	case errors.As(err, &begin):
		return from, nil // not defined there on these rows: see full
	case err != nil && result != nil && result.X != nil:
		return []candidate{{Start: hyperopt.Start{Z: result.X}, f: result.F}}, err // the best so far
	case err != nil:
		return from, err
	}
	u.record("descent", sub.N(), result, began, &counts)
	found, dropped, err := sub.distinct(result, from, u.between(ctx, sessions[0], strconv.Itoa(sub.N()), &u.coarse))
	if err != nil {
		return from, err
	}
	for _, c := range dropped {
		c.rows = sub.N()
		u.dropped = append(u.dropped, c)
	}
	u.path[len(u.path)-1].Optima = len(found)
	return found, nil
}

// record adds a step to the path.
func (u *tuning) record(step string, rows int, r *hyperopt.Result, began time.Time, counts *counter) {
	s := StageReport{Step: step, Rows: rows, Starts: len(r.Starts), Objective: r.F, NLML: u.task.nlmlOf(r.F), Value: counts.value, Gradient: counts.gradient,
		Parameters: map[string]float64{}, Seconds: time.Since(began).Seconds()}
	for i, p := range u.task.params {
		s.Parameters[p.name] = p.natural(r.X[i])
	}
	u.path = append(u.path, s)
	u.infeasible += r.Evaluations.Infeasible
}

// refine replaces the metric of the best candidate by the scaled Hessian of a
// subset, unless the NLML is not defined around it.
func (u *tuning) refine(ctx context.Context, order []int, found []candidate) error {
	t := u.task
	m := t.hessianSize(hessianShare)
	if !t.hasMetric(m) {
		return nil
	}
	began := time.Now()
	sub := t.first(m, order)
	if !sub.determined() {
		return nil
	}
	sessions, err := sub.openAll(ctx, u.backends, 1)
	if err != nil {
		return err
	}
	defer u.retire(sessions, &u.coarse)
	problem := sub.problem(sessions)
	var counts counter
	h, err := hyperopt.Hessian(ctx, u.log.recorder("hessian", sessions[0], &counts), found[0].Z, problem.Fixed)
	u.coarse.add(counts.value, counts.gradient)
	switch {
	case device.IsNotPD(err):
		return nil
	case err != nil:
		return err
	}
	found[0].Metric = scaled(h, float64(t.N())/float64(m))
	u.record("hessian", m, &hyperopt.Result{X: found[0].Z, F: found[0].f}, began, &counts)
	return nil
}

// probe finds out before the stages on fewer rows whether all of them will fit.
func (t *Task) probe(ctx context.Context, backends []device.Backend) error {
	for _, b := range backends[:min(len(backends), 1+t.opts.Settings.Restarts)] {
		ws, err := b.NewWorkspace(ctx, t.points)
		if err == nil {
			err = ws.Close()
		}
		if err != nil && t.opts.Fallback == nil {
			return err
		}
	}
	return nil
}

// add counts what the full-size sessions did again after a failure, and returns
// the evaluations of the first one so far.
func (u *tuning) add(sessions []*session) graph.Evaluations {
	for _, s := range sessions {
		u.fullSize.add(s.repeated.Value, s.repeated.Gradient)
	}
	return sessions[0].evaluations()
}

// report adds how the tuning went. What the first session evaluated between
// before and after, at the optimum, counts too.
func (u *tuning) report(r *Report, after, before graph.Evaluations) {
	r.Evaluations = Evaluations{Value: u.coarse.value, Gradient: u.coarse.gradient, Infeasible: u.infeasible}
	r.Evaluations.add(graph.Evaluations{Value: u.fullSize.value, Gradient: u.fullSize.gradient})
	r.Evaluations.add(graph.Evaluations{Value: after.Value - before.Value, Gradient: after.Gradient - before.Gradient})
	r.Warnings = append(r.Warnings, u.warnings...)
	if len(u.path) > 1 {
		r.Path = u.path
	}
	if u.task.opts.Settings.Restarts > 0 {
		r.Optima = u.optimaReport()
	}
	if u.task.raced() {
		r.Starts = nil // those over all rows are not the user's: see Optima
	}
}

// openAll opens the task on as many of the backends as there are starts.
func (t *Task) openAll(ctx context.Context, backends []device.Backend, starts int) ([]*session, error) {
	var sessions []*session
	for _, b := range backends[:min(len(backends), starts)] {
		s, err := t.open(ctx, b)
		if err != nil {
			closeAll(sessions)
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

func closeAll(sessions []*session) {
	for _, s := range sessions {
		s.close()
	}
}
