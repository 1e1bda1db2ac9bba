package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

// crashTable writes a table of 300 rows and returns gpfit and the arguments of a fit.
func crashTable(t *testing.T, dir string) (gpfit string, args []string) {
	t.Helper()
	var table bytes.Buffer
	for i := range 300 {
		fmt.Fprintf(&table, "%v,%v,%v\n", float64(i)/30, float64(i*i%97), float64(i*7%13)+float64(i)/100)
	}
	data := filepath.Join(dir, "data.csv")
	must.Do(t, os.WriteFile(data, table.Bytes(), 0o600))
	return program(t), []string{"fit", data, "--ard", "--restarts", "4", "--json", "--quiet", "--device", "cpu", "--threads", "1"}
}

// TestCrashSignals ends fits with a checkpoint at random moments, by SIGKILL and by
// SIGTERM in turn, and continues them. Model and report must equal an undisturbed fit's.
// GPFIT_KILLS sets the number of signals.
func TestCrashSignals(t *testing.T) {
	signals := 6
	if text := os.Getenv("GPFIT_KILLS"); text != "" {
		signals, _ = strconv.Atoi(text)
	}
	dir := t.TempDir()
	gpfit, args := crashTable(t, dir)
	model := filepath.Join(dir, "m.gpfit")
	began := time.Now()
	want := must.Get(exec.Command(gpfit, append(args, "--out", model)...).Output())(t)
	alone := time.Since(began)
	wantModel, _ := os.ReadFile(model)
	rng, sent, rounds := rand.New(rand.NewPCG(1, 2)), 0, 0
	args = append(args, "--out", model, "--force", "--checkpoint", filepath.Join(dir, "ck"))
	for sent < signals {
		rounds++
		_ = os.Remove(model)
		var out bytes.Buffer
		for {
			out.Reset()
			cmd := exec.Command(gpfit, args...)
			cmd.Stdout = &out
			must.Do(t, cmd.Start())
			sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[sent%2]
			wait := time.Duration(rng.Int64N(int64(alone)))
			timer := time.AfterFunc(wait, func() { _ = cmd.Process.Signal(sig) })
			err := cmd.Wait()
			if timer.Stop(); err == nil {
				break
			}
			var ended *exec.ExitError
			if !errors.As(err, &ended) || ended.ExitCode() != -1 && ended.ExitCode() != 130 {
				t.Fatalf("after signal %v: %v", sig, err)
			}
			sent++
		}
		got, _ := os.ReadFile(model)
		if !bytes.Equal(withoutRecord(t, got), withoutRecord(t, wantModel)) {
			t.Errorf("round %d: another model", rounds)
		}
		if a, b := withoutTimes(t, want), withoutTimes(t, out.Bytes()); a != b {
			t.Errorf("round %d: another report:\n%s\n%s", rounds, a, b)
		}
	}
	t.Logf("%d signals in %d fits", sent, rounds)
}

// TestCrashFullDisk checks that a full file system ends a fit with an error that says so
// and leaves neither a part of a model nor a temporary file. With space, the fit continues.
func TestCrashFullDisk(t *testing.T) {
	dir, small := t.TempDir(), t.TempDir()
	gpfit, args := crashTable(t, dir)
	if err := syscall.Mount("none", small, "tmpfs", 0, "size=8k"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	defer func() { _ = syscall.Unmount(small, 0) }()
	model := filepath.Join(small, "m.gpfit")
	cmd := exec.Command(gpfit, append(args, "--out", model)...)
	text, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(text), "no space left") {
		t.Errorf("model on a full disk: %v\n%s", err, text)
	}
	if files, _ := os.ReadDir(small); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
	model, checkpoint := filepath.Join(dir, "m.gpfit"), filepath.Join(small, "ck")
	args = append(args, "--out", model, "--checkpoint", checkpoint)
	text, err = exec.Command(gpfit, args...).CombinedOutput()
	if err == nil || !strings.Contains(string(text), "no space left") {
		t.Errorf("checkpoint on a full disk: %v\n%s", err, text)
	}
	if _, err := os.Stat(model); err == nil {
		t.Error("the failed fit left a model")
	}
	must.Do(t, syscall.Mount("none", small, "tmpfs", syscall.MS_REMOUNT, "size=1m"))
	if text, err := exec.Command(gpfit, args...).CombinedOutput(); err != nil {
		t.Errorf("with space: %v\n%s", err, text)
	}
}

// TestCrashMemoryLimit checks that a fit under a limit on its address space ends with exit
// code 12 and leaves no part of a model. Below 1.8 GB the Go runtime may end the process
// with code 2 before gpfit begins, at 1.7 GB once in sixty. With 4 GB a small fit succeeds.
func TestCrashMemoryLimit(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector maps memory of its own and fails below its own limits")
	}
	dir := t.TempDir()
	gpfit, args := crashTable(t, dir)
	model := filepath.Join(dir, "m.gpfit")
	for kilobytes, want := range map[int][]int{
		300_000: {2, exit.Device}, 600_000: {2, exit.Device}, 1_200_000: {2, exit.Device}, 1_700_000: {2, exit.Device}, 1_800_000: {2, exit.Device}, 1_900_000: {exit.Device}, 4_000_000: {0},
	} {
		_ = os.Remove(model)
		line := fmt.Sprintf(`ulimit -v %d; exec "$0" "$@"`, kilobytes)
		cmd := exec.Command("bash", append([]string{"-c", line, gpfit}, append(args, "--max-evals", "3", "--out", model)...)...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2") // threads take address space
		text, err := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		t.Logf("%d kB: exit code %d", kilobytes, code)
		_, statErr := os.Stat(model)
		if !slices.Contains(want, code) || (statErr == nil) != (err == nil) {
			t.Errorf("%d kB: %v, model: %v\n%.2000s", kilobytes, err, statErr, text)
		}
		if code == exit.Device && !strings.Contains(string(text), "the address space") {
			t.Errorf("%d kB: the message does not name the limit:\n%.2000s", kilobytes, text)
		}
		if strings.Contains(string(text), "goroutine") && !strings.Contains(string(text), "out of memory") && !strings.Contains(string(text), "cannot allocate") && !strings.Contains(string(text), "pthread_create failed") {
			t.Errorf("%d kB: neither an error nor a lack of memory:\n%.2000s", kilobytes, text)
		}
	}
}

// startBatch starts a batch and returns its process, which has written some models, and
// what it prints on standard error.
func startBatch(t *testing.T, gpfit, spec, run string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd, text := exec.Command(gpfit, "batch", spec, "--out", run, "--quiet"), new(bytes.Buffer)
	cmd.Stderr = text
	must.Do(t, cmd.Start())
	for range 1000 {
		if files, _ := filepath.Glob(filepath.Join(run, "models", "*")); len(files) > 2 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return cmd, text
}

// TestCrashRunRemoved removes the run directory of a running batch. The batch must end
// with an error message or finish, and must not make the directory again.
func TestCrashRunRemoved(t *testing.T) {
	dir := t.TempDir()
	gpfit, spec, run := program(t), writeStudy(t, dir, 150, 5, 1), filepath.Join(dir, "r.run")
	cmd, text := startBatch(t, gpfit, spec, run)
	must.Do(t, os.Rename(run, run+".gone"))
	err := cmd.Wait()
	if err == nil || strings.Contains(text.String(), "goroutine ") {
		t.Errorf("%v\n%.2000s", err, text.String())
	}
	if _, err := os.Stat(run); err == nil {
		t.Error("the batch made the run directory again")
	}
}
