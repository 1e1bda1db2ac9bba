package main

import (
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
)

// TestContinueReplaces checks that a fit that continues from its checkpoint replaces
// the model of the interruption without --force, and that without the checkpoint the
// same command does not.
func TestContinueReplaces(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	args := []string{"fit", "../../examples/co2.csv", "--device", "cpu", "--out", model, "--checkpoint", filepath.Join(dir, "ck")}
	if code, _, stderr := interrupt(t, "iteration 0", args...); code != exit.Interrupted {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	mustLine(t, args...)
	m, err := gp.Load(model)
	if err != nil || !strings.HasSuffix(m.Status, "-converged") {
		t.Fatalf("status %q, %v", m.Status, err)
	}
	if code, _, stderr := runLine(t, args...); code != exit.Usage || !strings.Contains(stderr, "the file exists") {
		t.Errorf("a third time: exit code %d\n%s", code, stderr)
	}
}
