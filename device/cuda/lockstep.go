package cuda

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"gpfit/device"
	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/kernels"
)

// lockstep is the thread and stream of a card on which small workspaces compute, whatever [Device] they come from.
// Alone, each of them leaves most of the card idle. Calls for one step on matrices of one order that wait for the
// thread at the same time run together: the next of them to get the thread takes all of them along. The bits of a
// result do not depend on the company (see [kernels.Batch]).
type lockstep struct {
	*gpu
	users int // open devices, under the lock of cards

	mu      sync.Mutex
	waiting []*member

	// The following belong to the thread. company is the size of the last group. The next waits up to linger for as
	// many, because the workspaces of a group return at the same time.
	company int
	linger  time.Duration
	shared  memory
	table   buffer // the words of the problems
	// words are the contents of table.
	words   []int64
	results buffer // two numbers for each problem
}

// step is a computation that workspaces can do together.
type step struct {
	launches func(kernels.Batch) []kernels.Launch
	// results says that the step yields the results of a problem.
	results bool
}

var (
	stepFactor = &step{launches: kernels.Batch.Factor, results: true}
	stepLogDet = &step{launches: kernels.Batch.LogDet, results: true}
	stepSolve  = &step{launches: kernels.Batch.Solve}
	stepInvert = &step{launches: kernels.Batch.Invert}
)

// member is a call of a workspace that waits for a step. Its functions run on the thread: prepare before the step,
// queued after the step is in the stream, and after once the stream has done all that, with the results of the
// workspace's problem.
type member struct {
	*Workspace
	ctx             context.Context
	needs           stage
	step            *step
	prepare, queued func()
	after           func(results []float64)
	served          bool
	err             error
}

// cards holds the lockstep of every card in use.
var cards = struct {
	sync.Mutex
	open map[int]*lockstep
}{open: map[int]*lockstep{}}

// lingering is a small part of the time of a group.
const lingering = 100 * time.Microsecond

// acquire returns the lockstep of a card, and opens it if no other device has.
func acquire(index int) (*lockstep, error) {
	cards.Lock()
	defer cards.Unlock()
	l := cards.open[index]
	if l == nil {
		g, err := openGPU(index)
		if err != nil {
			return nil, err
		}
		l = &lockstep{gpu: g, shared: memory{gpu: g}, linger: lingering}
		cards.open[index] = l
	}
	l.users++
	return l, nil
}

// release closes it after the last device.
func (l *lockstep) release() error {
	cards.Lock()
	defer cards.Unlock()
	if l.users--; l.users > 0 {
		return nil
	}
	delete(cards.open, l.info.Index)
	err := errors.Join(l.shared.free(), l.close())
	if driver.IsSticky(err) {
		return nil // the card is lost, with all that was on it
	}
	return err
}

// join runs a member's step, together with the other members that wait for the same, and returns its error.
func (l *lockstep) join(m *member) error {
	if m.closed {
		return device.ErrStage
	}
	l.mu.Lock()
	l.waiting = append(l.waiting, m)
	l.mu.Unlock()
	err := l.do(func() error {
		l.serve(m)
		return nil
	})
	if err != nil && !m.served { // the thread did not run
		l.mu.Lock()
		l.waiting = slices.DeleteFunc(l.waiting, func(o *member) bool { return o == m })
		l.mu.Unlock()
		m.err = err
	}
	return m.ended(m.err)
}

// serve runs the step of a member for it and for all that wait for the same, unless another has served it. It must
// be on the thread.
func (l *lockstep) serve(first *member) {
	if first.served {
		return
	}
	members := l.group(first)
	var ready []*member
	for _, m := range members {
		m.served, m.err = true, m.begin()
		if m.err == nil {
			ready = append(ready, m)
		}
	}
	if len(ready) == 0 {
		return
	}
	q := queue{gpu: l.gpu, ctx: context.Background()}
	results := l.run(&q, ready)
	for i, m := range ready {
		m.fail(q.err)
		if m.err = m.Workspace.err; m.err == nil && m.after != nil {
			m.after(results[2*i : 2*i+2])
			m.err = m.Workspace.err
		}
	}
}

// group returns a member with the others that wait for the same, and takes them from those that wait.
func (l *lockstep) group(first *member) []*member {
	members, began := []*member{first}, time.Now()
	for {
		l.mu.Lock()
		l.waiting = slices.DeleteFunc(l.waiting, func(o *member) bool {
			suits := o != first && o.step == first.step && o.n == first.n
			if suits {
				members = append(members, o)
			}
			return suits || o == first
		})
		l.mu.Unlock()
		if len(members) >= l.company || time.Since(began) > l.linger {
			l.company = len(members)
			return members
		}
		runtime.Gosched()
	}
}

// begin prepares the workspace for the step.
func (m *member) begin() error {
	w := m.Workspace
	if w.stage < m.needs {
		return device.ErrStage
	}
	w.ctx, w.err = m.ctx, nil
	w.poll()
	if m.step != stepFactor && m.step != stepLogDet {
		w.need(&w.memory, &w.panel, w.sizes.panelWidth(w.n)*leadingDim(w.n))
	}
	if m.prepare != nil {
		m.prepare()
	}
	return w.err
}

// run runs the step of the members, which is the same, and returns two results for each. An error stays in q.
func (l *lockstep) run(q *queue, members []*member) []float64 {
	s, n, count := members[0].step, members[0].n, int64(len(members))
	results := make([]float64, 2*count)
	q.need(&l.shared, &l.results, 2*count)
	l.tell(q, members)
	q.run(s.launches(kernels.Batch{Problems: l.table.at, Count: count, N: n, LD: leadingDim(n)})...)
	if s.results {
		q.receive(results, l.results.at)
	}
	for _, m := range members {
		if m.queued != nil && q.err == nil {
			m.queued()
		}
	}
	if q.wait(); q.err != nil {
		l.staging.Forget()
	}
	return results
}

// tell copies the words of the problems to the device, unless they are there.
func (l *lockstep) tell(q *queue, members []*member) {
	var words []int64
	for i, m := range members {
		p := kernels.Problem{
			A: m.sigma.at, Panel: m.panel.at, Diagonal: m.kappa.at, Pivots: m.ldia.at,
			RHS: m.alpha.at, Out: l.results.at.Offset(16 * int64(i)),
		}
		words = append(words, p.Words()...)
	}
	if slices.Equal(words, l.words) {
		return
	}
	l.words = nil
	q.need(&l.shared, &l.table, int64(len(words)))
	q.then(func() error { return driver.Send(l.staging, l.table.at, words) })
	if q.err == nil {
		l.words = words
	}
}

// factorization is the member that overwrites Σ with L, after fill.
func factorization(ctx context.Context, w *Workspace, fill func()) *member {
	factor, _ := kernels.Batch{N: w.n}.Flops()
	return &member{Workspace: w, ctx: ctx, step: stepFactor, prepare: fill, after: func(results []float64) {
		w.stage = stageEmpty
		w.done("factor", factor)
		if minor := int64(results[0]); minor > 0 {
			w.fail(explainMinor(w, minor))
		}
		if w.err == nil {
			w.stage, w.logs = stageFactored, &results[1]
		}
	}}
}

// logDetTogether returns 2 Σ log L_ii, which factorTogether leaves behind.
func logDetTogether(w *Workspace) (sum, stdErr float64, err error) {
	if w.logs == nil || w.stage < stageFactored {
		err = w.lockstep.join(&member{Workspace: w, ctx: context.Background(), needs: stageFactored, step: stepLogDet, after: func(results []float64) { w.logs = &results[1] }})
	}
	if err != nil {
		return 0, 0, err
	}
	return 2 * *w.logs, 0, nil
}

// solution is the member that overwrites b by Σ⁻¹b.
func solution(ctx context.Context, w *Workspace, b []float64) *member {
	return &member{
		Workspace: w, ctx: ctx, needs: stageFactored, step: stepSolve,
		prepare: func() { w.upload(w.alpha.at, b[:w.n]) }, queued: func() { w.receive(b[:w.n], w.alpha.at) },
	}
}

// inversion is the member for Σ⁻¹, which [invert] describes.
func inversion(ctx context.Context, w *Workspace) *member {
	_, flops := kernels.Batch{N: w.n}.Flops()
	return &member{Workspace: w, ctx: ctx, needs: stageFactored, step: stepInvert, after: func([]float64) {
		w.done("gradient", flops)
		if w.err == nil {
			w.stage = stageInverted
		}
	}}
}

// done reports a stage that is over.
func (m *queue) done(stage string, flops float64) {
	m.meter.Begin(stage, flops)
	m.then(func() error {
		m.meter.Worked(flops)
		return m.ctx.Err()
	})
}
