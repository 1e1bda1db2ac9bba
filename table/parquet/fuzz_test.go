package parquet

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/fuzzguard"
	"gpfit/table"
)

// FuzzParquet reads damaged files. It expects no panic, no memory beyond what the
// file can fill, and either a sound table or an [*table.Error].
func FuzzParquet(f *testing.F) {
	paths, err := filepath.Glob(formats + "*.parquet")
	if err != nil || len(paths) < 5 {
		f.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	path := filepath.Join(f.TempDir(), "table")
	f.Fuzz(func(t *testing.T, data []byte) {
		if !strings.HasPrefix(string(data), magic) {
			return
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var got *table.Table
		var err error
		fuzzguard.Run(t, func() {
			got, err = table.Read(path, table.Options{Missing: table.MissingDrop, Subsample: 1000, Formats: formatList})
		})
		var e *table.Error
		switch {
		case err == nil:
			if got.N < 1 || got.D < 1 || len(got.X) != got.N*got.D || len(got.Y) != got.N {
				t.Fatalf("%d×%d, %d inputs, %d outputs", got.N, got.D, len(got.X), len(got.Y))
			}
			for _, v := range got.X {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					t.Fatalf("not finite: %v", v)
				}
			}
		case !errors.As(err, &e) || got != nil || e.Msg == "" || e.Source != path:
			t.Fatalf("table %v, error %#v", got, err)
		}
	})
}
