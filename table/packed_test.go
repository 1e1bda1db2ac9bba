package table

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"gpfit/internal/testcheck"
)

// TestPacked reads a table in each compression, whole and cut at every byte.
func TestPacked(t *testing.T) {
	const text = "x,y\n1,2\n3,4\n"
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	testcheck.Get(testcheck.Get(z.Create("table.csv"))(t).Write([]byte(text)))(t)
	testcheck.Do(t, z.Close())
	encoder := testcheck.Get(zstd.NewWriter(nil))(t)
	for name, packed := range map[string][]byte{
		"gzip": []byte(gzipped(t, text)), "zip": archive.Bytes(), "zstd": encoder.EncodeAll([]byte(text), nil),
		"bzip2": testcheck.Get(hex.DecodeString("425a6839314159265359f9d0b77f0000055880001000043c0000602000221ea18843022734e3801e2ee48a70a121f3a16efe"))(t),
	} {
		path := filepath.Join(t.TempDir(), name)
		for n := 3; n <= len(packed); n++ {
			testcheck.Do(t, os.WriteFile(path, packed[:n], 0o600))
			got, err := Read(path, Options{})
			if whole := n == len(packed); whole && (err != nil || !slices.Equal(got.X, []float64{1, 3}) || !slices.Equal(got.Y, []float64{2, 4})) || !whole && err == nil {
				t.Errorf("%s, %d of %d bytes: %+v, %v", name, n, len(packed), got, err)
			}
		}
	}
}

// TestNamedSeparator reads a file whose first line names its separator, as Excel writes it.
func TestNamedSeparator(t *testing.T) {
	for _, text := range []string{"sep=;\na;y\n1;2\n", "\ufeffSEP=|\r\na|y\r\n1|2\r\n", "sep=\t\na\ty\n1\t2\n"} {
		got, err := ReadFrom(strings.NewReader(text), "T", Options{})
		if err != nil || !slices.Equal(got.FeatureNames, []string{"a"}) || got.Line[0] != 3 || got.Y[0] != 2 {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// TestHalf decodes the largest number of 16 bits, the smallest one, a fraction and a missing one.
func TestHalf(t *testing.T) {
	r := testcheck.Get(Open("testdata/formats/half.npy", Options{NoTarget: true, Features: []string{"0-3"}, Missing: MissingMark}))(t)
	defer r.Close()
	testcheck.Get(r.Next(1))(t)
	var got []float64
	for c := range 4 {
		v, _ := r.src.number(c)
		got = append(got, v)
	}
	if want := []float64{65504, 0x1p-24, -0.0999755859375}; !slices.Equal(got[:3], want) || got[3] == got[3] {
		t.Errorf("%v", got)
	}
}
