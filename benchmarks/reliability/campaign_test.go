package reliability

import (
	"cmp"
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
		return must.Get(strconv.Atoi(text))(t)
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
	return must.Get(strconv.ParseUint(cmp.Or(os.Getenv("GPFIT_SEED"), "1"), 10, 64))(t)
}

// backend returns the CPU with a fixed number of threads.
func backend(t testing.TB, threads int) device.Backend {
	t.Helper()
	return must.Get(cpu.New(device.Options{Threads: threads}))(t)
}
