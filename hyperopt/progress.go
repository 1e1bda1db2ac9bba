package hyperopt

import (
	"math"
	"sync"
	"time"

	"gpfit/hyperopt/descent"
	"gpfit/internal/pace"
)

// FitProgress is how far a whole fit is.
type FitProgress struct {
	// Share is the share of the expected work that is done. It does not fall, and is 1 at the end.
	Share float64
	// Left is about how much time the fit takes from now on, 0 if that is not known yet.
	Left time.Duration
	// Evaluations counts the values so far. Best is the lowest over all rows, +Inf before the first; at the end it is the
	// value of the result.
	Evaluations int
	Best        float64
	// Iteration is the latest iteration, if one has Begun.
	Iteration descent.Iteration
	Begun     bool
}

// Meter measures how far a fit is, by the work that its steps are expected to take. A nil Meter measures nothing.
type Meter struct {
	mu    sync.Mutex
	tell  func(FitProgress)
	told  time.Time
	began time.Time
	// steps are the expected work of the steps of the fit, in seconds by the plan. The first at of them have ended, and
	// done is the work of the next.
	steps []float64
	at    int
	done  float64
	all   float64   // work of all steps so far
	last  time.Time // of the latest work
	rate  pace.Rate // of work, the latest most
	share pace.Share
	rows  int
	p     FitProgress
}

// tellEvery is the shortest time between two reports of a meter, apart from the last one.
const tellEvery = 10 * time.Millisecond

// NewMeter returns a meter that tells how far a fit is; nil if tell is nil. Calls of tell do not overlap.
func NewMeter(tell func(FitProgress)) *Meter {
	if tell == nil {
		return nil
	}
	return &Meter{tell: tell, p: FitProgress{Best: math.Inf(1)}}
}

// change calls f while the fit runs, and tells.
func (m *Meter) change(f func()) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at < len(m.steps) {
		f()
		m.report()
	}
}

// Begin begins a fit of a number of rows, whose steps are expected to take so much work. Only the first call counts.
func (m *Meter) Begin(rows int, steps ...float64) {
	if m != nil && m.steps == nil {
		m.rows, m.steps, m.began, m.last = rows, steps, time.Now(), time.Now()
	}
}

// Worked adds work.
func (m *Meter) Worked(seconds float64) {
	m.change(func() {
		now := time.Now()
		if m.all += seconds; m.all > 0 {
			m.rate.Fade(1 - seconds/m.all)
		}
		m.rate.Add(seconds, now.Sub(m.last).Seconds())
		m.done, m.last = m.done+seconds, now
	})
}

// Valued takes over a value over a number of rows.
func (m *Meter) Valued(f float64, rows int) {
	m.change(func() {
		if m.p.Evaluations++; rows == m.rows && f < m.p.Best {
			m.p.Best = f
		}
	})
}

// Iterated takes over an iteration.
func (m *Meter) Iterated(it descent.Iteration) {
	m.change(func() {
		if !m.p.Begun {
			m.told = time.Time{}
		}
		m.p.Iteration, m.p.Begun = it, true
	})
}

// Step begins the step of this number, from 0.
func (m *Meter) Step(number int) { m.change(func() { m.at, m.done = max(m.at, number), 0 }) }

// End ends the fit with the value of the result.
func (m *Meter) End(f float64) {
	m.change(func() {
		m.at, m.p.Best, m.told = len(m.steps), f, time.Time{}
	})
}

// usual is the share of a step up to which it takes the expected work, and almost the largest share before the end.
const usual, almost = 0.8, 0.999

// report tells how far the fit is, from time to time.
func (m *Meter) report() {
	now := time.Now()
	if now.Sub(m.told) < tellEvery {
		return
	}
	var before, total, left float64
	for i, work := range m.steps {
		switch total += work; {
		case i < m.at:
			before += work
		case i == m.at && m.done < usual*work:
			before, left = before+m.done, work-m.done
		case i == m.at: // a step that takes more than usual is near its end, but nobody knows
			x := m.done / max(work, 1e-9)
			before, left = before+work*(1-(1-usual)*math.Exp((usual-x)/(1-usual))), max(work-m.done, m.done/8)
		default:
			left += work
		}
	}
	m.p.Share, m.p.Left = min(m.share.Of(before, total), almost), 0
	if m.at == len(m.steps) {
		m.p.Share = 1
	} else if now.Sub(m.began) > time.Second {
		m.p.Left = time.Duration(m.rate.Seconds(left) * float64(time.Second))
	}
	m.told = now
	m.tell(m.p)
}
