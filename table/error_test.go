package table

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// errorCases are texts and options that must be rejected, with the message and its
// place.
var errorCases = []struct {
	name, text string
	opts       Options
	want       string // Error()
	line, col  int
	colName    string
}{
	// Cells.
	{name: "text", text: "t,co2,ppm\n1,2,3\n4,5,n/a\n", want: `T:3: column 3 ("ppm"): not a number: "n/a" (option missing drop leaves out such rows)`, line: 3, col: 3, colName: "ppm"},
	{name: "NaN", text: "1,2\nNaN,3\n", want: `T:2: column 1: not a number: "NaN" (option missing drop leaves out such rows)`, line: 2, col: 1},
	{name: "NA in the first row", text: "1,NA\n2,3\n", want: `T:1: column 2: not a number: "NA" (option missing drop leaves out such rows)`, line: 1, col: 2},
	{name: "spreadsheet error at the line's beginning", text: "a,b\n#N/A,2\n", want: `T:2: column 1 ("a"): not a number: "#N/A" (option missing drop leaves out such rows)`, line: 2, col: 1, colName: "a"},
	{name: "spreadsheet error in the first row", text: "#DIV/0!,2\n", want: `T:1: column 1: not a number: "#DIV/0!"`, line: 1, col: 1},
	{name: "Inf", text: "1,2\n1,-Inf\n", want: `T:2: column 2: not a finite number: "-Inf"`, line: 2, col: 2},
	{name: "infinity", text: "1,2\n1,infinity\n", want: `T:2: column 2: not a finite number: "infinity"`, line: 2, col: 2},
	{name: "overflow", text: "1,2\n1e999,2\n", want: `T:2: column 1: number too large for a 64-bit float: "1e999"`, line: 2, col: 1},
	{name: "overflow in the first row", text: "1,-1e309\n", want: `T:1: column 2: number too large for a 64-bit float: "-1e309"`, line: 1, col: 2},
	{name: "empty", text: "a,b,c\n1, ,3\n", want: `T:2: column 2 ("b"): empty cell (option missing drop leaves out such rows)`, line: 2, col: 2, colName: "b"},
	{name: "empty at the end", text: "1,2,3\n1,2,\n", want: `T:2: column 3: empty cell (option missing drop leaves out such rows)`, line: 2, col: 3},
	{name: "empty between tabs", text: "1\t2\t3\n1\t\t3\n", want: `T:2: column 2: empty cell (option missing drop leaves out such rows)`, line: 2, col: 2},
	{name: "only tabs", text: "1\t2\t3\n\t\t\n", want: `T:2: column 1: empty cell (option missing drop leaves out such rows)`, line: 2, col: 1},
	{name: "empty quotes in a single column", text: "1\n\"\"\n", opts: Options{NoTarget: true}, want: `T:2: column 1: empty cell (option missing drop leaves out such rows)`, line: 2, col: 1},
	{name: "hexadecimal", text: "1,2\n0x1p-2,3\n", want: `T:2: column 1: not a number: "0x1p-2"`, line: 2, col: 1},
	{name: "underscore", text: "1,2\n1_000,3\n", want: `T:2: column 1: not a number: "1_000"`, line: 2, col: 1},
	{name: "hexadecimal integer", text: "1,2\n0x10,3\n", want: `T:2: column 1: not a number: "0x10"`, line: 2, col: 1},
	{name: "signs only", text: "1,2\n+-,3\n", want: `T:2: column 1: not a number: "+-"`, line: 2, col: 1},
	{name: "blank inside", text: "1,2\n1 0,3\n", want: `T:2: column 1: not a number: "1 0"`, line: 2, col: 1},
	{name: "decimal comma", text: "a;b\n1,5;2,5\n", want: `T:2: column 1 ("a"): not a number: "1,5" (write a decimal point, not a comma; or see option decimal)`, line: 2, col: 1, colName: "a"},
	{name: "thousands", text: "a,b\n\"1,234.5\",2\n", want: `T:2: column 1 ("a"): not a number: "1,234.5"`, line: 2, col: 1, colName: "a"},
	{name: "long text", text: "a,b\n1," + strings.Repeat("z", 100) + "\n", want: `T:2: column 2 ("b"): not a number: "` + strings.Repeat("z", 60) + `"…`, line: 2, col: 2, colName: "b"},
	{name: "the leftmost of several, whatever the order of features", text: "a,b,c\nx,x,x\n",
		opts: Options{Target: "a", Features: []string{"c", "b"}}, want: `T:2: column 1 ("a"): not a number: "x"`, line: 2, col: 1, colName: "a"},
	{name: "after comments, blank lines and line ends in quotes", text: "# c\n\n\"a\n\n\",y\n\n1,\"\n2\"\n# d\n3,\"\n\n4z\"\n",
		want: `T:10: column 2 ("y"): not a number: "4z"`, line: 10, col: 2, colName: "y"},
	{name: "second line of a record", text: "1,2,3\n\"\n1\",2,z\n", want: `T:3: column 3: not a number: "z"`, line: 3, col: 3},
	{name: "CRLF", text: "1,2\r\n\r\n1,z\r\n", want: `T:3: column 2: not a number: "z"`, line: 3, col: 2},
	{name: "carriage returns alone", text: "1,2\r3,4\r", want: `T:1: column 2: not a number: "2\r3"`, opts: Options{Header: HeaderNo}, line: 1, col: 2},
	{name: "header taken as data", text: "a,b\n1,2\n", opts: Options{Header: HeaderNo}, want: `T:1: column 1: not a number: "a"`, line: 1, col: 1},

	// Rows.
	{name: "row too short", text: "a,b,c\n1,2,3\n4,5\n", want: `T:3: column 3 ("c"): found 2 cells where line 1 has 3`, line: 3, col: 3, colName: "c"},
	{name: "row too long", text: "1,2\n\n3,4,5,6\n", want: `T:3: column 3: found 4 cells where line 1 has 2`, line: 3, col: 3},
	{name: "row of one cell", text: "# c\n1,2\n3\n", want: `T:3: column 2: found 1 cell where line 2 has 2`, line: 3, col: 2},
	{name: "row too short between blanks", text: "1 2 3\n4 5\n", want: `T:2: column 3: found 2 cells where line 1 has 3`, line: 2, col: 3},
	{name: "row too short after cells with blanks", text: "1, 2, 3\n4, 5, 6\n7, 8 9\n", want: `T:3: column 3: found 2 cells where line 1 has 3`, line: 3, col: 3},
	{name: "empty file", text: "", want: "T: the file is empty"},
	{name: "byte order mark alone", text: "\ufeff", want: "T: the file is empty"},
	{name: "comments alone", text: "# a\n\n# b\n", want: "T: no data rows, only comments and blank lines"},
	{name: "header alone", text: "# a\nx,y\n", want: "T:2: no data rows, only a header", line: 2},
	{name: "header alone, though of numbers", text: "1,2\n", opts: Options{Header: HeaderYes}, want: "T:1: no data rows, only a header", line: 1},

	// Quotes.
	{name: "quote never closed", text: "a,b\n1,\"2\n3,4\n", want: `T:2: column 2 ("b"): a quote opens here that is never closed`, line: 2, col: 2, colName: "b"},
	{name: "quote inside a cell", text: "a,b\n1,2\"\n", want: `T:2: column 2 ("b"): a quote inside a cell that does not begin with one: "2\""`, line: 2, col: 2, colName: "b"},
	{name: "text after a quote", text: "1,2\n\"3\"4,5\n", want: `T:2: column 1: text after the closing quote of "3"`, line: 2, col: 1},
	{name: "text after a quote between blanks", text: "1 2\n1 \"3\"4\n", want: `T:2: column 2: text after the closing quote of "3"`, line: 2, col: 2},

	// Selection.
	{name: "unknown target", text: "year,co2\n1,2\n", opts: Options{Target: "CO_2"}, line: 1,
		want: `T:1: no column named "CO_2" for the target (did you mean "co2"?); columns: "year", "co2"`},
	{name: "unknown target, nothing like it", text: "year,co2\n1,2\n", opts: Options{Target: "pressure"}, line: 1,
		want: `T:1: no column named "pressure" for the target; columns: "year", "co2"`},
	{name: "unknown feature, no header", text: "1,2\n", opts: Options{Features: []string{"age"}}, line: 1,
		want: `T:1: no column named "age" for the feature; there is no header; columns: "x0", "x1"`},
	{name: "many columns", text: strings.Repeat("1,", 24) + "2\n", opts: Options{Target: "y"}, line: 1,
		want: `T:1: no column named "y" for the target; there is no header; columns: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", ` +
			`"x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19" and 5 more`},
	{name: "target out of range", text: "1,2\n", opts: Options{Target: "2"}, line: 1, want: `T:1: target column 2 is out of range: there are 2 columns, 0 to 1`},
	{name: "target out of range, negative", text: "1,2\n", opts: Options{Target: "-3"}, line: 1, want: `T:1: target column -3 is out of range: there are 2 columns, 0 to 1`},
	{name: "feature out of range", text: "1,2\n", opts: Options{Features: []string{"5"}}, line: 1, want: `T:1: feature column 5 is out of range: there are 2 columns, 0 to 1`},
	{name: "range out of range", text: "1,2\n", opts: Options{Features: []string{"0-2"}}, line: 1, want: `T:1: feature column 0-2 is out of range: there are 2 columns, 0 to 1`},
	{name: "range backwards", text: "1,2,3\n", opts: Options{Features: []string{"1-0"}}, line: 1, want: `T:1: feature range "1-0" runs backwards`},
	{name: "target among features", text: "a,b\n1,2\n", opts: Options{Target: "b", Features: []string{"0-1"}}, line: 1, col: 2, colName: "b",
		want: `T:1: column 2 ("b"): the target is also listed as a feature ("0-1")`},
	{name: "feature twice", text: "1,2,3\n", opts: Options{Features: []string{"x1", "1"}}, line: 1, col: 2,
		want: `T:1: column 2: listed twice as a feature (again by "1")`},
	{name: "duplicate target", text: "a,y,y\n1,2,3\n", opts: Options{Target: "y"}, line: 1, col: 3, colName: "y",
		want: `T:1: column 3 ("y"): the target shares its name with column 2; select it by index`},
	{name: "duplicate feature", text: "a,a,y\n1,2,3\n", opts: Options{Features: []string{"a"}}, line: 1, col: 2, colName: "a",
		want: `T:1: column 2 ("a"): the feature shares its name with column 1; select it by index`},
	{name: "nothing but the target", text: "1\n2\n", line: 1, want: "T:1: no feature column: the only column is the target"},
	{name: "impossible separator", text: "1,2\n", opts: Options{Comma: '"'}, want: `T: cells cannot be separated by "\""`},

	// No text.
	{name: "zero byte", text: "a,b\n1,2\n1,\x00\n", want: "T:3: contains a zero byte: this is binary data, not text", line: 3},
	{name: "zip", text: "PK\x03\x04\x00\x00", want: "T: this is a zip archive (Excel workbooks are, too), not text; export the table as CSV"},
	{name: "zstd", text: "\x28\xb5\x2f\xfd....", want: "T: this is zstd-compressed; only gzip is read directly"},
	{name: "UTF-16", text: "\xff\xfe1\x00,\x002\x00", want: "T: this is UTF-16 text; save it as UTF-8"},
	{name: "NumPy", text: "\x93NUMPY\x01\x00", want: "T: this is a NumPy file, not text; give such a file by name and uncompressed"},
}

func TestReadErrors(t *testing.T) {
	for _, c := range errorCases {
		for _, form := range []string{"", ", gzip"} {
			t.Run(c.name+form, func(t *testing.T) {
				text := c.text
				if form != "" {
					text = gzipped(t, text)
				}
				got, err := ReadFrom(strings.NewReader(text), "T", c.opts)
				if got != nil {
					t.Error("a table came with the error")
				}
				var e *Error
				if !errors.As(err, &e) {
					t.Fatalf("error %v of type %T", err, err)
				}
				if diff := cmp.Diff(c.want, e.Error()); diff != "" {
					t.Error("(-want +got)\n" + diff)
				}
				place := Error{Source: "T", Line: c.line, Column: c.col, ColumnName: c.colName}
				if missing := strings.Contains(c.want, "no column named") || strings.Contains(c.want, "out of range"); missing {
					place.Selected = strings.Join(append(c.opts.Features, c.opts.Target), "")
				}
				if diff := cmp.Diff(&place, e, cmpopts.IgnoreFields(Error{}, "Msg", "Err")); diff != "" {
					t.Error("place (-want +got)\n" + diff)
				}
			})
		}
	}
}

// TestDamagedGzip cuts and changes compressed data. The line counts all rows that
// could be unpacked.
func TestDamagedGzip(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		text.WriteString(strings.Repeat("1", 1+i%7) + ",2\n")
	}
	whole := gzipped(t, text.String())
	flip := func(at int) string {
		b := []byte(whole)
		b[at] ^= 0xff
		return string(b)
	}
	for _, c := range []struct{ name, text, msg string }{
		{"cut in the middle", whole[:len(whole)/2], "the gzip data is cut short"},
		{"cut in the checksum", whole[:len(whole)-3], "the gzip data is cut short"},
		{"cut in the header", whole[:5], "the gzip data is cut short"},
		{"wrong checksum", flip(len(whole) - 6), "the gzip data is damaged: gzip: invalid checksum"},
		{"wrong method", flip(2), "the gzip data is damaged: gzip: invalid header"},
		{"text behind", whole + "1,2\n", "the gzip data is cut short"},
		{"more text behind", whole + "1,2\n1,2\n1,2\n", "the gzip data is damaged: gzip: invalid header"},
	} {
		_, err := ReadFrom(strings.NewReader(c.text), "T", Options{})
		var e *Error
		if !errors.As(err, &e) || e.Msg != c.msg || e.Line == 0 || e.Err == nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Data cut at any place are an error, never a shorter table.
	small := gzipped(t, "1,2\n3,4\n5,6\n")
	for i := 3; i < len(small); i++ {
		if _, err := ReadFrom(strings.NewReader(small[:i]), "T", Options{}); err == nil {
			t.Errorf("cut after %d of %d bytes: no error", i, len(small))
		}
	}
}

func TestReaderFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	in := io.MultiReader(strings.NewReader("1,2\n3,4\n5"), iotest.ErrReader(broken))
	_, err := ReadFrom(in, "-", Options{})
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, broken) ||
		e.Error() != "standard input:3: cannot be read: the disk is gone" {
		t.Errorf("got %v", err)
	}
}

// repeated is a reader that repeats a byte sequence without end.
type repeated struct{ text []byte }

func (r repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r.text)
	}
	return n, nil
}

// TestEndlessRecord reads from endless sources. The error must come before memory
// runs out.
func TestEndlessRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 128 MiB")
	}
	for name, c := range map[string]struct {
		start, more string
		line        int
	}{
		"no line end":  {"1,2\n", "11111111", 2},
		"open quote":   {"1,2\n3,4\n5,\"", "6,7,8,9\n", 3},
		"comment line": {"#", "########", 1},
	} {
		in := io.MultiReader(strings.NewReader(c.start), repeated{bytes.Repeat([]byte(c.more), 4096)})
		_, err := ReadFrom(in, "T", Options{Header: HeaderNo})
		var e *Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(e.Msg, "longer than 64 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
