// Package queue divides jobs between cores and accelerators.
//
// Both take jobs from one queue. Whoever is free takes the next job: accelerators the largest, cores the smallest. But a side
// leaves a job that the other side would end sooner, even if it came last there ([Rates.Leaves]). So the queue ends no later than
// on the better side alone, up to one job. [Simulate] runs a queue in which jobs take the time that is expected.
package queue

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"

	"gpfit/internal/pace"
)

// Side is the cores or the accelerators of a machine.
type Side int

// The sides.
const (
	Cores Side = iota
	Cards
)

// Other returns the other side.
func (s Side) Other() Side { return 1 - s }

// Never is the time of a job on a side that cannot run it.
var Never = math.Inf(1)

// Load is the time and the share of a job on each side.
type Load struct {
	Rows int
	// Planned are the seconds before anything is measured, or [Never]. Share is the part of the side that the job
	// occupies.
	Planned, Share [2]float64
}

// On reports whether a side can run the job.
func (w Load) On(s Side) bool { return !math.IsInf(w.Planned[s], 1) }

// Rates are the times of finished jobs on each side, by the class of their rows, in relation to the plans.
type Rates [2]map[int]pace.Rate

// memory is the weight of the jobs before, when another one is measured: the last eight decide.
const memory = 7. / 8

// class puts rows that differ by less than a factor of two together.
func class(rows int) int { return bits.Len(uint(max(rows, 0))) }

// Add adds the seconds that a job took on a side.
func (r *Rates) Add(s Side, w Load, seconds float64) {
	if !w.On(s) || w.Planned[s] <= 0 || seconds <= 0 {
		return
	}
	if r[s] == nil {
		r[s] = map[int]pace.Rate{}
	}
	m := r[s][class(w.Rows)]
	m.Fade(memory)
	m.Add(w.Planned[s], seconds)
	r[s][class(w.Rows)] = m
}

// known reports whether a side has finished a job.
func (r *Rates) known(s Side) bool { return len(r[s]) > 0 }

// Seconds returns the expected time of a job on a side. Jobs of the nearest size tell by how much the plan errs, on the other
// side if none has finished on this one.
func (r *Rates) Seconds(s Side, w Load) float64 {
	from := s
	if !r.known(from) {
		from = s.Other()
	}
	factor, nearest := 1., math.MaxInt
	for c, m := range r[from] {
		distance := 2 * (c - class(w.Rows))
		if distance < 0 {
			distance = 1 - distance // at the same distance, the class with more rows is nearer
		}
		if distance < nearest {
			factor, nearest = m.Seconds(1), distance
		}
	}
	return w.Planned[s] * factor
}

// Left returns how much longer a side is full with a job that began some time ago.
func (r *Rates) Left(s Side, w Load, ago time.Duration) float64 {
	return pace.Left(r.Seconds(s, w), ago.Seconds()) * w.Share[s]
}

// Leaves reports whether a side leaves a job to the other side, which is full for some time with the jobs that it runs. Other jobs
// wait; all of them that the other side can run come before.
func (r *Rates) Leaves(s Side, w Load, full float64, others iter.Seq[Load]) bool {
	o := s.Other()
	switch {
	case !w.On(o): // if no side can run it, this one says why
		return false
	case !w.On(s):
		return true
	}
	here, there := r.Seconds(s, w), full+r.Seconds(o, w)
	for before := range others {
		if there >= here {
			return false
		}
		if before.On(o) {
			there += r.Seconds(o, before) * before.Share[o]
		}
	}
	return there < here
}

// simulation is a queue in which jobs take the time that is expected.
type simulation struct {
	*Rates
	jobs    []Load
	waiting [2][]int // jobs of each side, in its order
	taken   []bool
	running [2][]slot
	used    [2]float64
	now     float64
	ran     []Side
}

// slot is when a job of the simulation ends.
type slot struct {
	job int
	at  float64
}

// Simulate returns the side of each job, and when the last one ends. The largest jobs come first in jobs.
func Simulate(jobs []Load, r *Rates) (ran []Side, ends float64) {
	q := &simulation{Rates: r, jobs: jobs, taken: make([]bool, len(jobs)), ran: make([]Side, len(jobs))}
	for i, w := range jobs {
		for _, s := range []Side{Cores, Cards} {
			if w.On(s) {
				q.waiting[s] = append(q.waiting[s], i)
			}
		}
	}
	slices.Reverse(q.waiting[Cores])
	for {
		q.start(Cards)
		q.start(Cores)
		if len(q.running[Cores])+len(q.running[Cards]) == 0 {
			return q.ran, q.now
		}
		q.end()
	}
}

// start starts the jobs that a side takes now.
func (q *simulation) start(s Side) {
	const rounding, most = 1e-9, 100
	for len(q.waiting[s]) > 0 && q.taken[q.waiting[s][0]] {
		q.waiting[s] = q.waiting[s][1:]
	}
	passed := 0
	for _, i := range q.waiting[s] {
		if q.used[s] >= 1-rounding || passed > most {
			return
		}
		w := q.jobs[i]
		if q.taken[i] {
			continue
		}
		if q.used[s] > 0 && q.used[s]+w.Share[s] > 1+rounding || q.Leaves(s, w, q.full(s.Other()), q.others(s.Other(), i)) {
			passed++
			continue
		}
		q.taken[i], q.ran[i] = true, s
		q.used[s] += w.Share[s]
		q.running[s] = append(q.running[s], slot{i, q.now + q.Seconds(s, w)})
	}
}

// full returns how long the running jobs fill a side.
func (q *simulation) full(s Side) (sum float64) {
	for _, e := range q.running[s] {
		sum += (e.at - q.now) * q.jobs[e.job].Share[s]
	}
	return sum
}

// others are the jobs that wait for a side, without job i.
func (q *simulation) others(s Side, i int) iter.Seq[Load] {
	return func(yield func(Load) bool) {
		for _, k := range q.waiting[s] {
			if k != i && !q.taken[k] && !yield(q.jobs[k]) {
				return
			}
		}
	}
}

// end goes on to the next end of a job.
func (q *simulation) end() {
	next := math.Inf(1)
	for s := range q.running {
		for _, e := range q.running[s] {
			next = min(next, e.at)
		}
	}
	q.now = next
	for s := range q.running {
		q.running[s] = slices.DeleteFunc(q.running[s], func(e slot) bool {
			if e.at <= next {
				q.used[s] -= q.jobs[e.job].Share[s]
				return true
			}
			return false
		})
		if len(q.running[s]) == 0 {
			q.used[s] = 0 // without the rounding of the sum
		}
	}
}
