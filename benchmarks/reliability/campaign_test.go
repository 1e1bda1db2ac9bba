// Package reliability tests gpfit on campaigns of random problems. `make
// reliability` runs the full campaigns, go test a short form. They check that for
// any data every result is finite or a typed error, that values agree with 200-bit
// arithmetic, and that results repeat bit by bit. Each problem follows from a seed,
// which failures report. docs/reliability.md lists the campaigns.
package reliability

import (
	"cmp"
	"os"
	"strconv"
	"testing"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/testcheck"
)

// size returns the number of problems of a campaign: GPFIT_PROBLEMS if set,
// otherwise full with GPFIT_LONG=1, and short without it.
func size(t testing.TB, short, full int) int {
	t.Helper()
	if text := os.Getenv("GPFIT_PROBLEMS"); text != "" {
		return testcheck.Get(strconv.Atoi(text))(t)
	}
	if testcheck.Long() {
		return full
	}
	return short
}

// firstSeed returns the seed of the first problem: GPFIT_SEED, or 1 by default. The
// other seeds count up from it.
func firstSeed(t testing.TB) uint64 {
	t.Helper()
	return testcheck.Get(strconv.ParseUint(cmp.Or(os.Getenv("GPFIT_SEED"), "1"), 10, 64))(t)
}

// backend returns the CPU with a fixed number of threads.
func backend(t testing.TB, threads int) device.Backend {
	t.Helper()
	return testcheck.Get(cpu.New(device.Options{Threads: threads}))(t)
}

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
