package columns

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// two returns pieces of the results of two targets, with a column that only CSV has.
func two(from float64) []TargetColumns {
	parts := make([]TargetColumns, 2)
	for t, name := range []string{"a", `b,"c"`} {
		parts[t].Target = name
		parts[t].Add("mean", []float64{from + float64(10*t), from + float64(10*t) + 0.5})
		parts[t].Add("mean_k1", []float64{from, 1e-300}, "terms", "k1", "mean")
		parts[t].Columns = append(parts[t].Columns, Column{Name: "draw0", Values: []float64{from, 2}})
		parts[t].Info = map[string]any{"seed": 3}
	}
	return parts
}

// TestSheet checks that pieces form one table in either format.
func TestSheet(t *testing.T) {
	for asJSON, want := range map[bool]string{
		false: `a.mean,a.mean_k1,a.draw0,"b,""c"".mean","b,""c"".mean_k1","b,""c"".draw0"` + `
0,0,0,10,0,0
0.5,1e-300,2,10.5,1e-300,2
4,4,4,14,4,4
4.5,1e-300,2,14.5,1e-300,2
`,
		true: `{"n":4,"schema_version":1,"targets":[` +
			`{"mean":[0,0.5,4,4.5],"name":"a","seed":3,"terms":{"k1":{"mean":[0,1e-300,4,1e-300]}}},` +
			`{"mean":[10,10.5,14,14.5],"name":"b,\"c\"","seed":3,"terms":{"k1":{"mean":[0,1e-300,4,1e-300]}}}],"type":"test"}
`,
	} {
		var got strings.Builder
		s := NewTable(NewCSV(&got))
		if asJSON {
			s = NewSheet(&got, map[string]any{"type": "test"})
		}
		for _, from := range []float64{0, 4} {
			testcheck.Do(t, s.Add(two(from)))
		}
		if err := s.End(); err != nil || got.String() != want {
			t.Errorf("JSON %v: %v\n%s\nwant\n%s", asJSON, err, got.String(), want)
		}
	}
}

// TestSampling checks that the covariances of several targets are in separate
// files, that draws use the target's seed, and that notes report both.
func TestSampling(t *testing.T) {
	expr := testcheck.Get(kernel.Parse("rbf"))(t)
	process := testcheck.Get(gp.NewProcess(expr, 1))(t)
	joint := func() *gp.Joint { // the last two rows are the same: the covariance is singular
		return testcheck.Get(process.Joint(t.Context(), []float64{0, 1, 1}, 3, false))(t)
	}
	s := testcheck.Get(joint().Sampler())(t)
	want := testcheck.Get(s.Draw(2, gp.TargetSeed(5, "y")))(t)
	dir := t.TempDir()
	var notes []string
	o := Sampling{Draws: 2, Seed: 5, Covariance: filepath.Join(dir, "cov.csv"), OnNote: func(text string) { notes = append(notes, text) }}
	r := TargetColumns{Target: "y"}
	testcheck.Do(t, o.Add(t.Context(), joint(), &r, "y"))
	path := filepath.Join(dir, "cov.y.csv")
	text, err := os.ReadFile(path)
	if err != nil || strings.Count(string(text), "\n") != 3 || !strings.HasPrefix(string(text), "1,0.606") {
		t.Errorf("covariance %q, %v", text, err)
	}
	if len(notes) != 2 || !strings.HasSuffix(notes[0], "written to "+path) || !strings.Contains(notes[1], "rank 2") || r.Info["rank"] != 2 {
		t.Errorf("notes %q, rank %v", notes, r.Info["rank"])
	}
	if len(r.Columns) != 2 || !slices.Equal(slices.Concat(r.Columns[0].Values, r.Columns[1].Values), want) {
		t.Errorf("draws %v, want %v", r.Columns, want)
	}
	testcheck.Get(json.Marshal(r.object()))(t)
}
