package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gpfit/internal/must"
)

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
		must.Do(t, os.WriteFile(path, append(append(file, header...), raw...), 0o600))
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
