package table

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// endless is a table without end.
type endless struct{ rows int }

func (e *endless) Read(p []byte) (int, error) {
	const row = "0.25,0.5\n"
	n := copy(p, strings.Repeat(row, len(p)/len(row)))
	e.rows += n / len(row)
	return n, nil
}

// TestMaxRows checks that reading stops soon after the last useful row.
func TestMaxRows(t *testing.T) {
	in := &endless{}
	_, err := ReadFrom(in, "-", Options{MaxRows: 10_000})
	var se *Error
	if !errors.As(err, &se) || !se.TooLarge || !strings.Contains(err.Error(), "more than 10000 rows") || !strings.Contains(err.Error(), "--subsample") {
		t.Fatalf("error %v", err)
	}
	if in.rows > 100_000 {
		t.Errorf("%d rows were read", in.rows)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := io.CopyN(z, &endless{}, 9*2_000_000); err != nil {
		t.Fatal(err)
	}
	must.Do(t, z.Close())
	path := filepath.Join(t.TempDir(), "bomb.csv.gz")
	must.Do(t, os.WriteFile(path, packed.Bytes(), 0o644))
	if _, err := Read(path, Options{MaxRows: 10_000}); !errors.As(err, &se) || !se.TooLarge {
		t.Errorf("%d packed bytes: error %v", packed.Len(), err)
	}
	if tab, err := Read(path, Options{MaxRows: 10_000, Subsample: 50}); err != nil || tab.N != 50 {
		t.Errorf("a subsample: %v", err)
	}
}

// TestManyColumns checks that the memory of a table grows with its cells, even if it
// has few rows.
func TestManyColumns(t *testing.T) {
	const columns = 400_000
	line := strings.TrimSuffix(strings.Repeat("1,", columns), ",") + "\n"
	tab, err := ReadFrom(strings.NewReader(line+line), "-", Options{})
	if err != nil || tab.N != 2 || tab.D != columns-1 {
		t.Fatal(err)
	}
	if cap(tab.X) > 20*columns {
		t.Errorf("room for %d numbers", cap(tab.X))
	}
}

// TestClaimedRows checks that an archive that claims more rows than its bytes can
// hold is an immediate error.
func TestClaimedRows(t *testing.T) {
	for _, rows := range []int{134_000_000, math.MaxInt64 / 8} {
		header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, 2), }", rows)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		text := "\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header + strings.Repeat("\x00", 64)
		path := filepath.Join(t.TempDir(), "claims.npy")
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		if _, err := Read(path, Options{}); err == nil || !strings.Contains(err.Error(), "64 bytes of elements, but its shape") {
			t.Errorf("%d rows: error %v", rows, err)
		}
	}
}
