package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gpfit/batch/rundir"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/filecheck"
	"gpfit/internal/testcheck"
)

// damages are ways to damage a file.
var damages = []struct {
	name string
	do   func(rng *rand.Rand, text []byte) []byte // nil means that the file is deleted
}{
	{"a byte changed", func(rng *rand.Rand, text []byte) []byte {
		text = bytes.Clone(text)
		if len(text) > 0 {
			text[rng.IntN(len(text))] ^= byte(1 + rng.IntN(255))
		}
		return text
	}},
	{"13 bytes overwritten", func(rng *rand.Rand, text []byte) []byte {
		text = bytes.Clone(text)
		copy(text[rng.IntN(len(text)+1):], "\x00damaged\xff\n\x80\"}")
		return text
	}},
	{"cut", func(rng *rand.Rand, text []byte) []byte { return text[:rng.IntN(len(text)+1)] }},
	{"deleted", func(*rand.Rand, []byte) []byte { return nil }},
	{"zeros", func(_ *rand.Rand, text []byte) []byte { return make([]byte, len(text)) }},
}

// readFolder returns the contents of all files of a folder by their paths in it.
func readFolder(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	testcheck.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out[testcheck.Get(filepath.Rel(dir, path))(t)] = testcheck.Get(os.ReadFile(path))(t)
		}
		return err
	}))
	return out
}

// TestDamagedRun damages one file after another of a finished run: changes, cuts, deletes and empties it. The run
// can still be shown and reported, a check sees the damage, and a resume ends with all jobs done, of which it has done one
// again at most. With GPFIT_LONG the run has 300 jobs, else 8. A third of the
// files of jobs are damaged, others the next day; each command is a process of its own, because cobra keeps the flags of all.
func TestDamagedRun(t *testing.T) {
	jobs, every := 8, 3
	if testcheck.Long() {
		jobs, every = 300, 3
	}
	dir := t.TempDir()
	t.Chdir(dir)
	var table strings.Builder
	table.WriteString("x,y\n")
	for i := range 12 {
		fmt.Fprintf(&table, "%d,%d\n", i, i*i%7)
	}
	write(t, dir, "t.csv", table.String())
	write(t, dir, "s.yaml", fmt.Sprintf("data: [t.csv]\nkernels: [rbf]\nseeds: [%s]\ndefaults: {max_evals: 3}\n", strings.Join(testcheck.Slice(jobs, func(i int) string { return fmt.Sprint(i) }), ", ")))
	if code, _, stderr := runLine(t, "batch", "s.yaml", "--out", "r.run", "--quiet"); code != 0 {
		t.Fatal(stderr)
	}
	whole := readFolder(t, "r.run")
	models := func(run string) (out string) {
		r := testcheck.Get(rundir.Open(run))(t)
		for _, j := range r.Jobs {
			s := testcheck.Get(r.Status(j))(t)
			if s.State != rundir.StateDone {
				t.Errorf("%s is %s: %s", j.ID, s.State, s.About)
				continue
			}
			out += fmt.Sprint(j.ID, s.Record.Last().Report.NLML)
		}
		return out
	}
	want := models("r.run")
	if code, stdout, stderr := runLine(t, "check", "r.run"); code != 0 || !strings.Contains(stdout, "r.run: ok: ") {
		t.Fatalf("%d: %s%s", code, stdout, stderr)
	}
	var whether filecheck.Statement
	if decodeLine(t, &whether, "check", "r.run", "--json"); !whether.OK || whether.Kind != "run" || whether.File != "r.run" || whether.Checked == "" {
		t.Errorf("%+v", whether)
	}
	var names []string
	for name := range whole {
		if filepath.Dir(name) != "." {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Concat(testcheck.Get(fs.Glob(os.DirFS("r.run"), "*.*"))(t), []string{"lock"}, testcheck.Slice(len(names)/every, func(i int) string { return names[i*every+int(time.Now().Unix()/86400)%every] }))
	var again atomic.Int64
	var workers sync.WaitGroup
	for w := range runtime.NumCPU() { // each damages every NumCPU-th file in a copy of the run
		run := fmt.Sprintf("copy%d.run", w)
		testcheck.Do(t, os.CopyFS(run, os.DirFS("r.run")))
		workers.Go(func() {
			for k := w; k < len(names); k += runtime.NumCPU() {
				again.Add(int64(damageFile(t, run, names[k], whole, k+1, want, models)))
			}
		})
	}
	workers.Wait()
	t.Logf("%d jobs, %d files: %d jobs were done again", jobs, len(names), again.Load())
	if again.Load() == 0 {
		t.Error("no job was done again")
	}
}

// damageFile damages a file of a run in one way, checks what commands do, and puts it back. It returns the number of jobs
// that were done again.
func damageFile(t *testing.T, run, name string, whole map[string][]byte, number int, want string, models func(run string) string) (again int) {
	d := damages[number%len(damages)]
	path, what := filepath.Join(run, name), d.name+": "+name
	text := d.do(rand.New(rand.NewPCG(uint64(number), 1)), whole[name])
	if text == nil {
		testcheck.Do(t, os.Remove(path))
	} else {
		testcheck.Do(t, os.WriteFile(path, text, 0o644))
	}
	harmless := text != nil && bytes.Equal(text, whole[name]) || name == "lock" || strings.HasPrefix(name, "logs") && text == nil
	checked, found, _ := end(t, exec.Command("gpfit", "check", run))
	if !harmless && !strings.HasPrefix(name, "logs") && (checked != exit.Data || !strings.Contains(found, filepath.Base(strings.TrimSuffix(name, ".copy.json")))) {
		t.Errorf("%s: check: %d: %s", what, checked, found)
	}
	for _, line := range []string{"show " + run, "report " + run + " --out -"} {
		if code, _, stderr := end(t, exec.Command("gpfit", strings.Fields(line)...)); code != 0 {
			t.Errorf("%s: %s: %d: %s", what, line, code, stderr)
		}
	}
	if strings.HasPrefix(name, "models") && checked == exit.Data && strings.Contains(found, "delete this file") {
		testcheck.Do(t, os.Remove(path)) // as the check says
	}
	code, _, stderr := end(t, exec.Command("gpfit", "resume", run))
	if again = strings.Count(stderr, "is done again"); code != 0 || again > 1 || again == 0 && strings.Contains(stderr, "ran 1 jobs") {
		t.Errorf("%s: resume: %d: %s", what, code, stderr)
	}
	if got := models(run); got != want {
		t.Errorf("%s: results differ:\n%s\n%s", what, want, got)
	}
	for other := range readFolder(t, run) {
		if whole[other] == nil {
			testcheck.Do(t, os.Remove(filepath.Join(run, other)))
		}
	}
	for other, text := range whole {
		if now, err := os.ReadFile(filepath.Join(run, other)); err != nil || !bytes.Equal(now, text) {
			testcheck.Do(t, os.WriteFile(filepath.Join(run, other), text, 0o644))
		}
	}
	return again
}

// runTwoJobs runs a batch of two short fits in a folder.
func runTwoJobs(t *testing.T, dir, run string) {
	t.Helper()
	write(t, dir, "t.csv", "x,y\n1,2\n2,3\n3,5\n4,4\n5,7\n6,1\n7,3\n8,2\n")
	write(t, dir, "s.yaml", "data: [t.csv]\nkernels: [rbf, matern32]\ndefaults: {max_evals: 3}\n")
	mustLine(t, "batch", "s.yaml", "--out", run, "--quiet")
}

// TestUselessCheckpoint checks that a checkpoint with wrong contents costs its own job its checkpoint, and nothing else.
func TestUselessCheckpoint(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	runTwoJobs(t, dir, "r.run")
	jobs := testcheck.Get(filepath.Glob("r.run/jobs/*.jsonl"))(t)
	id := strings.TrimSuffix(filepath.Base(jobs[0]), ".jsonl")
	for _, text := range []string{"nonsense\n", "gpfit-checkpoint 2 another\n", strings.Repeat("\x00", 500), "gpfit-checkpoint 1 old\n"} {
		testcheck.Do(t, os.Remove(jobs[0]), os.Remove("r.run/models/"+id+".gpfit"))
		write(t, dir, "r.run/checkpoints/"+id+".ckpt", text)
		ofAnother := strings.HasSuffix(text, "another\n") // only the fit knows
		lost := strings.Trim(text, "\x00") == ""          // bytes that a power cut lost: an empty checkpoint
		if code, stdout, _ := runLine(t, "check", "r.run"); !ofAnother && !lost && (code != exit.Data || !strings.Contains(stdout, id+".ckpt: wrong: ")) {
			t.Errorf("%q: check: %d: %s", text, code, stdout)
		}
		code, stdout, stderr := runLine(t, "resume", "r.run")
		if code != 0 || strings.Contains(stderr, id+": the fit starts over: ") == lost || !strings.Contains(stdout, "2 done") {
			t.Errorf("%q: %d: %s%s", text, code, stdout, stderr)
		}
	}
	if kept := testcheck.Get(filepath.Glob("r.run/checkpoints/*.damaged*"))(t); len(kept) != 3 {
		t.Errorf("kept: %v", kept)
	}
}

// TestMisplacedFiles puts things that are no files of a job in their place: the job is done again, and nothing is lost.
func TestMisplacedFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	runTwoJobs(t, dir, "r.run")
	record, other := "r.run/jobs/t.rbf.seed-1.jsonl", "r.run/jobs/t.matern32.seed-1.jsonl"
	model, checkpoint := "r.run/models/t.rbf.seed-1.gpfit", "r.run/checkpoints/t.rbf.seed-1.ckpt"
	for what, misplace := range map[string]func(){
		"a folder as the model":          func() { testcheck.Do(t, os.Remove(model), os.Mkdir(model, 0o755)) },
		"a folder as the record":         func() { testcheck.Do(t, os.Remove(record), os.Mkdir(record, 0o755)) },
		"a link that leads nowhere":      func() { testcheck.Do(t, os.Remove(record), os.Symlink("nowhere/there", record)) },
		"a folder as the checkpoint":     func() { testcheck.Do(t, os.Remove(record), os.Remove(model), os.Mkdir(checkpoint, 0o755)) },
		"the record of another job":      func() { testcheck.Do(t, os.WriteFile(record, testcheck.Get(os.ReadFile(other))(t), 0o644)) },
		"a link to itself as the record": func() { testcheck.Do(t, os.Remove(record), os.Symlink(filepath.Base(record), record)) },
	} {
		misplace()
		if code, stdout, stderr := runLine(t, "resume", "r.run"); code != 0 || !strings.Contains(stdout, "2 done") || !strings.Contains(stderr, "ran 1 jobs") {
			t.Errorf("%s: %d: %s%s", what, code, stdout, stderr)
		}
		if code, stdout, _ := runLine(t, "check", "r.run"); code != 0 {
			t.Errorf("%s: check: %s", what, stdout)
		}
		if kept := testcheck.Get(filepath.Glob("r.run/*/*.damaged*"))(t); len(kept) == 0 {
			t.Errorf("%s: nothing was set aside", what)
		} else {
			for _, path := range kept {
				testcheck.Do(t, os.RemoveAll(path))
			}
		}
	}
}
