package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/must"
)

// gzipped returns s compressed with gzip.
func gzipped(t testing.TB, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	must.Do(t, z.Close())
	return b.String()
}

// tableCases are texts that are tables. want leaves out Source, and N and D, which
// follow from Line and FeatureNames.
var tableCases = []struct {
	name, text string
	opts       Options
	want       Table
}{
	{
		name: "header, last column is the target",
		text: "a,b,y\n1,2,3\n4,5,6\n",
		want: Table{X: []float64{1, 2, 4, 5}, Y: []float64{3, 6}, FeatureNames: []string{"a", "b"}, TargetName: "y", Line: []int{2, 3}},
	},
	{
		name: "no header, no line end at the end",
		text: "1,2\n3,-4.5e-3",
		want: Table{X: []float64{1, 3}, Y: []float64{2, -4.5e-3}, FeatureNames: []string{"x0"}, TargetName: "x1", Line: []int{1, 2}},
	},
	{
		name: "one row",
		text: "1,2\n",
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"x0"}, TargetName: "x1", Line: []int{1}},
	},
	{
		name: "byte order mark, CRLF, blanks around cells",
		text: "\ufeffa , b\r\n 1,\t2 \r\n",
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"a"}, TargetName: "b", Line: []int{2}},
	},
	{
		name: "byte order mark before a number",
		text: "\ufeff1,2\n",
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"x0"}, TargetName: "x1", Line: []int{1}},
	},
	{
		name: "comments and blank lines",
		text: "# one\n  # two \"\n\na,b\n\n# three\n1,2\n   \n3,4\n\n",
		want: Table{X: []float64{1, 3}, Y: []float64{2, 4}, FeatureNames: []string{"a"}, TargetName: "b", Line: []int{7, 9}},
	},
	{
		name: "quotes",
		text: `"a, ""the"" a", "b"` + "\n" + ` "1" ,2` + "\n" + `3,"4"` + "\n",
		want: Table{X: []float64{1, 3}, Y: []float64{2, 4}, FeatureNames: []string{`a, "the" a`}, TargetName: "b", Line: []int{2, 3}},
	},
	{
		name: "quoted cells over several lines",
		text: "\"a\r\nb\r\n\r\n# c\",y\r\n1,\"\r\n2\"\r\n3,4\r\n",
		want: Table{X: []float64{1, 3}, Y: []float64{2, 4}, FeatureNames: []string{"a\nb\n\n# c"}, TargetName: "y", Line: []int{5, 7}},
	},
	{
		name: "semicolons",
		text: "a;b;c\n1;2;3\n",
		want: Table{X: []float64{1, 2}, Y: []float64{3}, FeatureNames: []string{"a", "b"}, TargetName: "c", Line: []int{2}},
	},
	{
		name: "a semicolon in the header of a comma-separated file",
		text: "a;b,c\n1,2\n",
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"a;b"}, TargetName: "c", Line: []int{2}},
	},
	{
		name: "tabs, a blank in a name",
		text: "the a\tb\n1\t2\n",
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"the a"}, TargetName: "b", Line: []int{2}},
	},
	{
		name: "blanks",
		text: "  1   2 3\n 10  20 30  \n",
		want: Table{X: []float64{1, 2, 10, 20}, Y: []float64{3, 30}, FeatureNames: []string{"x0", "x1"}, TargetName: "x2", Line: []int{1, 2}},
	},
	{
		name: "blanks and tabs mixed, a header with quotes",
		text: "\"the a\" b\n1\t\t2\n3 4\n5\t 6\n",
		want: Table{X: []float64{1, 3, 5}, Y: []float64{2, 4, 6}, FeatureNames: []string{"the a"}, TargetName: "b", Line: []int{2, 3, 4}},
	},
	{
		name: "a single column",
		text: "1\n2\n",
		opts: Options{NoTarget: true},
		want: Table{X: []float64{1, 2}, FeatureNames: []string{"x0"}, Line: []int{1, 2}},
	},
	{
		name: "a single column whose name has a blank",
		text: "the x\n1\n2\n",
		opts: Options{NoTarget: true},
		want: Table{X: []float64{1, 2}, FeatureNames: []string{"the x"}, Line: []int{2, 3}},
	},
	{
		name: "separator given",
		text: "1|2\n",
		opts: Options{Comma: '|'},
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"x0"}, TargetName: "x1", Line: []int{1}},
	},
	{
		name: "separator given that has more than one byte",
		text: "\"a¦\"¦b\n1 ¦ 2\n",
		opts: Options{Comma: '¦'},
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"a¦"}, TargetName: "b", Line: []int{2}},
	},
	{
		name: "blanks given",
		text: "a, b\n1 2\n",
		opts: Options{Comma: ' '},
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"a,"}, TargetName: "b", Line: []int{2}},
	},
	{
		name: "names that are missing in the header",
		text: "a,,\n1,2,3\n",
		want: Table{X: []float64{1, 2}, Y: []float64{3}, FeatureNames: []string{"a", "x1"}, TargetName: "x2", Line: []int{2}},
	},
	{
		name: "a header of numbers",
		text: "2001,2002\n1,2\n",
		opts: Options{Header: HeaderYes, Target: "2001"},
		want: Table{X: []float64{2}, Y: []float64{1}, FeatureNames: []string{"2002"}, TargetName: "2001", Line: []int{2}},
	},
	{
		name: "a header that may be data",
		text: "1,2001-01-01\n1,2\n",
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"1"}, TargetName: "2001-01-01", Line: []int{2},
			Warnings: []string{`line 1 is read as the header, because "2001-01-01" in column 2 is not a number, although "1" in column 1 is`}},
	},
	{
		name: "text in columns that are not taken",
		text: "day,a,b\nMon,1,2\nTue,3,\n",
		opts: Options{Features: []string{"a"}, NoTarget: true},
		want: Table{X: []float64{1, 3}, FeatureNames: []string{"a"}, Line: []int{2, 3}},
	},
	{
		name: "selection by names, indices and ranges",
		text: "a,b,c,d,e,f\n0,1,2,3,4,5\n",
		opts: Options{Target: "-3", Features: []string{"f", "0-2", "-2"}},
		want: Table{X: []float64{5, 0, 1, 2, 4}, Y: []float64{3}, FeatureNames: []string{"f", "a", "b", "c", "e"}, TargetName: "d", Line: []int{2}},
	},
	{
		name: "names win over indices and ranges",
		text: "1,0-1,y\n7,8,9\n",
		opts: Options{Header: HeaderYes, Features: []string{"0-1", "1"}},
		want: Table{X: []float64{8, 7}, Y: []float64{9}, FeatureNames: []string{"0-1", "1"}, TargetName: "y", Line: []int{2}},
	},
	{
		name: "a duplicate name that nothing selects by",
		text: "a,a,y\n1,2,3\n",
		opts: Options{Target: "y"},
		want: Table{X: []float64{1, 2}, Y: []float64{3}, FeatureNames: []string{"a", "a"}, TargetName: "y", Line: []int{2}},
	},
	{
		name: "prediction without a target",
		text: "a,b\n1,2\n",
		opts: Options{NoTarget: true, Target: "y"},
		want: Table{X: []float64{1, 2}, FeatureNames: []string{"a", "b"}, Line: []int{2}},
	},
	{
		name: "prediction with the target there",
		text: "a,y,b\n1,2,3\n",
		opts: Options{NoTarget: true, Target: "y"},
		want: Table{X: []float64{1, 3}, Y: []float64{2}, FeatureNames: []string{"a", "b"}, TargetName: "y", Line: []int{2}},
	},
	{
		name: "prediction with gaps in the target",
		text: "a,y\n1,2\n3,NA\n4,NA\n",
		opts: Options{NoTarget: true, Target: "y"},
		want: Table{X: []float64{1, 3, 4}, FeatureNames: []string{"a"}, Line: []int{2, 3, 4},
			Warnings: []string{`left out the target: T:3: column 2 ("y"): not a number: "NA"`}},
	},
	{
		name: "numbers at the ends of the range",
		text: "+1.,.5,4.9e-324,1.7976931348623157e308\n1E5,-0,1e-400,0\n",
		want: Table{X: []float64{1, .5, 4.9e-324, 1e5, 0, 0}, Y: []float64{1.7976931348623157e308, 0},
			FeatureNames: []string{"x0", "x1", "x2"}, TargetName: "x3", Line: []int{1, 2}},
	},
	{
		name: "a name that is not UTF-8",
		text: "temp \xb0C,y\n1,2\n",
		want: Table{X: []float64{1}, Y: []float64{2}, FeatureNames: []string{"temp \ufffdC"}, TargetName: "y", Line: []int{2}},
	},
	{
		name: "a line longer than the buffer",
		text: "1,2\n" + strings.Repeat(" ", 2*bufferSize) + "3,4\n5,6\n",
		want: Table{X: []float64{1, 3, 5}, Y: []float64{2, 4, 6}, FeatureNames: []string{"x0"}, TargetName: "x1", Line: []int{1, 2, 3}},
	},
}

func TestRead(t *testing.T) {
	for _, c := range tableCases {
		want := c.want
		want.Source, want.N, want.D, want.SourceRows = "T", len(want.Line), len(want.FeatureNames), len(want.Line)
		check := func(t *testing.T, text string) {
			got := must.Get(ReadFrom(strings.NewReader(text), "T", c.opts))(t)
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Error("(-want +got)\n" + diff)
			}
		}
		t.Run(c.name, func(t *testing.T) { check(t, c.text) })
		t.Run(c.name+", gzip", func(t *testing.T) { check(t, gzipped(t, c.text)) })
		t.Run(c.name+", byte by byte", func(t *testing.T) {
			got, err := ReadFrom(iotest.OneByteReader(strings.NewReader(c.text)), "T", c.opts)
			if err != nil || !reflect.DeepEqual(got, &want) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	// Only the content of a file counts, not its name.
	for name, text := range map[string]string{
		"plain.csv": "1,2\n", "plain.gz": "1,2\n",
		"packed.csv": gzipped(t, "1,2\n"), "packed.csv.gz": gzipped(t, "1,2\n"),
		"two-members.gz": gzipped(t, "1,") + gzipped(t, "2\n"),
	} {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		got, err := Read(path, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Source != path || got.N != 1 || got.D != 1 || got.X[0] != 1 || got.Y[0] != 2 {
			t.Errorf("%s: got %+v", name, got)
		}
	}

	_, err := Read(filepath.Join(dir, "absent.csv"), Options{})
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, fs.ErrNotExist) || e.Msg != "no such file or directory" {
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
	got := must.Get(ReadFrom(strings.NewReader(b.String()), "T", Options{}))(t)
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
