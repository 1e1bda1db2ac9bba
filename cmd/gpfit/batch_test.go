package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"gpfit"
	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/device"
	"gpfit/internal/testcheck"
)

// TestSpecHasEveryFlag checks that a spec has a key for every flag of "gpfit fit".
func TestSpecHasEveryFlag(t *testing.T) {
	// A batch sets these elsewhere: kernels, seeds and masks are axes, and the run
	// directory holds files and checkpoints.
	elsewhere := map[string]bool{
		"kernel": true, "seed": true, "split-mask": true, "out": true, "force": true, "checkpoint": true,
		"json": true, "quiet": true, "help": true,
		// A batch cross-validates by its splits.
		"folds": true, "fold-seed": true, "refit": true,
		// These concern one model.
		"from": true, "posterior": true, "posterior-chains": true, "posterior-warmup": true, "posterior-draws": true, "posterior-out": true,
		"experts": true, "combine": true, "expert-rows": true, "report": true, "dry-run": true,
	}
	keys := spec.Fields(reflect.TypeFor[spec.Options]())
	commands(newRoot("", nil, nil, nil))["fit"].Flags().VisitAll(func(f *pflag.Flag) {
		if key := strings.ReplaceAll(f.Name, "-", "_"); !elsewhere[f.Name] && keys[key] == nil {
			t.Errorf("gpfit fit has --%s, but a spec has no %s (Places in option)", f.Name, key)
		}
	})
}

// TestWorkers checks that results have the same bits for any number of workers, in
// shards, and with several processes on one run.
func TestWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	study := writeStudy(t, dir, 40, 2, 0)
	runs := map[string]string{}
	for _, cores := range []string{"1", "3"} {
		runs[cores] = filepath.Join(dir, cores+".run")
		stdoutOf(t, "gpfit", "batch", study, "--out", runs[cores], "--cores", cores, "--quiet")
	}
	shards, workers := filepath.Join(dir, "shards.run"), filepath.Join(dir, "workers.run")
	runs["shards"], runs["workers"] = shards, workers
	side := func(env []string, args ...string) *exec.Cmd {
		cmd := exec.Command("gpfit", args...)
		cmd.Env = append(os.Environ(), env...)
		cmd.Stderr = new(bytes.Buffer)
		testcheck.Do(t, cmd.Start())
		return cmd
	}
	wait := func(cmds ...*exec.Cmd) {
		t.Helper()
		for _, c := range cmds {
			if err := c.Wait(); err != nil {
				t.Fatalf("%v: %v\n%s", c.Args, err, c.Stderr)
			}
		}
	}
	// All shards begin at once, and one of them makes the run. Two get their number from
	// a scheduler.
	wait(
		side(nil, "batch", study, "--out", shards, "--shard", "0/3", "--quiet"),
		side([]string{"SLURM_ARRAY_TASK_ID=11", "SLURM_ARRAY_TASK_MIN=10", "SLURM_ARRAY_TASK_COUNT=3"}, "batch", study, "--out", shards, "--shard", "auto", "--quiet"),
		side([]string{"JOB_COMPLETION_INDEX=2"}, "batch", study, "--out", shards, "--shard", "auto/3", "--quiet"),
	)
	// Three workers share a run that another process made.
	_, lock := testcheck.Get2(rundir.Create(workers, func() (*rundir.Manifest, []byte, error) {
		text, err := os.ReadFile(study)
		return &testcheck.Get(rundir.Open(runs["1"]))(t).Manifest, text, err
	}))(t)
	lock.Release()
	wait(side(nil, "resume", workers, "--worker", "--quiet"), side(nil, "resume", workers, "--worker", "--quiet", "--wait"), side(nil, "resume", workers, "--worker", "--quiet"))

	want := readResult(t, runs["1"])
	for _, name := range []string{"3", "shards", "workers"} {
		if d := cmp.Diff(want, readResult(t, runs[name])); d != "" {
			t.Errorf("one worker (-), %s (+):\n%s", name, d)
		}
	}
}

// TestInUse checks that a second process on a run fails with exit code 11, and that a
// lock ends with its process.
func TestInUse(t *testing.T) {
	dir := t.TempDir()
	study := writeStudy(t, dir, 20, 1, 0)
	run1 := filepath.Join(dir, "r.run")
	mustLine(t, "batch", study, "--out", run1)
	_, lock := testcheck.Get2(rundir.OpenLocked(run1, rundir.Exclusive))(t)
	for _, args := range [][]string{{"resume", run1}, {"resume", run1, "--worker"}, {"batch", study, "--out", run1, "--shard", "0/2"}} {
		ends(t, exit.InUse, "in use by process", args...)
	}
	mustLine(t, "show", run1) // it needs no lock
	lock.Release()
	_, lock = testcheck.Get2(rundir.OpenLocked(run1, rundir.Shared))(t)
	ends(t, exit.InUse, "shards or workers", "resume", run1)
	mustLine(t, "resume", run1, "--worker") // workers share a run
	lock.Release()
	mustLine(t, "resume", run1)
	ends(t, exit.Usage, "gpfit resume", "batch", study, "--out", run1)
}

// TestBatchSignal checks that a signal ends a batch within its jobs, with exit code 130
// and checkpoints, and that resume computes the same bits.
func TestBatchSignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	study := writeStudy(t, dir, 450, 1, 1)
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		r := filepath.Join(dir, sig.String()+".run")
		cmd := exec.Command("gpfit", "batch", study, "--out", r, "--cores", "2")
		cmd.Stderr = new(bytes.Buffer)
		testcheck.Do(t, cmd.Start())
		eventually(t, "a job has begun", 2*time.Minute, func() bool {
			files, _ := filepath.Glob(filepath.Join(r, "checkpoints", "*.ckpt"))
			return len(files) > 0
		})
		time.Sleep(100 * time.Millisecond)
		testcheck.Do(t, cmd.Process.Signal(sig))
		err := cmd.Wait()
		var ended *exec.ExitError
		if !errors.As(err, &ended) || ended.ExitCode() != exit.Interrupted {
			t.Fatalf("%v: %v\n%s", sig, err, cmd.Stderr)
		}
		if told := cmd.Stderr.(*bytes.Buffer).String(); !strings.Contains(told, "checkpoints remain of 2 running jobs") && !strings.Contains(told, "checkpoints remain of 1 running job\n") {
			t.Errorf("of two cores and a job that runs ahead:\n%s", told)
		}
		if files, _ := filepath.Glob(filepath.Join(r, "checkpoints", "*.ckpt")); len(files) == 0 {
			t.Error("no checkpoint was left")
		}
		if shown := stdoutOf(t, "gpfit", "show", r); !strings.Contains(shown, "interrupted") {
			t.Errorf("show:\n%s", shown)
		}
		stdoutOf(t, "gpfit", "resume", r, "--quiet")
	}
	a, b := readResult(t, filepath.Join(dir, "terminated.run")), readResult(t, filepath.Join(dir, "interrupt.run"))
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

// TestLoginNode plans a batch for GPUs on a machine without any, and without sbatch: the plan
// has memory and time, the script and the command are shown, and nothing is left behind.
func TestLoginNode(t *testing.T) {
	if _, err := device.Find(t.Context(), gpfit.Drivers()).Choose("cuda"); err == nil {
		t.Skip("SKIPPED: this machine has a GPU")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	write(t, dir, "a.csv", "x,y\n1,2\n2,3\n3,5\n4,4\n5,6\n")
	write(t, dir, "study.yaml", "data: [a.csv]\nkernels: [rbf]\nslurm: {partition: long}\n")
	plan := []string{"batch", "study.yaml", "--engine", "slurm", "--slurm-option", "--gpus-per-task=1", "--dry-run"}
	text := mustLine(t, plan...)
	for _, want := range []string{
		"cuda", "MiB", "their plans are for one NVIDIA H100", "sbatch --parsable " + filepath.Join(dir, "study.run", "slurm", "array.sh"),
		"#SBATCH --partition=long\n", "#SBATCH --mem=", "#SBATCH --gpus-per-task=1\n", " resume '" + filepath.Join(dir, "study.run") + "' --worker",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, " -  ") {
		t.Errorf("a job without an estimate:\n%s", text)
	}
	if text = mustLine(t, append(plan, "--json")...); !strings.Contains(text, `"planned_for":"NVIDIA H100"`) || !strings.Contains(text, `"type":"slurm_array"`) {
		t.Errorf("as JSON:\n%s", text)
	}
	ends(t, exit.Failure, "sbatch is not installed on this machine", "batch", "study.yaml", "--engine", "slurm")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// A run that exists is as it was.
	mustLine(t, "batch", "study.yaml", "--quiet", "--device", "cpu")
	ends(t, exit.Failure, "", "resume", "study.run", "--engine", "slurm")
	absent(t, filepath.Join("study.run", "slurm"))
}
