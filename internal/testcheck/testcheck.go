// Package testcheck ends tests at unexpected errors. It has the checks and the loops that many tests
// need.
package testcheck

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Test is a test, or part of one: *testing.T, *testing.B, *testing.F or *rapid.T.
type Test interface {
	Helper()
	Fatal(args ...any)
}

// Long reports whether tests take their long forms: more sizes, more seeds and whole campaigns instead of samples.
// GPFIT_LONG=1, which .ci/full sets, requests them.
func Long() bool { return os.Getenv("GPFIT_LONG") != "" }

// Do ends the test at the first error that is not nil.
func Do(t Test, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Get returns the result of a call without its error: testcheck.Get(os.ReadFile(path))(t) is
// the text of a file. It ends the test if there is an error.
func Get[T any](v T, err error) func(Test) T {
	return func(t Test) T {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Get2 is [Get] for calls with two results and an error.
func Get2[T, U any](v T, w U, err error) func(Test) (T, U) {
	return func(t Test) (T, U) {
		t.Helper()
		Do(t, err)
		return v, w
	}
}

// Folder writes files, by their paths below a new folder, and returns the folder.
func Folder(t interface {
	Test
	TempDir() string
}, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		Do(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// Slice returns f(0), f(1), …, f(n−1).
func Slice[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// Reporter is a test that continues after a failure.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// Near reports the numbers of got that differ from want by more than relative·|want| + absolute.
func Near(t Reporter, what string, got, want []float64, relative, absolute float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", what, len(got), len(want))
		return
	}
	for i, w := range want {
		if !(math.Abs(got[i]-w) <= relative*math.Abs(w)+absolute) {
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// Fail reports an error that is no E or lacks one of the words, and returns the E.
func Fail[E error](t Reporter, err error, words ...string) E {
	t.Helper()
	found, ok := errors.AsType[E](err)
	for _, word := range words {
		ok = ok && strings.Contains(err.Error(), word)
	}
	if !ok {
		t.Errorf("error %v, want %v with %q", err, reflect.TypeFor[E](), words)
	}
	return found
}

// Words reports the words that a text lacks.
func Words(t Reporter, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in\n%s", word, text)
		}
	}
}

// Within reports a number that is farther from the wanted one than the bound, or NaN.
func Within(t Reporter, got, want, bound float64, format string, args ...any) {
	t.Helper()
	if !(math.Abs(got-want) <= bound) {
		t.Errorf(format+": %v, want %v ± %v", append(args, got, want, bound)...)
	}
}
