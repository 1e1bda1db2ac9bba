package dataset

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/fit/problem"
	"gpfit/internal/must"
	"gpfit/table"
)

const text = `x,v,lab,held,a,b
1,0.1,p,0,10,20
2,0.2,q,1,11,
3,0.3,p,0,12,22
`

// TestRead checks which parts of a table are read into which fields.
func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	x := []string{"x"}
	for name, c := range map[string]struct {
		options Options
		want    problem.Data
	}{
		"one target": {Options{Target: "a", Features: x}, problem.Data{X: []float64{1, 2, 3}, Y: []float64{10, 11, 12}, N: 3, D: 1, FeatureNames: x, TargetName: "a"}},
		"noise": {Options{Target: "a", Features: x, NoiseColumn: "v", NoiseGroup: "lab"}, problem.Data{
			X: []float64{1, 2, 3}, Y: []float64{10, 11, 12}, N: 3, D: 1, FeatureNames: x, TargetName: "a",
			NoiseVariance: []float64{0.1, 0.2, 0.3}, NoiseColumn: "v", NoiseGroup: []string{"p", "q", "p"}, NoiseGroupColumn: "lab"}},
		"mask inside, rows dropped": {Options{Target: "b", NoiseGroup: "lab", Mask: path, MaskColumn: "held", DropMissing: true}, problem.Data{
			X: []float64{1, 0.1, 10, 3, 0.3, 12}, Y: []float64{20, 22}, N: 2, D: 3, FeatureNames: []string{"x", "v", "a"}, TargetName: "b",
			NoiseGroup: []string{"p", "p"}, NoiseGroupColumn: "lab", Row: []int{0, 2}, Test: []bool{false, false},
			Warnings: []string{`left out 1 of 3 rows: missing values (first: ` + path + `:3: column 6 ("b"): empty cell)`}}},
		"several targets": {Options{Targets: []string{"a", "b"}, Features: x, NoiseColumn: "v", Mask: path, MaskColumn: "held", DropMissing: true}, problem.Data{
			X: []float64{1, 3}, Y: []float64{10, 12, 20, 22}, N: 2, D: 1, FeatureNames: x, TargetNames: []string{"a", "b"},
			NoiseVariance: []float64{0.1, 0.3}, NoiseColumn: "v", Row: []int{0, 2}, Test: []bool{false, false},
			Warnings: []string{"left out 1 of 3 rows: a target is missing"}}},
		"no target": {Options{NoTarget: true, Features: []string{"a", "x"}}, problem.Data{X: []float64{10, 1, 11, 2, 12, 3}, N: 3, D: 2, FeatureNames: []string{"a", "x"}}},
	} {
		got, err := Read(path, nil, c.options)
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}

	var te *table.Error
	_, err := Read("-", strings.NewReader(text), Options{Targets: []string{"a", "b"}, Features: x})
	if !errors.As(err, &te) || err.Error() != `standard input:3: the target "b" is missing; option missing drop leaves such rows out` {
		t.Errorf("a target is missing: %v", err)
	}
	if _, err := Read(path, nil, Options{Header: "maybe"}); err == nil {
		t.Error("a header that is neither yes nor no")
	}
}
