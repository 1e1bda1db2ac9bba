package table

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/feature"
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
		got, err := readKinds(c.text, c.rules, c.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
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

func TestKindErrors(t *testing.T) {
	category := feature.Rules{Categories: []string{"c"}}
	for name, c := range map[string]struct {
		text  string
		rules feature.Rules
		want  string
	}{
		"text in numbers":   {"c,y\n1,2\nred,4\n", feature.Rules{}, `T:3: column 1 ("c"): not a number: "red"; name the column in option categories if it has categories`},
		"number in texts":   {"c,y\nred,2\n1,4\n", feature.Rules{}, `T:3: column 1 ("c"): "1" is a number, but the column has a text before ("red" in line 2); name it in option categories to read all of it as categories`},
		"date in texts":     {"c,y\nred,2\n2024-01-31,4\n", feature.Rules{}, `T:3: column 1 ("c"): "2024-01-31" is a date, but the column has a text before ("red" in line 2); name it in option categories to read all of it as categories`},
		"text in dates":     {"c,y\n2024-01-31,2\nred,4\n", feature.Rules{}, `T:3: column 1 ("c"): "red" is a text, but the column has a date before ("2024-01-31" in line 2); name it in option categories to read all of it as categories`},
		"unclear date":      {"c,y\n01/02/2024,2\n", feature.Rules{}, `T:2: column 1 ("c"): is the day or the month first in "01/02/2024"? Write 2024-01-31; name the column in option categories if it has categories`},
		"not a date":        {"c,y\nred,2\n", feature.Rules{Dates: []string{"c"}}, `T:2: column 1 ("c"): not a date such as 2024-01-31 or 2024-01-31T14:30:00Z: "red"`},
		"not a number":      {"c,y\nred,2\n", feature.Rules{Numbers: []string{"c"}}, `T:2: column 1 ("c"): not a number: "red"`},
		"thousands":         {"c,y\n\"1,234.5\",2\n", feature.Rules{}, `T:2: column 1 ("c"): not a number: "1,234.5"; name the column in option categories if it has categories`},
		"per cent":          {"c,y\n5%,2\n", feature.Rules{}, `T:2: column 1 ("c"): not a number: "5%"; name the column in option categories if it has categories`},
		"no exponent":       {"c,y\n1.5e-,2\n3,4\n", feature.Rules{}, `T:2: column 1 ("c"): not a number: "1.5e-"; name the column in option categories if it has categories`},
		"hexadecimal":       {"c,y\n0x1p2,2\n", feature.Rules{}, `T:2: column 1 ("c"): not a number: "0x1p2"; name the column in option categories if it has categories`},
		"infinite":          {"c,y\ninf,2\n", feature.Rules{}, `T:2: column 1 ("c"): not a finite number: "inf"; name the column in option categories if it has categories`},
		"gap":               {"c,y\nred,1\nNA,2\n", feature.Rules{}, `T:3: column 1 ("c"): missing value: "NA" (option missing drop leaves out such rows)`},
		"identifies":        {"c,y\na,1\nb,2\nc,3\n", category, `T:1: column 1 ("c"): each of the 3 rows has another text, such as "a": the column identifies rows and says nothing of others; leave it out with option features`},
		"seems to identify": {"c,y\na,1\nb,2\na,3\n", feature.Rules{}, `T:1: column 1 ("c"): 2 different texts in 3 rows, such as "a": the column seems to identify rows; leave it out with option features, or name it in option categories`},
		"no feature":        {"c,y\n1,1\n", feature.Rules{Dates: []string{"y"}}, `T:1: column 2 ("y"): option dates names "y", which is not a feature`},
		"two kinds":         {"c,y\n1,1\n", feature.Rules{Dates: []string{"c"}, Numbers: []string{"0"}}, `T:1: column 1 ("c"): option numbers names "0", which another kind is asked for`},
		"no column":         {"c,y\n1,1\n", feature.Rules{Dates: []string{"d"}}, `T:1: no column named "d" for the feature; columns: "c", "y"`},
		"same name":         {"a,a_x,y\nx,1,1\nx,2,2\nz,1,3\nz,2,4\n", feature.Rules{}, `T:1: column 2 ("a_x"): two features would be called "a_x", of the columns "a" and "a_x": rename a column`},
		"target":            {"c,y\n1,red\n", feature.Rules{}, `T:2: column 2 ("y"): not a number: "red"`},
	} {
		got, err := readKinds(c.text, c.rules, nil)
		var e *Error
		if got != nil || !errors.As(err, &e) || e.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", name, err, c.want)
		}
	}
}

// TestDecimal checks decimal commas with every separator.
func TestDecimal(t *testing.T) {
	comma := func(o *Options) { o.Decimal = ',' }
	for _, text := range []string{"a;y\n1,5;2\n-,25;3e-1\n", "a\ty\n1,5\t2\n-,25\t3e-1\n", "a y\n1,5 2\n-,25 3e-1\n", "1,5;2\n-,25;3e-1\n"} {
		got, err := readKinds(text, feature.Rules{}, comma)
		if err != nil || !slices.Equal(got.X, []float64{1.5, -0.25}) || !slices.Equal(got.Y, []float64{2, 0.3}) || got.Encoding == nil || got.Encoding.Decimal != "," {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"a;y\n1.5;2\n": `T:2: column 1 ("a"): not a number: "1.5" (the decimal sign is a comma here; see option decimal); name the column in option categories if it has categories`,
		"a,y\n1,2\n":   `T:1: commas do not separate cells here, because the decimal sign is a comma: separate them by semicolons, tabs or blanks, or give option decimal as a point`,
	} {
		if _, err := readKinds(text, feature.Rules{}, comma); err == nil || err.Error() != want {
			t.Errorf("%q:\n got %v\nwant %s", text, err, want)
		}
	}
}

// TestEncoding checks how a table for a model is read, with categories that the model
// does not have.
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
	o.UnseenZero = true
	got, err = ReadFrom(strings.NewReader(text), "T", o)
	if err != nil || !slices.Equal(got.X, []float64{0, 1, 1, 0, 0, 0, -1, 1, 0, 0, 0, 1}) {
		t.Errorf("%+v, %v", got, err)
	}
	if d := cmp.Diff([]string{
		`T:3: column 1 ("c"): the training table has no category "green": its indicators are all 0`,
		`T:3: column 2 ("k"): the training table has no category "mid": its code is -1`,
	}, got.Warnings); d != "" {
		t.Error(d)
	}
}
