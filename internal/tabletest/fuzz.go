// Package tabletest has tests that every format of package table passes.
package tabletest

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/feature"
	"gpfit/internal/fuzzguard"
	"gpfit/internal/must"
	"gpfit/table"
)

// Fuzz reads damaged files of one format, which begin with magic; the files that pattern
// names are the seeds. It expects no panic, no memory beyond what the file can fill, and
// either a sound table or a [*table.Error]. It reads each file twice, with and without
// columns that are not numbers.
func Fuzz(f *testing.F, pattern, magic string, formats ...table.Format) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) < 5 {
		f.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		data := must.Get(os.ReadFile(path))(f)
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "table")
	f.Fuzz(func(t *testing.T, data []byte) {
		if !strings.HasPrefix(string(data), magic) {
			return
		}
		must.Do(t, os.WriteFile(path, data, 0o600))
		for _, rules := range []*feature.Rules{nil, {}} {
			var got *table.Table
			var err error
			fuzzguard.Run(t, func() {
				got, err = table.Read(path, table.Options{Missing: table.MissingDrop, Subsample: 1000, Columns: rules, Formats: formats})
			})
			check(t, path, got, err)
		}
	})
}

// check fails unless the table is sound or the error is a [*table.Error].
func check(t *testing.T, path string, got *table.Table, err error) {
	t.Helper()
	var e *table.Error
	switch {
	case err == nil:
		if got.N < 1 || got.D < 1 || len(got.X) != got.N*got.D || len(got.Y) != got.N || len(got.FeatureNames) != got.D {
			t.Fatalf("%d×%d, %d inputs, %d outputs", got.N, got.D, len(got.X), len(got.Y))
		}
		for _, v := range got.X {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("not finite: %v", v)
			}
		}
		if got.Encoding != nil {
			must.Do(t, got.Encoding.Check(got.FeatureNames))
		}
	case !errors.As(err, &e) || got != nil || e.Msg == "" || e.Source != path:
		t.Fatalf("table %v, error %#v", got, err)
	}
}
