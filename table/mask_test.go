package table

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gpfit/internal/testcheck"
)

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	return filepath.Join(testcheck.Folder(t, map[string]string{name: text}), name)
}

func TestReadMask(t *testing.T) {
	for _, c := range []struct {
		name, text, col string
		want            []bool
		err             string // Error() after the file's name
	}{
		{name: "one column", text: "0\n1\n1\n", want: []bool{false, true, true}},
		{name: "header and comment", text: "# c\nm\n1\n0\n", want: []bool{true, false}},
		{name: "second column", text: "a,b\nx,1\ny,0\n", col: "1", want: []bool{true, false}},
		{name: "last column", text: "0 0 1\n0 1 0\n", col: "-1", want: []bool{true, false}},
		{name: "by name", text: "a,test\nx,1\ny,0\n", col: "test", want: []bool{true, false}},
		{name: "no such name", text: "a,test\nx,1\ny,0\n", col: "tets", err: `:1: no column named "tets" for the mask (did you mean "test"?); columns: "a", "test"`},
		{name: "as floats", text: "0.000e+00\n1.000e+00\n", want: []bool{false, true}},
		{name: "gzip", text: gzipped(t, "0,1\n"), col: "1", want: []bool{true}},
		{name: "other number", text: "0\n2\n", err: `:2: column 1: not 0 or 1 in a mask: "2"`},
		{name: "word", text: "a,b\n0,1\n0,true\n", col: "1", err: `:3: column 2 ("b"): not 0 or 1 in a mask: "true"`},
		{name: "NaN first", text: "NaN\n0\n", err: `:1: column 1: not 0 or 1 in a mask: "NaN"`},
		{name: "empty cell", text: "0,1\n0,\n", col: "1", err: `:2: column 2: empty cell in a mask`},
		{name: "ragged", text: "0,1\n0\n", err: `:2: column 2: found 1 cell where line 1 has 2`},
		{name: "no such column", text: "0,1\n", col: "2", err: `:1: mask column 2 is out of range: there are 2 columns, 0 to 1`},
		{name: "header alone", text: "m\n", err: `:1: no data rows, only a header`},
		{name: "empty", text: "", err: `: the file is empty`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeFile(t, "mask.csv", c.text)
			got, err := ReadMask(path, c.col, Options{})
			if c.err != "" {
				if !errors.As(err, new(*Error)) || err.Error() != path+c.err || got != nil {
					t.Errorf("got %v, error %v", got, err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, error %v", got, err)
			}
		})
	}
	if _, err := ReadMask(filepath.Join(t.TempDir(), "absent"), "", Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestParseMaskFlag(t *testing.T) {
	t.Chdir(t.TempDir())
	testcheck.Do(t, os.WriteFile("odd:1", nil, 0o600))
	for _, c := range []struct {
		in, path, col, err string
	}{
		{in: "m.csv", path: "m.csv"},
		{in: "m.csv:0", path: "m.csv", col: "0"},
		{in: "m.csv:3", path: "m.csv", col: "3"},
		{in: "m.csv:-1", path: "m.csv", col: "-1"},
		{in: "a:b/m.csv:2", path: "a:b/m.csv", col: "2"},
		{in: "odd:1", path: "odd:1"},
		{in: "odd:1:4", path: "odd:1", col: "4"},
		{in: "", err: `mask: no file named`},
		{in: ":1", err: `mask ":1": no file named before the colon`},
		{in: "m.csv:", err: `mask "m.csv:": no column named after the colon`},
		{in: "m.csv:b", path: "m.csv", col: "b"},
	} {
		path, col, err := ParseMaskFlag(c.in)
		msg := ""
		if err != nil {
			msg = err.Error()
		}
		if path != c.path || col != c.col || msg != c.err {
			t.Errorf("%q: got %q, %q, %v", c.in, path, col, err)
		}
	}
}
