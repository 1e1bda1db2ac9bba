package table

import (
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
)

// TestReaderPieces joins pieces of a table, of all sizes, and compares with the whole table.
func TestReaderPieces(t *testing.T) {
	for _, gap := range []int{0, 3, 4} {
		text := counting(23, gap)
		opts := Options{Extra: []string{"sd"}, ExtraText: []string{"group"}}
		if gap > 0 {
			opts.Missing = MissingDrop
		}
		whole := testcheck.Get(ReadFrom(strings.NewReader(text), "T", opts))(t)
		if whole.Row == nil {
			whole.Row = matrixrows.All(whole.N)
		}
		for most := 1; most <= 25; most++ {
			r := testcheck.Get(NewReader(strings.NewReader(text), "T", opts))(t)
			sum := &Table{Extra: map[string][]float64{}, ExtraText: map[string][]string{}}
			for {
				p, err := r.Next(most)
				if err == io.EOF {
					break
				}
				testcheck.Do(t, err)
				if p.N < 1 || p.N > most || len(p.X) != p.N*p.D {
					t.Fatalf("a piece of %d rows, at most %d", p.N, most)
				}
				sum.Source, sum.D, sum.FeatureNames, sum.TargetName, sum.SourceRows = p.Source, p.D, p.FeatureNames, p.TargetName, p.SourceRows
				sum.N += p.N
				sum.X, sum.Y = append(sum.X, p.X...), append(sum.Y, p.Y...)
				sum.Line, sum.Row = append(sum.Line, p.Line...), append(sum.Row, p.Row...)
				sum.Extra["sd"] = append(sum.Extra["sd"], p.Extra["sd"]...)
				sum.ExtraText["group"] = append(sum.ExtraText["group"], p.ExtraText["group"]...)
			}
			sum.Warnings = r.Warnings()
			// The last gap may follow the last piece that was not empty.
			sum.SourceRows, sum.Reading = whole.SourceRows, r.Reading()
			if !reflect.DeepEqual(sum, whole) {
				t.Fatalf("pieces of %d:\n%+v\nas a whole:\n%+v", most, sum, whole)
			}
		}
	}
}

func TestReaderErrors(t *testing.T) {
	r := testcheck.Get(NewReader(strings.NewReader("a,y\n1,2\n3,4\n5,z\n"), "T", Options{}))(t)
	if _, err := r.Next(2); err != nil {
		t.Error(err)
	}
	var e *Error
	if _, err := r.Next(2); !errors.As(err, &e) || e.Line != 4 || e.Column != 2 {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]string{
		"a,y\n":      "T:1: no data rows, only a header",
		"a,y\n1,\n":  `T: no rows left: all 1 have missing values (first: T:2: column 2 ("y"): empty cell)`,
		"a,y\n,\n\n": `T: no rows left: all 1 have missing values (first: T:2: column 1 ("a"): empty cell)`,
	} {
		r := testcheck.Get(NewReader(strings.NewReader(text), "T", Options{Missing: MissingDrop}))(t)
		if _, err := r.Next(5); !errors.As(err, &e) || e.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), Options{}); !errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}
