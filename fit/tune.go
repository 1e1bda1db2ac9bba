package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gpfit/device"
	"gpfit/hyperopt"
)

// StageReport is one step of coarse to fine: a descent from every start that is
// left, on so many rows, or the Hessian at the best of them.
type StageReport struct {
	// Step is "descent" or "hessian".
	Step string `json:"step"`
	Rows int    `json:"rows"`
	// Starts counts the descents, Optima the distinct ones among their ends.
	Starts int `json:"starts,omitempty"`
	Optima int `json:"optima,omitempty"`
	// NLML, over these rows, and Parameters are those of the best end.
	NLML       float64            `json:"nlml"`
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
	// full and coarse count the evaluations at full size and on fewer rows.
	full, coarse counter
	infeasible   int
	path         []StageReport
	warnings     []string
	// starts says for every start which candidate it became.
	starts []int
}

// candidate is a place that one or more starts have come to.
type candidate struct {
	hyperopt.Start
	f float64 // over the rows of the last stage
	// first is the start whose descent it is.
	first int
}

// run returns the optimiser's result over all rows, on sessions[0] and the
// others.
func (u *tuning) run(ctx context.Context, sessions func() ([]*session, error)) ([]*session, *hyperopt.Result, error) {
	t := u.task
	sizes := t.stageSizes()
	order := t.order()
	var found []candidate
	for i, m := range sizes[:len(sizes)-1] {
		next := sizes[i+1]
		result, err := u.descend(ctx, order[:m], found)
		if err != nil {
			return nil, result, err
		}
		found = u.settle(result, found, float64(next)/float64(m))
	}
	if found != nil {
		u.refine(ctx, order, found)
		if err := ctx.Err(); err != nil {
			return nil, &hyperopt.Result{X: found[0].Z, F: math.Inf(1), Status: hyperopt.StatusCancelled}, err
		}
	}
	open, err := sessions()
	if err != nil {
		return nil, nil, err
	}
	began := time.Now()
	result, err := hyperopt.Minimize(ctx, u.problem(t, open, "full", found, &u.full), t.settings())
	if found != nil && result != nil && result.X != nil {
		u.record("descent", t.N(), result, began, &u.full)
	}
	return open, result, err
}

// problem is the optimiser's over the rows of task, from the candidates or, if
// there are none yet, the task's own start.
func (u *tuning) problem(task *Task, sessions []*session, stage string, from []candidate, counts *counter) hyperopt.Problem {
	p := task.problem(sessions)
	if from != nil {
		p.Start, p.Metric = from[0].Z, from[0].Metric
		p.Further = []hyperopt.Start{}
		for _, c := range from[1:] {
			p.Further = append(p.Further, c.Start)
		}
	}
	p.Wrap = func(start int, obj hyperopt.Objective) hyperopt.Objective {
		return u.log.recorder(stage+"-"+strconv.Itoa(start), obj, counts)
	}
	return p
}

// descend runs a stage before the last.
func (u *tuning) descend(ctx context.Context, rows []int, from []candidate) (*hyperopt.Result, error) {
	t := u.task
	began := time.Now()
	sub := t.onRows(rows)
	settings := sub.coarseSettings()
	if from == nil {
		settings.Restarts = t.opts.Settings.Restarts
	}
	sessions, err := sub.openAll(ctx, u.backends, max(len(from), 1+settings.Restarts))
	if err != nil {
		return nil, err
	}
	defer closeAll(sessions)
	var counts counter
	result, err := hyperopt.Minimize(ctx, u.problem(sub, sessions, strconv.Itoa(len(rows)), from, &counts), settings)
	u.coarse.add(counts.value, counts.gradient)
	if err != nil {
		return result, err
	}
	u.record("descent", len(rows), result, began, &counts)
	return result, nil
}

// record adds a step to the path.
func (u *tuning) record(step string, rows int, r *hyperopt.Result, began time.Time, counts *counter) {
	s := StageReport{Step: step, Rows: rows, Starts: len(r.Starts), NLML: r.F, Value: counts.value, Gradient: counts.gradient,
		Parameters: map[string]float64{}, Seconds: time.Since(began).Seconds()}
	for i, p := range u.task.params {
		s.Parameters[p.name] = p.natural(r.X[i])
	}
	u.path = append(u.path, s)
	u.infeasible += r.Evaluations.Infeasible
}

// settle turns the ends of a stage into the starts of the next: the distinct
// ones, within reach, with their metric for its number of rows.
func (u *tuning) settle(r *hyperopt.Result, from []candidate, factor float64) []candidate {
	var found []candidate
	for k, s := range r.Starts {
		if s.X == nil {
			continue
		}
		c := candidate{Start: hyperopt.Start{Z: s.X, Metric: s.Metric}, f: s.F, first: k}
		if from != nil {
			c.first = from[k].first
		}
		found = append(found, c)
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		switch {
		case a.f < b.f:
			return -1
		case a.f > b.f:
			return 1
		}
		return 0
	})
	var distinct []candidate
	for _, c := range found {
		if !slices.ContainsFunc(distinct, func(o candidate) bool { return same(c, o) }) {
			distinct = append(distinct, c)
		}
	}
	for i := range distinct {
		distinct[i].Z = u.task.withinReach(distinct[i].Z)
		distinct[i].Metric = scaled(distinct[i].Metric, factor)
	}
	if len(u.path) > 0 {
		u.path[len(u.path)-1].Optima = len(distinct)
	}
	return distinct
}

// same reports whether two ends of a stage are one optimum: within a nat of each
// other in value, and by the metric in place.
func same(a, b candidate) bool {
	if math.Abs(a.f-b.f) > 1 {
		return false
	}
	q := 0.0
	p := len(a.Z)
	for i := range p {
		for j := range p {
			d := (a.Z[i] - b.Z[i]) * (a.Z[j] - b.Z[j])
			switch {
			case a.Metric != nil && b.Metric != nil:
				q += d * (a.Metric[i*p+j] + b.Metric[i*p+j]) / 4
			case i == j:
				q += d
			}
		}
	}
	return q <= 1
}

// refine replaces the metric of the best candidates by the scaled Hessian.
func (u *tuning) refine(ctx context.Context, order []int, found []candidate) {
	t := u.task
	m := t.hessianSize()
	began := time.Now()
	sub := t.onRows(order[:m])
	sessions, err := sub.openAll(ctx, u.backends, 1)
	if err != nil {
		return
	}
	defer closeAll(sessions)
	fixed := make([]bool, len(t.params))
	for i, p := range t.params {
		fixed[i] = p.fixed
	}
	var counts counter
	obj := u.log.recorder("hessian", sessions[0], &counts)
	h, err := hyperopt.Hessian(ctx, obj, found[0].Z, fixed)
	u.coarse.add(counts.value, counts.gradient)
	if err != nil {
		var npd *device.NotPDError
		if errors.As(err, &npd) {
			u.warnings = append(u.warnings, fmt.Sprintf("no Hessian on %d rows: %v", m, err))
		}
		return
	}
	found[0].Metric = scaled(h, float64(t.N())/float64(m))
	u.record("hessian", m, &hyperopt.Result{X: found[0].Z, F: found[0].f}, began, &counts)
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
