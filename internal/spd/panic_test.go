package spd

import (
	"testing"

	"gpfit/internal/variant"
)

// TestPanic tests that a panic in a report reaches the caller and leaves the team to others.
func TestPanic(t *testing.T) {
	const n = 150
	rows := newReproducible(n).definite(n)
	for _, v := range variant.Supported() {
		e := newEngine(t, v, 3)
		m := e.New(n)
		setTriangle(m, rows, 0)
		func() {
			defer func() {
				if p := recover(); p != "report" {
					t.Errorf("%s: recovered %v", v, p)
				}
			}()
			_, _ = m.Factor(t.Context(), 0, func(float64) { panic("report") })
		}()
		if !e.team.TryAcquire() {
			t.Fatalf("%s: the team is still reserved after a panic", v)
		}
		e.team.Release()
		factor(t, m, rows, 0)
	}
}
