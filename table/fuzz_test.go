package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/fuzzguard"
)

// fuzzFormat reads damaged files of one format. It expects no panic, no memory beyond
// what the file can fill, and either a sound table or an [*Error].
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
		var got *Table
		var err error
		fuzzguard.Run(t, func() { got, err = Read(path, Options{Missing: MissingDrop, Subsample: 1000}) })
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

// FuzzNPYNumbers checks that numbers written as a NumPy array of any type and order
// are read back unchanged.
func FuzzNPYNumbers(f *testing.F) {
	f.Add(uint8(3), []byte("0123456789abcdef01234567"))
	f.Add(uint8(1), make([]byte, 64))
	path := filepath.Join(f.TempDir(), "table.npy")
	f.Fuzz(func(t *testing.T, cols uint8, raw []byte) {
		d := int(cols%8) + 1
		n := len(raw) / 8 / d
		if n == 0 {
			return
		}
		raw = raw[:8*n*d]
		header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }\n", n, d)
		file := append([]byte(npyMagic+"\x01\x00"), byte(len(header)), byte(len(header)>>8))
		if err := os.WriteFile(path, append(append(file, header...), raw...), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path, Options{NoTarget: true})
		for i := range n * d {
			bits := binary.LittleEndian.Uint64(raw[8*i:])
			v := math.Float64frombits(bits)
			if math.IsNaN(v) || math.IsInf(v, 0) {
				var e *Error
				if !errors.As(err, &e) || e.Row != i/d+1 || e.Column != i%d+1 {
					t.Fatalf("number %d is %v, error %v", i, v, err)
				}
				return
			}
			if err == nil && math.Float64bits(got.X[i]) != bits {
				t.Fatalf("number %d is %v, read %v", i, v, got.X[i])
			}
		}
		if err != nil || got.N != n || got.D != d {
			t.Fatalf("%d×%d: %v", n, d, err)
		}
	})
}
