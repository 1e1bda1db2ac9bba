package fit

import (
	"cmp"
	"slices"

	"gpfit/device"
	"gpfit/hyperopt"
)

// Restarts race: starts that merge with a better one, or cannot become the best,
// are left behind, see hyperopt.Settings. What they begin with over all rows is
// found on fewer. On few rows every start has a half of its own (halves.go). On
// many, where half of them tell the optima of all, twice as many starts as asked
// for, from a Latin hypercube, race on a subset, and the best distinct ends go
// on to the next.
const (
	// restartsFrom is the number of rows from which restarts race: fewer cost
	// nothing.
	restartsFrom = 200
	// pool is the number of starts of the first subset for each that may reach
	// the full size.
	pool = 2
	// hopeless is how far above the best, in nats on a subset of the rows, an
	// optimum may be to go on: with all rows the difference is about twice that.
	hopeless = 20
)

// raced reports whether restarts begin on fewer rows, and race.
func (t *Task) raced() bool {
	return t.opts.Settings.Restarts > 0 && t.opts.Coarse != CoarseOff && t.N() >= restartsFrom && t.freeParameters() > 0
}

// halved reports whether every start has a half of the rows of its own.
func (t *Task) halved() bool { return t.raced() && t.N() < coarseFrom }

// Optimum is a local optimum that starts have come to.
type Optimum struct {
	// Objective is its value, and NLML too where that is the objective.
	Objective  float64            `json:"objective"`
	NLML       *float64           `json:"nlml,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	// Starts counts the starts that led here, Best marks the result.
	Starts int  `json:"starts"`
	Best   bool `json:"best"`
	// Dropped says that it was left where it is, since it could not become the
	// best any more: this is no optimum, only on the way to one.
	Dropped bool `json:"dropped,omitempty"`
	// Rows is the number of rows that the NLML of a dropped one is over where
	// that is not all.
	Rows int `json:"rows,omitempty"`
}

// candidate is a place that one or more starts have come to.
type candidate struct {
	hyperopt.Start
	f float64 // over the rows of the last stage
	// starts are those that led here, −1 the task's own over all rows where that
	// is one more.
	starts []int
	// left says that it was dropped, and on how many rows if not on all.
	left bool
	rows int
}

// distinct puts the ends of a stage in order, best first, and those of one
// optimum together; and apart from them those that the race has dropped. from are
// the candidates that the descents began at, and value evaluates the NLML of the
// stage.
func (t *Task) distinct(r *hyperopt.Result, from []candidate, value func(z []float64) (float64, error)) (out, dropped []candidate, err error) {
	ends := make([]candidate, len(r.Starts))
	for k, s := range r.Starts {
		ends[k] = candidate{Start: hyperopt.Start{Z: s.X, Metric: s.Metric}, f: s.F, left: s.Status == hyperopt.StatusDropped}
	}
	for k, s := range r.Starts {
		into := k
		for r.Starts[into].Status == hyperopt.StatusMerged {
			into = r.Starts[into].MergedInto
		}
		if s.X != nil {
			ends[into].starts = slices.Concat(ends[into].starts, from[k].starts)
		}
	}
	ends = slices.DeleteFunc(ends, func(c candidate) bool { return c.Z == nil || c.starts == nil })
	slices.SortStableFunc(ends, func(a, b candidate) int { return cmp.Compare(a.f, b.f) })
next:
	for _, c := range ends {
		if c.left {
			dropped = append(dropped, c)
			continue
		}
		for i, o := range out {
			one, err := t.same(o, c, value)
			if err != nil {
				return nil, nil, err
			}
			if one {
				out[i].starts = slices.Concat(o.starts, c.starts)
				continue next
			}
		}
		out = append(out, c)
	}
	return out, dropped, nil
}

// same reports whether two ends of a stage, a the better, are one optimum: close
// in value, and either close in place by the quadratic model of one, or without
// a ridge between them. Lengthscales too long to matter are not compared: where
// loose descents stop along such a valley is chance.
func (t *Task) same(a, b candidate, value func(z []float64) (float64, error)) (bool, error) {
	if b.f-a.f > sameValue {
		return false, nil
	}
	za, zb := t.withinReach(a.Z), t.withinReach(b.Z)
	if min(hyperopt.Nats(a.Metric, za, zb), hyperopt.Nats(b.Metric, za, zb)) <= sameNats {
		return true, nil
	}
	middle := slices.Clone(a.Z)
	for i, v := range b.Z {
		middle[i] = (middle[i] + v) / 2
	}
	f, err := value(middle)
	if device.IsNotPD(err) {
		return false, nil
	}
	return f <= b.f+sameRidge, err
}

// The bounds of same, in nats: of the difference in value, of the quadratic
// model of the distance, and of the ridge in the middle.
const (
	sameValue = 2
	sameNats  = 0.5
	sameRidge = 0.05
)

// optimaReport lists what was found over all rows, and then what was dropped.
func (u *tuning) optimaReport() []Optimum {
	var out []Optimum
	for i, c := range slices.Concat(u.optima, u.dropped) {
		o := Optimum{Objective: c.f, NLML: u.task.nlmlOf(c.f), Parameters: map[string]float64{}, Starts: len(c.starts), Best: i == 0, Dropped: c.left, Rows: c.rows}
		for k, p := range u.task.params {
			o.Parameters[p.name] = p.natural(c.Z[k])
		}
		out = append(out, o)
	}
	return out
}

// nlmlOf returns a pointer to a value of the objective if it is the NLML.
func (t *Task) nlmlOf(f float64) *float64 {
	if t.objectiveName() != string(ObjectiveNLML) {
		return nil
	}
	return Finite(f)
}
