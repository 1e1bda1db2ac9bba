package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpfit/batch/spec"
	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// newRun makes a run with one job that reads one file.
func newRun(t *testing.T) (*Run, *Lock) {
	t.Helper()
	dir := testcheck.Folder(t, map[string]string{"a.csv": "x,y\n1,2\n", "s.yaml": "data"})
	input, specPath := filepath.Join(dir, "a.csv"), filepath.Join(dir, "s.yaml")
	in := testcheck.Get(HashInput(input))(t)
	r, lock, err := Create(filepath.Join(dir, "run"), func() (*Manifest, []byte, error) {
		return &Manifest{
			SpecPath: specPath, SpecSHA256: SHA256([]byte("data")), Inputs: []Input{in},
			Jobs: []PlannedJob{{JobSpec: spec.JobSpec{ID: "a.rbf.seed-1", Path: input}, Fingerprint: "f"}},
		}, []byte("data"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lock.Release)
	return r, lock
}

func appendAll(t *testing.T, c *Claim, types ...string) {
	t.Helper()
	for i, typ := range types {
		e := JobEvent{Type: typ, Attempt: i + 1}
		if typ == Done {
			e.Report = &summary.Report{NLML: 0.1}
		}
		testcheck.Do(t, c.Append(e))
	}
}

// TestClaim checks that a job has one claim at a time, that Status shows it, and that
// it ends with Release.
func TestClaim(t *testing.T) {
	r, _ := newRun(t)
	j := r.Jobs[0]
	if s, err := r.Status(j); err != nil || s.State != StatePending {
		t.Fatalf("%v, %v", s, err)
	}
	c := testcheck.Get(r.Claim(j))(t)
	appendAll(t, c, Started)
	if _, err := r.Claim(j); !errors.Is(err, ErrClaimed) {
		t.Errorf("a second claim: %v", err)
	}
	if s, _ := r.Status(j); s.State != StateRunning || s.Record.Last().PID != os.Getpid() || !r.Busy(j) {
		t.Errorf("%+v", s)
	}
	c.Release()
	if r.Busy(j) {
		t.Error("busy after its release")
	}
	if s, _ := r.Status(j); s.State != StateDied || !strings.Contains(s.About, fmt.Sprint("process ", os.Getpid(), " began it at 20")) {
		t.Errorf("without its process: %s, %s", s.State, s.About)
	}
	if c = testcheck.Get(r.Claim(j))(t); c.State() != StateInterrupted {
		t.Fatal(c.State())
	}
	appendAll(t, c, Started, Done)
	c.Release()
	s, err := r.Status(j)
	if err != nil || s.State != StateDone || s.Record.Last().Report.NLML != 0.1 {
		t.Errorf("%+v, %v", s, err)
	}
	// The same name with other data is another job.
	j.Fingerprint = "other"
	if s, _ := r.Status(j); s.State != StatePending {
		t.Errorf("another fingerprint: %s", s.State)
	}
}

// TestUnknown checks the state of a job that a process on another machine began: it runs if
// its lock is seen, and nobody knows otherwise.
func TestUnknown(t *testing.T) {
	r, _ := newRun(t)
	j := r.Jobs[0]
	c := testcheck.Get(r.Claim(j))(t)
	appendAll(t, c, Started)
	path := r.Path("jobs", j.ID)
	text := testcheck.Get(os.ReadFile(path))(t)
	host, _ := os.Hostname()
	text = sealMember.ReplaceAll(bytes.Replace(text, []byte(`"host":"`+host+`"`), []byte(`"host":"node7"`), 1), []byte("}"))
	testcheck.Do(t, os.WriteFile(path, append(seal(text, ""), '\n'), 0o644))
	if s, _ := r.Status(j); s.State != StateRunning {
		t.Errorf("with its lock: %s", s.State)
	}
	c.Release()
	changed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	testcheck.Do(t, os.Chtimes(path, changed, changed))
	s, err := r.Status(j)
	if err != nil || s.State != StateUnknown || !strings.Contains(s.About, "on node7 began it at 20") || !strings.HasSuffix(s.About, "changed last at 2026-03-01 12:00:00") {
		t.Errorf("%s, %s, %v", s.State, s.About, err)
	}
	// A process that stops in good order says so.
	c = testcheck.Get(r.Claim(j))(t)
	appendAll(t, c, Started, Interrupted)
	c.Release()
	if s, _ := r.Status(j); s.State != StateInterrupted || s.About != "" {
		t.Errorf("%+v", s)
	}
}

// TestRecovery checks that Claim cuts off half a line, removes the files of a killed
// process.
func TestRecovery(t *testing.T) {
	r, _ := newRun(t)
	j := r.Jobs[0]
	c := testcheck.Get(r.Claim(j))(t)
	appendAll(t, c, Started)
	c.Release()
	path := r.Path("jobs", j.ID)
	whole := testcheck.Get(os.ReadFile(path))(t)
	testcheck.Do(t, os.WriteFile(path, append(whole, `{"type":"done","repo`...), 0o644))
	left := filepath.Join(r.Dir, "models", "."+j.ID+".gpfit.tmp123")
	other := filepath.Join(r.Dir, "models", ".a.rbf.seed-10.gpfit.tmp123")
	for _, f := range []string{left, other, r.Path("checkpoints", j.ID)} {
		testcheck.Do(t, os.WriteFile(f, nil, 0o644))
	}
	if s, err := r.Status(j); err != nil || s.State != StateDied {
		t.Errorf("%v, %v", s.State, err)
	}
	c = testcheck.Get(r.Claim(j))(t)
	if text, _ := os.ReadFile(path); string(text) != string(whole) {
		t.Errorf("half a line is left: %q", text)
	}
	for f, want := range map[string]bool{left: false, other: true, r.Path("checkpoints", j.ID): true} {
		if _, err := os.Stat(f); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", f, err == nil, want)
		}
	}
	c.Release()
	// A checkpoint of other options is useless.
	j.Fingerprint = "other"
	c = testcheck.Get(r.Claim(j))(t)
	c.Release()
	if _, err := os.Stat(r.Path("checkpoints", j.ID)); err == nil {
		t.Error("the checkpoint of another job is left")
	}
}

// TestDamagedRecord checks that a damaged record is a state of its job, that the job can be claimed again, and that
// the record is kept.
func TestDamagedRecord(t *testing.T) {
	r, _ := newRun(t)
	j := r.Jobs[0]
	c := testcheck.Get(r.Claim(j))(t)
	appendAll(t, c, Started, Done)
	c.Release()
	path := r.Path("jobs", j.ID)
	whole := testcheck.Get(os.ReadFile(path))(t)
	damages := map[string][]byte{"a folder": nil, "zeros": make([]byte, len(whole)), "a line of another program": append(whole[:len(whole):len(whole)], "{}\n"...)}
	for at := range whole {
		if at%7 > 0 && at < len(whole)-1 {
			continue
		}
		damages[fmt.Sprintf("byte %d", at)] = slices.Concat(whole[:at], []byte{whole[at] ^ 1}, whole[at+1:])
	}
	count := 0
	for what, text := range damages {
		testcheck.Do(t, os.RemoveAll(path))
		if text == nil {
			testcheck.Do(t, os.Mkdir(path, 0o755))
		} else {
			testcheck.Do(t, os.WriteFile(path, text, 0o644))
		}
		s, err := r.Status(j)
		if what == fmt.Sprintf("byte %d", len(whole)-1) { // without its last new line, the result is half a line
			if err != nil || s.State != StateDied {
				t.Errorf("%s: %v, %v", what, s, err)
			}
			continue
		}
		if err != nil || s.State != StateDamaged || !strings.HasPrefix(s.About, "jobs/"+j.ID+".jsonl: ") {
			t.Errorf("%s: %v, %v", what, s, err)
		}
		c := testcheck.Get(r.Claim(j))(t)
		if c.State() != StatePending {
			t.Errorf("%s: claimed: %s", what, c.State())
		}
		c.Release()
		count++
	}
	if kept := testcheck.Get(filepath.Glob(path + ".damaged*"))(t); len(kept) != count {
		t.Errorf("%d of %d damaged records are kept", len(kept), count)
	}
}

// TestDamagedManifest checks that a run whose run.json or its copy is damaged, in any byte, is the same run, that
// its next process repairs the file, and that two damaged files are an error.
func TestDamagedManifest(t *testing.T) {
	r, lock := newRun(t)
	lock.Release()
	whole := testcheck.Get(os.ReadFile(filepath.Join(r.Dir, "run.json")))(t)
	check := func(what, name string, wantDamage bool) {
		t.Helper()
		again, err := Open(r.Dir)
		if err != nil || again.Damage != "" != wantDamage || cmp.Diff(r.Manifest, again.Manifest) != "" {
			t.Fatalf("%s of %s: %v, %+v", what, name, err, again)
		}
	}
	for _, name := range manifests {
		path := filepath.Join(r.Dir, name)
		for at := 0; at < len(whole)-1; at += 3 { // a last line without its end is whole
			testcheck.Do(t, os.WriteFile(path, slices.Concat(whole[:at], []byte{whole[at] ^ 1}, whole[at+1:]), 0o644))
			check(fmt.Sprintf("byte %d", at), name, true)
		}
		for what, text := range map[string][]byte{"half": whole[:len(whole)/2], "nothing": {}, "zeros": make([]byte, len(whole)), "null": []byte("null")} {
			testcheck.Do(t, os.WriteFile(path, text, 0o644))
			check(what, name, true)
		}
		testcheck.Do(t, os.Remove(path))
		check("absence", name, true)
		again, lock, err := OpenLocked(r.Dir, Exclusive)
		if err != nil || !strings.Contains(again.Damage, name) {
			t.Fatalf("%s: %v", name, err)
		}
		lock.Release()
		if text, _ := os.ReadFile(path); !bytes.Equal(text, whole) {
			t.Errorf("%s is not repaired: %q", name, text)
		}
		check("repair", name, false)
	}
	for _, name := range manifests {
		testcheck.Do(t, os.WriteFile(filepath.Join(r.Dir, name), []byte("null"), 0o644))
	}
	if _, err := Open(r.Dir); err == nil || strings.Contains(err.Error(), "nil") || !strings.Contains(err.Error(), "run.json: is damaged") {
		t.Errorf("%v", err)
	}
}

// TestChanges checks that inputs and the spec are compared by their content.
func TestChanges(t *testing.T) {
	r, _ := newRun(t)
	check := func(want int) {
		t.Helper()
		if what, err := r.Changes(); err != nil || len(what) != want {
			t.Errorf("%v, %v, want %d changes", what, err, want)
		}
	}
	later := time.Now().Add(time.Hour)
	testcheck.Do(t, os.Chtimes(r.Inputs[0].Path, later, later))
	check(0)
	testcheck.Do(t, os.WriteFile(r.SpecPath, []byte("other"), 0o644))
	check(1)
	testcheck.Do(t, os.WriteFile(r.Inputs[0].Path, []byte("x,y\n1,3\n"), 0o644))
	check(2)
	testcheck.Do(t, os.Remove(r.SpecPath))
	check(1)
}

// TestOpen checks the errors for folders that are not runs, for damaged runs and for
// runs of a newer program.
func TestOpen(t *testing.T) {
	r, lock := newRun(t)
	if again, err := Open(r.Dir); err != nil || again.Jobs[0].ID != r.Jobs[0].ID {
		t.Errorf("%v", err)
	}
	var busy *InUseError
	if _, _, err := OpenLocked(r.Dir, Exclusive); !errors.As(err, &busy) || !strings.Contains(busy.By, "process") {
		t.Errorf("%v", err)
	}
	lock.Release()
	path := filepath.Join(r.Dir, "run.json")
	for text, want := range map[string]string{
		`{"type":"gpfit run","schema_version":99}`: "newer gpfit", `{"type":"other"}`: "damaged", `{`: "damaged",
	} {
		testcheck.Do(t, os.WriteFile(path, []byte(text), 0o644), os.WriteFile(filepath.Join(r.Dir, "run.copy.json"), []byte(text), 0o644))
		if _, _, err := OpenLocked(r.Dir, Exclusive); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a run directory") {
		t.Errorf("%v", err)
	}
	if _, _, err := Create(testcheck.Folder(t, map[string]string{"thesis.tex": ""}), nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("%v", err)
	}
	// A failure leaves nothing behind.
	dir := filepath.Join(t.TempDir(), "new")
	if _, _, err := Create(dir, func() (*Manifest, []byte, error) { return nil, nil, errors.New("no") }); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the directory is left")
	}
}

// TestHashInput checks that the hash of several files depends on their names.
func TestHashInput(t *testing.T) {
	dir := testcheck.Folder(t, map[string]string{"a.csv": "1", "b.csv": "2"})
	sum := func(path string) string { return testcheck.Get(HashInput(path))(t).SHA256 }
	// printf 1 | sha256sum
	if got := sum(filepath.Join(dir, "a.csv")); got != "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b" {
		t.Error(got)
	}
	whole := sum(dir)
	if sum(filepath.Join(dir, "*.csv")) != whole {
		t.Error("a folder and a pattern of the same files differ")
	}
	if sum(testcheck.Folder(t, map[string]string{"a.csv": "2", "b.csv": "1"})) == whole {
		t.Error("the hash does not depend on which file has which content")
	}
	if _, err := HashInput(filepath.Join(dir, "none")); err == nil {
		t.Error("no error")
	}
}
