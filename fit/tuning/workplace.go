package tuning

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"gpfit/device"
	"gpfit/fit/internal/spread"
	"gpfit/fit/internal/starts"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/matrixrows"
)

// Workplace is a job with its devices, on which tuning opens the job, on some or all of its rows.
// It implements [hyperopt.Problem].
type Workplace struct {
	*Job
	Backends []device.Backend
	Full     []*Placement // over all rows; they stay open
	Crew     *Crew        // of sessions on a host
	bounded  sync.Once    // limits are computed
	limits   func(z []float64) []float64
	mu       sync.Mutex
	Warnings []string      // of closed sessions
	spent    time.Duration // by closed sessions in evaluations
	past     map[string]*Best
}

// Rows implements [hyperopt.Problem].
func (w *Workplace) Rows() int { return w.Job.N() }

// EqualRows implements [hyperopt.Structured], for a method that needs all rows.
func (w *Workplace) EqualRows() int {
	n := w.Rows()
	if w.Job.Experts != nil || n < 2 {
		return n
	}
	some := w.Job.On(w.Job.Sample.WithRows(matrixrows.All(n - 1)))
	if b := device.For(w.Backends[0], w.Job.workload()); b.Supports(some.workload()) != nil {
		return device.DenseSize(b.Plan(w.Job.workload()), n)
	}
	return n
}

// Parameters implements [hyperopt.Problem].
func (w *Workplace) Parameters() []descent.Parameter { return w.Job.Params.List() }

// Iterated implements [hyperopt.Watcher].
func (w *Workplace) Iterated(it descent.Iteration) {
	w.Job.Meter.Iterated(it)
	if tell := w.Job.Events.OnIteration; tell != nil {
		tell(it)
	}
}

// Workers implements [hyperopt.Problem]. A host alone takes several sessions.
func (w *Workplace) Workers(rows int) int {
	if host := w.Backends[0].Info(); len(w.Backends) == 1 && host.Host {
		return CrewSize(rows, host.Threads)
	}
	return len(w.Backends)
}

// backend returns the backend of a worker.
func (w *Workplace) backend(worker int) device.Backend { return w.Backends[worker%len(w.Backends)] }

// suiting returns the backend of a worker for a job on some rows. Local experts are exact processes.
func (w *Workplace) suiting(worker int, j *Job) device.Backend {
	b := device.Suiting(w.backend(worker), j.workload())
	if j.Experts != nil && !b.Capabilities().Exact {
		return w.backend(worker)
	}
	return b
}

// Limits implements [hyperopt.Problem]. It limits the free lengthscales of single columns.
func (w *Workplace) Limits(z []float64) []float64 {
	w.bounded.Do(func() { w.limits = starts.Limits(w.Job.Prepared) })
	return w.limits(z)
}

// Starts implements [hyperopt.Problem].
func (w *Workplace) Starts() ([][]float64, int) { return starts.Of(w.Job.Prepared) }

// Alternatives implements [hyperopt.Problem].
func (w *Workplace) Alternatives(z []float64) (near, far [][]float64) {
	return starts.Alternatives(w.Job.Prepared, z)
}

// Groups implements [hyperopt.Problem].
func (w *Workplace) Groups() []int { return spread.Groups(w.Job.Sample.Points) }

// Room implements [hyperopt.Problem].
func (w *Workplace) Room(ctx context.Context, workers int) error {
	for _, b := range w.Backends[:min(workers, len(w.Backends))] {
		ws, err := w.Job.backend(b).NewWorkspace(ctx, w.Job.Sample.Points)
		if err == nil {
			err = ws.Close()
		}
		if err != nil && w.Job.Events.Fallback == nil {
			return w.Job.AdviseExperts(err)
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
func (w *Workplace) Open(ctx context.Context, worker int, rows []int) (hyperopt.Session, error) {
	if rows == nil {
		releaseMatrices(w.Rows())
		s, err := w.Job.Open(ctx, w.backend(worker))
		if err != nil {
			return nil, w.Job.AdviseExperts(err)
		}
		s.Crew = w.Crew
		w.Full = append(w.Full, s)
		return s, nil
	}
	releaseMatrices(len(rows))
	sub := w.Job.plain(len(rows)).On(w.Job.Sample.WithRows(rows))
	if !sub.Model.DeterminedBy(sub.Sample) || sub.Sample.Fold != nil && len(sub.Sample.FoldEnds()) < 2 {
		return nil, hyperopt.ErrUndetermined
	}
	s, err := sub.Open(ctx, w.suiting(worker, sub))
	if err != nil {
		return nil, err
	}
	s.Crew, s.onClose = w.Crew, w.retire
	return s, nil
}

// retire keeps the warnings and the time of a session that is closed.
func (w *Workplace) retire(s *Placement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent += s.spent
	w.keep(s)
	w.Warnings = append(w.Warnings, s.Warnings...)
}

// model says which model a job has; the rows may differ.
func (j *Job) model() string {
	return fmt.Sprint(j.KernelText(), "|", j.MeanText(), "|", j.Options.InputTransform, "|", j.Options.TargetTransform)
}

// keep keeps the best evaluation of a session that is closed: for each model one, with the most rows.
func (w *Workplace) keep(s *Placement) {
	if s.Best == nil {
		return
	}
	if old := w.past[s.Job.model()]; old == nil || old.Job.N() < s.Job.N() || old.Job.N() == s.Job.N() && s.Best.F < old.F {
		if w.past == nil {
			w.past = map[string]*Best{}
		}
		w.past[s.Job.model()] = s.Best
	}
}

// Lowest returns the session over all rows with the lowest value; nil if there is none.
func (w *Workplace) Lowest() (lowest *Placement) {
	for _, s := range w.Full {
		if s.Best != nil && (lowest == nil || s.Best.F < lowest.Best.F) {
			lowest = s
		}
	}
	return lowest
}

// Reopen gives w the job of the best evaluation of its model by sessions that are closed, mostly on fewer rows, and
// returns a session that holds it, without evaluating anything. It is nil if there is no such evaluation.
func (w *Workplace) Reopen(ctx context.Context) (*Placement, error) {
	best := w.past[w.Job.model()]
	if best == nil {
		return nil, nil
	}
	Rebind(w, best.Job)
	s, err := best.Job.Open(ctx, w.suiting(0, best.Job))
	if err != nil {
		return nil, err
	}
	w.Full, s.Best = []*Placement{s}, best
	return s, s.Recall(best)
}

// Move closes the sessions over all rows and continues with another sample of the same rows.
func (w *Workplace) Move(s *problem.Sample) {
	for _, open := range w.Full {
		w.retire(open)
	}
	w.Close()
	w.Full, w.Job = nil, w.Job.On(s)
}

// First returns a session over all rows.
func (w *Workplace) First(ctx context.Context) (*Placement, error) {
	if len(w.Full) == 0 {
		if _, err := w.Open(ctx, 0, nil); err != nil {
			return nil, err
		}
	}
	return w.Full[0], nil
}

// EvaluationTime returns the time that all sessions spent in evaluations.
func (w *Workplace) EvaluationTime() time.Duration {
	spent := w.spent
	for _, s := range w.Full {
		spent += s.spent
	}
	return spent
}

func (w *Workplace) Close() {
	for _, s := range w.Full {
		s.Close()
	}
}

// Rebind closes the sessions of a workplace and gives it another job. Its warnings are forgotten, and
// its time stays.
func Rebind(w *Workplace, j *Job) {
	w.spent = w.EvaluationTime()
	for _, s := range w.Full {
		w.keep(s)
	}
	w.Close()
	w.Job, w.Full, w.Warnings, w.limits, w.bounded = j, nil, nil, nil, sync.Once{}
}
