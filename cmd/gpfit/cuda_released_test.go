package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReleasedProgramOnGPU fits on the emulated GPU with the program that GPFIT_RELEASED
// names. .ci/release sets it: a release is stripped and built without cgo, and this is how
// we know that it still reaches the driver.
func TestReleasedProgramOnGPU(t *testing.T) {
	released := os.Getenv("GPFIT_RELEASED")
	if released == "" {
		t.Skip("GPFIT_RELEASED names no program; .ci/release sets it")
	}
	g := newGPU(t)
	g.binary = released
	out := filepath.Join(t.TempDir(), "co2.gpfit")
	code, stdout, stderr := g.run(t, nil, "fit", "../../examples/co2.csv", "--subsample", "120", "--device", "cuda", "--out", out)
	if code != 0 || !strings.Contains(stdout, "on cuda:0") || !strings.Contains(stderr, "Emulated GPU") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
}
