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
	// plan returns the expected work of the steps of the fit, in seconds; steps are these once somebody hears of them.
	// The first at of them have ended, and done is the work of the next.
	plan   func() []float64
	steps  []float64
	ended  bool
	at     int
	done   float64
	gauges []*gauge  // with operations that are not yet taken over
	all    float64   // work of all steps so far
	last   time.Time // of the latest work
	rate   pace.Rate // of work, the latest most
	share  pace.Share
	rows   int
	p      FitProgress
}

// tellEvery is the shortest time between two reports of a meter, apart from the last one. The first comes after the time quiet.
const tellEvery, quiet = 10 * time.Millisecond, 40 * time.Millisecond

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
	if m.plan != nil && !m.ended {
		f()
		m.report()
	}
}

// Begin begins a fit of a number of rows, whose steps are expected to take the work of plan. Only the first call counts.
func (m *Meter) Begin(rows int, plan func() []float64) {
	if m != nil && m.plan == nil {
		now := time.Now()
		m.rows, m.plan, m.began, m.last, m.told = rows, plan, now, now, now.Add(quiet-tellEvery)
	}
}

// gauge counts the operations of one place to evaluate. Nobody asks for the time of an operation in a short fit, because a device
// may have to measure it.
type gauge struct {
	meter   *Meter
	perFlop func() float64
	flops   float64 // not yet taken over
}

// Gauge returns a function that adds operations of one place. perFlop returns the seconds that one takes, by the plan.
func (m *Meter) Gauge(perFlop func() float64) (worked func(flops float64)) {
	return (&gauge{meter: m, perFlop: sync.OnceValue(perFlop)}).worked
}

func (g *gauge) worked(flops float64) {
	m := g.meter
	m.change(func() {
		if g.flops == 0 {
			m.gauges = append(m.gauges, g)
		}
		g.flops += flops
		now := time.Now()
		if now.Sub(m.began) < quiet {
			return
		}
		seconds := 0.0
		for _, g := range m.gauges {
			seconds, g.flops = seconds+g.flops*g.perFlop(), 0
		}
		m.gauges = m.gauges[:0]
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
	m.change(func() { m.p.Iteration, m.p.Begun = it, true })
}

// Step begins the step of this number, from 0.
func (m *Meter) Step(number int) {
	m.change(func() {
		for _, g := range m.gauges {
			g.flops = 0
		}
		m.at, m.done, m.gauges = max(m.at, number), 0, nil
	})
}

// End ends the fit with the value of the result.
func (m *Meter) End(f float64) {
	m.change(func() {
		m.ended, m.p.Best, m.p.Share, m.p.Left = true, f, 1, 0
		m.tell(m.p)
	})
}

// usual is the share of a step up to which it takes the expected work, and almost the largest share before the end.
const usual, almost = 0.8, 0.999

// report tells how far the fit is, from time to time.
func (m *Meter) report() {
	now := time.Now()
	if m.ended || now.Sub(m.told) < tellEvery {
		return
	}
	if m.steps == nil {
		m.steps = m.plan()
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
	if now.Sub(m.began) > time.Second {
		m.p.Left = time.Duration(m.rate.Seconds(left) * float64(time.Second))
	}
	m.told = now
	m.tell(m.p)
}
