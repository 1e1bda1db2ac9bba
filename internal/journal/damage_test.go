package journal

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gpfit/internal/must"
)

// TestDamage checks that a journal with one changed bit is rejected, or that all
// records read from it are as written. Its last line may be lost.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	j := must.Get(Open(path, "job", failures))(t)
	s := j.Sequence("a")
	for i := range 8 {
		z := []float64{float64(i), math.Pi}
		must.Do(t, errors.Join(s.Record(z, float64(i), nil, nil), s.Record(z, float64(i), []float64{1, -float64(i)}, nil), s.Record(z, 0, nil, &undefined{3})))
	}
	must.Do(t, j.Close())
	whole := must.Get(os.ReadFile(path))(t)
	want := &Journal{past: map[string][]record{}}
	if _, err := want.read(string(whole), head+"job\n"); err != nil {
		t.Fatal(err)
	}
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
