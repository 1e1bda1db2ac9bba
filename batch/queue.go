package batch

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"
)

// The cores and the accelerators of a machine take jobs from one queue. Whoever has room takes the next job: accelerators
// the largest, cores the smallest. But a side leaves a job that the other side would end sooner, even if it came last there. So the
// queue ends no later than on the better side alone, up to one job. This file has the choice without the machine.

// side is the cores or the accelerators of a machine.
type side int

const (
	cores side = iota
	cards
)

func (s side) other() side { return 1 - s }

// never is the time of a job on a side that cannot run it.
var never = math.Inf(1)

// work is what a job takes on each side.
type work struct {
	rows int
	// planned are the seconds before anything is measured, or never. share is the part of the side that the job
	// occupies.
	planned, share [2]float64
}

// on reports whether a side can run the job.
func (w work) on(s side) bool { return !math.IsInf(w.planned[s], 1) }

// rates are the times of finished jobs on each side, by the class of their rows, in relation to the plans.
type rates [2]map[int]measured

type measured struct{ planned, taken float64 }

// memory is the weight of the jobs before, when another one is measured: the last eight decide.
const memory = 7. / 8

// class puts rows that differ by less than a factor of two together.
func class(rows int) int { return bits.Len(uint(max(rows, 0))) }

// add adds the seconds that a job took on a side.
func (r *rates) add(s side, w work, seconds float64) {
	if !w.on(s) || w.planned[s] <= 0 || seconds <= 0 {
		return
	}
	if r[s] == nil {
		r[s] = map[int]measured{}
	}
	m := r[s][class(w.rows)]
	r[s][class(w.rows)] = measured{memory*m.planned + w.planned[s], memory*m.taken + seconds}
}

// known reports whether a side has finished a job.
func (r *rates) known(s side) bool { return len(r[s]) > 0 }

// seconds returns the expected time of a job on a side. Jobs of the nearest size tell by how much the plan errs, on the other
// side if none has finished on this one.
func (r *rates) seconds(s side, w work) float64 {
	from := s
	if !r.known(from) {
		from = s.other()
	}
	factor, nearest := 1., math.MaxInt
	for c, m := range r[from] {
		distance := 2 * (c - class(w.rows))
		if distance < 0 {
			distance = 1 - distance // of two classes at the same distance the one with more rows
		}
		if distance < nearest {
			factor, nearest = m.taken/m.planned, distance
		}
	}
	return w.planned[s] * factor
}

// left returns how much longer a side is full with a job that began some time ago.
func (r *rates) left(s side, w work, ago time.Duration) float64 {
	all := r.seconds(s, w)
	return max(0.1*all, all-ago.Seconds()) * w.share[s]
}

// leaves reports whether a side leaves a job to the other side, which is full for some time with the jobs that it runs. Other jobs
// wait; all of them that the other side can run come before.
func (r *rates) leaves(s side, w work, full float64, others iter.Seq[work]) bool {
	o := s.other()
	switch {
	case !w.on(o): // if no side can run it, this one says why
		return false
	case !w.on(s):
		return true
	}
	here, there := r.seconds(s, w), full+r.seconds(o, w)
	for before := range others {
		if there >= here {
			return false
		}
		if before.on(o) {
			there += r.seconds(o, before) * before.share[o]
		}
	}
	return there < here
}

// simulation is a queue in which jobs take the time that is expected.
type simulation struct {
	*rates
	jobs    []work
	waiting [2][]int // jobs of each side, in its order
	taken   []bool
	running [2][]ending
	used    [2]float64
	now     float64
	ran     []side
}

// ending is when a job of the simulation ends.
type ending struct {
	job int
	at  float64
}

// simulate returns the side of each job, and when the last one ends. The largest jobs come first in jobs.
func simulate(jobs []work, r *rates) (ran []side, ends float64) {
	q := &simulation{rates: r, jobs: jobs, taken: make([]bool, len(jobs)), ran: make([]side, len(jobs))}
	for i, w := range jobs {
		for _, s := range []side{cores, cards} {
			if w.on(s) {
				q.waiting[s] = append(q.waiting[s], i)
			}
		}
	}
	slices.Reverse(q.waiting[cores])
	for {
		q.start(cards)
		q.start(cores)
		if len(q.running[cores])+len(q.running[cards]) == 0 {
			return q.ran, q.now
		}
		q.end()
	}
}

// start starts the jobs that a side takes now.
func (q *simulation) start(s side) {
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
		if q.used[s] > 0 && q.used[s]+w.share[s] > 1+rounding || q.leaves(s, w, q.full(s.other()), q.others(s.other(), i)) {
			passed++
			continue
		}
		q.taken[i], q.ran[i] = true, s
		q.used[s] += w.share[s]
		q.running[s] = append(q.running[s], ending{i, q.now + q.seconds(s, w)})
	}
}

// full returns how long the running jobs fill a side.
func (q *simulation) full(s side) (sum float64) {
	for _, e := range q.running[s] {
		sum += (e.at - q.now) * q.jobs[e.job].share[s]
	}
	return sum
}

// others are the jobs that wait for a side, without job i.
func (q *simulation) others(s side, i int) iter.Seq[work] {
	return func(yield func(work) bool) {
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
		q.running[s] = slices.DeleteFunc(q.running[s], func(e ending) bool {
			if e.at <= next {
				q.used[s] -= q.jobs[e.job].share[s]
				return true
			}
			return false
		})
		if len(q.running[s]) == 0 {
			q.used[s] = 0 // without the rounding of the sum
		}
	}
}
