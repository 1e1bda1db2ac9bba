package fit

import (
	"cmp"
	"slices"

	"gpfit/device"
	"gpfit/hyperopt"
)

// Restarts are screened: twice as many starts as asked for, from a Latin
// hypercube, are tuned on a subset of the rows, and the best distinct optima go
// on; at full size they first settle loosely, and only what can still become
// the best is tuned to the end.
const (
	// restartsFrom is the number of rows from which that is done: fewer have too
	// little in common with a subset of theirs, and cost nothing.
	restartsFrom = 200
	// pool is the number of starts of the first stage for each that may reach
	// the full size.
	pool = 2
	// inReach is how far above the best, in nats, a loosely settled descent may
	// be to be tuned to the end.
	inReach = 1
	// hopeless is how far above the best, in nats on half of the rows, an
	// optimum may be to go on: with all rows the difference is about twice that.
	hopeless = 20
)

// screened reports whether restarts are screened.
func (t *Task) screened() bool {
	return t.opts.Settings.Restarts > 0 && t.opts.Coarse != CoarseOff && t.N() >= restartsFrom && t.freeParameters() > 0
}

// Optimum is a local optimum that starts have come to.
type Optimum struct {
	// Objective is its value, and NLML too where that is the objective.
	Objective  float64            `json:"objective"`
	NLML       *float64           `json:"nlml,omitempty"`
	Parameters map[string]float64 `json:"parameters"`
	// Starts counts the starts that led here, Best marks the result.
	Starts int  `json:"starts"`
	Best   bool `json:"best"`
	// Rows is the number of rows that the NLML is over where that is not all:
	// too far above the best there, it was followed no further.
	Rows int `json:"rows,omitempty"`
	// Settled says that it was not tuned to the end, since it cannot become the
	// best: its NLML is a little too high.
	Settled bool `json:"settled,omitempty"`
}

// candidate is a place that one or more starts have come to.
type candidate struct {
	hyperopt.Start
	f float64 // over the rows of the last stage
	// starts are those that led here, −1 the task's own when it starts anew over
	// all rows.
	starts []int
	// tuned says that the descent over all rows went to its end.
	tuned bool
}

// distinct puts the ends of a stage in order, best first, and those of one
// optimum together. from are the candidates that the descents began at, and
// value evaluates the NLML of the stage.
func (t *Task) distinct(r *hyperopt.Result, from []candidate, value func(z []float64) (float64, error)) ([]candidate, error) {
	var found []candidate
	for k, s := range r.Starts {
		if s.X != nil {
			found = append(found, candidate{Start: hyperopt.Start{Z: s.X, Metric: s.Metric}, f: s.F, starts: from[k].starts})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.f, b.f) })
	var out []candidate
next:
	for _, c := range found {
		for i, o := range out {
			one, err := t.same(o, c, value)
			if err != nil {
				return nil, err
			}
			if one {
				out[i].starts = slices.Concat(o.starts, c.starts)
				continue next
			}
		}
		out = append(out, c)
	}
	return out, nil
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
	if nats(a.Metric, za, zb) <= sameNats || nats(b.Metric, za, zb) <= sameNats {
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

// nats returns ½(b−a)ᵀB(b−a); without a metric B a distance of a log unit is
// far.
func nats(metric, a, b []float64) float64 {
	q, p := 0.0, len(a)
	for i := range p {
		for j := range p {
			d := (a[i] - b[i]) * (a[j] - b[j])
			switch {
			case metric != nil:
				q += d * metric[i*p+j] / 2
			case i == j:
				q += d
			}
		}
	}
	return q
}

// optimaReport lists what was found over all rows.
func (u *tuning) optimaReport() []Optimum {
	var out []Optimum
	for i, c := range slices.Concat(u.optima, u.dropped) {
		o := Optimum{Objective: c.f, NLML: u.task.nlmlOf(c.f), Parameters: map[string]float64{}, Starts: len(c.starts), Best: i == 0, Settled: !c.tuned}
		if i >= len(u.optima) {
			o.Rows, o.Settled = u.last, false
		}
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
