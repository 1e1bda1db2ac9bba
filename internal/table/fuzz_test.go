package table

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fuzzFormat reads damaged files of one format: no panic, no memory beyond what
// the file can hold, and either a sound table or an [*Error].
func fuzzFormat(f *testing.F, pattern, magic string) {
	paths, err := filepath.Glob(formatsDir + pattern)
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
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := Read(path, Options{Missing: MissingDrop, Subsample: 1000})
		runtime.ReadMemStats(&after)
		// A page of a Parquet file can claim up to 2 GiB, once compressed and
		// once not, and the library believes it. NumPy's formats have no such
		// claims: names of columns are most of it.
		most := uint64(256 << 20)
		if magic == parquetMagic {
			most = 5 << 30
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%d MiB for a file of %d bytes", used>>20, len(data))
		}
		var e *Error
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

func FuzzNPY(f *testing.F) { fuzzFormat(f, "*.npy", npyMagic) }

func FuzzNPZ(f *testing.F) { fuzzFormat(f, "*.npz", "PK\x03\x04") }

func FuzzParquet(f *testing.F) { fuzzFormat(f, "*.parquet", parquetMagic) }
