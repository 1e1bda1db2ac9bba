package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpfit/batch/rundir"
	"gpfit/internal/testcheck"
)

// writeStudy writes two tables of n rows with masks, and a spec of 2 data sets × kernels × seeds.
func writeStudy(t testing.TB, dir string, n, seeds, restarts int) string {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, name := range []string{"a", "b"} {
		var table, mask strings.Builder
		table.WriteString("u,v,y\n")
		for i := range n {
			u, v := rng.NormFloat64(), rng.NormFloat64()
			fmt.Fprintf(&table, "%g,%g,%g\n", u, v, math.Sin(2*u)+0.5*v*v+0.1*rng.NormFloat64())
			fmt.Fprintln(&mask, map[bool]int{true: 1}[i%5 == 0])
		}
		for file, text := range map[string]string{name + ".csv": table.String(), name + "_mask.csv": mask.String()} {
			write(t, dir, file, text)
		}
	}
	var list []string
	for i := range seeds {
		list = append(list, strconv.Itoa(i+1))
	}
	spec := fmt.Sprintf(`defaults: {threads: 1, device: cpu, restarts: %d}
data:
  - {path: a.csv, split_mask: a_mask.csv}
  - {path: b.csv, split_mask: b_mask.csv}
kernels: [rbf(ard), matern32, rbf + matern12]
seeds: [%s]
`, restarts, strings.Join(list, ", "))
	return write(t, dir, "study.yaml", spec)
}

// result is the outcome of a run: the report of every job without times, and the contents of
// its model.
type result map[string]any

// readResult checks that every job was done exactly once and that no other file is left,
// and returns the result.
func readResult(t *testing.T, dir string) result {
	t.Helper()
	r := testcheck.Get(rundir.Open(dir))(t)
	out := result{}
	for _, j := range r.Jobs {
		text := testcheck.Get(os.ReadFile(r.Path("jobs", j.ID)))(t)
		done := 0
		for line := range bytes.Lines(text) {
			var e struct {
				Type   string
				Report json.RawMessage
			}
			testcheck.Do(t, json.Unmarshal(line, &e))
			if e.Type == rundir.Done {
				done++
				out[j.ID] = leaves(t, string(e.Report), times)
			}
		}
		if done != 1 {
			t.Errorf("%s was done %d times:\n%s", j.ID, done, text)
		}
		out[j.ID+" model"] = rundir.SHA256([]byte(withoutRecord(t, r.Path("models", j.ID))))
	}
	testcheck.Do(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(d.Name(), ".") || strings.Contains(d.Name(), ".tmp") || strings.HasSuffix(d.Name(), ".ckpt")) {
			t.Errorf("left behind: %s", path)
		}
		return err
	}))
	return out
}

// TestKills kills a batch again and again, at random moments and during writes, and
// resumes it. Every job must be done exactly once, with the same bits as without kills,
// and no temporary file may be left.
func TestKills(t *testing.T) {
	t.Parallel()
	kills, rows, seeds := 4, 90, 3
	if testcheck.Long() {
		kills, rows, seeds = 100, 150, 5
	}
	dir := t.TempDir()
	spec := writeStudy(t, dir, rows, seeds, 1)
	args := func(run string) []string {
		if rundir.Exists(run) {
			return []string{"resume", run, "--quiet"}
		}
		return []string{"batch", spec, "--out", run, "--quiet"}
	}
	finish := func(run string) result {
		t.Helper()
		stdoutOf(t, "gpfit", args(run)...)
		return readResult(t, run)
	}
	began := time.Now()
	want := finish(filepath.Join(dir, "undisturbed.run"))
	alone := time.Since(began)
	if len(want) != 2*6*seeds {
		t.Fatalf("%d results, want as many reports as models of %d jobs", len(want), 6*seeds)
	}

	rng := rand.New(rand.NewPCG(uint64(kills), 1))
	done, writes, runs := 0, 0, 0
	for done < kills {
		runs++
		run := filepath.Join(dir, fmt.Sprintf("killed-%d.run", runs))
		for done < kills && !complete(run) {
			cmd := exec.Command("gpfit", args(run)...)
			cmd.Stderr = new(bytes.Buffer)
			testcheck.Do(t, cmd.Start())
			// The time allows some progress and many kills.
			patience := time.Duration(rng.Int64N(int64(alone)/6)) + 5*time.Millisecond
			writing := false
			if rng.IntN(2) == 0 {
				writing = untilWrite(run, patience)
			} else {
				time.Sleep(patience)
			}
			killed := cmd.Process.Kill() == nil
			err := cmd.Wait()
			var ended *exec.ExitError
			if killed && errors.As(err, &ended) && ended.ExitCode() == -1 {
				done++
				if writing {
					writes++
				}
			} else if err != nil {
				t.Fatalf("%v: %v\n%s", cmd.Args, err, cmd.Stderr)
			}
		}
		if d := cmp.Diff(want, finish(run)); d != "" {
			t.Fatalf("run %d after kills: undisturbed (-), killed (+):\n%s", runs, d)
		}
	}
	t.Logf("%d kills, %d of them while a file was being written, over %d runs of %d jobs", done, writes, runs, 6*seeds)
}

// complete reports whether every job of a run has a result.
func complete(dir string) bool {
	r, err := rundir.Open(dir)
	if err != nil {
		return false
	}
	for _, j := range r.Jobs {
		if s, err := r.Status(j); err != nil || s.State != rundir.StateDone {
			return false
		}
	}
	return true
}

// untilWrite waits until a file of the run is being written, or until the time limit,
// and reports whether it saw a write.
func untilWrite(run string, limit time.Duration) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		for _, pattern := range []string{".*.tmp*", "models/.*.tmp*"} {
			if files, _ := filepath.Glob(filepath.Join(run, pattern)); len(files) > 0 {
				return true
			}
		}
	}
	return false
}

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
	script := "../../batch/slurm/cluster.sh"
	start := exec.Command(script, "start", dir)
	// Daemons outlive the script: its output must not be a pipe that they hold.
	out := testcheck.Get(os.Create(filepath.Join(dir, "start.out")))(t)
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
	testcheck.Do(t, os.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf")))
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
		r := testcheck.Get(rundir.Open(run))(t)
		for _, j := range r.Jobs {
			if s, err := r.Status(j); err == nil && len(s.Record) > 0 {
				out[s.Record.Last().PID] = true
			}
		}
		return out
	}
	eventually(t, "four tasks work", 2*time.Minute, func() bool { return len(pids()) == 4 })
	if shown := stdoutOf(t, "gpfit", "show", run); !strings.Contains(shown, "running") {
		t.Errorf("show does not see running jobs:\n%s", shown)
	}
	stdoutOf(t, "scancel", "--batch", "--signal=KILL", id+"_1")
	stdoutOf(t, "scontrol", "requeue", id+"_2")
	eventually(t, "the requeued task begins again", 2*time.Minute, func() bool {
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
	r := testcheck.Get(rundir.Open(dir))(t)
	n := 0
	for _, j := range r.Jobs {
		s := testcheck.Get(r.Status(j))(t)
		for i, e := range s.Record[1:] {
			if e.Type == rundir.Started && s.Record[i].Type == rundir.Started && e.PID != s.Record[i].PID {
				n++
			}
		}
	}
	return n
}
