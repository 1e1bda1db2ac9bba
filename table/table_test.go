package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/testcheck"
	"gpfit/table/feature"
)

// gzipped returns s compressed with gzip.
func gzipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	testcheck.Get(z.Write([]byte(s)))(t)
	testcheck.Do(t, z.Close())
	return b.String()
}

// countsFrom is the end of the warning of a column that is left out.
func countsFrom(first string) string {
	return "which counts the rows from " + first + ", as the index of a data frame does; name it in option features to keep it"
}

// tableCases are texts that are tables, and what sketch says of them.
var tableCases = []struct {
	name, text string
	opts       Options
	want       string
}{
	{"header, last column is the target", "a,b,y\n1,2,3\n4,5,6\n", Options{}, `["a" "b"] "y"; 2: [1 2] 3; 3: [4 5] 6`},
	{"no header, no line end at the end", "1,2\n3,-4.5e-3", Options{}, `["x0"] "x1"; 1: [1] 2; 2: [3] -0.0045`},
	{"one row", "1,2\n", Options{}, `["x0"] "x1"; 1: [1] 2`},
	{"byte order mark, CRLF, blanks around cells", "\ufeffa , b\r\n 1,\t2 \r\n", Options{}, `["a"] "b"; 2: [1] 2`},
	{"byte order mark before a number", "\ufeff1,2\n", Options{}, `["x0"] "x1"; 1: [1] 2`},
	{"comments and blank lines", "# one\n  # two \"\n\n# th\xe9 third\na,b\n\n1,2\n   \n3,4\n\n", Options{}, `["a"] "b"; 7: [1] 2; 9: [3] 4`},
	{"quotes", `"a, ""the"" a", "b"` + "\n" + ` "1" ,2` + "\n" + `3,"4"` + "\n", Options{}, `["a, \"the\" a"] "b"; 2: [1] 2; 3: [3] 4`},
	{"quoted cells over several lines", "\"a\r\nb\r\n\r\n# c\",y\r\n1,\"\r\n2\"\r\n3,4\r\n", Options{}, "[\"a\\r\\nb\\r\\n\\r\\n# c\"] \"y\"; 5: [1] 2; 7: [3] 4"},
	{"semicolons", "a;b;c\n1;2;3\n", Options{}, `["a" "b"] "c"; 2: [1 2] 3`},
	{"a semicolon in the header of a comma-separated file", "a;b,c\n1,2\n", Options{}, `["a;b"] "c"; 2: [1] 2`},
	{"tabs, a blank in a name", "the a\tb\n1\t2\n", Options{}, `["the a"] "b"; 2: [1] 2`},
	{"blanks", "  1   2 3\n 10  20 30  \n", Options{}, `["x0" "x1"] "x2"; 1: [1 2] 3; 2: [10 20] 30`},
	{"blanks and tabs mixed, a header with quotes", "\"the a\" b\n1\t\t2\n3 4\n5\t 6\n", Options{}, `["the a"] "b"; 2: [1] 2; 3: [3] 4; 4: [5] 6`},
	{"a single column", "1\n2\n", Options{NoTarget: true}, `["x0"] ""; 1: [1]; 2: [2]`},
	{"a single column whose name has a blank", "the x\n1\n2\n", Options{NoTarget: true}, `["the x"] ""; 2: [1]; 3: [2]`},
	{"names that are missing in the header", "a,,\n1,2,3\n", Options{}, `["a" "x1"] "x2"; 2: [1 2] 3`},
	{"a header of numbers", "2001,2002\n1,2\n", Options{Header: HeaderYes, Target: "2001"}, `["2002"] "2001"; 2: [2] 1`},
	{"a header with a number", "2001,2001-01-01\n1,2\n", Options{},
		`["2001"] "2001-01-01"; 2: [1] 2; line 1 is read as the header, because "2001-01-01" in column 2 is not a number, although "2001" in column 1 is`},
	{"years as names of columns", "site,2019,2020\n1,3.5,7\n2,2.5,8\n", Options{}, `["site" "2019"] "2020"; 2: [1 3.5] 7; 3: [2 2.5] 8; line 1 is read as the header, because "site" in column 1 is not a number, although "2019" in column 2 is`},
	{"years above decimals, one of which is selected", "2019,2020\n1.5,2.5\n2.5,3.5\n", Options{Target: "2020"}, `["2019"] "2020"; 2: [1.5] 2.5; 3: [2.5] 3.5`},
	{"years in quotes above decimals", `"2019","2020"` + "\n1.5,2.5\n", Options{}, `["2019"] "2020"; 2: [1.5] 2.5`},
	{"numbers in quotes above such numbers", `"1","2"` + "\n" + `"1.5","2"` + "\n", Options{}, `["x0"] "x1"; 1: [1] 2; 2: [1.5] 2`},
	{"blanks in quotes", "g,y\n\" u\",1\nu,2\n u,3\n\"u\",4\n", Options{Columns: &feature.Rules{Codes: true}}, `["g"] "y"; 2: [0] 1; 3: [1] 2; 4: [1] 3; 5: [1] 4`},
	{"a row that may be such a header", "0,1,2\n3,4,6\n", Options{}, `["x0" "x1"] "x2"; 1: [0 1] 2; 2: [3 4] 6; line 1 is read as data, although its cells count the columns, as the header of a data frame without names does; option header yes reads it as the header`},
	{"a name that is a number in its column", "a,b,3\n1,2,3\n4,5,2\n", Options{}, `["a" "b"] "3"; 2: [1 2] 3; 3: [4 5] 2; line 1 is read as the header, because "a" in column 1 is not a number, although "3" in column 3 is`},
	{"rows that count", "0,1,2\n1,2,3\n4,5,6\n", Options{}, `["x0" "x1"] "x2"; 1: [0 1] 2; 2: [1 2] 3; 3: [4 5] 6`},
	{"rows that rise", "1,2\n2,4\n3,6\n4,8.5\n", Options{}, `["x0"] "x1"; 1: [1] 2; 2: [2] 4; 3: [3] 6; 4: [4] 8.5`},
	{"carriage returns alone", "a,y\r1,2\r3,4\r", Options{}, `["a"] "y"; 2: [1] 2; 3: [3] 4`},
	{"UTF-16, little end first", "\xff\xfea\x00,\x00\x2f\x04\r\x00\n\x001\x00,\x002\x00", Options{Text: feature.Text{TextEncoding: "latin1"}}, `["a"] "Я"; 2: [1] 2`},
	{"UTF-16, big end first", "\xfe\xff\x00a\x00,\x04\x2f\x00\n\x001\x00,\x002\x00\n", Options{}, `["a"] "Я"; 2: [1] 2`},
	{"UTF-16 without a mark", "a\x00,\x00\x2f\x04\n\x001\x00,\x002\x00\n\x00", Options{Text: feature.Text{TextEncoding: "utf_16_le"}}, `["a"] "Я"; 2: [1] 2`},
	{"Cyrillic letters", "a,\xdf\n1,2\n", Options{Text: feature.Text{TextEncoding: "cp1251"}}, `["a"] "Я"; 2: [1] 2`},
	{"a byte order mark beside the option", "\ufeffa,é\n1,2\n", Options{Text: feature.Text{TextEncoding: "cp1251"}}, `["a"] "é"; 2: [1] 2`},
	{"a header that begins with #", "\"#a\",y\n1,2\n", Options{}, `["#a"] "y"; 2: [1] 2`},
	{"text in columns that are not taken", "day,a,b\nMon,1,2\nTue,3,\n", Options{Features: []string{"a"}, NoTarget: true}, `["a"] ""; 2: [1]; 3: [3]`},
	{"selection by names, indices and ranges", "a,b,c,d,e,f\n0,1,2,3,4,5\n", Options{Target: "-3", Features: []string{"f", "0-2", "-2"}},
		`["f" "a" "b" "c" "e"] "d"; 2: [5 0 1 2 4] 3`},
	{"names win over indices and ranges", "1,0-1,y\n7,8,9\n", Options{Header: HeaderYes, Features: []string{"0-1", "1"}}, `["0-1" "1"] "y"; 2: [8 7] 9`},
	{"two columns of a name, of which one is selected", "a,a,y\n1,2,3\n", Options{Features: []string{"1"}}, `["a"] "y"; 2: [2] 3`},
	{"two columns of a name, of which one is excluded", "a,y,a\n1,3,2\n", Options{Exclude: []string{"2"}}, `["a"] "y"; 2: [1] 3`},
	{"excluded columns", "a,b,c,d,e,y,z\n0,1,2,3,4,5,u\n", Options{Exclude: []string{"b", "3-4", "-1"}}, `["a" "c"] "y"; 2: [0 2] 5`},
	{"a header that counts the columns, with an index", ",0,1\n0,3,4\n1,5,6\n", Options{}, `["0"] "1"; 2: [3] 4; 3: [5] 6; left out column 1 ("x0"), ` + countsFrom("0")},
	{"a comment that may be a row", "# x, y\n#0,4\n2,7\n\"3\",9\n", Options{}, `["x0"] "x1"; 3: [2] 7; 4: [3] 9; a comment has as many cells as the rows: "#0,4"; without the # it would be the header or a row`},
	{"labels that begin with #", "g,y\n#0,4\n#1,5\n#0,7\n#1,9\n", Options{Columns: &feature.Rules{Codes: true}}, `["g"] "y"; 2: [0] 4; 3: [1] 5; 4: [0] 7; 5: [1] 9`},
	{"a blank line at the end of a column", "x\n1\n2\n\n\n", Options{NoTarget: true}, `["x"] ""; 2: [1]; 3: [2]`},
	{"an index of pandas", ",a,y\n0,1,2\n1,3,4\n", Options{}, `["a"] "y"; 2: [1] 2; 3: [3] 4; left out column 1 ("x0"), ` + countsFrom("0")},
	{"row names of R", `"","x0","y"` + "\n" + `"1",1,2` + "\n" + `"2",3,4` + "\n", Options{}, `["x0"] "y"; 2: [1] 2; 3: [3] 4; left out column 1 ("x0_"), ` + countsFrom("1")},
	{"an index of a part, read and written again", "Unnamed: 0.1,Unnamed: 0,index,a,y\n0,7,0,1,2\n1,8,1,3,4\n", Options{},
		`["a"] "y"; 2: [1] 2; 3: [3] 4; left out column 1 ("Unnamed: 0.1"), ` + countsFrom("0") + `; left out column 2 ("Unnamed: 0"), ` + countsFrom("7") + `; left out column 3 ("index"), ` + countsFrom("0")},
	{"an index that is named", ",a,y\n0,1,2\n1,3,4\n", Options{Features: []string{"0", "a"}}, `["x0" "a"] "y"; 2: [0 1] 2; 3: [1 3] 4`},
	{"an index of a reordered table", ",a,y\n4,1,2\n1,3,4\n", Options{},
		`["x0" "a"] "y"; 2: [4 1] 2; 3: [1 3] 4; column 1 ("x0") is an input, but it has no name and only whole numbers, as the index of a data frame; option exclude leaves it out`},
	{"an index beside the target alone", ",y\n0,1\n1,3\n", Options{}, `["x0"] "y"; 2: [0] 1; 3: [1] 3`},
	{"an input called index", "index,a,y\n2,1,2\n3,3,4\n", Options{}, `["index" "a"] "y"; 2: [2 1] 2; 3: [3 3] 4`},
	{"prediction without a target", "a,b\n1,2\n", Options{NoTarget: true, Target: "y"}, `["a" "b"] ""; 2: [1 2]`},
	{"prediction with the target there", "a,y,b\n1,2,3\n", Options{NoTarget: true, Target: "y"}, `["a" "b"] "y"; 2: [1 3] 2`},
	{"prediction with gaps in the target", "a,y\n1,2\n3,NA\n4,NA\n", Options{NoTarget: true, Target: "y"},
		`["a"] ""; 2: [1]; 3: [3]; 4: [4]; left out the target: T:3: column 2 ("y"): not a number: "NA"`},
	{"numbers at the ends of the range", "+1.,.5,4.9e-324,1.7976931348623157e308\n1E5,-0,1e-400,0\n", Options{},
		`["x0" "x1" "x2"] "x3"; 1: [1 0.5 5e-324] 1.7976931348623157e+308; 2: [100000 -0 0] 0`},
	{"a line longer than the buffer", "1,2\n" + strings.Repeat(" ", 2*bufferSize) + "3,4\n5,6\n", Options{},
		`["x0"] "x1"; 1: [1] 2; 2: [3] 4; 3: [5] 6`},
}

// TestIndex leaves an index out of tables with gaps, of several files, and of a subsample, and
// keeps dates and labels.
func TestIndex(t *testing.T) {
	dir := testcheck.Folder(t, map[string]string{"1.csv": ",a,y\n0,1,2\n1,,4\n2,5,6\n", "2.csv": ",a,y\n0,7,8\n", "3.csv": ",a,y\n1,9,1\n"})
	for _, o := range []Options{{Missing: MissingDrop}, {Missing: MissingDrop, Subsample: 2}} {
		for path, index := range map[string]bool{"/1.csv": true, "/[12].csv": true, "/[123].csv": true, "/[13].csv": false} {
			got := testcheck.Get(Read(dir+path, o))(t)
			if d := cmp.Diff([]string{"a"}, got.FeatureNames); index != (d == "") || got.D*got.N != len(got.X) {
				t.Errorf("%s: %s\n%+v", path, d, got)
			}
		}
	}
	for _, text := range []string{",a,y\n2024-01-01,1,2\n2024-01-02,3,4\n", ",a,y\nu,1,2\nv,3,4\nu,3,4\nv,3,4\n"} {
		if got := testcheck.Get(ReadFrom(strings.NewReader(text), "T", Options{Columns: &feature.Rules{Codes: true}}))(t); got.D != 2 || got.Warnings != nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// sketch returns names, rows and warnings of a table: [features] target; line: [inputs] output.
func sketch(t *Table) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q", t.FeatureNames, t.TargetName)
	for i, line := range t.Line {
		fmt.Fprintf(&b, "; %d: %v", line, t.X[i*t.D:(i+1)*t.D])
		if t.Y != nil {
			fmt.Fprintf(&b, " %v", t.Y[i])
		}
	}
	for _, warning := range t.Warnings {
		b.WriteString("; " + warning)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, c := range tableCases {
		for form, in := range map[string]io.Reader{
			"": strings.NewReader(c.text), ", gzip": strings.NewReader(gzipped(t, c.text)), ", byte by byte": iotest.OneByteReader(strings.NewReader(c.text)),
		} {
			got := testcheck.Get(ReadFrom(in, "T", c.opts))(t)
			checkInvariants(t, got)
			if diff := cmp.Diff(c.want, sketch(got)); diff != "" {
				t.Errorf("%s%s: (-want +got)\n%s", c.name, form, diff)
			}
			if got.Reading.Rows != len(got.Line) || got.Reading.Columns < got.D {
				t.Errorf("%s%s: %+v", c.name, form, got.Reading)
			}
			rest := *got
			rest.Reading = feature.Reading{}
			rest.X, rest.Y, rest.FeatureNames, rest.TargetName, rest.Line, rest.Warnings, rest.Encoding = nil, nil, nil, "", nil, nil, nil
			n := len(got.Line)
			if diff := cmp.Diff(Table{Source: "T", N: n, D: got.D, SourceRows: n}, rest); diff != "" {
				t.Errorf("%s%s: (-want +got)\n%s", c.name, form, diff)
			}
		}
	}
}

func TestReadFile(t *testing.T) {
	// Only the content of a file counts, not its name.
	for name, text := range map[string]string{
		"plain.csv": "1,2\n", "plain.gz": "1,2\n",
		"packed.csv": gzipped(t, "1,2\n"), "packed.csv.gz": gzipped(t, "1,2\n"),
		"two-members.gz": gzipped(t, "1,") + gzipped(t, "2\n"),
	} {
		path := writeFile(t, name, text)
		got := testcheck.Get(Read(path, Options{}))(t)
		if got.Source != path || got.N != 1 || got.D != 1 || got.X[0] != 1 || got.Y[0] != 2 {
			t.Errorf("%s: got %+v", name, got)
		}
	}

	_, err := Read(filepath.Join(t.TempDir(), "absent.csv"), Options{})
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, os.ErrNotExist) || e.Msg != "no such file or directory" {
		t.Errorf("absent file: %v", err)
	}
}

// TestReadManyRows reads more than the buffer holds, so that rows extend across its
// end and the separator is guessed from a cut sample.
func TestReadManyRows(t *testing.T) {
	const n = 40_000
	var b strings.Builder
	b.WriteString("a b,c\n")
	for range n {
		b.WriteString("1.25, \"-3\"\n\n2, 7\n")
	}
	got := testcheck.Get(ReadFrom(strings.NewReader(b.String()), "T", Options{}))(t)
	if got.N != 2*n {
		t.Fatalf("%d rows", got.N)
	}
	for i := range n {
		if got.X[2*i] != 1.25 || got.Y[2*i] != -3 || got.X[2*i+1] != 2 || got.Y[2*i+1] != 7 ||
			got.Line[2*i] != 3*i+2 || got.Line[2*i+1] != 3*i+4 {
			t.Fatalf("wrong at pair %d", i)
		}
	}
}

// TestParseNumber checks which of the numbers that strconv knows are numbers of tables.
func TestParseNumber(t *testing.T) {
	for s, want := range map[string]float64{
		"0.": 0, ".5": 0.5, "5.": 5, "-5.": -5, "+1": 1, "1e5": 1e5, "1E-2": 0.01, "00000000000000000001": 1, "9007199254740992": 1 << 53, "-123456789012345000000": -123456789012345000000, "9007199254740993.0": 1 << 53,
		"900719925474099.3": 900719925474099.3, "1.7976931348623157e308": math.MaxFloat64, "4.9e-324": math.SmallestNonzeroFloat64, "1e-400": 0,
	} {
		if got, ok := parseNumber([]byte(s)); !ok || got != want {
			t.Errorf("%q: %v, %v; want %v", s, got, ok, want)
		}
	}
	if got, ok := parseNumber([]byte("-.0")); !ok || !math.Signbit(got) {
		t.Errorf("-.0: %v, %v", got, ok)
	}
	for _, s := range []string{
		"", "+", "-", ".", "+.", "-.", "..", "1.2.3", "1-", "1e", "+-1", "--1", "1,5", "1 ", "1e309", // no finite numbers
		"9007199254740993", "-0009007199254740993", "123456789012345678901", // would be other whole numbers
		"0x1p3", "1_000", "Inf", "-infinity", "NaN", // only strconv knows these
	} {
		if got, ok := parseNumber([]byte(s)); ok {
			t.Errorf("%q is %v", s, got)
		}
	}
}

// endless is a table without end.
type endless struct{ rows int }

func (e *endless) Read(p []byte) (int, error) {
	const row = "0.25,0.5\n"
	n := copy(p, strings.Repeat(row, len(p)/len(row)))
	e.rows += n / len(row)
	return n, nil
}

// TestMaxRows checks that reading stops soon after the last useful row.
func TestMaxRows(t *testing.T) {
	in := &endless{}
	_, err := ReadFrom(in, "-", Options{MaxRows: 10_000})
	var se *Error
	if !errors.As(err, &se) || !se.TooLarge || !strings.Contains(err.Error(), "more than 10000 rows") || !strings.Contains(err.Error(), "--subsample") {
		t.Fatalf("error %v", err)
	}
	if in.rows > 100_000 {
		t.Errorf("%d rows were read", in.rows)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	testcheck.Get(io.CopyN(z, &endless{}, 9*2_000_000))(t)
	testcheck.Do(t, z.Close())
	path := writeFile(t, "bomb.csv.gz", packed.String())
	if _, err := Read(path, Options{MaxRows: 10_000}); !errors.As(err, &se) || !se.TooLarge {
		t.Errorf("%d packed bytes: error %v", packed.Len(), err)
	}
	if tab, err := Read(path, Options{MaxRows: 10_000, Subsample: 50}); err != nil || tab.N != 50 {
		t.Errorf("a subsample: %v", err)
	}
}

// TestManyColumns checks that the memory of a table grows with its cells, even if it has few rows.
func TestManyColumns(t *testing.T) {
	const columns = 400_000
	line := strings.TrimSuffix(strings.Repeat("1,", columns), ",") + "\n"
	tab, err := ReadFrom(strings.NewReader(line+line), "-", Options{})
	if err != nil || tab.N != 2 || tab.D != columns-1 {
		t.Fatal(err)
	}
	if cap(tab.X) > 20*columns {
		t.Errorf("room for %d numbers", cap(tab.X))
	}
}

// TestClaimedRows checks that an archive that claims more rows than its bytes hold is an error.
func TestClaimedRows(t *testing.T) {
	for _, rows := range []int{134_000_000, math.MaxInt64 / 8} {
		header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 2), }", rows)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		text := "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + strings.Repeat("\x00", 64)
		if _, err := Read(writeFile(t, "claims.npy", text), Options{}); err == nil || !strings.Contains(err.Error(), "64 bytes of elements, but its shape") {
			t.Errorf("%d rows: error %v", rows, err)
		}
	}
}
