package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gpfit/batch/spec"
	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

// FuzzRecord checks that a job's record is either damaged and then set aside
// unchanged, or read up to the last whole line. An appended event then follows the
// events that were read, and none of them is lost.
func FuzzRecord(f *testing.F) {
	event := testcheck.Get(json.Marshal(JobEvent{Type: Started, SchemaVersion: 1, Job: "a", Fingerprint: "f", Attempt: 1}))(f)
	line := string(event) + "\n"
	for _, text := range []string{"", line, line + line[:20], line + line, "\n", "{}\n", "null\n", "[]\n", line[:10] + "\n" + line, `{"type":"done","report":{"nlml":"x"},"fingerprint":"f"}` + "\n"} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	r := &Run{Dir: dir}
	job := PlannedJob{JobSpec: spec.JobSpec{ID: "a"}, Fingerprint: "f"}
	job.ID = "a"
	testcheck.Do(f, os.MkdirAll(filepath.Join(dir, "jobs"), 0o700))
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzguard.Run(t, func() { checkRecord(t, r, job, text) })
	})
}

func checkRecord(t *testing.T, r *Run, job PlannedJob, text []byte) {
	path := r.Path("jobs", job.ID)
	testcheck.Do(t, os.WriteFile(path, text, 0o600))
	before := testcheck.Get(r.Status(job))(t)
	c := testcheck.Get(r.Claim(job))(t)
	defer c.Release()
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if before.State == StateDamaged {
		aside := path + ".damaged"
		if kept, _ := os.ReadFile(aside); !bytes.Equal(kept, text) || len(c.Record) > 0 {
			t.Fatalf("%q became %q, %d events", text, kept, len(c.Record))
		}
		testcheck.Do(t, os.Remove(aside))
		whole = nil
	}
	if len(c.Record) != len(before.Record) {
		t.Fatalf("%d events of a status, %d of a claim", len(before.Record), len(c.Record))
	}
	testcheck.Do(t, c.Append(JobEvent{Type: Failed, Kind: "data", Error: "a\nb"}))
	if kept, _ := os.ReadFile(path); !bytes.HasPrefix(kept, whole) || bytes.Count(kept, []byte("\n")) != bytes.Count(whole, []byte("\n"))+1 {
		t.Fatalf("%q became %q", text, kept)
	}
	after, err := r.Status(job)
	if err != nil || after.State != StateFailed || len(after.Record) != len(before.Record)+1 || after.Record.Last().Error != "a\nb" {
		t.Fatalf("%q: %+v, %v", text, after, err)
	}
}

// FuzzOpen checks that Open either refuses run.json with an [*Error] or returns a
// run whose jobs have different names and have files in its folders only. If the run
// is written and read again, it keeps the same bytes.
func FuzzOpen(f *testing.F) {
	for _, text := range []string{
		`{"type":"gpfit run","schema_version":1,"created":"2026-01-01T00:00:00Z","inputs":[],"jobs":[{"job":"a","data":"a","kernel":"k","seed":1,"fingerprint":"f"}]}`,
		`{"type":"gpfit run","schema_version":1,"jobs":[{"job":"../../a"}]}`, `{"type":"gpfit run","schema_version":9}`, `{"type":"gpfit run","schema_version":-1}`,
		`{"type":"gpfit run","schema_version":1,"jobs":[{"job":"a","options":{"set":{"x":1},"memory":5,"target":"1"}},{"job":"a"}]}`, "null", "{}", "",
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzguard.Run(t, func() { checkManifest(t, dir, text) })
	})
}

func checkManifest(t *testing.T, dir string, text []byte) {
	testcheck.Do(t, os.WriteFile(filepath.Join(dir, "run.json"), text, 0o600))
	r, err := Open(dir)
	if err != nil {
		if !errors.As(err, new(*Error)) {
			t.Fatalf("%#v", err)
		}
		return
	}
	seen := map[string]bool{}
	for _, j := range r.Jobs {
		for kind := range extensions {
			if p := r.Path(kind, j.ID); filepath.Dir(p) != filepath.Join(dir, kind) {
				t.Fatalf("a job with the file %s", p)
			}
		}
		if seen[j.ID] {
			t.Fatalf("two jobs %q", j.ID)
		}
		seen[j.ID] = true
	}
	kept := make([][]byte, 2)
	for i := range kept {
		testcheck.Do(t, write(dir, &r.Manifest, nil))
		if kept[i], err = os.ReadFile(filepath.Join(dir, "run.json")); err != nil {
			t.Fatal(err)
		}
		if r, err = Open(dir); err != nil {
			t.Fatalf("%q became %q: %v", text, kept[i], err)
		}
	}
	if !bytes.Equal(kept[0], kept[1]) {
		t.Fatalf("%q, then %q", kept[0], kept[1])
	}
}
