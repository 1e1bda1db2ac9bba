package blas

import (
	"sync"

	"gpfit/internal/team"
)

// A pool keeps the jobs of an engine, with their buffers, and its threads. The threads
// serve one call at a time; other calls work on their own goroutines.
type pool struct {
	team   *team.Team
	shared *job      // for the call that has acquired the team
	spare  sync.Pool // jobs of the other calls
}

func newPool(threads int) *pool {
	return &pool{team: team.New(threads), shared: &job{}}
}

// acquire returns an empty job for a call that can use up to the given number of
// threads, with the team if it is free.
func (p *pool) acquire(threads int) *job {
	var j *job
	pooled := threads > 1 && p.team.TryAcquire()
	if pooled {
		j = p.shared
	} else {
		threads = 1
		if j, _ = p.spare.Get().(*job); j == nil {
			j = &job{}
		}
	}
	j.threads, j.pooled = threads, pooled
	if n := threads - len(j.scratch); n > 0 {
		j.scratch = append(j.scratch, make([]buffer, n)...)
	}
	return j
}

// release returns a job to the pool.
func (p *pool) release(j *job) {
	j.reset()
	if j.pooled {
		p.team.Release()
	} else {
		p.spare.Put(j)
	}
}

// run executes a job, returns it to the pool and returns j.minor.
func (p *pool) run(j *job) (minor int) {
	defer p.release(j)
	j.next.Store(0)
	j.minor.Store(0)
	j.broken.Store(false)
	if j.pooled {
		p.team.Run(j.threads, j)
	} else {
		j.Work(0)
	}
	return int(j.minor.Load())
}
