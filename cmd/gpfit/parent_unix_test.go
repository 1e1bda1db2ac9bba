//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// TestParent starts fits as the Python package does and closes the pipe, as the system does when
// Python ends. The fit stops as by SIGTERM, with its model and its checkpoint.
func TestParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	model, checkpoint := filepath.Join(dir, "m.gpfit"), filepath.Join(dir, "ck")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gpfit", "fit", "../../examples/co2.csv", "--restarts", "5000", "--coarse", "off", "--out", model, "--checkpoint", checkpoint)
	cmd.ExtraFiles = []*os.File{r}
	cmd.Env = append(os.Environ(), fmt.Sprintf("GPFIT_PARENT=%d:3", os.Getpid()))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	testcheck.Do(t, cmd.Start())
	r.Close()
	for begun := false; !begun; time.Sleep(10 * time.Millisecond) {
		info, err := os.Stat(checkpoint)
		begun = err == nil && info.Size() > 4096
		if cmd.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatalf("the fit ended by itself\n%s", &stderr)
		}
	}
	w.Close()
	_ = cmd.Wait() // the test checks the exit code
	if code := cmd.ProcessState.ExitCode(); code != exit.Interrupted {
		t.Errorf("exit code %d\n%s", code, &stderr)
	}
	for _, file := range []string{model, checkpoint} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

// TestParentForked kills a shell that has started a fit while another process holds the pipe open:
// the fit ends because its parent has another number.
func TestParentForked(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	// The fit holds the other end of alive, which closes when it has ended.
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	model := filepath.Join(t.TempDir(), "m.gpfit")
	cmd := exec.Command("sh", "-c", `GPFIT_PARENT=$$:3 gpfit fit ../../examples/co2.csv --restarts 5000 --coarse off --out "$0"; :`, model)
	cmd.ExtraFiles = []*os.File{r, held}
	testcheck.Do(t, cmd.Start())
	r.Close()
	held.Close()
	time.Sleep(500 * time.Millisecond)
	kill(t, cmd)
	testcheck.Do(t, alive.SetReadDeadline(time.Now().Add(time.Minute)))
	if n, err := alive.Read(make([]byte, 1)); n != 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("the fit goes on: %v", err)
	}
}

// TestParentVariable checks the message for a variable that names no parent, and that a parent
// without a pipe is none: another number and no descriptor.
func TestParentVariable(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]int{"x": exit.Usage, "12": exit.Usage, "1:77": 0} {
		cmd := exec.Command("gpfit", "version")
		cmd.Env = append(os.Environ(), "GPFIT_PARENT="+value)
		out, _ := cmd.CombinedOutput() // the test checks the exit code
		if code := cmd.ProcessState.ExitCode(); code != want || (want != 0) != strings.Contains(string(out), "must be PID:DESCRIPTOR") {
			t.Errorf("%s: exit code %d\n%s", value, code, out)
		}
	}
}
