package hyperopt

import (
	"math"
	"testing"
	"time"

	"gpfit/hyperopt/descent"
)

// TestMeter follows the share through steps that take less, as much, and more than expected.
func TestMeter(t *testing.T) {
	var last FitProgress
	m := NewMeter(func(p FitProgress) { last = p })
	check := func(share, tolerance float64) {
		t.Helper()
		m.told = time.Time{}
		if m.report(); math.Abs(last.Share-share) > tolerance {
			t.Errorf("share %v, want %v", last.Share, share)
		}
	}
	g := m.Gauge(func() float64 { return 0.5 })
	g(10) // before the fit
	m.Begin(100, func() []float64 { return []float64{6, 2, 2} })
	m.Begin(1, nil)
	m.began = m.began.Add(-time.Second)
	g(6)
	check(0.3, 1e-12)
	m.Valued(-7, 50)
	m.Valued(4, 100)
	m.Valued(5, 100)
	m.Iterated(descent.Iteration{F: 4})
	m.told = time.Time{}
	if m.report(); last.Best != 4 || last.Evaluations != 3 || !last.Begun {
		t.Errorf("%+v", last)
	}
	m.Step(1)
	check(0.6, 1e-12)
	g(12)
	check(0.8, 0.001) // three times as much as expected
	if left := last.Share; left >= 0.8 {
		t.Errorf("the step has ended at %v", left)
	}
	m.End(3)
	if last.Share != 1 || last.Best != 3 {
		t.Errorf("%+v", last)
	}
	g(1)
	m.End(2)
	if last.Best != 3 {
		t.Error("a fit ended twice")
	}
	NewMeter(nil).Gauge(nil)(1)
}
