package textform

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestMark checks that the mark is below the faulty character for any bytes before
// it.
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
	if got := Call("f", Words([]float64{0.1, 1e300, 100000, 1e6})); got != "f(0.1, 1e+300, 100000, 1e+06)" {
		t.Error(got)
	}
	if got := Call("f", nil); got != "f" {
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
