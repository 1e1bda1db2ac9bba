package table

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/testcheck"
	"gpfit/table/feature"
)

const faulty = "id,a,b,c,rare,y\nr1,1,x,NA,,1\nr2,2,3,none,,2\nr3,,y,-,,3.5\nr4,four,4,u,,4\nr5,5,x,none,1,5\nr6,5,x,u,,6\nr7,1,x,u,,6\nr8,1,x,u,,6\nr9,1,x,u,,6\n"

// TestSurvey checks that a survey finds each fault with its rows, and options that accept them.
func TestSurvey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	testcheck.Do(t, os.WriteFile(path, []byte(faulty), 0o600))
	faults, fixed, err := Survey(path, Options{Columns: &feature.Rules{}})
	testcheck.Do(t, err)
	type short struct {
		Column, Cure string
		Line, Count  int
		Gap          bool
	}
	var got []short
	for _, f := range faults {
		got = append(got, short{f.First.ColumnName, f.cure, f.First.Line, f.Count, f.Gap})
	}
	want := []short{{"id", "exclude", 1, 1, false}, {"a", "missing", 4, 1, true}, {"a", "categories", 5, 1, false},
		{"b", "categories", 3, 2, false}, {"c", "missing", 2, 4, true}, {"rare", "exclude", 2, 8, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"id", "rare"}, fixed.Exclude); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, fixed.Columns.Categories); diff != "" || fixed.Missing != MissingDrop {
		t.Error(diff, fixed.Missing)
	}
	if got, err := Read(path, fixed); err != nil || got.N != 5 {
		t.Errorf("the options read %v, %v", got, err)
	}
	testcheck.Do(t, os.WriteFile(path, []byte("a,word\n1,x\n2,y\n3,x\n4,x\n"), 0o600))
	if _, fixed, err := Survey(path, Options{}); err != nil || fixed.Target != "a" {
		t.Errorf("with a last column of texts the target is %q, %v", fixed.Target, err)
	}
}

// TestMissingWordsAsCategories checks that a column that is named in categories has the words none, NA and - as categories,
// that a model reads them so, and that other columns do not.
func TestMissingWordsAsCategories(t *testing.T) {
	text := "c,y\nNA,1\n-,2\nnone,3\nu,4\nu,5\n"
	got, err := readKinds(text, feature.Rules{Categories: []string{"c"}}, nil)
	testcheck.Do(t, err)
	want := []string{"-", "NA", "none", "u"}
	if diff := cmp.Diff(want, got.Encoding.Columns[0].Categories); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]float64{0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1}, got.X); diff != "" {
		t.Error(diff)
	}
	if _, err := readKinds(text, feature.Rules{}, nil); err == nil || !strings.Contains(err.Error(), "missing value") {
		t.Errorf("without the option: %v", err)
	}
	rows, err := ReadFrom(strings.NewReader("c\nnone\n-\n"), "T", Options{NoTarget: true, Encoding: func(int) ([]feature.Coding, error) { return got.Encoding.Columns, nil }})
	testcheck.Do(t, err)
	if diff := cmp.Diff([]float64{0, 0, 1, 0, 1, 0, 0, 0}, rows.X); diff != "" {
		t.Error(diff)
	}
	if _, err := readKinds("c,y\n,1\nu,2\nu,3\n", feature.Rules{Categories: []string{"c"}}, nil); err == nil {
		t.Error("an empty cell is a category")
	}
}

// TestMoreMissing checks that failed formulas and marks of databases and offices are missing values, and that a column of dates with two
// digits of the year asks for their order.
func TestMoreMissing(t *testing.T) {
	for _, gap := range []string{"#DIV/0!", "#VALUE!", `\N`, "NaT", "n.a.", "k.A.", "..", "…", "–"} {
		got, err := ReadFrom(strings.NewReader("a,y\n1,2\n"+gap+",3\n4,5\n"), "T", Options{Missing: MissingDrop, Columns: &feature.Rules{}})
		if err != nil || got.N != 2 {
			t.Errorf("%s: %v", gap, err)
		}
	}
	_, err := readKinds("d,y\n09.01.24,2\n10.01.24,3\n", feature.Rules{}, nil)
	testcheck.Fail[*Error](t, err, "is the day or the month first")
	_, err = ReadFrom(strings.NewReader("a,y\n1,2\nfew,3\n"), "T", Options{NoTarget: true, ByName: true, Features: []string{"a"}})
	testcheck.Fail[*Error](t, err, "write it as in the table of the model")
	got, err := ReadFrom(strings.NewReader("b\n1.0\n0\n"), "T", Options{NoTarget: true, Encoding: func(int) ([]feature.Coding, error) {
		return []feature.Coding{{Name: "b", Kind: feature.Boolean}}, nil
	}})
	if err != nil || got.X[0] != 1 || got.X[1] != 0 {
		t.Errorf("numbers as booleans: %v", err)
	}
	for _, begin := range []string{"ORC", "\x80\x05\x95", "<stata_dta>", "\xd0\xcf\x11\xe0"} {
		_, err := ReadFrom(strings.NewReader(begin+"a,y\n1,2\n"), "T", Options{})
		testcheck.Fail[*Error](t, err, "CSV")
	}
}

// TestSurveyTexts finds how the numbers and dates of a text are written, and lines that are no rows.
func TestSurveyTexts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	for _, c := range []struct{ text, want string }{
		{"x;y\n1.234,5;1\n2,5;2\n3;3\n", `{, . false} ""`},
		{"x;y\n2,491;1\n531;2\n1,784;3\n", `{ , false} ""`}, {"x;y\n2,491;1\n1,531;2\n", `{,  false} ""`},
		{"x;y\n74%;1\n0.84;2\n", `{  false} ""`}, {"x;y\n$74;1\n€84;2\n", `{  false} ""`}, {"x;y\n$74;1%\n$84;2%\n", `{  true} ""`},
		{"x,y\n\"1,234.5\",1\n2.5,2\n3,3\n", `{ , false} ""`},
		{"x;y\n1'234;$1\n2.5;$2\n3;$3\n", `{ ' true} ""`},
		{"x;y\n1 234,5;5%\n2;6 %\n3;7%\n", `{, space true} ""`},
		{"x;y\n1,5;1\n2.5;2\n3;3\n", `{  false} ""`}, // both signs: no way to write numbers reads both
		{"Sales\n\nBerlin;2024;1\nx;y\n1;2\n2;3\n3;4\n", `{  false} "1,3"`},
		{"x;y\n1;2\n2;3\n3;4\nTotal;9\n", `{  false} "5"`},
		{"Sales report 2024\nDepartment 7\n\nx,y\n1,2\n2,3\n3,4\n", `{  false} "1,2"`}, // titles that blanks would separate
		{"x;y;z\nm;;kg\n1;2;3\n2;3;4\n3;4;6\n", `{  false} "2"`},                       // units with a gap
		{"x;y\n1;2\n2;3\nSubtotal;5\n3;4\n;\nTotal;9\n", `{  false} "4,7"`},            // and a row of nothing
		{"x;y\n1;2\n2;3\n3;4\n* a note\n\n* another\n", `{  false} "5,7"`},             // notes at the end
		{"x;y\n1;2\n2;3\n3\n3;4\n", `{  false} ""`},                                    // a row that lacks a cell
		{"x,y\n1,2\n(2),3\n3-,4\n−3,4\n", `{  true} ""`},
		{"x;y\n1 EUR;2\n2 EUR;3\n3 EUR;4\n", `{  true} ""`},
		{"d;y\n01.02.24;2\n13.02.24;3\n03.02.24;4\n", `{  false} "" dmy`},
		{"d;y\n01/02/2024;2\n13/02/2024;3\n03/02/2024;4\n", `{  false} "" dmy`},
		{"d;y\n01/02/2024;2\n02/02/2024;3\n03/02/2024;4\n", `{  false} ""`}, // both orders
	} {
		testcheck.Do(t, os.WriteFile(path, []byte(c.text), 0o600))
		faults, fixed, err := Survey(path, Options{})
		got := fmt.Sprintf("{%s %s %v} %q", fixed.Text.Decimal, fixed.Text.Thousands, fixed.Text.Units, fixed.SkipLines)
		if fixed.Columns.Order != "" {
			got += " " + string(fixed.Columns.Order)
		}
		if got != c.want || err == nil && len(faults) == 0 {
			t.Errorf("%q: %s, want %s (%v, %v)", c.text, got, c.want, faults, err)
		}
	}
}

// TestSkipLines leaves out lines before the header and after it.
func TestSkipLines(t *testing.T) {
	got, err := ReadFrom(strings.NewReader("a title; of, two kinds\n\nunits;m\nx;y\n1;2\nTotal;2\n3;4\n"), "T", Options{SkipLines: "1-3, 6"})
	if err != nil || got.N != 2 || got.Line[1] != 7 || got.FeatureNames[0] != "x" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"0", "a", "3-2", "1-", "-1"} {
		if CheckLines(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
