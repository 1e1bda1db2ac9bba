package table

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"gpfit/internal/testcheck"
)

// formats is the folder of files that NumPy, pandas and PyArrow wrote, by make.py there.
const formatsDir = "testdata/formats/"

func TestFormatErrors(t *testing.T) {
	for _, c := range []struct {
		file string
		opts Options
		want string
	}{
		{"nan.npy", Options{}, `: row 2, column 2: not a finite number: NaN (option missing drop leaves out such rows)`},
		{"nan.npy", Options{Missing: MissingDrop}, `: row 3, column 3: not a finite number: +Inf`},
		{"nan.npy", Options{Target: "temp"}, `: no column named "temp" for the target; there is no header; columns: "x0", "x1", "x2"`},
		{"nan.npy", Options{Features: []string{"0-3"}}, `: feature column 0-3 is out of range: there are 3 columns, 0 to 2`},
		{"three.npy", Options{}, `: the array has 3 dimensions, not one or two`},
		{"scalar.npy", Options{}, `: the array has 0 dimensions, not one or two`},
		{"complex.npy", Options{}, `: the elements have type "<c16"; gpfit reads only real numbers: save them as float64, or the columns of a table by numpy.savez`},
		{"text.npy", Options{}, `: the elements have type "<U1"; gpfit reads only real numbers: save them as float64, or the columns of a table by numpy.savez`},
		{"empty.npy", Options{}, `: the array has no rows`},
		{"lengths.npz", Options{}, `: y must have one column and as many rows as X; found "X" (14×2), "y" (13×1)`},
		{"unclear.npz", Options{}, `: expected one array, or X and y, or columns with the same number of rows; found "A" (14×2), "b" (14×1)`},
		{"words.npz", Options{}, `: array "y": the elements have type "<U1"; gpfit reads only real numbers: save them as float64, or the columns of a table by numpy.savez`},
		{"aside.npz", Options{Target: "z"}, `: no column named "z" for the target; columns: "x0", "x1", "y", "sd", "test"`},
	} {
		got, err := Read(formatsDir+c.file, c.opts)
		if !errors.As(err, new(*Error)) || err.Error() != formatsDir+c.file+c.want || got != nil {
			t.Errorf("%s: got %v, %v\nwant %s", c.file, got, err, c.want)
		}
	}
}

// TestAside reads columns that are inputs only if they are named.
func TestAside(t *testing.T) {
	got, err := Read(formatsDir+"aside.npz", Options{Extra: []string{"sd"}})
	if err != nil || !reflect.DeepEqual(got.FeatureNames, []string{"x0", "x1"}) || got.TargetName != "y" || got.Extra["sd"][13] != 14 {
		t.Errorf("got %+v, %v", got, err)
	}
	got, err = Read(formatsDir+"aside.npz", Options{Features: []string{"sd", "x1"}})
	if err != nil || !reflect.DeepEqual(got.FeatureNames, []string{"sd", "x1"}) || got.X[2] != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMaskFormats(t *testing.T) {
	whole := testcheck.Get(Read(formatsDir+"whole.csv", Options{}))(t)
	want := testcheck.Slice(whole.N, func(i int) bool { return whole.X[2*i] > 5 })
	for file, column := range map[string]string{"mask.npy": "", "aside.npz": "test"} {
		if got, err := ReadMask(formatsDir+file, column, Options{}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", file, got, err)
		}
	}
	wrong := formatsDir + `nan.npy: row 1, column 2: not 0 or 1 in a mask: "2"`
	if _, err := ReadMask(formatsDir+"nan.npy", "1", Options{}); err == nil || err.Error() != wrong {
		t.Errorf("got %v, want %s", err, wrong)
	}
}

// npyFile is an n×d array of float64 whose element i, j is value(i, j).
func npyFile(n, d int, fortran bool, value func(i, j int) float64) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	header := fmt.Sprintf("{'descr': '<f8', 'fortran_order': %s, 'shape': (%d, %d), }\n", order, n, d)
	b := append([]byte(npyMagic), 1, 0, byte(len(header)), byte(len(header)>>8))
	b = append(b, header...)
	for k := range n * d {
		i, j := k/d, k%d
		if fortran {
			i, j = k%n, k/n
		}
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(value(i, j)))
	}
	return b
}

// TestBlocks reads tables that are longer than the blocks in which the formats are read.
func TestBlocks(t *testing.T) {
	const n, d = 25_000, 3
	value := func(i, j int) float64 { return float64(d*i + j) }
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	testcheck.Get(testcheck.Get(z.Create("all.npy"))(t).Write(npyFile(n, d, true, value)))(t)
	testcheck.Do(t, z.Close())
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"c.npy": npyFile(n, d, false, value), "fortran.npy": npyFile(n, d, true, value), "f.npz": archive.Bytes(),
	} {
		path := filepath.Join(dir, name)
		testcheck.Do(t, os.WriteFile(path, data, 0o600))
		got := testcheck.Get(Read(path, Options{Features: []string{"1", "0"}}))(t)
		for i := range n {
			if got.X[2*i] != value(i, 1) || got.X[2*i+1] != value(i, 0) || got.Y[i] != value(i, 2) {
				t.Fatalf("%s: row %d is %v, %v", name, i, got.X[2*i:2*i+2], got.Y[i])
			}
		}
		// A file cut short anywhere is an error.
		for _, part := range []int{3, 5, 20, 50, 99} {
			cut := filepath.Join(dir, "cut")
			testcheck.Do(t, os.WriteFile(cut, data[:len(data)*part/100], 0o600))
			if _, err := Read(cut, Options{}); !errors.As(err, new(*Error)) {
				t.Errorf("%s cut to %d %%: %v", name, part, err)
			}
		}
	}
	// The checksum of an archive reveals a changed byte.
	data := archive.Bytes()
	data[len(data)/2] ^= 1
	path := filepath.Join(dir, "changed.npz")
	testcheck.Do(t, os.WriteFile(path, data, 0o600))
	if _, err := Read(path, Options{}); err == nil {
		t.Error("a changed archive was read")
	}
}
