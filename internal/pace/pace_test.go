package pace

import (
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	var r Rate
	if r.Known() || r.Seconds(5) != 0 {
		t.Errorf("%v before any work", r)
	}
	r.Add(2, 6)
	if !r.Known() || r.Seconds(5) != 15 {
		t.Errorf("%v seconds, want 15", r.Seconds(5))
	}
	r.Fade(0.5)
	if r.Add(1, 1); r.Seconds(1) != 2 {
		t.Errorf("%v seconds after fading, want 2", r.Seconds(1))
	}
}

func TestRest(t *testing.T) {
	var r Rest
	r.Add(100, 30)
	r.Add(100, 500) // a tenth is left
	for beside, want := range map[float64]time.Duration{0: 80 * time.Second, 1: 80 * time.Second, 4: 70 * time.Second} {
		if got := r.Left(beside); got != want {
			t.Errorf("%v side by side: %v, want %v", beside, got, want)
		}
	}
}

// TestShare checks that a share does not fall when the total grows, and ends at 1.
func TestShare(t *testing.T) {
	var s Share
	for _, c := range []struct{ done, total, want float64 }{{0, 0, 0}, {3, 6, 0.5}, {4, 16, 0.5}, {12, 16, 0.75}, {20, 16, 1}} {
		if got := s.Of(c.done, c.total); got != c.want {
			t.Errorf("%v of %v: %v, want %v", c.done, c.total, got, c.want)
		}
	}
}
