package cuda

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
)

// lockstep is the thread and stream of a card on which small workspaces compute, whatever [Device] they come from.
// Alone, each of them leaves most of the card idle. Calls for one step on matrices of one order that wait for the
// thread at the same time run together: the next of them to get the thread takes all of them along. The bits of a
// result do not depend on the company (see [kernels.Systems]).
type lockstep struct {
	*gpu
	users int // open devices, under the lock of cards

	mu      sync.Mutex
	waiting []*partner

	// The following belong to the thread. company is the size of the last group. The next waits up to linger for as
	// many, because the workspaces of a group return at the same time.
	company int
	linger  time.Duration
	shared  memory
	room    buffer // of [room]
}

// jointStep is a computation that workspaces can do together.
type jointStep struct {
	launches func(kernels.Systems) []kernels.Launch
}

var (
	stepFactor = &jointStep{kernels.Systems.Factor}
	stepLogDet = &jointStep{kernels.Systems.LogDet}
	stepSolve  = &jointStep{kernels.Systems.Solve}
	stepInvert = &jointStep{kernels.Systems.Invert}
)

// partner is a call of a workspace of n points that waits for a step. Its functions run on the thread: begin fills the
// parcel with what comes before the step, queued with what follows it, and after runs once the device has done all that, with
// the results of the workspace's problem, which only some steps write. queued and after may be nil.
type partner struct {
	step          *jointStep
	n             int64
	begin, queued func() error
	after         func(results []float64) error
	// problem has all addresses but Out, from begin on.
	problem kernels.System
	parcel  parcel
	served  bool
	err     error
	// panicked is the panic of one of its functions, which goes on in the caller of join.
	panicked any
}

// do runs one of the functions of a partner, unless one has failed.
func (m *partner) do(f func() error) {
	if m.err != nil || f == nil {
		return
	}
	defer func() {
		if m.panicked = recover(); m.panicked != nil {
			m.err = errors.New("cuda: panic")
		}
	}()
	m.err = f()
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

// join runs a partner's step, together with the other partners that wait for the same, and returns its error.
func (l *lockstep) join(m *partner) error {
	l.mu.Lock()
	l.waiting = append(l.waiting, m)
	l.mu.Unlock()
	err := l.do(func() error {
		l.serve(m)
		return nil
	})
	if m.panicked != nil {
		panic(m.panicked)
	}
	if m.served {
		return m.err
	}
	// The thread did not run.
	l.mu.Lock()
	l.waiting = slices.DeleteFunc(l.waiting, func(o *partner) bool { return o == m })
	l.mu.Unlock()
	return err
}

// serve runs the step of a partner for it and for all that wait for the same, unless another has served it. It must
// be on the thread.
func (l *lockstep) serve(first *partner) {
	if first.served {
		return
	}
	partners := l.group(first)
	var ready []*partner
	for _, m := range partners {
		m.served = true
		l.parcel = &m.parcel
		if m.do(m.begin); m.err == nil {
			ready = append(ready, m)
			m.parcel.queued = true
			m.do(m.queued)
		}
	}
	if l.parcel = nil; len(ready) == 0 {
		return
	}
	q := queue{gpu: l.gpu, ctx: context.Background()}
	results := l.run(&q, ready)
	for i, m := range ready {
		m.do(func() error {
			if q.err != nil || m.after == nil {
				return q.err
			}
			return m.after(results[2*i : 2*i+2])
		})
	}
}

// group returns a partner with the others that wait for the same, which wait no longer then.
func (l *lockstep) group(first *partner) []*partner {
	partners, began := []*partner{first}, time.Now()
	for {
		l.mu.Lock()
		l.waiting = slices.DeleteFunc(l.waiting, func(o *partner) bool {
			suits := o != first && o.step == first.step && o.n == first.n
			if suits {
				partners = append(partners, o)
			}
			return suits || o == first
		})
		l.mu.Unlock()
		if len(partners) >= l.company || time.Since(began) > l.linger {
			l.company = len(partners)
			return partners
		}
		runtime.Gosched()
	}
}
