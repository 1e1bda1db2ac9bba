package batch

import (
	"errors"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/device/pool"
	"gpfit/device/queue"
)

// start starts every pending job that fits, and prepares the next ones.
func (s *scheduler) start() {
	s.ahead = slices.DeleteFunc(s.ahead, s.admit)
	r := round{scheduler: s, gone: map[*task]bool{}, held: [2][]*task{queue.Cores: s.ahead}}
	for _, t := range s.pending {
		if r.closed(queue.Cores) && (r.closed(queue.Cards) || !s.pool.Has(device.Auto)) {
			break
		}
		on := queue.Cores
		if s.sides(t)[queue.Cards] != "" {
			on = queue.Cards
		}
		r.try(t, on)
	}
	// The cores take of the jobs that accelerators leave, the smallest first.
	if s.pool.Has(device.Auto) {
		for _, t := range slices.Backward(s.pending) {
			if r.closed(queue.Cores) {
				break
			}
			if names := s.sides(t); names[queue.Cores] != "" && names[queue.Cards] != "" && !r.gone[t] {
				r.try(t, queue.Cores)
			}
		}
	}
	s.pending = slices.DeleteFunc(s.pending, func(t *task) bool { return r.gone[t] })
	s.goAhead()
	next := min(len(s.pending), s.pool.Cores)
	for _, t := range slices.Concat(s.pending[:next], s.pending[max(next, len(s.pending)-s.pool.Cores):]) {
		go func() { _, _ = s.ready(t) }()
	}
}

// round is a search for pending jobs that can start now.
type round struct {
	*scheduler
	gone map[*task]bool // they have begun, or are refused
	// held are jobs of each side that do not fit. Others may overtake them, but not forever.
	held [2][]*task
}

// closed reports whether nothing more can start on a side.
func (r *round) closed(on queue.Side) bool {
	return r.pool.Full(on) || slices.ContainsFunc(r.held[on], impatient)
}

// try starts a job on a side if it fits there and the other side does not end it sooner.
func (r *round) try(t *task, on queue.Side) {
	if r.closed(on) || r.leaves(on, t, r.gone) {
		return
	}
	at, err := r.pool.Find(&t.Demand, on)
	switch {
	case errors.Is(err, pool.ErrLater):
		if len(r.held[on]) == 0 || on == queue.Cores && len(r.held[on]) == len(r.ahead) {
			r.held[on] = append(slices.Clip(r.held[on]), t)
		}
	case err != nil && t.Auto() && t.Home != "":
		r.leaveHome(t, err.Error())
	case err != nil:
		r.gone[t] = true
		r.refuse(t, err)
	default:
		r.gone[t] = true
		if on := at.DeviceName(); t.Auto() && t.Home != "" && t.Home != on {
			r.leaveHome(t, "it continues on "+on)
		}
		r.take(t, at)
		r.begin(t)
		for _, waiting := range r.held[on] {
			waiting.passed++
		}
	}
}

// leaveHome makes a task forget the device on which it began.
func (r *round) leaveHome(t *task, why string) {
	text := fmt.Sprintf("the job began on %s and does not continue there: %s", t.Home, why)
	t.Home, t.Notes = "", append(t.Notes, text)
	r.note(t.job.ID + ": " + text)
}

// sides returns the names of the devices that a task may take on each side, with its work there up to date.
func (s *scheduler) sides(t *task) [2]string {
	if names := s.pool.Sides(&t.Demand); names != t.sides {
		t.sides, t.work = names, s.pool.Load(&t.Demand)
	}
	return t.sides
}

// leaves reports whether a side leaves a pending task to the other side. Tasks that are gone do not wait.
func (s *scheduler) leaves(on queue.Side, t *task, gone map[*task]bool) bool {
	names := s.sides(t)
	if names[queue.Cores] == "" || names[queue.Cards] == "" {
		return false
	}
	full := 0.
	for other := range s.running {
		if at := other.at.Side(); at == on.Other() {
			full += s.rates.Left(at, other.work, other.ran())
		}
	}
	return s.rates.Leaves(on, t.work, full, func(yield func(queue.Load) bool) {
		for _, other := range s.pending {
			if other != t && !gone[other] {
				s.sides(other)
				if !yield(other.work) {
					return
				}
			}
		}
	})
}

func impatient(t *task) bool { return t.passed > patience }
