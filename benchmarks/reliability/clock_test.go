package reliability

import (
	"os"
	"testing"
	"time"
)

// TestClock checks that under clock.sh the wall clock jumps in both directions and the
// time between two moments does not.
func TestClock(t *testing.T) {
	if os.Getenv("GPFIT_CLOCK") != "jumps" {
		t.Skip("the clock does not jump: run the test with benchmarks/reliability/clock.sh")
	}
	const year = 365 * 24 * time.Hour
	var ahead, back bool
	last := time.Now()
	for began := last; time.Since(began) < 400*time.Millisecond; {
		now := time.Now()
		wall := now.Round(0).Sub(last.Round(0))
		ahead, back = ahead || wall > year/2, back || wall < -year/2
		if passed := now.Sub(last); passed < 0 || passed > year/2 {
			t.Fatalf("%v passed", passed)
		}
		last = now
	}
	if !ahead || !back {
		t.Errorf("a jump ahead: %t, a jump back: %t", ahead, back)
	}
}
