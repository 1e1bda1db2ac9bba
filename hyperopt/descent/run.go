package descent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gpfit/internal/journal"
)

// run is a checked problem with checked settings.
type run struct {
	space      *space
	starts     []Start
	objectives []Func
	settings   Options
	log        func(start int) *journal.Sequence
	board      *board
}

func newRun(p Search, s Options) (*run, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if s.Method == nil {
		s.Method = LBFGS{}
	}
	if len(p.Objectives) == 0 {
		return nil, fmt.Errorf("hyperopt: no objective is given")
	}
	space, err := newSpace(p.Parameters)
	if err != nil {
		return nil, err
	}
	space.limits = p.Limits
	starts, err := space.begin(p.Starts)
	if err != nil {
		return nil, err
	}
	log := p.Log
	if log == nil {
		log = func(int) *journal.Sequence { return nil }
	}
	return &run{space: space, starts: starts, objectives: p.Objectives, settings: s, log: log, board: newBoard(s, len(starts))}, nil
}

// descent prepares start k, which calls notify after each iteration.
func (r *run) descent(k int, obj Func, notify func(*Descent)) *Descent {
	ev := NewOracle(obj, r.log(k))
	ev.max = r.settings.MaxEvaluations
	return newDescent(r.space, r.settings, k, r.starts[k], ev, notify)
}

// SideBySide calls do in parallel for 0 … n−1, in order, each with the next free
// worker, until a call returns false.
func SideBySide[W any](n int, workers []W, do func(worker W, k int) bool) {
	var next atomic.Int64
	work := func(w W) {
		for {
			k := int(next.Add(1)) - 1
			if k >= n || !do(w, k) {
				return
			}
		}
	}
	var wg sync.WaitGroup
	for _, w := range workers[1:min(len(workers), max(1, n))] {
		wg.Go(func() { work(w) })
	}
	work(workers[0])
	wg.Wait()
}

// fatal reports whether the error of a start ends the run.
func (r *StartResult) fatal() bool {
	var begin *StartError
	return r.Err != nil && !errors.As(r.Err, &begin)
}

// board collects the progress of all starts for the callback.
type board struct {
	mu       sync.Mutex
	callback func(Iteration)
	counts   []Evaluations
	best     float64
}

func newBoard(s Options, n int) *board {
	return &board{callback: s.Callback, counts: make([]Evaluations, n), best: math.Inf(1)}
}

// finish records the final counts of a start.
func (b *board) finish(k int, r StartResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[k] = r.Evaluations
}

// notify reports an iteration to the callback. Calls never overlap.
func (b *board) notify(k int, d *Descent) {
	if b.callback == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[k] = d.ev.counts
	b.best = math.Min(b.best, d.ev.best.F)
	it := Iteration{
		Start: k, Iteration: d.iter, F: d.at.F, GradientNorm: d.space.norm(d.at.Z, d.at.G),
		Evaluations: d.ev.counts, Best: b.best, Z: slices.Clone(d.at.Z),
	}
	for _, c := range b.counts {
		it.Total.Add(c)
	}
	b.callback(it)
}
