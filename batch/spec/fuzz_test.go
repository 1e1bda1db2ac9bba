package spec

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
	"gpfit/table"
)

// FuzzParse checks that no text costs much, and that an error is an [*Error] at a place
// of the text. An accepted text must expand to a typed error, or to jobs with different
// ids that are names of files, and JSON must keep each job.
func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("data: [a.csv]\nkernels: [rbf]\nseeds: &a [1]\nsplits: *a\n")
	f.Add("data: [{path: a, <<: {b: c}}]\nkernels: [? rbf : 1]\n")
	f.Add("data:\n- {path: ../é.csv.gz, split_mask: m.csv, splits: [0, 3]}\nkernels: [rbf + linear, 'rq*cosine']\nseeds: [1, 18446744073709551615]\nexclude: [{seed: 1}]\n")
	f.Add("a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\ndata: [*b,*b,*b,*b]\nkernels: [rbf]\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		fuzzguard.Run(t, func() { checkSpec(t, text, dir) })
	})
}

func checkSpec(t *testing.T, text, dir string) {
	s, err := Parse("s.yaml", []byte(text))
	if err != nil {
		var se *Error
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		if !errors.As(err, &se) || se.Msg == "" || se.Line < 0 || se.Line > lines || se.Column < 0 {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	jobs, err := s.Expand(dir, Options{})
	if err != nil {
		if !errors.As(err, new(*Error)) && !errors.As(err, new(*table.Error)) {
			t.Fatalf("%T: %v", err, err)
		}
		return
	}
	seen := map[string]bool{}
	for _, j := range jobs {
		if seen[j.ID] || !IsID(j.ID) {
			t.Fatalf("job %q of %d", j.ID, len(jobs))
		}
		seen[j.ID] = true
		checkJob(t, j)
	}
}

// checkJob checks that a job written to run.json reads back as the same job.
func checkJob(t *testing.T, j JobSpec) {
	kept := testcheck.Get(json.Marshal(j))(t)
	var again JobSpec
	if err := json.Unmarshal(kept, &again); err != nil || again.Fingerprint(nil) != j.Fingerprint(nil) {
		t.Fatalf("%s reads back as %+v, %v", kept, again, err)
	}
}
