package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/device/queue"
	"gpfit/internal/pace"
)

// Job is a job of [Pool.Run].
type Job struct {
	Demand
	// Do computes the job on a backend.
	Do func(ctx context.Context, b device.Backend) error

	names [2]string // of the devices on the sides
	load  queue.Load
	at    Place
	began time.Time
	err   error
}

// Standing is how far the jobs of [Pool.Run] are, with an estimate of the time left, 0 if unknown.
type Standing struct {
	Total, Done, Failed, Running int
	Left                         time.Duration
}

// progressInterval is the time between two calls of a function for the progress.
const progressInterval = 200 * time.Millisecond

// line is the state of Run; all of it belongs to one goroutine.
type line struct {
	*Pool
	waiting []*Job // the largest first
	running []*Job
	cards   bool // a job may take an accelerator
	rates   queue.Rates
	began   time.Time
	pace    pace.Rate
	busy    time.Duration // of all finished jobs
	sum     Standing
}

// Run runs jobs, the largest first, and returns when all have ended. It calls ended and progress, one
// call at a time. A job without a place ends with the reason. After the end of ctx no job begins:
// the jobs that wait end with the error of ctx.
func (p *Pool) Run(ctx context.Context, jobs []*Job, ended func(j *Job, err error), progress func(Standing)) {
	r := &line{Pool: p, waiting: slices.Clone(jobs), began: time.Now(), sum: Standing{Total: len(jobs)}}
	slices.SortStableFunc(r.waiting, func(a, b *Job) int { return cmp.Compare(b.Cost(), a.Cost()) })
	for _, j := range jobs {
		if _, ok := p.Found.OnHost(j.Device); !ok {
			r.cards = true
			p.OpenAccelerators(ctx, func(string) {})
		}
	}
	results := make(chan *Job)
	end := func(j *Job, err error) {
		r.sum.Done++
		if err != nil {
			r.sum.Failed++
		}
		ended(j, err)
	}
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	r.tell(progress)
	for len(r.waiting)+len(r.running) > 0 {
		if ctx.Err() != nil {
			for _, j := range r.waiting {
				end(j, ctx.Err())
			}
			r.waiting = nil
		} else {
			r.start(ctx, results, end)
		}
		if len(r.running) == 0 {
			for _, j := range r.waiting { // nothing will make room
				end(j, ErrLater)
			}
			break
		}
		select {
		case j := <-results:
			r.finish(j, end)
			r.tell(progress)
		case <-tick.C:
			r.tell(progress)
		}
	}
	r.tell(progress)
}

// start starts the jobs that fit. A side on which its first job does not fit waits.
func (r *line) start(ctx context.Context, results chan<- *Job, end func(j *Job, err error)) {
	for _, on := range []queue.Side{queue.Cards, queue.Cores} {
		if on == queue.Cards && !r.cards {
			continue
		}
		order := slices.Clone(r.waiting)
		if on == queue.Cores && r.Has(device.Auto) {
			slices.Reverse(order) // the cores take the smallest
		}
		for _, j := range order {
			if r.Full(on) || !r.try(ctx, j, on, results, end) {
				break
			}
		}
	}
}

// try starts a job on a side if it has a place there and the other side does not end it sooner. It
// reports whether another job may start on the side.
func (r *line) try(ctx context.Context, j *Job, on queue.Side, results chan<- *Job, end func(j *Job, err error)) bool {
	if names := r.Sides(&j.Demand); names != j.names {
		j.names, j.load = names, r.Load(&j.Demand)
	}
	if j.names[on] == "" && j.names[on.Other()] != "" || r.leaves(on, j) {
		return true
	}
	at, err := r.Find(&j.Demand, on)
	if errors.Is(err, ErrLater) {
		return false
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(other *Job) bool { return other == j })
	if err != nil {
		end(j, err)
		return true
	}
	j.at, j.began, r.running = at, time.Now(), append(r.running, j)
	r.Reserve(at)
	go func() {
		j.err = r.do(ctx, j)
		results <- j
	}()
	return true
}

// do computes a job at its place.
func (r *line) do(ctx context.Context, j *Job) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the fit panicked: %v", p)
		}
	}()
	b, giveBack, err := r.Backend(ctx, j.at)
	if err != nil {
		return err
	}
	defer giveBack()
	return j.Do(ctx, b)
}

// leaves reports whether a side leaves a job to the other side.
func (r *line) leaves(on queue.Side, j *Job) bool {
	if j.names[queue.Cores] == "" || j.names[queue.Cards] == "" {
		return false
	}
	full := 0.
	for _, other := range r.running {
		if at := other.at.Side(); at == on.Other() {
			full += r.rates.Left(at, other.load, time.Since(other.began))
		}
	}
	return r.rates.Leaves(on, j.load, full, func(yield func(queue.Load) bool) {
		for _, other := range r.waiting {
			if other != j && other.names != [2]string{} && !yield(other.load) {
				return
			}
		}
	})
}

// finish frees the place of a job. A job of auto whose accelerator is lost starts again elsewhere.
func (r *line) finish(j *Job, end func(j *Job, err error)) {
	r.Free(j.at)
	r.running = slices.DeleteFunc(r.running, func(other *Job) bool { return other == j })
	var lost *device.LostError
	if a := j.at.Accelerator; a != nil && errors.As(j.err, &lost) {
		a.Lost = true
		if j.Auto() || j.Fallback != "" {
			r.waiting = append([]*Job{j}, r.waiting...)
			return
		}
	}
	if j.err == nil {
		busy := time.Since(j.began)
		r.pace.Add(j.Cost(), busy.Seconds())
		r.busy += busy
		r.rates.Add(j.at.Side(), j.load, busy.Seconds())
	}
	end(j, j.err)
}

// tell passes on the progress.
func (r *line) tell(progress func(Standing)) {
	if progress == nil {
		return
	}
	var rest pace.Rest
	for _, j := range r.waiting {
		rest.Add(r.pace.Seconds(j.Cost()), 0)
	}
	for _, j := range r.running {
		rest.Add(r.pace.Seconds(j.Cost()), time.Since(j.began).Seconds())
	}
	r.sum.Running, r.sum.Left = len(r.running), rest.Left(float64(r.busy)/float64(max(1, time.Since(r.began))))
	progress(r.sum)
}
