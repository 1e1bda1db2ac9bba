package journal

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// undefined is an error that a journal records.
type undefined struct{ at float64 }

func (e *undefined) Error() string { return fmt.Sprint("undefined at ", e.at) }

var failures = Failures{
	Numbers: func(err error) []float64 {
		var u *undefined
		if !errors.As(err, &u) {
			return nil
		}
		return []float64{u.at}
	},
	Error: func(numbers []float64) error { return &undefined{numbers[0]} },
}

// TestReplay checks that each stream replays its records, including errors, bit by
// bit, in order and once.
func TestReplay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	open := func() *Journal {
		t.Helper()
		return testcheck.Get(Open(path, "job", failures))(t)
	}
	j := open()
	z, other := []float64{1, math.Pi}, []float64{2, 3}
	a, b := j.Sequence("a"), j.Sequence("b")
	testcheck.Do(t,
		a.Record(z, -0.1, nil, nil), b.Record(other, 7, nil, nil), a.Record(z, -0.1, []float64{math.Inf(1), 1e-300}, nil),
		a.Record(other, 0, nil, &undefined{4}), a.Record(z, 0, nil, errors.New("ends the run")), j.Close(), j.Close())
	j = open()
	defer j.Close()
	a, b = j.Sequence("a"), j.Sequence("b")
	grad := make([]float64, 2)
	if f, ok, err := b.Replay(other, nil); f != 7 || !ok || err != nil {
		t.Errorf("b: %v, %v, %v", f, ok, err)
	}
	if f, ok, err := a.Replay(z, nil); f != -0.1 || !ok || err != nil {
		t.Errorf("value: %v, %v, %v", f, ok, err)
	}
	if f, ok, err := a.Replay(z, grad); f != -0.1 || !ok || err != nil || !slices.Equal(grad, []float64{math.Inf(1), 1e-300}) {
		t.Errorf("gradient: %v, %v, %v, %v", f, grad, ok, err)
	}
	var u *undefined
	if _, ok, err := a.Replay(other, nil); !ok || !errors.As(err, &u) || u.at != 4 {
		t.Errorf("failure: %v, %v", ok, err)
	}
	if _, ok, err := a.Replay(z, nil); ok || err != nil {
		t.Errorf("after the last: %v, %v", ok, err)
	}
	if _, ok, _ := j.Sequence("a").Replay(z, nil); ok {
		t.Error("a stream is replayed twice")
	}
}

// TestOtherRun checks that an evaluation at another point than recorded is an
// error, and so is a second process, another job or another file.
func TestOtherRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log")
	j := testcheck.Get(Open(path, "job", failures))(t)
	testcheck.Do(t, j.Sequence("a").Record([]float64{1}, 2, nil, nil))
	refused := func(path, job, want string) {
		t.Helper()
		var e *Error
		if again, err := Open(path, job, failures); again != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	refused(path, "job", "another process")
	j.Close()
	refused(path, "other", "belongs to another job")
	refused(dir, "job", "is a folder, not a file")
	for name, size := range map[string]int{"zeros": 100, "image": mostLost + 1} {
		testcheck.Do(t, os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600))
	}
	testcheck.Do(t, testcheck.Get(Open(filepath.Join(dir, "zeros"), "job", failures))(t).Close()) // lost by a failure of the machine
	refused(filepath.Join(dir, "image"), "job", "is not a checkpoint")
	text := filepath.Join(dir, "text")
	testcheck.Do(t, os.WriteFile(text, []byte("my notes\n"), 0o600))
	refused(text, "job", "is not a checkpoint")
	for what, ask := range map[string]func(s *Sequence) error{
		"another point": func(s *Sequence) error { _, _, err := s.Replay([]float64{2}, nil); return err },
		"a gradient":    func(s *Sequence) error { _, _, err := s.Replay([]float64{1}, make([]float64, 1)); return err },
	} {
		j = testcheck.Get(Open(path, "job", failures))(t)
		var e *Error
		if err := ask(j.Sequence("a")); !errors.As(err, &e) {
			t.Errorf("%s: %v", what, err)
		}
		j.Close()
	}
	j = testcheck.Get(Open(path, "job", failures))(t)
	testcheck.Do(t, j.Remove())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("removed: %v", err)
	}
}

// FuzzJournal checks that any file is rejected or read up to its first invalid
// line, and that the valid part reads the same again.
func FuzzJournal(f *testing.F) {
	first := head + "job\n"
	line := string(appendRecord(nil, "full-0", record{kind: gradientRecord, point: 7, numbers: []float64{1, -2}}))
	for _, text := range []string{"", first, first + line, first + line + line[:9], first[:5], first + "x\n" + line, "a\nb\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		j := &Journal{past: map[string][]record{}}
		good, err := j.read(string(text), head+"job\n")
		if err != nil {
			return
		}
		if good < 0 || good > int64(len(text)) {
			t.Fatalf("%d good bytes of %d", good, len(text))
		}
		again := &Journal{past: map[string][]record{}}
		if n, err := again.read(string(text[:good]), head+"job\n"); err != nil || n != good || len(again.past) != len(j.past) {
			t.Fatalf("%d good bytes, then %d (%v)", good, n, err)
		}
	})
}

// TestDamage checks that a journal with one changed bit is rejected, or that all
// records read from it are as written. Its last line may be lost.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	j := testcheck.Get(Open(path, "job", failures))(t)
	s := j.Sequence("a")
	for i := range 8 {
		z := []float64{float64(i), math.Pi}
		testcheck.Do(t, errors.Join(s.Record(z, float64(i), nil, nil), s.Record(z, float64(i), []float64{1, -float64(i)}, nil), s.Record(z, 0, nil, &undefined{3})))
	}
	testcheck.Do(t, j.Close())
	whole := testcheck.Get(os.ReadFile(path))(t)
	want := &Journal{past: map[string][]record{}}
	testcheck.Get(want.read(string(whole), head+"job\n"))(t)
	refused := 0
	for i := range whole {
		for bit := range 8 {
			text := slices.Clone(whole)
			text[i] ^= 1 << bit
			got := &Journal{past: map[string][]record{}}
			if _, err := got.read(string(text), head+"job\n"); err != nil {
				refused++
				continue
			}
			checkPrefix(t, got.past, want.past["a"], i, bit)
		}
	}
	t.Logf("%d of %d flips refused, the others harmless", refused, 8*len(whole))
}

// checkPrefix checks that all records but the last are as written.
func checkPrefix(t *testing.T, got map[string][]record, want []record, at, bit int) {
	t.Helper()
	a := got["a"]
	if len(got) > 1 || len(a) < len(want)-2 {
		t.Fatalf("bit %d of byte %d: %d streams, %d of %d records", bit, at, len(got), len(a), len(want))
	}
	for i, r := range a {
		if r.kind != want[i].kind || r.point != want[i].point || !slices.Equal(r.numbers, want[i].numbers) {
			t.Fatalf("bit %d of byte %d: record %d is %v, want %v", bit, at, i, r, want[i])
		}
	}
}
