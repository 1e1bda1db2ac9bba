package mlflow

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWrite checks the files of a run whose names and values need care.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "mlruns")
	metrics := map[string][]float64{"objective": {3, math.NaN(), 1}, "never": {math.Inf(1)}}
	addParameters(metrics, "parameters", map[string]float64{"noise_variance[../../x]": 1, "lengthscale[0]": 2})
	run := TrackedRun{ID: RunID("a"), Name: "a: b", Status: Finished, End: time.UnixMilli(5), Metrics: metrics,
		Params: map[string]string{"long": strings.Repeat("é", 7000)}}
	if err := (Store{dir}).Write(context.Background(), "x", []TrackedRun{run}); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(dir, experimentID("x"), run.ID)
	for name, want := range map[string]string{
		"metrics/objective": "5 3 0\n5 1 2\n", "metrics/parameters/noise_variance..._.._x": "5 1 0\n", "metrics/parameters/lengthscale.0": "5 2 0\n",
		"tags/mlflow.runName": "a: b", "params/long": strings.Repeat("é", 5999) + "…",
	} {
		if got := read(t, place, name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
	if _, err := os.Stat(filepath.Join(place, "metrics/never")); err == nil {
		t.Error("a metric without finite values has a file")
	}
	if got := read(t, place, "meta.yaml"); !strings.Contains(got, "a%20b/mlruns/"+experimentID("x")) || !strings.Contains(got, "start_time: null\n") {
		t.Errorf("meta.yaml is\n%s", got)
	}
}

// TestExistingStore checks that runs join an experiment that MLflow made, that an experiment
// that a user deleted there gets no runs, and that other folders are refused.
func TestExistingStore(t *testing.T) {
	dir := t.TempDir()
	for id, state := range map[string]string{"12": "active", "13": "deleted"} {
		if err := os.MkdirAll(filepath.Join(dir, id), 0o777); err != nil {
			t.Fatal(err)
		}
		text := "artifact_location: file:///x\nexperiment_id: '" + id + "'\nlifecycle_stage: " + state + "\nname: mine" + state + "\ntrace_location: null\n"
		if err := os.WriteFile(filepath.Join(dir, id, "meta.yaml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, run := Store{dir}, TrackedRun{ID: RunID("a"), Status: Finished}
	for _, name := range []string{"mineactive", "minedeleted"} {
		if err := s.Write(context.Background(), name, []TrackedRun{run}); err != nil {
			t.Fatal(err)
		}
	}
	read(t, dir, "12", run.ID, "meta.yaml")
	read(t, dir, experimentID("minedeleted"), run.ID, "meta.yaml")
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.tex"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	var wrong *Error
	if err := (Store{other}).Write(context.Background(), "x", []TrackedRun{run}); !errors.As(err, &wrong) {
		t.Errorf("a folder with other files: %v", err)
	}
}
