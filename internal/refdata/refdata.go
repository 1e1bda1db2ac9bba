// Package refdata finds reference data sets for tests. The repository may not
// distribute them; they are in a folder "shared" next to it. Tests that need them
// skip with a message if that folder is missing.
package refdata

import (
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a reference file, or skips the test if it is missing.
func Path(t testing.TB, elem ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Fatal("no go.mod above the test's folder")
	}
	path := filepath.Join(append([]string{filepath.Dir(dir), "shared"}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("SKIPPED: the reference data %s is not on this machine", filepath.Join(elem...))
	}
	return path
}
