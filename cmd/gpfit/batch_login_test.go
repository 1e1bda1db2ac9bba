package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/device"
	"gpfit/internal/must"
)

// TestLoginNode plans a batch for GPUs on a machine without any, and without sbatch: the plan
// has memory and time, the script and the command are shown, and nothing is left behind.
func TestLoginNode(t *testing.T) {
	if _, err := device.Find(t.Context(), gpfit.Drivers()).Choose("cuda"); err == nil {
		t.Skip("SKIPPED: this machine has a GPU")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	for name, text := range map[string]string{
		"a.csv":      "x,y\n1,2\n2,3\n3,5\n4,4\n5,6\n",
		"study.yaml": "data: [a.csv]\nkernels: [rbf]\nslurm: {partition: long}\n",
	} {
		must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	}
	plan := []string{"batch", "study.yaml", "--engine", "slurm", "--slurm-option", "--gpus-per-task=1", "--dry-run"}
	code, text, stderr := runLine(t, plan...)
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	for _, want := range []string{
		"cuda", "MiB", "their plans are for one NVIDIA H100", "sbatch --parsable " + filepath.Join(dir, "study.run", "slurm", "array.sh"),
		"#SBATCH --partition=long\n", "#SBATCH --gpus-per-task=1\n", " resume '" + filepath.Join(dir, "study.run") + "' --worker",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, " -  ") {
		t.Errorf("a job without an estimate:\n%s", text)
	}
	if _, text, _ = runLine(t, append(plan, "--json")...); !strings.Contains(text, `"planned_for":"NVIDIA H100"`) || !strings.Contains(text, `"type":"slurm_array"`) {
		t.Errorf("as JSON:\n%s", text)
	}
	code, _, stderr = runLine(t, "batch", "study.yaml", "--engine", "slurm")
	if code != exit.Failure || !strings.Contains(stderr, "sbatch is not installed on this machine") {
		t.Errorf("without sbatch: exit code %d\n%s", code, stderr)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// A run that exists is as it was.
	if code, _, stderr = runLine(t, "batch", "study.yaml", "--quiet", "--device", "cpu"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if code, _, stderr = runLine(t, "resume", "study.run", "--engine", "slurm"); code != exit.Failure {
		t.Errorf("resume: exit code %d\n%s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join("study.run", "slurm")); err == nil {
		t.Error("resume left a folder for Slurm")
	}
}
