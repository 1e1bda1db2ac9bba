package table

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/testcheck"
	"gpfit/table/feature"
)

// TestJSONLines checks types, gaps and gzip.
func TestJSONLines(t *testing.T) {
	types := testcheck.Get(Read(formatsDir+"types.jsonl", Options{Columns: &feature.Rules{Codes: true}}))(t)
	want := []feature.Coding{
		{Name: "text", Kind: feature.Category, Codes: true, Categories: []string{"aé\n\"b", "é\n\"b"}}, {Name: "truth", Kind: feature.Boolean},
		{Name: "day", Kind: feature.Date, Unit: feature.Days, Origin: "1970-01-01"}, {Name: "code", Kind: feature.Category, Codes: true, Categories: []string{"0", "1"}},
	}
	if d := cmp.Diff(want, types.Encoding.Columns); d != "" || types.N != 12 {
		t.Error(d)
	}
	// Texts of digits are numbers if the rules say so.
	numbers, err := Read(formatsDir+"types.jsonl", Options{Features: []string{"code"}, Columns: &feature.Rules{Numbers: []string{"code"}}})
	if err != nil || !slices.Equal(numbers.X[:3], []float64{0, 1, 0}) || numbers.Encoding != nil {
		t.Errorf("%+v, %v", numbers, err)
	}
	sparse, err := Read(formatsDir+"sparse.jsonl", Options{Target: "y", Missing: MissingDrop})
	if err != nil || !slices.Equal(sparse.FeatureNames, []string{"b", "a"}) || !slices.Equal(sparse.Row, []int{1, 5, 7, 9, 11}) || sparse.X[1] != 1 {
		t.Errorf("%+v, %v", sparse, err)
	}
	zipped := gzipped(t, string(testcheck.Get(os.ReadFile(formatsDir+"real.jsonl"))(t)))
	if got, err := ReadFrom(strings.NewReader(zipped), "-", Options{}); err != nil || got.N != 14 {
		t.Error(got, err)
	}
	if got, err := Read(formatsDir+"nested.jsonl", Options{Features: []string{"a"}}); err != nil || got.N != 3 {
		t.Error(got, err)
	}
}
