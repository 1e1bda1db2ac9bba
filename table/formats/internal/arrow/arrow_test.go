package arrow

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/testcheck"
	"gpfit/table"
	"gpfit/table/feature"
	"gpfit/table/tabletest"
)

var read = tabletest.Reader(Format())

// TestFiles reads the Arrow files of real.csv and whole.csv, of every type, compression
// and version. Every bit must be the same.
func TestFiles(t *testing.T) {
	for truth, files := range map[string]int{"real": 6, "whole": 11} {
		paths, err := filepath.Glob(tabletest.Files + truth + "_*.arrow")
		feathers, err2 := filepath.Glob(tabletest.Files + truth + "_*.feather")
		if paths = append(paths, feathers...); errors.Join(err, err2) != nil || len(paths) < files {
			t.Fatalf("%d files, %v", len(paths), err)
		}
		tabletest.Same(t, tabletest.Files+truth+".csv", paths, nil, Format())
	}
}

// TestTypes reads texts, dates and times of every type.
func TestTypes(t *testing.T) {
	words := feature.Coding{Kind: feature.Category, Categories: []string{"left", "right"}, Codes: true}
	dates := feature.Coding{Kind: feature.Date, Unit: feature.Seconds, Origin: "1970-01-01"}
	clock := feature.Coding{Kind: feature.Clock, Unit: feature.Seconds}
	const day = 19752 * 86400.0
	for name, c := range map[string]struct {
		want feature.Coding
		x    []float64
	}{
		"word": {words, []float64{0, 1, 0}}, "large": {words, []float64{0, 1, 0}}, "view": {words, []float64{0, 1, 0}}, "dictionary": {words, []float64{0, 1, 0}},
		"truth": {feature.Coding{Kind: feature.Boolean}, []float64{1, 0, 1}},
		"day":   {dates, []float64{day, day + 86400, day + 2*86400, day + 3*86400}}, "day64": {dates, []float64{day, day + 86400, day + 2*86400, day + 3*86400}},
		"second": {dates, []float64{-2, -1, 0, 1}}, "nano": {dates, []float64{-1.25, -0.25, 0.75, 1.75}}, "zone": {dates, []float64{-1.25, -0.25, 0.75, 1.75}},
		"clock32": {clock, []float64{86398, 86399, 0, 1}}, "clock64": {clock, []float64{86398.75, 86399.75, 0.75, 1.75}},
	} {
		o := table.Options{Target: "y", Features: []string{name}, Missing: table.MissingDrop, Columns: &feature.Rules{Codes: true, Unit: feature.Seconds, Categories: nil}}
		if c.want.Kind == feature.Category {
			o.Columns.Categories = o.Features // three rows are too few otherwise
		}
		got := testcheck.Get(read(tabletest.Files+"types.arrow", o))(t)
		c.want.Name = name
		if d := cmp.Diff([]feature.Coding{c.want}, got.Encoding.Columns) + cmp.Diff(c.x, got.X); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	gap, err := read(tabletest.Files+"types.arrow", table.Options{Features: []string{"gap"}, ExtraText: []string{"dictionary"}, Missing: table.MissingDrop})
	if err != nil || !slices.Equal(gap.X, []float64{1.5}) || !slices.Equal(gap.ExtraText["dictionary"], []string{"left"}) {
		t.Errorf("%+v, %v", gap, err)
	}
	index, err := read(tabletest.Files+"index.arrow", table.Options{})
	if err != nil || index.D != 2 || len(index.Warnings) != 1 || !strings.Contains(index.Warnings[0], "is the index of a pandas table") {
		t.Errorf("%+v, %v", index, err)
	}
}

func TestErrors(t *testing.T) {
	whole := testcheck.Get(os.ReadFile(tabletest.Files + "real_none.arrow"))(t)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		testcheck.Do(t, os.WriteFile(path, data, 0o600))
		return path
	}
	types := tabletest.Files + "types.arrow"
	for _, c := range []struct {
		path, features, want string
		rules                *feature.Rules
	}{
		{tabletest.Files + "latin1.arrow", "site", `latin1.arrow: row 2, column 1 ("site"): "caf\xe9" has bytes that are not UTF-8 (e9): write the file again with texts in UTF-8`, &feature.Rules{}},
		{types, "gap", `types.arrow: row 2, column 13 ("gap"): missing value: null (option missing drop leaves out such rows)`, nil},
		{types, "list", `types.arrow: column 14 ("list"): holds list<item: int64, nullable> values, not numbers: leave it out, or write it as text or numbers`, nil},
		{types, "nothing", `types.arrow: column 15 ("nothing"): holds null values, not numbers: leave it out, or write it as text or numbers`, nil},
		{types, "word", `types.arrow: column 1 ("word"): holds utf8 values, not numbers: leave it out, or write it as text or numbers`, nil},
		{tabletest.Files + "empty.arrow", "a", `empty.arrow: the Arrow file has no rows`, nil},
		{write("cut.arrow", whole[:len(whole)-3]), "a", `cut.arrow: the Arrow file is damaged: it is cut short: it does not end as Arrow files do`, nil},
		{write("short.arrow", whole[:12]), "a", `short.arrow: the Arrow file is damaged: it is cut short: it does not end as Arrow files do`, nil},
	} {
		got, err := read(c.path, table.Options{Features: []string{c.features}, Columns: c.rules})
		if got != nil || !errors.As(err, new(*table.Error)) || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	_, err := table.Read(types, table.Options{})
	if err == nil || !strings.Contains(err.Error(), "Options.Formats has no reader") {
		t.Error(err)
	}
	file := testcheck.Get(os.Open(types))(t)
	defer file.Close()
	if _, err := table.ReadFrom(file, "-", table.Options{}); err == nil || !strings.Contains(err.Error(), "this is an Arrow file, not text") {
		t.Error(err)
	}
}

// TestDamage changes each byte of a file in turn. The result is a table or an error.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged.arrow")
	for _, name := range []string{"real_zstd.arrow", "span_stream.arrows"} {
		whole := testcheck.Get(os.ReadFile(tabletest.Files + name))(t)
		for i := range whole {
			bad := slices.Clone(whole)
			bad[i] ^= 0x55
			testcheck.Do(t, os.WriteFile(path, bad, 0o600))
			got, err := read(path, table.Options{NoTarget: true})
			if (got == nil) == (err == nil) || err != nil && !errors.As(err, new(*table.Error)) {
				t.Fatalf("byte %d of %s: %v, %v", i, name, got, err)
			}
		}
	}
}

func FuzzArrow(f *testing.F) { tabletest.Fuzz(f, tabletest.Files+"*.arrow", magic, Format()) }

func FuzzStream(f *testing.F) { tabletest.Fuzz(f, tabletest.Files+"*.arrows", streamMagic, Format()) }

// TestWriters reads durations of all units, a stream, an index with a name and whole numbers of more digits than a float.
func TestWriters(t *testing.T) {
	tabletest.Writers(t, Format(), ".feather", "stream.arrows", "s.feather", "ms.feather", "us.feather", "ns.feather")
}
