package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// crashTable writes a table and returns the arguments of a fit.
func crashTable(t *testing.T, dir, kernel string, rows int) []string {
	t.Helper()
	var table strings.Builder
	for i := range rows {
		fmt.Fprintf(&table, "%v,%v,%v\n", float64(i)/30, float64(i*i%97), float64(i*7%13)+float64(i)/100)
	}
	return crashFit(write(t, dir, "data.csv", table.String()), kernel)
}

func crashFit(data, kernel string) []string {
	return []string{"fit", data, "--kernel", kernel, "--restarts", "4", "--json", "--quiet", "--device", "cpu", "--threads", "1"}
}

// TestCrashSignals ends fits with a checkpoint at random moments, by SIGKILL and by SIGTERM in
// turn, and continues them: a choice of the kernel, and stages of subsets. Model and report must equal an
// undisturbed fit's, and the checkpoint is gone in the end.
func TestCrashSignals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fits := map[string][]string{"choice": crashTable(t, dir, "auto", 60)}
	var table strings.Builder
	for i := range 400 {
		x, z := float64(i)/30, math.Mod(float64(i)*0.618034, 1)
		fmt.Fprintf(&table, "%v,%v,%v\n", x, z, math.Sin(x)+z*z+0.1*math.Sin(float64(i*i)))
	}
	fits["stages"] = append(crashFit(write(t, dir, "stages.csv", table.String()), "rbf"), "--coarse", "on")
	for name, args := range fits {
		t.Run(name, func(t *testing.T) { crashSignals(t, t.TempDir(), args) })
	}
}

func crashSignals(t *testing.T, dir string, args []string) {
	signals := 2
	if testcheck.Long() {
		signals = 60
	}
	model, checkpoint := filepath.Join(dir, "m.gpfit"), filepath.Join(dir, "ck")
	args = append(args, "--out", model)
	began := time.Now()
	want := leaves(t, stdoutOf(t, "gpfit", args...), times)
	alone, wantModel := time.Since(began), withoutRecord(t, model)
	rng, sent, rounds := rand.New(rand.NewPCG(1, 2)), 0, 0
	args = append(args, "--force", "--checkpoint", checkpoint)
	for sent < signals {
		rounds++
		testcheck.Do(t, os.RemoveAll(model))
		var out bytes.Buffer
		for {
			out.Reset()
			cmd := exec.Command("gpfit", args...)
			cmd.Stdout = &out
			testcheck.Do(t, cmd.Start())
			sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[sent%2]
			timer := time.AfterFunc(time.Duration(rng.Int64N(int64(alone))), func() { _ = cmd.Process.Signal(sig) })
			err := cmd.Wait()
			if timer.Stop(); err == nil {
				break
			}
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.ExitCode() != -1 && ended.ExitCode() != exit.Interrupted {
				t.Fatalf("after signal %v: %v", sig, err)
			}
			sent++
		}
		if withoutRecord(t, model) != wantModel {
			t.Errorf("round %d: another model", rounds)
		}
		if d := cmp.Diff(want, leaves(t, out.String(), times)); d != "" {
			t.Errorf("round %d: another report, undisturbed (-), continued (+):\n%s", rounds, d)
		}
		absent(t, checkpoint)
	}
	t.Logf("%d signals in %d fits", sent, rounds)
}

// crashes checks that a command fails with a message that has a word, and leaves no part of a file.
func crashes(t *testing.T, what, word, dir string, code int, stderr string) {
	t.Helper()
	if code != exit.Failure || !strings.Contains(stderr, word) || strings.Contains(stderr, "goroutine") {
		t.Errorf("%s: exit code %d\n%s", what, code, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("%s: left behind: %v", what, left)
	}
}

// TestCrashFullDisk checks that a full file system ends a fit with an error that says so
// and leaves neither a part of a model nor a temporary file. With space, the fit continues.
func TestCrashFullDisk(t *testing.T) {
	t.Parallel()
	dir, small := t.TempDir(), t.TempDir()
	args := crashTable(t, dir, "rbf(ard)", 300)
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=8k"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	defer func() { _ = syscall.Unmount(small, 0) }()
	code, _, stderr := end(t, exec.Command("gpfit", append(args, "--out", filepath.Join(small, "m.gpfit"))...))
	crashes(t, "model on a full disk", "no space left", small, code, stderr)
	if files, _ := os.ReadDir(small); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
	model := filepath.Join(dir, "m.gpfit")
	args = append(args, "--out", model, "--checkpoint", filepath.Join(small, "ck"))
	code, _, stderr = end(t, exec.Command("gpfit", args...))
	crashes(t, "checkpoint on a full disk", "no space left", dir, code, stderr)
	absent(t, model)
	testcheck.Do(t, syscall.Mount("none", small, "tmpfs", syscall.MS_REMOUNT, "size=1m"))
	stdoutOf(t, "gpfit", args...)
}

// TestCrashOptional kills a fit while it draws the posterior, and checks that it has left its model.
func TestCrashOptional(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args := crashTable(t, dir, "rbf", 60)
	model := filepath.Join(dir, "m.gpfit")
	cmd := exec.Command("gpfit", append(args, "--out", model, "--posterior", "hmc", "--posterior-draws", "100000")...)
	testcheck.Do(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	for {
		if info, err := os.Stat(model); err == nil && info.Size() > 0 { // a file without contents holds the place
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	testcheck.Do(t, cmd.Process.Kill())
	if err := cmd.Wait(); err == nil {
		t.Error("the fit ended before it was killed")
	}
	if out := stdoutOf(t, "gpfit", "predict", model, args[1]); strings.Count(out, "\n") != 60 || !strings.HasPrefix(out, "mean,std") {
		t.Errorf("predictions of the model that was left: %s", out)
	}
	stdoutOf(t, "gpfit", "inspect", model)
	stdoutOf(t, "gpfit", "report", model, "--out", filepath.Join(dir, "page.html"))
}

// limited runs gpfit under a limit that the shell sets.
func limited(t *testing.T, limit string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("bash", append([]string{"-c", "ulimit " + limit + ` && exec gpfit "$@"`, "gpfit"}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2") // threads take address space
	return end(t, cmd)
}

// TestCrashMemoryLimit checks that a fit under a limit on its address space succeeds, or ends with exit code 12 and advice, and
// leaves no part of a model. Below 1.8 GB the runtime of Go may end the process before gpfit begins.
func TestCrashMemoryLimit(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector maps memory of its own and fails below its own limits")
	}
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	args := append(crashTable(t, dir, "rbf(ard)", 300), "--max-evals", "3", "--out", model)
	for kilobytes, want := range map[int][]int{
		300_000: {2}, 1_200_000: {0, 2, exit.Device}, 1_600_000: {0, 2, exit.Device}, 1_800_000: {0}, 2_000_000: {0}, 4_000_000: {0},
	} {
		_ = os.Remove(model)
		code, stdout, stderr := limited(t, fmt.Sprintf("-v %d", kilobytes), args...)
		t.Logf("%d kB: exit code %d", kilobytes, code)
		_, err := os.Stat(model)
		if !slices.Contains(want, code) || (err == nil) != (code == 0) {
			t.Errorf("%d kB: exit code %d, model: %v\n%.2000s", kilobytes, code, err, stdout+stderr)
		}
		if code == exit.Device && !strings.Contains(stderr, "the address space") {
			t.Errorf("%d kB: the message does not name the limit:\n%.2000s", kilobytes, stderr)
		}
		if kilobytes >= 1_800_000 && strings.Contains(stderr, "goroutine") {
			t.Errorf("%d kB: a trace:\n%.2000s", kilobytes, stderr)
		}
	}
}

// TestWatched: under a limit one process watches another. A signal reaches the program, whose end is the end of both.
func TestWatched(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector maps memory of its own")
	}
	dir := t.TempDir()
	args := append(crashTable(t, dir, "rbf(ard)", 1500), "--restarts", "2000", "--out", filepath.Join(dir, "m.gpfit"))
	cmd := exec.Command("bash", append([]string{"-c", `ulimit -v 4000000 && exec gpfit "$@"`, "gpfit"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	testcheck.Do(t, cmd.Start())
	time.AfterFunc(3*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("SIGTERM: exit code %d\n%s", code, stderr.String())
	}
}

// TestCrashFileLimit checks that writing beyond the process's file size limit is an error
// with advice. An existing file must stay as it was, no part of a new file may be left,
// and a fit must continue from its checkpoint.
func TestCrashFileLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := write(t, dir, "m.gpfit", "an older file")
	args := append(crashTable(t, dir, "rbf(ard)", 300), "--restarts", "0", "--out", model)
	code, _, stderr := limited(t, "-f 2", append(args, "--force")...)
	crashes(t, "model", "ulimit -f", dir, code, stderr)
	if text, err := os.ReadFile(model); err != nil || string(text) != "an older file" {
		t.Errorf("the existing file has %d bytes, %v", len(text), err)
	}
	testcheck.Do(t, os.Remove(model))
	args = append(args, "--checkpoint", filepath.Join(dir, "ck"))
	code, _, stderr = limited(t, "-f 2", args...)
	crashes(t, "checkpoint", "ulimit -f", dir, code, stderr)
	stdoutOf(t, "gpfit", args...)
	out := filepath.Join(dir, "p.csv")
	code, _, stderr = limited(t, "-f 2", "predict", model, filepath.Join(dir, "data.csv"), "--out", out)
	crashes(t, "predictions", "ulimit -f", dir, code, stderr)
	absent(t, out)
}

// TestCrashFileLimitRun checks that a batch under a file size limit ends with an error and
// loses nothing. Without the limit, resume must finish the run.
func TestCrashFileLimitRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	spec := writeStudy(t, dir, 60, 1, 0)
	for _, blocks := range []int{0, 2, 5, 8} {
		run := filepath.Join(dir, fmt.Sprintf("%d.run", blocks))
		code, _, stderr := limited(t, fmt.Sprintf("-f %d", blocks), "batch", spec, "--out", run, "--quiet")
		why := stderr
		if code == exit.SomeFailed {
			why = stdoutOf(t, "gpfit", "show", run, "--format", "csv")
		}
		if code != exit.Failure && code != exit.SomeFailed || strings.Contains(stderr, "goroutine") || !strings.Contains(why, "file too large") {
			t.Errorf("%d KiB: exit code %d\n%s", blocks, code, stderr)
		}
		command := []string{"resume", run, "--quiet"}
		if _, err := os.Stat(filepath.Join(run, "run.json")); err != nil {
			command = []string{"batch", spec, "--out", run, "--quiet"}
		}
		stdoutOf(t, "gpfit", command...)
		if models, _ := filepath.Glob(filepath.Join(run, "models", "*.gpfit")); len(models) != 6 {
			t.Errorf("%d KiB: models %v", blocks, models)
		}
	}
}

// loseFolder starts a batch of 30 jobs and removes a folder of it when some models are written.
// It returns the exit code and what the batch prints on standard error.
func loseFolder(t *testing.T, spec, run, folder string) (code int, stderr string) {
	t.Helper()
	var messages bytes.Buffer
	cmd := exec.Command("gpfit", "batch", spec, "--out", run, "--quiet")
	cmd.Stderr = &messages
	testcheck.Do(t, cmd.Start())
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if files, _ := filepath.Glob(filepath.Join(run, "models", "*")); len(files) > 2 {
			break
		}
	}
	// A rename removes the folder at once, although jobs add files to it.
	testcheck.Do(t, os.Rename(filepath.Join(run, folder), filepath.Join(filepath.Dir(run), "removed")))
	_ = cmd.Wait() // the caller checks the exit code
	return cmd.ProcessState.ExitCode(), messages.String()
}

// TestCrashRunRemoved removes the run directory of a running batch. The batch must end
// with an error message or finish, and must not make the directory again.
func TestCrashRunRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := filepath.Join(dir, "r.run")
	code, stderr := loseFolder(t, writeStudy(t, dir, 150, 5, 1), run, "")
	if code == 0 || strings.Contains(stderr, "goroutine ") {
		t.Errorf("exit code %d\n%.2000s", code, stderr)
	}
	absent(t, run)
}

// TestCrashCheckpointsRemoved removes the checkpoint folder of a running batch. Jobs that
// write checkpoints fail and the others continue. resume must make the folder again and
// retry the failed jobs.
func TestCrashCheckpointsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := filepath.Join(dir, "r.run")
	if code, stderr := loseFolder(t, writeStudy(t, dir, 150, 5, 1), run, "checkpoints"); code != exit.SomeFailed {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	table := stdoutOf(t, "gpfit", "show", run, "--format", "csv")
	if !strings.Contains(table, ",write,") && !strings.Contains(table, "cannot open the checkpoint") || strings.Contains(table, "pending") {
		t.Errorf("the result of the run is\n%s", table)
	}
	stdoutOf(t, "gpfit", "resume", run, "--quiet")
	if models, _ := filepath.Glob(filepath.Join(run, "models", "*.gpfit")); len(models) != 30 {
		t.Errorf("%d models after resume", len(models))
	}
}

// pipes makes a folder with a model, a pipe that has no writer, and one that has no reader, sink.
func pipes(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	mustLine(t, "fit", write(t, dir, "t.csv", "a,y\n1,2\n2,2.5\n3,4.2\n4,4.9\n"), "--out", filepath.Join(dir, "m.gpfit"), "--quiet")
	for _, name := range []string{"pipe", "sink"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Skip("no named pipes: ", err)
		}
	}
	return dir
}

// TestPipeWithoutWriter checks that an interrupt ends every command that waits for an
// input or for the reader of an output, with the exit code of an interrupt. Models and data of a batch cannot be pipes.
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
		{"fit TABLE --quiet --out SINK", exit.Interrupted},
		{"predict MODEL TABLE --out SINK --format csv", exit.Interrupted},
		{"export MODEL --out SINK", exit.Interrupted},
		{"update MODEL TABLE --out SINK", exit.Interrupted},
		{"report MODEL --out SINK", exit.Interrupted},
		{"batch SPEC --out OUT", exit.Data},
		{"predict PIPE TABLE", exit.Data},
		{"loo PIPE", exit.Data},
	} {
		t.Run(c.args, func(t *testing.T) {
			line := strings.NewReplacer("PIPE", filepath.Join(dir, "pipe"), "SINK", filepath.Join(dir, "sink"), "TABLE", filepath.Join(dir, "t.csv"), "MODEL", filepath.Join(dir, "m.gpfit"),
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

// TestPipeSignal checks that the first SIGTERM ends a process that waits for the rest of a table.
func TestPipeSignal(t *testing.T) {
	t.Parallel()
	dir := pipes(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pipe := filepath.Join(dir, "pipe")
	cmd := exec.CommandContext(ctx, "gpfit", "fit", pipe, "--out", filepath.Join(dir, "new.gpfit"))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	testcheck.Do(t, cmd.Start())
	w, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	for errors.Is(err, syscall.ENXIO) && ctx.Err() == nil { // the pipe has no reader yet
		time.Sleep(5 * time.Millisecond)
		w, err = os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	testcheck.Get(io.WriteString(w, "a,y\n1,2\n"))(t)
	testcheck.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait() // the test checks the exit code
	if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted || !strings.Contains(stderr.String(), "interrupted while reading "+pipe) {
		t.Errorf("exit code %d\n%s", code, &stderr)
	}
	absent(t, filepath.Join(dir, "new.gpfit"))
}

// TestCrashContinues kills a fit with a checkpoint while it draws, and checks that the same command
// continues it; and that a file which appears at --out while a fit runs stays, with the model beside it.
func TestCrashContinues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model := filepath.Join(dir, "m.gpfit")
	args := append(crashTable(t, dir, "rbf", 40), "--out", model, "--posterior", "hmc", "--posterior-chains", "2", "--posterior-warmup", "100", "--posterior-draws", "200", "--checkpoint", filepath.Join(dir, "ck"))
	begin := func() *exec.Cmd {
		cmd := exec.Command("gpfit", args...)
		testcheck.Do(t, cmd.Start())
		for {
			if _, err := os.Stat(model); err == nil {
				return cmd
			}
			time.Sleep(time.Millisecond)
		}
	}
	cmd := begin()
	kill(t, cmd)
	stdoutOf(t, "gpfit", args...)
	for sampling := false; !sampling; { // on a busy machine the program may have ended before it is stopped
		testcheck.Do(t, os.Remove(model))
		cmd = begin()
		stopped := cmd.Process.Signal(syscall.SIGSTOP)
		m, err := gp.Load(model)
		if sampling = stopped == nil && err == nil && m.Draws == nil; !sampling {
			kill(t, cmd)
		}
	}
	testcheck.Do(t, os.WriteFile(model, []byte("another program's"), 0o600), cmd.Process.Signal(syscall.SIGCONT))
	if err := cmd.Wait(); err == nil {
		t.Error("no error about the file of another program")
	}
	if kept := string(testcheck.Get(os.ReadFile(model))(t)); kept != "another program's" {
		t.Errorf("the file of another program is %d bytes now", len(kept))
	}
	stdoutOf(t, "gpfit", "inspect", filepath.Join(dir, "m-2.gpfit"))
}
