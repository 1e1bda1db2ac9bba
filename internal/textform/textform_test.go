package textform

import (
	"errors"
	"slices"
	"testing"
)

// TestMark: the mark stands below the faulty character, whatever the bytes
// before it.
func TestMark(t *testing.T) {
	s := Scanner{What: "form", Text: "é\t= x"}
	if word, start := s.Word(); word != "é" || start != 0 {
		t.Errorf("word %q at %d", word, start)
	}
	if err := s.Expect('('); err == nil || err.Error() != "form: expected '(', found \"=\"\n  é\t= x\n    ^" {
		t.Errorf("error %q", err)
	}
	if !s.Accept('=') {
		t.Error("there is an equals sign")
	}
	if err := s.Expected("more"); err == nil || err.Error() != "form: expected more, found \"x\"\n  é\t= x\n      ^" {
		t.Errorf("error %q", err)
	}
}

func TestOneOf(t *testing.T) {
	for text, want := range map[string]string{
		" two":  "",
		"tow":   `unknown number "tow" (did you mean "two"?): known are one, two`,
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

// TestDims: lists print as they are read.
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
