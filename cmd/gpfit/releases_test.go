package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// releaseTolerance is relative to the size of a column's numbers. Another processor and other loops
// computed the factors, and the matrices have condition numbers up to about 1e8.
const releaseTolerance = 1e-6

// forEachRelease runs a test in a copy of every release's samples.
func forEachRelease(t *testing.T, test func(t *testing.T, dir string)) {
	t.Helper()
	versions, err := filepath.Glob("testdata/releases/[0-9]*")
	if err != nil || len(versions) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, v := range versions {
		t.Run(filepath.Base(v), func(t *testing.T) {
			dir := t.TempDir()
			testcheck.Do(t, os.CopyFS(dir, os.DirFS(v)))
			test(t, dir)
		})
	}
}

// TestReleasesHaveSamples checks that this version has its samples, too.
func TestReleasesHaveSamples(t *testing.T) {
	if _, err := os.Stat(filepath.Join("testdata/releases", version)); err != nil {
		t.Errorf("%v: run testdata/releases/make.sh", err)
	}
}

// TestReleasedModels checks that models of every release predict the same as then.
func TestReleasedModels(t *testing.T) {
	forEachRelease(t, func(t *testing.T, dir string) {
		models, err := filepath.Glob(filepath.Join(dir, "*.gpfit"))
		if err != nil || len(models) < 3 {
			t.Fatalf("%d models, %v", len(models), err)
		}
		for _, m := range models {
			stdout := mustLine(t, "predict", m, filepath.Join(dir, "new.csv"), "--device", "cpu", "--threads", "1")
			want := testcheck.Get(os.ReadFile(strings.TrimSuffix(m, ".gpfit") + ".csv"))(t)
			sameNumbers(t, filepath.Base(m), stdout, string(want))
		}
	})
}

// TestReleasedExports checks that an export has all fields that a release exported of the
// model, with the same values. It may have new fields.
func TestReleasedExports(t *testing.T) {
	forEachRelease(t, func(t *testing.T, dir string) {
		exports, err := filepath.Glob(filepath.Join(dir, "*.export.json"))
		if err != nil || len(exports) == 0 {
			t.Skipf("the release has no exports: %v", err)
		}
		for _, e := range exports {
			was := leaves(t, string(testcheck.Get(os.ReadFile(e))(t)), nil)
			is := leaves(t, mustLine(t, "export", strings.TrimSuffix(e, ".export.json")+".gpfit"), nil)
			closeLeaves(t, filepath.Base(e), is, was, false, func(_ string, v float64) float64 { return 1e-9 * math.Abs(v) })
		}
	})
}

// sameNumbers compares tables with a header. The columns of a release must stay; new ones
// are allowed.
func sameNumbers(t *testing.T, what, got, want string) {
	t.Helper()
	g, w := columnsOf(t, got), columnsOf(t, want)
	for name, values := range w {
		if len(g[name]) != len(values) {
			t.Errorf("%s: column %s has %d rows, want %d", what, name, len(g[name]), len(values))
			continue
		}
		scale := 0.0
		for _, v := range values {
			scale = max(scale, math.Abs(v))
		}
		for i, v := range values {
			if d := math.Abs(g[name][i] - v); !(d <= releaseTolerance*scale) {
				t.Errorf("%s: %s of row %d is %v, was %v", what, name, i, g[name][i], v)
			}
		}
	}
}

func columnsOf(t *testing.T, text string) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for _, row := range rowsOf(t, text) {
		for name, cell := range row {
			out[name] = append(out[name], testcheck.Get(strconv.ParseFloat(cell, 64))(t))
		}
	}
	return out
}

// rowsOf returns the rows of a table by the names of its columns.
func rowsOf(t *testing.T, text string) []map[string]string {
	t.Helper()
	lines := testcheck.Get(csv.NewReader(strings.NewReader(text)).ReadAll())(t)
	var out []map[string]string
	for _, line := range lines[1:] {
		row := map[string]string{}
		for c, name := range lines[0] {
			row[name] = line[c]
		}
		out = append(out, row)
	}
	return out
}

// TestReleasedRuns checks that gpfit shows a run directory of every release, and that
// resume keeps its results and finishes it with the numbers of the release.
func TestReleasedRuns(t *testing.T) {
	forEachRelease(t, func(t *testing.T, dir string) {
		run := filepath.Join(dir, "run")
		for _, folder := range []string{"jobs", "models", "checkpoints", "logs"} { // a repository does not keep empty folders
			testcheck.Do(t, os.MkdirAll(filepath.Join(run, folder), 0o755))
		}
		manifest := testcheck.Get(os.ReadFile(filepath.Join(run, "run.json")))(t)
		path, _ := json.Marshal(dir)
		moved := strings.ReplaceAll(string(manifest), "@DIR@", strings.Trim(string(path), `"`))
		testcheck.Do(t, os.WriteFile(filepath.Join(run, "run.json"), []byte(moved), 0o644))
		record := filepath.Join(run, "jobs", "data.rbf.seed-1.jsonl")
		done := testcheck.Get(os.ReadFile(record))(t)
		mustLine(t, "resume", run, "--quiet")
		if now, err := os.ReadFile(record); err != nil || string(now) != string(done) {
			t.Errorf("the record of a finished job changed to %s, %v", now, err)
		}
		want := testcheck.Get(os.ReadFile(filepath.Join(dir, "run.csv")))(t)
		stdout := mustLine(t, "show", run, "--format", "csv")
		sameJobs(t, stdout, string(want))
		mustLine(t, "report", run, "--out", filepath.Join(dir, "page.html"))
	})
}

// sameJobs compares the jobs and their objectives in two tables.
func sameJobs(t *testing.T, got, want string) {
	t.Helper()
	g, w := rowsOf(t, got), rowsOf(t, want)
	if len(g) != len(w) || len(w) == 0 {
		t.Fatalf("%d jobs, want %d", len(g), len(w))
	}
	for i := range w {
		for _, name := range []string{"job", "state", "expression", "n", "d", "seed"} {
			if g[i][name] != w[i][name] {
				t.Errorf("job %d: %s is %q, was %q", i, name, g[i][name], w[i][name])
			}
		}
		a, _ := strconv.ParseFloat(g[i]["nlml"], 64)
		if b, err := strconv.ParseFloat(w[i]["nlml"], 64); err != nil || math.Abs(a-b) > 1e-4*(1+math.Abs(b)) {
			t.Errorf("job %d: NLML %v, was %v", i, a, b)
		}
	}
}

// TestReleasedCheckpoints checks that a fit continues from the checkpoint of every release
// to the same NLML, or refuses it with advice, and refuses a checkpoint of unknown form.
func TestReleasedCheckpoints(t *testing.T) {
	forEachRelease(t, func(t *testing.T, dir string) {
		text := string(testcheck.Get(os.ReadFile(filepath.Join(dir, "fit.ckpt")))(t))
		resume := func(name, text string) (int, string, string) {
			path := write(t, dir, name, text)
			return runLine(t, "fit", filepath.Join(dir, "data.csv"), "--features", "a,b", "--target", "y", "--kernel", "matern52", "--restarts", "40",
				"--device", "cpu", "--threads", "1", "--quiet", "--json", "--checkpoint", path, "--out", filepath.Join(dir, name+".gpfit"))
		}
		code, stdout, stderr := resume("again.ckpt", text)
		switch {
		case code == 0:
			whole := testcheck.Get(os.ReadFile(filepath.Join(dir, "whole.json")))(t)
			if a, b := nlml(t, stdout), nlml(t, string(whole)); math.Abs(a-b) > 1e-4*(1+math.Abs(b)) {
				t.Errorf("NLML %v, was %v", a, b)
			}
		case code != exit.Usage && code != exit.Data || !strings.Contains(stderr, "delete it to start over"):
			// Another processor computes other bits, another version makes other evaluations.
			t.Errorf("exit code %d: %s", code, stderr)
		}
		t.Logf("exit code %d on %s/%s", code, runtime.GOOS, runtime.GOARCH)
		old := strings.Replace(text, "gpfit-checkpoint ", "gpfit-checkpoint 0", 1)
		if code, _, stderr := resume("old.ckpt", old); code == 0 || !strings.Contains(stderr, "another version of gpfit") {
			t.Errorf("another form: exit code %d: %s", code, stderr)
		}
	})
}

func nlml(t *testing.T, report string) float64 {
	t.Helper()
	var r struct{ NLML float64 }
	testcheck.Do(t, json.Unmarshal([]byte(report), &r))
	return r.NLML
}
