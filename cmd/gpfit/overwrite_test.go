package main

import (
	"context"
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
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	args := []string{"fit", "../../examples/co2.csv", "--device", "cpu", "--out", model, "--checkpoint", filepath.Join(dir, "ck")}
	stderr := &cancelWriter{word: "iteration 0", cancel: cancel}
	var stdout strings.Builder
	if code := run(ctx, args, strings.NewReader(""), &stdout, stderr); code != exit.Interrupted {
		t.Fatalf("exit code %d\n%s", code, stderr.String())
	}
	stderr = &cancelWriter{word: "no such words", cancel: cancel}
	if code := run(context.Background(), args, strings.NewReader(""), &stdout, stderr); code != 0 {
		t.Fatalf("the same command: exit code %d\n%s", code, stderr.String())
	}
	m, err := gp.Load(model)
	if err != nil || !strings.HasSuffix(m.Status, "-converged") {
		t.Fatalf("status %q, %v", m.Status, err)
	}
	if code := run(context.Background(), args, strings.NewReader(""), &stdout, stderr); code != exit.Usage || !strings.Contains(stderr.String(), "the file exists") {
		t.Errorf("a third time: exit code %d\n%s", code, stderr.String())
	}
}
