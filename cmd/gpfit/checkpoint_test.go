package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"gpfit/internal/must"
)

// TestKillAndResume kills a running gpfit again and again, as a crash does. The same
// command must continue from its checkpoint and end with the same model and the same
// numbers as an undisturbed one.
func TestKillAndResume(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs symbolic links")
	}
	self := must.Get(os.Executable())(t)
	dir := t.TempDir()
	gpfit := filepath.Join(dir, "gpfit") // under this name TestMain runs gpfit
	must.Do(t, os.Symlink(self, gpfit))
	var table bytes.Buffer
	for i := range 800 {
		x, z := float64(i)/30, math.Mod(float64(i)*0.618034, 1)
		fmt.Fprintf(&table, "%v,%v,%v\n", x, z, math.Sin(x)+z*z+0.1*math.Sin(float64(i*i)))
	}
	data := filepath.Join(dir, "data.csv")
	must.Do(t, os.WriteFile(data, table.Bytes(), 0o600))
	checkpoint := filepath.Join(dir, "ck")
	command := func(model string, extra ...string) (*exec.Cmd, *bytes.Buffer) {
		cmd := exec.Command(gpfit, append([]string{"fit", data, "--ard", "--coarse", "on", "--restarts", "4",
			"--json", "--quiet", "--device", "cpu", "--threads", "1", "--out", filepath.Join(dir, model)}, extra...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, os.Stderr
		return cmd, &out
	}
	cmd, whole := command("whole.gpfit")
	must.Do(t, cmd.Run())
	size := func() int64 {
		info, err := os.Stat(checkpoint)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	kills := 0
	for ; kills < 12; kills++ {
		cmd, _ := command("killed.gpfit", "--checkpoint", checkpoint)
		before := size()
		must.Do(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		for deadline := time.Now().Add(time.Minute); size() <= before+200 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
			if len(done) > 0 {
				break
			}
		}
		_ = cmd.Process.Kill()
		if err := <-done; err == nil {
			break // the fit ended before the kill
		}
	}
	cmd, resumed := command("killed.gpfit", "--checkpoint", checkpoint)
	must.Do(t, cmd.Run())
	if kills < 3 {
		t.Errorf("only %d kills came in time", kills)
	}
	a, errA := os.ReadFile(filepath.Join(dir, "whole.gpfit"))
	b, errB := os.ReadFile(filepath.Join(dir, "killed.gpfit"))
	if errA != nil || errB != nil || !bytes.Equal(withoutRecord(t, a), withoutRecord(t, b)) {
		t.Errorf("after %d kills another model (%v, %v)", kills, errA, errB)
	}
	if x, y := withoutTimes(t, whole.Bytes()), withoutTimes(t, resumed.Bytes()); x != y {
		t.Errorf("after %d kills another report:\n%s\n%s", kills, x, y)
	}
	if _, err := os.Stat(checkpoint); err == nil {
		t.Error("the checkpoint is still there")
	}
}

// withoutTimes returns a report without the parts that may differ.
func withoutTimes(t *testing.T, report []byte) string {
	t.Helper()
	var r map[string]any
	if err := json.Unmarshal(report, &r); err != nil {
		t.Fatalf("%v: %s", err, report)
	}
	delete(r, "seconds")
	delete(r, "evaluation_seconds")
	delete(r, "model_file")
	if path, ok := r["path"].([]any); ok {
		for _, step := range path {
			delete(step.(map[string]any), "seconds")
		}
	}
	text := must.Get(json.Marshal(r))(t)
	return string(text)
}
