package tabletest

import (
	"reflect"
	"slices"
	"testing"

	"gpfit/internal/must"
	"gpfit/table"
)

// Same reads files of one format that hold the table of a CSV file, with columns a, b and
// y. Every bit must be the same, also of other columns, in another order, from some of the
// rows. It returns the table of the CSV file.
func Same(t *testing.T, truth string, paths []string, read func(path string, o table.Options) (*table.Table, error)) *table.Table {
	t.Helper()
	few := table.Options{Target: "a", Features: []string{"2", "1"}, Subsample: 5, Seed: 2}
	want := must.Get(table.Read(truth, table.Options{}))(t)
	wantFew := must.Get(table.Read(truth, few))(t)
	for _, path := range paths {
		got, err := read(path, table.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if !reflect.DeepEqual(got.X, want.X) || !reflect.DeepEqual(got.Y, want.Y) || !slices.Equal(got.FeatureNames, []string{"a", "b"}) || got.TargetName != "y" {
			t.Errorf("%s: %v, %v, columns %q and %q", path, got.X, got.Y, got.FeatureNames, got.TargetName)
		}
		if got.Line[0] != 1 || got.Line[got.N-1] != got.N || got.SourceRows != want.N || got.Warnings != nil {
			t.Errorf("%s: rows %v of %d, warnings %q", path, got.Line, got.SourceRows, got.Warnings)
		}
		gotFew, err := read(path, few)
		if err != nil {
			t.Error(err)
			continue
		}
		if !reflect.DeepEqual(gotFew.X, wantFew.X) || !reflect.DeepEqual(gotFew.Y, wantFew.Y) || !reflect.DeepEqual(gotFew.Row, wantFew.Row) {
			t.Errorf("%s: some columns: %+v, want %+v", path, gotFew, wantFew)
		}
	}
	return want
}

// Reader returns a function that reads tables of a format.
func Reader(format table.Format) func(path string, o table.Options) (*table.Table, error) {
	return func(path string, o table.Options) (*table.Table, error) {
		o.Formats = []table.Format{format}
		return table.Read(path, o)
	}
}
