package reliability

import (
	"os"
	"strconv"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/must"
)

// size returns the number of problems of a campaign: GPFIT_PROBLEMS if set,
// otherwise full with GPFIT_CAMPAIGN=full, and short without it.
func size(t testing.TB, short, full int) int {
	t.Helper()
	if text := os.Getenv("GPFIT_PROBLEMS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("GPFIT_PROBLEMS: %v", err)
		}
		return n
	}
	if os.Getenv("GPFIT_CAMPAIGN") == "full" {
		return full
	}
	return short
}

// firstSeed returns the seed of the first problem: GPFIT_SEED, or 1 by default. The
// other seeds count up from it.
func firstSeed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv("GPFIT_SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("GPFIT_SEED: %v", err)
	}
	return seed
}

// backend returns the CPU with a fixed number of threads.
func backend(t testing.TB, threads int) device.Backend {
	t.Helper()
	b := must.Get(cpu.New(device.Options{Threads: threads}))(t)
	return b
}
