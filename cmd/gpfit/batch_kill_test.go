package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

	"gpfit/internal/must"
	"gpfit/internal/rundir"
)

// writeStudy writes two tables of n rows with masks, and a spec of 2 data sets ×
// kernels × seeds.
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
	r := must.Get(rundir.Open(dir))(t)
	out := result{}
	for _, j := range r.Jobs {
		text := must.Get(os.ReadFile(r.Path("jobs", j.ID)))(t)
		done := 0
		for line := range bytes.Lines(text) {
			var e struct {
				Type   string
				Report json.RawMessage
			}
			must.Do(t, json.Unmarshal(line, &e))
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
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasPrefix(d.Name(), ".") || strings.Contains(d.Name(), ".tmp") || strings.HasSuffix(d.Name(), ".ckpt")) {
			t.Errorf("left behind: %s", path)
		}
		return err
	}))
	return out
}

// TestKills kills a batch again and again, at random moments and during writes, and
// resumes it. Every job must be done exactly once, with the same bits as without kills,
// and no temporary file may be left. GPFIT_KILLS sets the number of kills.
func TestKills(t *testing.T) {
	t.Parallel()
	kills := 10
	if testing.Short() {
		kills = 4
	}
	if text := os.Getenv("GPFIT_KILLS"); text != "" {
		kills = must.Get(strconv.Atoi(text))(t)
	}
	dir := t.TempDir()
	spec := writeStudy(t, dir, 150, 5, 1)
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
	if len(want) != 60 {
		t.Fatalf("%d results, want 30 reports and 30 models", len(want))
	}

	rng := rand.New(rand.NewPCG(uint64(kills), 1))
	done, writes, runs := 0, 0, 0
	for done < kills {
		runs++
		run := filepath.Join(dir, fmt.Sprintf("killed-%d.run", runs))
		for done < kills && !complete(run) {
			cmd := exec.Command("gpfit", args(run)...)
			cmd.Stderr = new(bytes.Buffer)
			must.Do(t, cmd.Start())
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
	t.Logf("%d kills, %d of them while a file was being written, over %d runs of 30 jobs", done, writes, runs)
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
