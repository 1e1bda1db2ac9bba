package fit

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"gpfit/device"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
)

// workplace is a job with its devices, on which tuning opens the job, on some or all of
// its rows. It implements [hyperopt.Problem].
type workplace struct {
	job      *Job
	backends []device.Backend
	full     []*session // over all rows; they stay open
	crew     *crew      // of sessions on a host
	bounded  sync.Once  // limits are computed
	limits   *limits
	mu       sync.Mutex
	warnings []string      // of closed sessions
	spent    time.Duration // by closed sessions in evaluations
}

// Rows implements [hyperopt.Problem].
func (w *workplace) Rows() int { return w.job.N() }

// Parameters implements [hyperopt.Problem].
func (w *workplace) Parameters() []descent.Parameter { return w.job.params.list() }

// Iterated implements [hyperopt.Watcher].
func (w *workplace) Iterated(it descent.Iteration) {
	if tell := w.job.events.OnIteration; tell != nil {
		tell(it)
	}
}

// Starts implements [hyperopt.Problem].
func (w *workplace) Starts() [][]float64 { return w.job.Starts() }

// Alternatives implements [hyperopt.Problem].
func (w *workplace) Alternatives(z []float64) [][]float64 { return w.job.Alternatives(z) }

// Groups implements [hyperopt.Problem].
func (w *workplace) Groups() []int { return w.job.Groups() }

// Workers implements [hyperopt.Problem]. A host alone takes several sessions.
func (w *workplace) Workers(rows int) int {
	if host := w.backends[0].Info(); len(w.backends) == 1 && host.Host {
		return crewSize(rows, host.Threads)
	}
	return len(w.backends)
}

// backend returns the backend of a worker.
func (w *workplace) backend(worker int) device.Backend { return w.backends[worker%len(w.backends)] }

// Limits implements [hyperopt.Problem]. It limits the free lengthscales of single
// columns.
func (w *workplace) Limits(z []float64) []float64 {
	w.bounded.Do(func() { w.limits = newLimits(w.job.Prepared) })
	return w.limits.at(z)
}

// Room implements [hyperopt.Problem].
func (w *workplace) Room(ctx context.Context, workers int) error {
	for _, b := range w.backends[:min(workers, len(w.backends))] {
		ws, err := w.job.backend(b).NewWorkspace(ctx, w.job.sample.points)
		if err == nil {
			err = ws.Close()
		}
		if err != nil && w.job.events.Fallback == nil {
			return w.job.adviseExperts(err)
		}
	}
	return nil
}

// releaseFrom is the number of rows from which the memory of a matrix, 16 MB, is worth a
// garbage collection, which takes milliseconds.
const releaseFrom = 1400

// releaseMatrices returns the memory of closed workspaces to the system before one of
// n rows is opened. Otherwise the workspaces of Room and of earlier stages would keep
// more memory than another matrix until the next collection.
func releaseMatrices(n int) {
	if n >= releaseFrom {
		debug.FreeOSMemory()
	}
}

// Open implements [hyperopt.Problem].
func (w *workplace) Open(ctx context.Context, worker int, rows []int) (hyperopt.Session, error) {
	if rows == nil {
		releaseMatrices(w.Rows())
		s, err := w.job.open(ctx, w.backend(worker))
		if err != nil {
			return nil, w.job.adviseExperts(err)
		}
		s.crew = w.crew
		w.full = append(w.full, s)
		return s, nil
	}
	releaseMatrices(len(rows))
	sub := w.job.plain(len(rows)).on(w.job.sample.withRows(rows))
	if !sub.model.determinedBy(sub.sample) || sub.opts.Objective.LeavesFoldsOut() && len(sub.sample.foldEnds()) < 2 {
		return nil, hyperopt.ErrUndetermined
	}
	s, err := sub.open(ctx, w.backend(worker))
	if err != nil {
		return nil, err
	}
	s.crew, s.onClose = w.crew, w.retire
	return s, nil
}

// retire keeps the warnings and the time of a session that is closed.
func (w *workplace) retire(s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent += s.spent
	w.warnings = append(w.warnings, s.warnings...)
}

// first returns a session over all rows.
func (w *workplace) first(ctx context.Context) (*session, error) {
	if len(w.full) == 0 {
		if _, err := w.Open(ctx, 0, nil); err != nil {
			return nil, err
		}
	}
	return w.full[0], nil
}

// evaluationTime returns the time that all sessions spent in evaluations.
func (w *workplace) evaluationTime() time.Duration {
	spent := w.spent
	for _, s := range w.full {
		spent += s.spent
	}
	return spent
}

func (w *workplace) close() {
	for _, s := range w.full {
		s.Close()
	}
}
