package parquet

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"gpfit/internal/testcheck"
	"gpfit/table"
	"gpfit/table/feature"
	"gpfit/table/tabletest"
)

var read = tabletest.Reader(Format())

// TestFiles reads the Parquet files of real.csv and whole.csv. Every bit must be the
// same, and several of the files make one table.
func TestFiles(t *testing.T) {
	for _, truth := range []string{"real", "whole"} {
		paths, err := filepath.Glob(tabletest.Files + truth + "_*.parquet")
		if err != nil || len(paths) < 8 {
			t.Fatalf("%d files, %v", len(paths), err)
		}
		want := tabletest.Same(t, tabletest.Files+truth+".csv", paths, nil, Format())
		several, err := read(tabletest.Files+truth+"_*.parquet", table.Options{})
		if err != nil || several.N != len(paths)*want.N || !reflect.DeepEqual(several.X[len(several.X)-len(want.X):], want.X) {
			t.Errorf("%d rows of several files, %v", several.N, err)
		}
	}
}

// TestWithoutFormat checks the error of a program that does not pass the format.
func TestWithoutFormat(t *testing.T) {
	_, err := table.Read(tabletest.Files+"real_none.parquet", table.Options{})
	if !errors.As(err, new(*table.Error)) || !strings.Contains(err.Error(), "Options.Formats") {
		t.Errorf("error %v", err)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		file string
		opts table.Options
		want string
	}{
		{"types.parquet", table.Options{Features: []string{"gap"}}, `: row 2, column 2 ("gap"): missing value: null (option missing drop leaves out such rows)`},
		{"types.parquet", table.Options{Features: []string{"gap", "inf"}, Missing: table.MissingDrop, ExtraText: []string{"kind"}, Target: "inf"},
			`: column 13 ("inf"): the target is also listed as a feature ("inf")`},
		{"types.parquet", table.Options{Features: []string{"inf"}}, `: row 3, column 13 ("inf"): not a finite number: +Inf`},
		{"types.parquet", table.Options{}, `: column 4 ("site"): holds STRING values, not numbers`},
		{"types.parquet", table.Options{Features: []string{"day"}}, `: column 7 ("day"): holds dates or times, not numbers: write durations as numbers of seconds`},
		{"types.parquet", table.Options{Features: []string{"when"}}, `: column 8 ("when"): holds dates or times, not numbers: write durations as numbers of seconds`},
		{"types.parquet", table.Options{Features: []string{"list"}}, `: column 10 ("list"): holds lists or structures, not numbers`},
		{"types.parquet", table.Options{Features: []string{"x"}, ExtraText: []string{"pair"}}, `: column 11 ("pair"): holds lists or structures, not labels`},
		{"types.parquet", table.Options{Features: []string{"x"}, ExtraText: []string{"site"}}, `: row 2, column 4 ("site"): missing value: null (option missing drop leaves out such rows)`},
		{"latin1.parquet", table.Options{Columns: &feature.Rules{}}, `: row 2, column 1 ("site"): "caf\xe9" has bytes that are not UTF-8 (e9): write the file again with texts in UTF-8`},
		{"empty.parquet", table.Options{}, `: the Parquet file has no rows`},
	} {
		got, err := read(tabletest.Files+c.file, c.opts)
		if !errors.As(err, new(*table.Error)) || err.Error() != tabletest.Files+c.file+c.want || got != nil {
			t.Errorf("%s: got %v, %v\nwant %s", c.file, got, err, c.want)
		}
	}
}

func TestTypes(t *testing.T) {
	got := testcheck.Get(read(tabletest.Files+"types.parquet", table.Options{
		Features: []string{"gap", "price", "test"}, Extra: []string{"x"}, ExtraText: []string{"kind", "x", "test"}, Missing: table.MissingDrop,
	}))(t)
	if !reflect.DeepEqual(got.X, []float64{1, 1.25, 1, 4, 1.25, 0}) || !reflect.DeepEqual(got.Y, []float64{1, 4}) || !reflect.DeepEqual(got.Row, []int{0, 3}) {
		t.Errorf("got %+v", got)
	}
	if half := testcheck.Get(read(tabletest.Files+"types.parquet", table.Options{Features: []string{"half"}, ExtraText: []string{"half"}}))(t); !reflect.DeepEqual(half.X, []float64{0, 0, 0, 0}) || half.ExtraText["half"][0] != "0" {
		t.Errorf("got %+v", half)
	}
	text := map[string][]string{"kind": {"u", "v"}, "x": {"1.5", "4.5"}, "test": {"1", "0"}}
	if !reflect.DeepEqual(got.ExtraText, text) || !reflect.DeepEqual(got.Extra["x"], []float64{1.5, 4.5}) {
		t.Errorf("labels %v, numbers %v", got.ExtraText, got.Extra)
	}
	want := tabletest.Files + `types.parquet: row 2, column 2 ("gap"): missing value: null`
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "left out 2 of 4 rows: missing values (first: "+want+")") {
		t.Errorf("warnings %q", got.Warnings)
	}
	several, err := read(tabletest.Files+"types.parquet", table.Options{Features: []string{"x"}, Targets: []string{"gap", "y"}, ExtraText: []string{"kind"}})
	if err != nil || !reflect.DeepEqual(several.Missing, [][]bool{{false, true, true, false}, make([]bool, 4)}) {
		t.Errorf("several targets: %+v, %v", several, err)
	}
}

// TestIndex reads a file with an index of pandas, which is not an input.
func TestIndex(t *testing.T) {
	got, err := read(tabletest.Files+"index.parquet", table.Options{})
	want := []string{`column "__index_level_0__" is the index of a pandas table; it is an input only if you name it`}
	if err != nil || !reflect.DeepEqual(got.FeatureNames, []string{"a", "b"}) || got.TargetName != "y" || !reflect.DeepEqual(got.Warnings, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestWriters reads durations of all units, decimals, timestamps of 96 bits, an index with a name and whole numbers of more digits
// than a float.
func TestWriters(t *testing.T) {
	tabletest.Writers(t, Format(), ".parquet", "s.parquet", "ms.parquet", "us.parquet", "ns.parquet", "decimal.parquet", "decimal_int.parquet")
	got, err := read(tabletest.Files+"int96.parquet", table.Options{Columns: &feature.Rules{Unit: feature.Seconds}})
	if err != nil || !reflect.DeepEqual(got.X, []float64{-1.25, -0.25, 0.75, 1.75}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMask(t *testing.T) {
	options := table.Options{Formats: []table.Format{Format()}}
	got, err := table.ReadMask(tabletest.Files+"types.parquet", "test", options)
	if err != nil || !reflect.DeepEqual(got, []bool{true, false, true, false}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, c := range [][3]string{
		{"types.parquet", "y", `: row 2, column 14 ("y"): not 0 or 1 in a mask: "2"`},
		{"types.parquet", "gap", `: row 2, column 2 ("gap"): empty cell in a mask`},
		{"types.parquet", "site", `: column 4 ("site"): holds STRING values, not numbers`},
	} {
		if _, err := table.ReadMask(tabletest.Files+c[0], c[1], options); err == nil || err.Error() != tabletest.Files+c[0]+c[2] {
			t.Errorf("%s, %s: %v", c[0], c[1], err)
		}
	}
}

// TestBlocks reads a table of several blocks, pages and groups, and the same cut short.
func TestBlocks(t *testing.T) {
	const n, d = 25_000, 3
	value := func(i, j int) float64 { return float64(d*i + j) }
	type row struct{ A, B, Y float64 }
	var pq bytes.Buffer
	w := parquet.NewGenericWriter[row](&pq, parquet.MaxRowsPerRowGroup(7001), parquet.PageBufferSize(5000))
	for i := range n {
		testcheck.Get(w.Write([]row{{value(i, 0), value(i, 1), value(i, 2)}}))(t)
	}
	testcheck.Do(t, w.Close())
	dir := t.TempDir()
	path := filepath.Join(dir, "t.parquet")
	testcheck.Do(t, os.WriteFile(path, pq.Bytes(), 0o600))
	got := testcheck.Get(read(path, table.Options{Features: []string{"1", "0"}}))(t)
	for i := range n {
		if got.X[2*i] != value(i, 1) || got.X[2*i+1] != value(i, 0) || got.Y[i] != value(i, 2) {
			t.Fatalf("row %d is %v, %v", i, got.X[2*i:2*i+2], got.Y[i])
		}
	}
	for _, part := range []int{3, 5, 20, 50, 99} {
		cut := filepath.Join(dir, "cut")
		testcheck.Do(t, os.WriteFile(cut, pq.Bytes()[:pq.Len()*part/100], 0o600))
		if _, err := read(cut, table.Options{}); !errors.As(err, new(*table.Error)) {
			t.Errorf("cut to %d %%: %v", part, err)
		}
	}
}

func FuzzParquet(f *testing.F) { tabletest.Fuzz(f, tabletest.Files+"*.parquet", magic, Format()) }
