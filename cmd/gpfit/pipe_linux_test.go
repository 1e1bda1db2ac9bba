package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

// pipes makes a folder with a model and a pipe that has no writer.
func pipes(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	mustLine(t, "fit", write(t, dir, "t.csv", "a,y\n1,2\n2,2.5\n3,4.2\n4,4.9\n"), "--out", filepath.Join(dir, "m.gpfit"), "--quiet")
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skip("no named pipes: ", err)
	}
	return dir
}

// TestPipeWithoutWriter checks that an interrupt ends every command that waits for an
// input, with the exit code of an interrupt. Models and data of a batch cannot be pipes.
func TestPipeWithoutWriter(t *testing.T) {
	dir := pipes(t)
	write(t, dir, "s.yaml", "data: [pipe]\nkernels: [rbf]\n")
	for _, c := range []struct {
		args string
		code int
	}{
		{"fit PIPE --out OUT", exit.Interrupted},
		{"fit - --out OUT", exit.Interrupted},
		{"fit TABLE --split-mask PIPE --out OUT", exit.Interrupted},
		{"nlml PIPE", exit.Interrupted},
		{"select PIPE --kernels rbf", exit.Interrupted},
		{"kernel check rbf PIPE", exit.Interrupted},
		{"predict MODEL PIPE", exit.Interrupted},
		{"predict MODEL -", exit.Interrupted},
		{"sample MODEL PIPE", exit.Interrupted},
		{"bench --n 3 --data PIPE", exit.Interrupted},
		{"batch PIPE --out OUT", exit.Interrupted},
		{"batch SPEC --out OUT", exit.Data},
		{"predict PIPE TABLE", exit.Data},
		{"loo PIPE", exit.Data},
	} {
		t.Run(c.args, func(t *testing.T) {
			line := strings.NewReplacer("PIPE", filepath.Join(dir, "pipe"), "TABLE", filepath.Join(dir, "t.csv"), "MODEL", filepath.Join(dir, "m.gpfit"),
				"SPEC", filepath.Join(dir, "s.yaml"), "OUT", filepath.Join(t.TempDir(), "new")).Replace(c.args)
			ctx, cancel := context.WithCancel(t.Context())
			if c.code == exit.Interrupted {
				time.AfterFunc(100*time.Millisecond, cancel)
			}
			defer cancel()
			stdin, _ := io.Pipe()
			var stdout, stderr strings.Builder
			ended := make(chan int, 1)
			go func() { ended <- run(ctx, strings.Fields(line), stdin, &stdout, &stderr) }()
			select {
			case code := <-ended:
				if code != c.code {
					t.Errorf("exit code %d, want %d\n%s", code, c.code, stderr.String())
				}
			case <-time.After(time.Minute):
				t.Fatal("the command still waits")
			}
		})
	}
}

// TestPipeSignal checks that the first SIGTERM ends a process that waits for the rest of a
// table.
func TestPipeSignal(t *testing.T) {
	t.Parallel()
	dir := pipes(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pipe := filepath.Join(dir, "pipe")
	cmd := exec.CommandContext(ctx, "gpfit", "fit", pipe, "--out", filepath.Join(dir, "new.gpfit"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	must.Do(t, cmd.Start())
	w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	for errors.Is(err, syscall.ENXIO) && ctx.Err() == nil { // the pipe has no reader yet
		time.Sleep(5 * time.Millisecond)
		w, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := io.WriteString(w, "a,y\n1,2\n"); err != nil {
		t.Fatal(err)
	}
	must.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // the test checks the exit code
	if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted || !strings.Contains(stderr.String(), "interrupted while reading "+pipe) {
		t.Errorf("exit code %d\n%s", code, &stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.gpfit")); err == nil {
		t.Error("there is a model")
	}
}
