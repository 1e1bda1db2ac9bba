package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

// limited runs gpfit under a limit that the shell sets.
func limited(gpfit, limit string, args ...string) (code int, stdout, stderr string) {
	cmd := exec.Command("bash", append([]string{"-c", "ulimit " + limit + ` && exec "$0" "$@"`, gpfit}, args...)...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	_ = cmd.Run() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), out.String(), messages.String()
}

// TestCrashFileLimit checks that writing beyond the process's file size limit is an error
// with advice. An existing file must stay as it was, no part of a new file may be left,
// and a fit must continue from its checkpoint.
func TestCrashFileLimit(t *testing.T) {
	dir := t.TempDir()
	gpfit, args := crashTable(t, dir)
	model, checkpoint := filepath.Join(dir, "m.gpfit"), filepath.Join(dir, "ck")
	args = append(args, "--restarts", "0", "--out", model)
	old := []byte("an older file")
	check := func(what string, code, want int, stderr string) {
		t.Helper()
		if code != want || !strings.Contains(stderr, "ulimit -f") || strings.Contains(stderr, "goroutine") {
			t.Errorf("%s: exit code %d, want %d\n%s", what, code, want, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Errorf("%s: left behind: %v", what, left)
		}
	}
	must.Do(t, os.WriteFile(model, old, 0o600))
	code, _, stderr := limited(gpfit, "-f 2", append(args, "--force")...)
	check("model", code, exit.Failure, stderr)
	if text, err := os.ReadFile(model); err != nil || !bytes.Equal(text, old) {
		t.Errorf("the existing file has %d bytes, %v", len(text), err)
	}
	must.Do(t, os.Remove(model))
	args = append(args, "--checkpoint", checkpoint)
	code, _, stderr = limited(gpfit, "-f 2", args...)
	check("checkpoint", code, exit.Failure, stderr)
	if text, err := exec.Command(gpfit, args...).CombinedOutput(); err != nil {
		t.Errorf("without the limit: %v\n%s", err, text)
	}
	out := filepath.Join(dir, "p.csv")
	code, _, stderr = limited(gpfit, "-f 2", "predict", model, filepath.Join(dir, "data.csv"), "--out", out)
	check("predictions", code, exit.Failure, stderr)
	if _, err := os.Stat(out); err == nil {
		t.Error("a part of the predictions is left")
	}
}

// TestCrashFileLimitRun checks that a batch under a file size limit ends with an error and
// loses nothing. Without the limit, resume must finish the run.
func TestCrashFileLimitRun(t *testing.T) {
	dir := t.TempDir()
	gpfit, spec := program(t), writeStudy(t, dir, 60, 1, 0)
	for _, blocks := range []int{0, 2, 5, 8} {
		run := filepath.Join(dir, fmt.Sprintf("%d.run", blocks))
		code, _, stderr := limited(gpfit, fmt.Sprintf("-f %d", blocks), "batch", spec, "--out", run, "--quiet")
		why := stderr
		if code == exit.SomeFailed {
			table, _ := exec.Command(gpfit, "show", run, "--format", "csv").Output()
			why = string(table)
		}
		if code != exit.Failure && code != exit.SomeFailed || strings.Contains(stderr, "goroutine") || !strings.Contains(why, "file too large") {
			t.Errorf("%d KiB: exit code %d\n%s", blocks, code, stderr)
		}
		command := []string{"resume", run, "--quiet"}
		if _, err := os.Stat(filepath.Join(run, "run.json")); err != nil {
			command = []string{"batch", spec, "--out", run, "--quiet"}
		}
		if text, err := exec.Command(gpfit, command...).CombinedOutput(); err != nil {
			t.Errorf("%d KiB: without the limit: %v\n%s", blocks, err, text)
		}
		if models, _ := filepath.Glob(filepath.Join(run, "models", "*.gpfit")); len(models) != 6 {
			t.Errorf("%d KiB: models %v", blocks, models)
		}
	}
}

// TestCrashCheckpointsRemoved removes the checkpoint folder of a running batch. Jobs that
// write checkpoints fail and the others continue. resume must make the folder again and
// retry the failed jobs.
func TestCrashCheckpointsRemoved(t *testing.T) {
	dir := t.TempDir()
	gpfit, spec, run := program(t), writeStudy(t, dir, 150, 5, 1), filepath.Join(dir, "r.run")
	cmd, text := startBatch(t, gpfit, spec, run)
	// A rename removes the folder at once, although jobs add files to it.
	must.Do(t, os.Rename(filepath.Join(run, "checkpoints"), filepath.Join(dir, "removed")))
	_ = cmd.Wait() // the test checks the exit code
	if code := cmd.ProcessState.ExitCode(); code != exit.SomeFailed {
		t.Fatalf("exit code %d\n%s", code, text)
	}
	table := must.Get(exec.Command(gpfit, "show", run, "--format", "csv").Output())(t)
	if !strings.Contains(string(table), ",write,") && !strings.Contains(string(table), "cannot open the checkpoint") || strings.Contains(string(table), "pending") {
		t.Errorf("the result of the run is\n%s", table)
	}
	if text, err := exec.Command(gpfit, "resume", run, "--quiet").CombinedOutput(); err != nil {
		t.Errorf("resume: %v\n%s", err, text)
	}
	if models, _ := filepath.Glob(filepath.Join(run, "models", "*.gpfit")); len(models) != 30 {
		t.Errorf("%d models after resume", len(models))
	}
}
