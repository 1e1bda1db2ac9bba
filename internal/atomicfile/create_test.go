package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"gpfit/internal/testcheck"
)

// TestCreate checks that Create writes new and empty files, refuses to replace others
// before it writes anything, and keeps a file that appears while it writes.
func TestCreate(t *testing.T) {
	dir := t.TempDir()
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	check := func(name, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
	path := filepath.Join(dir, "a.csv.gz")
	testcheck.Do(t, os.WriteFile(path, nil, 0o600))
	testcheck.Do(t, Create(t.Context(), path, text("one")))
	check("a.csv.gz", "one")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	var exists *ExistsError
	err := Create(t.Context(), path, func(io.Writer) error { t.Error("Create wrote"); return nil })
	if !errors.As(err, &exists) || exists.Saved != "" {
		t.Errorf("error %v", err)
	}
	testcheck.Do(t, Writer(true)(t.Context(), path, text("two")))
	check("a.csv.gz", "two")

	other := filepath.Join(dir, "b.csv.gz")
	for _, saved := range []string{"b-2.csv.gz", "b-3.csv.gz"} {
		os.Remove(other)
		err := Create(t.Context(), other, func(w io.Writer) error {
			if err := os.WriteFile(other, []byte("theirs"), 0o600); err != nil {
				return err
			}
			return text("ours")(w)
		})
		if !errors.As(err, &exists) || filepath.Base(exists.Saved) != saved {
			t.Fatalf("error %v, want the file %s", err, saved)
		}
		check("b.csv.gz", "theirs")
		check(saved, "ours")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("%d files, want 4: %v", len(entries), entries)
	}
}
