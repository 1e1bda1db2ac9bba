package dataset

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/table"
	"gpfit/table/feature"
)

// model returns a model that uses the features a and c of three, with known noise and two groups.
var model = &gp.Model{
	Columns: []int{0, 2}, FeatureNames: []string{"a", "b", "c"}, TargetName: "y", Scaling: gp.Scaling{YScale: 1},
	Noise: gp.Noise{Column: "v", GroupColumn: "lab", Labels: []string{"left", "right"}, Variances: []float64{1, 2}},
}

func openText(t *testing.T, text string, m *gp.Model, o RowOptions) (*ModelRows, error) {
	t.Helper()
	r, err := OpenRows("-", strings.NewReader(text), m, o)
	if err == nil {
		t.Cleanup(func() { r.Close() })
	}
	return r, err
}

// TestOpenRows checks that columns are found by the model's names, in any order, or by options, and
// that a feature that the model does not use may be missing and is then zero.
func TestOpenRows(t *testing.T) {
	noise := gp.RowNoise{Known: []float64{0.1, 0.2}, Group: []string{"left", "right"}}
	for name, c := range map[string]struct {
		text     string
		options  RowOptions
		want     Rows
		warnings []string
	}{
		"names": {"lab,c,v,y,a\nleft,3,0.1,9,1\nright,4,0.2,9,2\n", RowOptions{}, Rows{X: []float64{1, 0, 3, 2, 0, 4}, N: 2, Total: 2, Noise: noise}, nil},
		"features": {"p,q,w,g\n1,3,0.1,left\n2,4,0.2,right\n", RowOptions{Features: []string{"p", "q"}, NoiseColumn: "w", NoiseGroup: "g"},
			Rows{X: []float64{1, 0, 3, 2, 0, 4}, N: 2, Total: 2, Noise: noise}, nil},
		"all features": {"1,7,3\n2,8,4\n", RowOptions{Features: []string{"0-2"}, Header: "no", DefaultGroup: "right"},
			Rows{X: []float64{1, 7, 3, 2, 8, 4}, N: 2, Total: 2, Noise: gp.RowNoise{DefaultGroup: "right"}},
			[]string{`the table has no column "v" of known noise variances: std does not include them`}},
	} {
		r := testcheck.Get(openText(t, c.text, model, c.options))(t)
		got, err := r.All()
		if reading := (feature.Reading{Rows: 2, Columns: strings.Count(c.text[:strings.IndexByte(c.text, '\n')], ",") + 1}); got.Reading != reading {
			t.Errorf("%s: %+v", name, got.Reading)
		}
		got.Reading = feature.Reading{}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
		if got := r.Warnings(); !slices.Equal(got, c.warnings) {
			t.Errorf("%s: warnings %q", name, got)
		}
	}
}

func TestOpenRowsErrors(t *testing.T) {
	plain := *model
	plain.Noise = gp.Noise{}
	for name, c := range map[string]struct {
		model   *gp.Model
		options RowOptions
		want    string
	}{
		"too many columns": {&plain, RowOptions{Features: []string{"a"}}, "option features: selects 1 columns, but the model has 3"},
		"no known noise":   {&plain, RowOptions{NoiseColumn: "a"}, "option noise-column: the model was fitted without known variances"},
		"no groups":        {&plain, RowOptions{DefaultGroup: "left"}, "option noise-group-default: the model has no noise groups"},
	} {
		_, err := openText(t, "a,c\n1,2\n", c.model, c.options)
		if !errors.As(err, new(*problem.OptionError)) || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	var te *table.Error
	if _, err := openText(t, "a,b\n1,2\n", &plain, RowOptions{}); !errors.As(err, &te) || !strings.Contains(te.Msg, `"c"`) {
		t.Errorf("a column that is not there: %v", err)
	}
	if _, err := openText(t, "a,c\n1,2\n", &plain, RowOptions{Header: "maybe"}); err == nil {
		t.Error("a header that is neither yes nor no")
	}
}

// TestPieces checks that rows are read from a file in pieces, and that an error
// about a row's noise names its position in the table.
func TestPieces(t *testing.T) {
	const n = Piece + 5
	var text strings.Builder
	text.WriteString("a,c,lab\n")
	for i := range n {
		fmt.Fprintf(&text, "%d,%d,%s\n", i, -i, []string{"left", "right"}[i%2])
	}
	grouped := *model
	grouped.Noise.Column = ""
	path := filepath.Join(testcheck.Folder(t, map[string]string{"rows.csv": text.String() + "0,0,middle\n"}), "rows.csv")
	r := testcheck.Get(openText(t, text.String(), &grouped, RowOptions{}))(t)
	row := 0
	for _, want := range []int{Piece, 5, 0} {
		piece, err := r.Next()
		if err != nil || piece.N != want || len(piece.X) != 3*want || len(piece.Noise.Group) != want {
			t.Fatalf("piece of %d rows, want %d: %v", piece.N, want, err)
		}
		for i := range piece.N {
			if !slices.Equal(piece.X[3*i:3*i+3], []float64{float64(row), 0, float64(-row)}) {
				t.Fatalf("row %d is %v", row, piece.X[3*i:3*i+3])
			}
			row++
		}
	}
	file := testcheck.Get(OpenRows(path, nil, &grouped, RowOptions{}))(t)
	defer file.Close()
	var ne *gp.NoiseError
	if _, err := file.All(); !errors.As(err, &ne) || ne.Row != n {
		t.Errorf("an unknown group in row %d: %v", n, err)
	}
}

// TestConstants warns of rows whose value in a column that was constant in training is another one, and keeps what was asked.
func TestConstants(t *testing.T) {
	m := *model
	m.Constants, m.Noise = map[string]float64{"b": 5}, gp.Noise{}
	r := testcheck.Get(openText(t, "a,b,c,id\n1,5,2,p\n2,7,3,q\n3,5.0,3,r\n4,6,3,s\n", &m, RowOptions{Keep: []string{"id"}}))(t)
	got := testcheck.Get(r.All())(t)
	want := []string{`column "b" had one value in all training rows, so the model does not know its effect: it has other values here, in row 2 (7) first, and in 2 of the rows read`}
	if d := cmp.Diff(want, r.Warnings()) + cmp.Diff([][]string{{"p", "q", "r", "s"}}, got.Keep) + cmp.Diff([]string{"id"}, r.KeptNames()); d != "" {
		t.Error(d)
	}
}
