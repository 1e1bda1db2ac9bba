// Package tabletest has tests that every format of package table passes.
package tabletest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
	"gpfit/table"
	"gpfit/table/feature"
)

// Files is the folder, seen from a format below formats/internal, of files that pandas and PyArrow wrote, by make.py there.
const Files = "../../../testdata/formats/"

// Fuzz reads damaged files of one format, which begin with magic; the files that pattern names are
// the seeds. It expects no panic, no memory beyond what the file can fill, and either a sound table
// or a [*table.Error]. It reads each file twice, with and without columns that are not numbers.
func Fuzz(f *testing.F, pattern, magic string, formats ...table.Format) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) < 1 {
		f.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		data := testcheck.Get(os.ReadFile(path))(f)
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "table")
	f.Fuzz(func(t *testing.T, data []byte) {
		if !strings.HasPrefix(string(data), magic) {
			return
		}
		testcheck.Do(t, os.WriteFile(path, data, 0o600))
		for _, rules := range []*feature.Rules{nil, {}} {
			var got *table.Table
			var err error
			fuzzguard.Run(t, func() {
				got, err = table.Read(path, table.Options{Missing: table.MissingDrop, Subsample: 1000, Columns: rules, Formats: formats})
			})
			check(t, path, got, err)
		}
	})
}

// check fails unless the table is sound or the error is a [*table.Error].
func check(t *testing.T, path string, got *table.Table, err error) {
	t.Helper()
	var e *table.Error
	switch {
	case err == nil:
		if got.N < 1 || got.D < 1 || len(got.X) != got.N*got.D || len(got.Y) != got.N || len(got.FeatureNames) != got.D {
			t.Fatalf("%d×%d, %d inputs, %d outputs", got.N, got.D, len(got.X), len(got.Y))
		}
		for _, v := range got.X {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("not finite: %v", v)
			}
		}
		if got.Encoding != nil {
			testcheck.Do(t, got.Encoding.Check(got.FeatureNames))
		}
	case !errors.As(err, &e) || got != nil || e.Msg == "" || e.Source != path:
		t.Fatalf("table %v, error %#v", got, err)
	}
}

// Same reads files that hold the table of a CSV file with columns a, b and y, which some
// formats call otherwise: names returns the names for a file, and nil stands for these three.
// Every bit must be the same, also of other columns, in another order, from some of the rows.
// Same returns the table of the CSV file.
func Same(t *testing.T, truth string, paths []string, names func(path string) []string, formats ...table.Format) *table.Table {
	t.Helper()
	want := testcheck.Get(table.Read(truth, table.Options{}))(t)
	few := table.Options{Target: "a", Features: []string{"2", "1"}, Subsample: 5, Seed: 2, Formats: formats}
	wantFew := testcheck.Get(table.Read(truth, few))(t)
	for _, path := range paths {
		columns := []string{"a", "b", "y"}
		if names != nil {
			columns = names(path)
		}
		got := testcheck.Get(table.Read(path, table.Options{Formats: formats}))(t)
		if found := append(slices.Clone(got.FeatureNames), got.TargetName); !reflect.DeepEqual(got.X, want.X) || !reflect.DeepEqual(got.Y, want.Y) || !slices.Equal(found, columns) {
			t.Errorf("%s: %v, %v, columns %q", path, got.X, got.Y, found)
		}
		if got.Line[0] != 1 || got.Line[got.N-1] != got.N || got.SourceRows != want.N || got.Warnings != nil {
			t.Errorf("%s: rows %v of %d, warnings %q", path, got.Line, got.SourceRows, got.Warnings)
		}
		few.Target = columns[0]
		got = testcheck.Get(table.Read(path, few))(t)
		if !reflect.DeepEqual(got.X, wantFew.X) || !reflect.DeepEqual(got.Y, wantFew.Y) || !reflect.DeepEqual(got.Row, wantFew.Row) {
			t.Errorf("%s: some columns: %+v, want %+v", path, got, wantFew)
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

// Writers reads tables of other programs in a format: files that hold the table of span.csv, with an index that has a name, which is no input, and with names of more digits
// than a float, which are categories or an error.
func Writers(t *testing.T, format table.Format, ending string, spans ...string) {
	t.Helper()
	want := testcheck.Get(table.Read(Files+"span.csv", table.Options{}))(t)
	o := table.Options{Formats: []table.Format{format}}
	for _, name := range spans {
		if got, err := table.Read(Files+"span_"+name, o); err != nil || !slices.Equal(got.X, want.X) || !slices.Equal(got.Y, want.Y) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	got, err := table.Read(Files+"named"+ending, o)
	if err != nil || !slices.Equal(got.FeatureNames, []string{"a"}) || got.TargetName != "y" || !slices.Contains(got.Warnings, `column "id" is the index of a pandas table; it is an input only if you name it`) {
		t.Errorf("%+v, %v", got, err)
	}
	const wrong = `account%s: row 2, column 1 ("id"): the whole number 9007199254740993 has more digits than a 64-bit float holds: option exclude leaves out a column that only names things`
	if _, err := table.Read(Files+"account"+ending, o); err == nil || err.Error() != Files+fmt.Sprintf(wrong, ending) {
		t.Error(err)
	}
	o.Columns = &feature.Rules{Categories: []string{"id"}}
	got, err = table.Read(Files+"account"+ending, o)
	if err != nil || !slices.Equal(got.Encoding.Columns[0].Categories, []string{"9007199254740992", "9007199254740993"}) {
		t.Errorf("%+v, %v", got, err)
	}
}
