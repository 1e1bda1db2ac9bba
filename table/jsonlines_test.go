package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/feature"
	"gpfit/internal/must"
)

// TestJSONLines compares JSON lines with the same table as CSV, and checks types, gaps
// and gzip.
func TestJSONLines(t *testing.T) {
	for _, name := range []string{"real", "whole"} {
		got, err := Read(formatsDir+name+".jsonl", Options{})
		want, wantErr := Read(formatsDir+name+".csv", Options{})
		if err != nil || wantErr != nil {
			t.Fatal(err, wantErr)
		}
		got.Source, got.Line, want.Line = want.Source, nil, nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	types := must.Get(Read(formatsDir+"types.jsonl", Options{Columns: &feature.Rules{Codes: true}}))(t)
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
	text := must.Get(os.ReadFile(formatsDir + "real.jsonl"))(t)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write(text); errors.Join(err, z.Close()) != nil {
		t.Fatal(err)
	}
	if got, err := ReadFrom(&zipped, "-", Options{}); err != nil || got.N != 14 {
		t.Error(got, err)
	}
	if got, err := Read(formatsDir+"nested.jsonl", Options{Features: []string{"a"}}); err != nil || got.N != 3 {
		t.Error(got, err)
	}
}

func TestJSONLineErrors(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\":1,\"y\":2}\n\n{\"a\":null,\"y\":2}\n": `T:3: column 1 ("a"): null (option missing drop leaves out such rows)`,
		"{\"a\":1,\"y\":2}\n{\"y\":2}\n":              `T:2: column 1 ("a"): the key is missing (option missing drop leaves out such rows)`,
		"{\"a\":1,\"y\":2}\n{\"a\":\"x\",\"y\":2}\n":  `T:2: column 1 ("a"): not a number: "x"`,
		"{\"a\":1,\"y\":2}\n{\"a\":1e999,\"y\":2}\n":  `T:2: column 1 ("a"): number too large for a 64-bit float: "1e999"`,
		"{\"a\":1,\"y\":2}\n{\"a\":[1],\"y\":2}\n":    `T:2: column 1 ("a"): holds a list or an object, not a value`,
		"{\"a\":1,\"y\":2}\n{\"a\":1,\"a\":2}\n":      `T:2: the key "a" comes twice`,
		"{\"a\":1,\"a\":2}\n":                         `T:1: the key "a" comes twice`,
		"{\"a\":1,\"y\":2}\n{\"a\":1\n":               `T:2: the JSON object does not end on its line`,
		"{\"a\":1,\"y\":2}\n{\"a\":NaN}\n":            `T:2: not JSON: invalid character 'N' looking for beginning of value`,
		"{\"a\":1,\"y\":2} {}\n":                      `T:1: something follows the JSON object on the line`,
		"{\"a\":1,\"y\":2}\na,y\n":                    `T:2: the line is not a JSON object`,
		"{}\n{}\n":                                    `T:1: the objects have no keys`,
		"[{\"a\":1,\"y\":2}]\n":                       `T: this is a JSON array; write an object on each line instead, as jq -c '.[]' does`,
		"[\n {\"a\":1,\"y\":2}]\n":                    `T: this is a JSON array; write an object on each line instead, as jq -c '.[]' does`,
		"{\"a\":1,\"y\":2}\n" + strings.Repeat("{\"a\":1,\"y\":2}\n", 1<<15) + "{\"b\":1}\n": `T:32770: the key "b" is not in the first lines, which decide the columns: give it there as null, or select columns`,
	} {
		got, err := ReadFrom(strings.NewReader(text), "T", Options{})
		var e *Error
		if got != nil || !errors.As(err, &e) || e.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
