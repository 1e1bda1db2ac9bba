package table

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/testcheck"
	"gpfit/table/feature"
)

func readKinds(text string, rules feature.Rules, change func(*Options)) (*Table, error) {
	o := Options{Columns: &rules}
	if change != nil {
		change(&o)
	}
	return ReadFrom(strings.NewReader(text), "T", o)
}

// TestKinds checks how columns are read by themselves and by rules.
func TestKinds(t *testing.T) {
	red := feature.Coding{Name: "c", Kind: feature.Category, Categories: []string{"blue", "red"}}
	codes := red
	codes.Codes = true
	date := feature.Coding{Name: "c", Kind: feature.Date, Unit: feature.Days, Origin: "1970-01-01"}
	hours := feature.Coding{Name: "c", Kind: feature.Clock, Unit: feature.Hours}
	for name, c := range map[string]struct {
		text   string
		rules  feature.Rules
		change func(*Options)
		want   *feature.Coding // nil: numbers
		x      []float64
	}{
		"numbers":     {"c,y\n1,2\n3,4\n", feature.Rules{}, nil, nil, []float64{1, 3}},
		"booleans":    {"c,y\nyes,2\nNO,4\n", feature.Rules{}, nil, &feature.Coding{Name: "c", Kind: feature.Boolean}, []float64{1, 0}},
		"one boolean": {"c,y\ntrue,2\ntrue,4\n", feature.Rules{}, nil, &feature.Coding{Name: "c", Kind: feature.Boolean}, []float64{1, 1}},
		"yes or maybe": {"c,y\nyes,2\nno,4\nmaybe,5\nno,6\nno,6\nno,7\n", feature.Rules{}, nil, &feature.Coding{Name: "c", Kind: feature.Category, Categories: []string{"maybe", "no", "yes"}},
			[]float64{0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0}},
		"categories": {"c,y\nred,2\nblue,4\nred,6\nblue,7\n", feature.Rules{}, nil, &red, []float64{0, 1, 1, 0, 0, 1, 1, 0}},
		"codes":      {"c,y\nred,2\nblue,4\nred,6\nblue,7\n", feature.Rules{Codes: true}, nil, &codes, []float64{1, 0, 1, 0}},
		"numbers as categories": {"c,y\n10,2\n9,4\n9,6\n", feature.Rules{Categories: []string{"c"}, Codes: true}, nil,
			&feature.Coding{Name: "c", Kind: feature.Category, Categories: []string{"9", "10"}, Codes: true}, []float64{1, 0, 0}},
		"booleans as categories": {"c,y\nyes,2\nno,4\nno,6\n", feature.Rules{Categories: []string{"0"}, Codes: true}, nil,
			&feature.Coding{Name: "c", Kind: feature.Category, Categories: []string{"no", "yes"}, Codes: true}, []float64{1, 0, 0}},
		"one category":    {"c,y\nred,2\nred,4\n", feature.Rules{}, nil, &feature.Coding{Name: "c", Kind: feature.Category, Categories: []string{"red"}}, []float64{1, 1}},
		"dates":           {"c,y\n1970-01-02,2\n02.01.1971,4\n", feature.Rules{}, nil, &date, []float64{1, 366}},
		"dates, no names": {"1970-01-02,2\n1970-01-03,4\n", feature.Rules{}, nil, &feature.Coding{Name: "x0", Kind: feature.Date, Unit: feature.Days, Origin: "1970-01-01"}, []float64{1, 2}},
		"compact dates":   {"c,y\n19700102,2\n19710102,4\n", feature.Rules{Dates: []string{"c"}}, nil, &date, []float64{1, 366}},
		"origin": {"c,y\n2000-01-08,2\n2000-01-15,4\n", feature.Rules{Unit: feature.Weeks, Origin: "2000-01-01"}, nil,
			&feature.Coding{Name: "c", Kind: feature.Date, Unit: feature.Weeks, Origin: "2000-01-01"}, []float64{1, 2}},
		"times of day": {"c,y\n14:30,2\n00:15,4\n", feature.Rules{Unit: feature.Hours}, nil, &hours, []float64{14.5, 0.25}},
		"dropped row": {"c,y\nred,2\ngreen,NA\nblue,4\nred,6\nblue,7\n", feature.Rules{}, func(o *Options) { o.Missing = MissingDrop }, &red,
			[]float64{0, 1, 1, 0, 0, 1, 1, 0}},
		"gap": {"c,y\nNA,1\nred,2\n,3\nblue,4\nred,6\nblue,7\n", feature.Rules{}, func(o *Options) { o.Missing = MissingDrop }, &red,
			[]float64{0, 1, 1, 0, 0, 1, 1, 0}},
	} {
		got := testcheck.Get(readKinds(c.text, c.rules, c.change))(t)
		var want *feature.Encoding
		features := []string{"c"}
		if c.want != nil {
			want = &feature.Encoding{Columns: []feature.Coding{*c.want}}
			features = want.Features()
		}
		if d := cmp.Diff(want, got.Encoding) + cmp.Diff(c.x, got.X) + cmp.Diff(features, got.FeatureNames); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestDecimal checks decimal commas with every separator.
func TestDecimal(t *testing.T) {
	comma := func(o *Options) { o.Text.Decimal = "," }
	for _, text := range []string{"a;y\n1,5;2\n-,25;3e-1\n", "a\ty\n1,5\t2\n-,25\t3e-1\n", "a y\n1,5 2\n-,25 3e-1\n", "1,5;2\n-,25;3e-1\n"} {
		got, err := readKinds(text, feature.Rules{}, comma)
		if err != nil || !slices.Equal(got.X, []float64{1.5, -0.25}) || !slices.Equal(got.Y, []float64{2, 0.3}) || got.Encoding == nil || got.Encoding.Decimal != "," {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestEncoding checks how a table for a model is read, also with categories unknown to the model.
func TestEncoding(t *testing.T) {
	columns := []feature.Coding{
		{Name: "c", Kind: feature.Category, Categories: []string{"blue", "red"}},
		{Name: "k", Kind: feature.Category, Categories: []string{"low", "high"}, Codes: true},
		{Name: "b", Kind: feature.Boolean},
	}
	o := Options{NoTarget: true, Encoding: func(n int) ([]feature.Coding, error) { return columns, nil }}
	got, err := ReadFrom(strings.NewReader("c,k,b\nred,high,no\nblue,low,1\n"), "T", o)
	if err != nil || !slices.Equal(got.X, []float64{0, 1, 1, 0, 1, 0, 0, 1}) || got.D != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	text := "c,k,b\nred,high,no\ngreen,mid,yes\ngreen,low,yes\n"
	want := `T:3: column 1 ("c"): the training table has no category "green"; it has blue, red; option unseen zero accepts it`
	if _, err := ReadFrom(strings.NewReader(text), "T", o); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	o.Unseen = func(feature.Coding) string { return "" }
	got, err = ReadFrom(strings.NewReader(text), "T", o)
	if err != nil || !slices.Equal(got.X, []float64{0, 1, 1, 0, 0, 0, -1, 1, 0, 0, 0, 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	if d := cmp.Diff([]string{
		`column "c" has the category "green", which the training table lacks, in 2 rows, first in line 3: its indicators are all 0`,
		`column "k" has the category "mid", which the training table lacks, in 1 row, first in line 3: its code is -1`,
	}, got.Warnings); d != "" {
		t.Error(d)
	}
}
