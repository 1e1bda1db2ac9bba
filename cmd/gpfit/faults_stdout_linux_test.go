package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// TestFaultsStdout checks that every command that prints a result fails if standard output is full, that a
// reader that closes the pipe ends it, and that a fit has its model either way.
func TestFaultsStdout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := testcheck.Get(os.OpenFile("/dev/full", os.O_WRONLY, 0))(t)
	defer full.Close()
	faultTable(t, dir)
	lines := []string{
		"fit data.csv --kernel rbf --max-evals 3 --out m.gpfit", "predict m.gpfit data.csv", "export m.gpfit", "inspect m.gpfit", "loo m.gpfit", "update m.gpfit data.csv --out u.gpfit",
		"nlml data.csv --kernel rbf", "check m.gpfit", "devices", "version", "help fit", "fit --help", "kernel show rbf", "completion bash",
	}
	for _, line := range lines {
		cmd := commandIn(dir, line)
		cmd.Stdout = full
		code, stderr := endOn(t, cmd)
		if code != exit.Failure || !strings.Contains(stderr, "no space left") {
			t.Errorf("%s: exit code %d\n%s", line, code, stderr)
		}
	}
	inFolder(t, dir, "predict m.gpfit data.csv")
	testcheck.Do(t, os.Remove(filepath.Join(dir, "m.gpfit")))
	for _, line := range lines[:2] {
		r, w := testcheck.Get2(os.Pipe())(t)
		r.Close()
		cmd := commandIn(dir, line)
		cmd.Stdout = w
		if code, stderr := endOn(t, cmd); code != -1 || strings.Contains(stderr, "goroutine ") { // by SIGPIPE, as other programs
			t.Errorf("closed pipe: %s: exit code %d\n%s", line, code, stderr)
		}
		w.Close()
	}
	inFolder(t, dir, "predict m.gpfit data.csv")
}

// endOn runs a command that has its standard output, and returns its exit code and messages.
func endOn(t *testing.T, cmd *exec.Cmd) (code int, stderr string) {
	t.Helper()
	var text strings.Builder
	cmd.Stderr = &text
	_ = cmd.Run() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), text.String()
}

// faultTable writes the table of these tests.
func faultTable(t *testing.T, dir string) {
	var table strings.Builder
	table.WriteString("x,y\n")
	for i := range 24 {
		fmt.Fprintf(&table, "%v,%v\n", float64(i)*0.7, float64(i*7%13)+float64(i)/10)
	}
	write(t, dir, "data.csv", table.String())
}

// inFolder runs gpfit in a folder. It must succeed.
func inFolder(t *testing.T, dir, line string) string {
	t.Helper()
	code, stdout, stderr := end(t, commandIn(dir, line))
	if code != 0 {
		t.Fatalf("gpfit %s: exit code %d\n%s%s", line, code, stdout, stderr)
	}
	return stdout
}

func commandIn(dir, line string) *exec.Cmd {
	cmd := exec.Command("gpfit", strings.Fields(line)...)
	cmd.Dir = dir
	return cmd
}

// TestFaultsRecord resumes a run in which the record of a job cannot be made. The run must end with an
// error that names the record, also if a job that is ahead of its turn has begun, and a second resume must finish it.
func TestFaultsRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	faultTable(t, dir)
	write(t, dir, "s.yaml", "defaults: {threads: 1, device: cpu, max_evals: 3}\ndata: [data.csv]\nkernels: [rbf, matern12, matern32]\n")
	inFolder(t, dir, "batch s.yaml --out r.run --quiet")
	records := testcheck.Get(filepath.Glob(filepath.Join(dir, "r.run", "jobs", "*.jsonl")))(t)
	busy := filepath.Join(dir, "gpfit") // a file that nobody may write while it runs
	testcheck.Do(t, os.WriteFile(busy, testcheck.Get(os.ReadFile(testcheck.Get(exec.LookPath("gpfit"))(t)))(t), 0o755))
	for _, broken := range records {
		for _, r := range records {
			testcheck.Do(t, os.Remove(r), os.Remove(strings.NewReplacer("/jobs/", "/models/", ".jsonl", ".gpfit").Replace(r)))
		}
		testcheck.Do(t, os.Link(busy, broken))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, busy, "resume", "r.run", "--cores", "1", "--quiet")
		cmd.Dir = dir
		code, stderr := endOn(t, cmd)
		cancel()
		if code != exit.Failure || !strings.Contains(stderr, filepath.Base(broken)) {
			t.Errorf("%s: exit code %d\n%s", filepath.Base(broken), code, stderr)
		}
		testcheck.Do(t, os.Remove(broken))
		inFolder(t, dir, "resume r.run --quiet")
	}
}
