package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/must"
	"gpfit/internal/rundir"
)

// startSlurm starts a cluster of one node, or skips the test if it cannot.
func startSlurm(t *testing.T) {
	missing := ""
	for _, tool := range []string{"slurmctld", "slurmd", "sbatch", "munge"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = tool + " is not on this machine"
		}
	}
	if os.Geteuid() != 0 {
		missing = "starting a cluster takes root"
	}
	if missing != "" {
		if os.Getenv("GPFIT_SLURM_REQUIRED") == "1" {
			t.Fatalf("GPFIT_SLURM_REQUIRED=1, but %s", missing)
		}
		t.Skipf("SKIPPED: no Slurm: %s", missing)
	}
	dir := t.TempDir()
	script := "../../internal/slurm/cluster.sh"
	start := exec.Command(script, "start", dir)
	// Daemons outlive the script: its output must not be a pipe that they hold.
	out := must.Get(os.Create(filepath.Join(dir, "start.out")))(t)
	start.Stdout, start.Stderr = out, out
	t.Cleanup(func() {
		if text, err := exec.Command(script, "stop", dir).CombinedOutput(); err != nil {
			t.Errorf("stopping the cluster: %v\n%s", err, text)
		}
	})
	if err := start.Run(); err != nil {
		text, _ := os.ReadFile(out.Name())
		t.Fatalf("starting a cluster: %v\n%s", err, text)
	}
	// Other tests run at the same time. The variable does not affect them.
	must.Do(t, os.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf")))
	t.Cleanup(func() { os.Unsetenv("SLURM_CONF") })
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not true after %v: %s", limit, what)
		}
	}
}

// TestSlurm runs a batch as a job array of four tasks on a real cluster, kills one task
// and requeues another. The results must equal a plain run's.
func TestSlurm(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel() // it waits for the cluster most of the time
	startSlurm(t)
	dir := t.TempDir()
	spec := writeStudy(t, dir, 400, 6, 4)
	plain, run := filepath.Join(dir, "plain.run"), filepath.Join(dir, "array.run")

	id := stdoutOf(t, "gpfit", "batch", spec, "--out", run, "--engine", "slurm", "--slurm-partition", "main", "--slurm-tasks", "4", "--slurm-time", "10", "--quiet")
	pids := func() map[int]bool {
		out := map[int]bool{}
		r := must.Get(rundir.Open(run))(t)
		for _, j := range r.Jobs {
			if s, err := r.Status(j); err == nil && len(s.Record) > 0 {
				out[s.Record.Last().PID] = true
			}
		}
		return out
	}
	eventually(t, "four tasks work", 30*time.Second, func() bool { return len(pids()) == 4 })
	if shown := stdoutOf(t, "gpfit", "show", run); !strings.Contains(shown, "running") {
		t.Errorf("show does not see running jobs:\n%s", shown)
	}
	stdoutOf(t, "scancel", "--batch", "--signal=KILL", id+"_1")
	stdoutOf(t, "scontrol", "requeue", id+"_2")
	eventually(t, "the requeued task begins again", 60*time.Second, func() bool {
		shown := stdoutOf(t, "scontrol", "show", "job", id+"_2")
		if strings.Contains(shown, "JobState=PENDING") {
			// Slurm would wait two minutes before it begins again.
			_ = exec.Command("scontrol", "update", "JobId="+id+"_2", "StartTime=now").Run()
			return false
		}
		running := strings.Contains(shown, "JobState=RUNNING") || strings.Contains(shown, "JobState=COMPLETED")
		return running && strings.Contains(shown, "Restarts=1")
	})
	eventually(t, "the array ends", 3*time.Minute, func() bool {
		return stdoutOf(t, "squeue", "--noheader", "--states=PENDING,RUNNING,COMPLETING", "--job", id) == ""
	})
	if states := stdoutOf(t, "scontrol", "show", "job", id+"_1"); !strings.Contains(states, "JobState=FAILED") {
		t.Errorf("the killed task: %s", states)
	}
	if !complete(run) {
		t.Errorf("the remaining tasks have not finished the run:\n%s", stdoutOf(t, "gpfit", "show", run))
	}
	stdoutOf(t, "gpfit", "resume", run, "--quiet") // no job is left to run
	stdoutOf(t, "gpfit", "batch", spec, "--out", plain, "--quiet")
	if d := cmp.Diff(readResult(t, plain), readResult(t, run)); d != "" {
		t.Errorf("plain (-), array (+):\n%s", d)
	}
	if n := takenOver(t, run); n == 0 {
		t.Error("no job of the killed task was taken over")
	}
}

// takenOver counts the jobs that one process began but did not finish, and another
// process began again.
func takenOver(t *testing.T, dir string) int {
	r := must.Get(rundir.Open(dir))(t)
	n := 0
	for _, j := range r.Jobs {
		s := must.Get(r.Status(j))(t)
		for i, e := range s.Record[1:] {
			if e.Type == rundir.Started && s.Record[i].Type == rundir.Started && e.PID != s.Record[i].PID {
				n++
			}
		}
	}
	return n
}
