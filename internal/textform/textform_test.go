package textform

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestMark checks that the mark is below the faulty character for any bytes before it.
func TestMark(t *testing.T) {
	s := Scanner{What: "form", Text: "é\t= x"}
	if word, start := s.Word(); word != "é" || start != 0 {
		t.Errorf("word %q at %d", word, start)
	}
	if err := s.Expect('('); err == nil || err.Error() != "form: expected '(', found \"=\"\n  é = x\n    ^" {
		t.Errorf("error %q", err)
	}
	if !s.Accept('=') {
		t.Error("there is an equals sign")
	}
	if err := s.Expected("more"); err == nil || err.Error() != "form: expected more, found \"x\"\n  é = x\n      ^" {
		t.Errorf("error %q", err)
	}
}

func TestOneOf(t *testing.T) {
	for text, want := range map[string]string{
		" two":  "",
		"tow":   `unknown number "tow" (did you mean "two"?): the known ones are one, two`,
		"2":     "expected a number: one of one, two",
		"":      "expected a number: one of one, two",
		"\xfft": "expected a number: one of one, two",
	} {
		s := Scanner{Text: text}
		_, _, err := s.OneOf("number", []string{"one", "two"})
		var e *Error
		if errors.As(err, &e) != (want != "") || e != nil && e.Msg != want {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestDims checks that lists print as they are read.
func TestDims(t *testing.T) {
	for _, want := range [][]int{{3}, {2, 0, 11}} {
		s := Scanner{Text: "=" + List(want)}
		if got, err := s.Dims(); err != nil || !slices.Equal(got, want) || !s.AtEnd() {
			t.Errorf("%s: %v, %v", s.Text, got, err)
		}
	}
	for text, pos := range map[string]int{"3": 0, "=": 1, "=[]": 2, "=[1, 1]": 5, "=[1 2]": 4, "=[1,": 4, "=-1": 1, "=1.5": 1, "=x": 1} {
		s := Scanner{Text: text}
		_, err := s.Dims()
		var e *Error
		if !errors.As(err, &e) || e.Pos != pos {
			t.Errorf("%q: %v, want an error at %d", text, err, pos)
		}
	}
}

func TestPrint(t *testing.T) {
	if got := Call("f", Words([]float64{0.1, 1e300, 100000, 1e6})) + Call("g", nil); got != "f(0.1, 1e+300, 100000, 1e+06)g" {
		t.Error(got)
	}
}

// TestLong checks that an error shows one line of a long text with the mark below
// the fault, and no control characters for a terminal.
func TestLong(t *testing.T) {
	text := strings.Repeat("é+", 50000) + "\x1b[31m?" + strings.Repeat("+rbf", 50000)
	e := &Error{What: "kernel", Text: text, Pos: strings.IndexByte(text, '?'), Msg: "bad"}
	lines := strings.Split(e.Error(), "\n")
	if len(lines) != 3 || len(e.Error()) > 600 || strings.ContainsRune(e.Error(), '\x1b') {
		t.Fatalf("%d bytes: %.500q", len(e.Error()), e.Error())
	}
	mark := utf8.RuneCountInString(lines[2]) - 1
	if got := []rune(lines[1])[mark]; got != '?' {
		t.Errorf("the mark is below %q:\n%s", got, e)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb":                      "a\nb",
		"a\x1b]0;x\x07\u202e\xff\r": `a\x1b]0;x\a\u202e\xff\r`,
		strings.Repeat("x", 30):     "xxxxxxxxxxxxxxx … xxxxx",
		"größer":                    "größer",
	} {
		if got := Printable(in, 20); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestLabel checks how columns are called: by their names, unless they are empty or
// shared, and with quotes where digits or other characters would be read differently.
func TestLabel(t *testing.T) {
	c := Columns{"temp", "wind speed", "3", "a]b", `say "x"`, "same", "same", "", "1e3", "größe", "a=b", "a,b", "x/y:z", "tab\t"}
	want := []string{"temp", `"wind speed"`, `"3"`, `"a]b"`, `"say \"x\""`, "5", "6", "7", `"1e3"`, "größe", `"a=b"`, `"a,b"`, "x/y:z", `"tab\t"`}
	for i := range c {
		if got := c.Label(i); got != want[i] {
			t.Errorf("column %q is called %s, want %s", c[i], got, want[i])
		}
	}
	if unnamed, other := (Columns{"x0", "x1", "x2"}).Label(1), (Columns{"x1", "x0"}).Label(0); unnamed != "1" || other != "x1" {
		t.Errorf("a column without a name is called %s, and x1 before x0 %s", unnamed, other)
	}
}

// TestNamesReadBack checks that any names of columns read back, in parameters, NAME=VALUE and dims.
func TestNamesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Columns(rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune(`ab 01"\\[](),='+*x`)), 0, 6, -1)), 1, 6).Draw(t, "columns"))
		all := make([]int, len(c))
		for i, name := range c {
			all[i] = i
			indexed := "k1.lengthscale[" + string(rune('0'+i)) + "]"
			shown := c.Display(indexed)
			if got := c.Indexed(shown); got != indexed {
				t.Fatalf("column %q: %s becomes %s and %s", name, indexed, shown, got)
			}
			if got, value, ok := CutName(shown + "=1=2"); !ok || got != shown || value != "1=2" {
				t.Fatalf("%s=1=2 is split into %q and %q", shown, got, value)
			}
			label := "noise_variance[" + QuoteName(name) + "]"
			if base, got, ok := Unquoted(label); name != "" && strings.ToValidUTF8(name, "") == name && (!ok || base != "noise_variance" || got != name) {
				t.Fatalf("%s is read as %q, %q", label, base, got)
			}
		}
		s := Scanner{Text: "=" + c.ColumnList(all), Columns: c}
		if got, err := s.Dims(); err != nil || !slices.Equal(got, all) || !s.AtEnd() {
			t.Fatalf("dims%s: %v, %v", s.Text, got, err)
		}
	})
}

// TestIndexed checks which names in options mean a column.
func TestIndexed(t *testing.T) {
	c := Columns{"temp", "3", "b", "c", "d", "d"}
	for name, want := range map[string]string{
		"lengthscale[temp]":       "lengthscale[0]",
		`lengthscale["temp"]`:     "lengthscale[0]",
		"lengthscale[ temp ]":     "lengthscale[0]",
		"lengthscale[3]":          "lengthscale[3]",
		`lengthscale["3"]`:        "lengthscale[1]",
		"mean_power[b, 2]":        "mean_power[2,2]",
		"lengthscale":             "lengthscale",
		"lengthscale[temp":        "lengthscale[temp",
		"lengthscale[tmp]":        "lengthscale[tmp]",
		"lengthscale[d]":          "lengthscale[d]", // two columns
		`lengthscale["temp]`:      `lengthscale["temp]`,
		"lengthscale[temp b]":     "lengthscale[temp b]",
		"k1.k2.lengthscale[temp]": "k1.k2.lengthscale[0]",
	} {
		if got := c.Indexed(name); got != want {
			t.Errorf("%s is read as %s, want %s", name, got, want)
		}
	}
}

// TestNameErrors checks that errors about names in dims say what to do.
func TestNameErrors(t *testing.T) {
	c := Columns{"temp", "wind speed", "same", "same"}
	for text, want := range map[string]string{
		"=tmep":          `no column is called "tmep" (did you mean "temp"?)`,
		"=pressure":      `no column is called "pressure"; the columns are temp, "wind speed", 2, 3`,
		"=same":          `several columns are called "same": use the index of one of them`,
		"=-1":            "neither an index from 0 nor a name",
		`="temp`:         "quotes of this name do not end",
		`="\q"`:          "escapes of JSON",
		"=[temp, 0]":     "column 0 is given twice",
		`=[temp,"temp"]`: `column "temp" is given twice`,
		"=[]":            "expected the name or the index of a column",
	} {
		s := Scanner{What: "kernel", Text: text, Columns: c}
		if _, err := s.Dims(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("dims%s: %v, want %q", text, err, want)
		}
	}
	if _, err := (&Scanner{Text: "=temp"}).Dims(); err == nil || !strings.Contains(err.Error(), "have no names here") {
		t.Errorf("a name without a table: %v", err)
	}
	if got, err := (&Scanner{Text: `=[temp, "wind speed"]`, AnyColumn: true}).Dims(); err != nil || len(got) != 2 || got[0] == got[1] {
		t.Errorf("before the table is read: %v, %v", got, err)
	}
	if _, err := (&Scanner{Text: `=[temp, temp]`, AnyColumn: true}).Dims(); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the same name twice: %v", err)
	}
}
func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"16x11": {16, 11}, "6x4in": {15.24, 10.16}, "160x110mm": {16, 11}, "960x480px": {25.4, 12.7}, " 16 × 11 cm ": {16, 11},
	} {
		got, err := ParseSize(text)
		if err != nil || math.Abs(got.Width-want.Width)+math.Abs(got.Height-want.Height) > 1e-12 {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "16", "16x", "x11", "-1x3", "1x1", "16x11pt", "1e9x3", "NaNx3", "16,11", "1.2.3x4", "300x10"} {
		if s, err := ParseSize(text); err == nil {
			t.Errorf("%q: %v", text, s)
		}
	}
}
