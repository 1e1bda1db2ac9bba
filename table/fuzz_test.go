package table

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

// FuzzNPYNumbers checks that numbers written as a NumPy array are read back unchanged.
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
		testcheck.Do(t, os.WriteFile(path, append(append(file, header...), raw...), 0o600))
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

// decimal matches a number in a form that every program writes.
var decimal = regexp.MustCompile(`^[+-]?[0-9]{1,20}([.][0-9]{1,20})?([eE][+-]?[0-9]{1,2})?$`)

// slowRead reads a table without a header by encoding/csv and strconv. sure says that
// the text is a table by any rules: finite decimal numbers in rows of one length.
func slowRead(text []byte) (rows [][]float64, sure bool) {
	returns := bytes.Count(text, []byte{'\r'}) - bytes.Count(text, []byte("\r\n"))
	if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) || returns > 0 {
		return nil, false // a comment may not have them either
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	r.Comment = '#'
	for {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, false
		}
		var row []float64
		for _, cell := range record {
			cell = strings.Trim(cell, " \t\r\n")
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil || !decimal.MatchString(cell) {
				return nil, false
			}
			row = append(row, v)
		}
		rows = append(rows, row)
		r.Comment = 0
	}
	return rows, len(rows) > 0 && len(rows[0]) > 1
}

// FuzzCSV compares with a slow reader: a text that is a table by any rules must give the same bits.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{"1,2\n3,4\n", "\ufeff# c\r\n\"1\", 2\r\n\n3 ,4", "1,2,3\n1,\"2\n\",3\n", "1e308,-0\n0.1,123456789012345678901\n", "1,2\n3", "\"1\"\"\",2\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzguard.Run(t, func() {
			want, sure := slowRead(text)
			got, err := ReadFrom(bytes.NewReader(text), "T", Options{Header: HeaderNo})
			if !sure {
				return
			}
			if err != nil || got.N != len(want) || got.D != len(want[0])-1 {
				t.Fatalf("%q: %+v, %v, want %v", text, got, err, want)
			}
			for i, row := range want {
				x := append(slices.Clone(got.X[i*got.D:(i+1)*got.D]), got.Y[i])
				if !slices.EqualFunc(x, row, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
					t.Fatalf("%q: row %d is %v, want %v", text, i, x, row)
				}
			}
		})
	})
}

// FuzzFiles checks that several files read as one table give the tables of the files
// in sequence, and that an error names one of them.
func FuzzFiles(f *testing.F) {
	for _, c := range [][2]string{{"a,b\n1,2\n", "a,b\n3,4\n"}, {"a,b\n1,2\n", "a\tb\n3\t4\n"}, {"1,2\n", "# c\n3,4\n5,6"}, {"1,2\n", "1,2,3\n"}, {"a,b\n1,2\n", "1,2\n"}, {"1 2\n", ""}, {"\x93NUMPY", "1,2\n"}} {
		f.Add([]byte(c[0]), []byte(c[1]), uint8(0))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, first, second []byte, header uint8) {
		fuzzguard.Run(t, func() { checkFiles(t, dir, [][]byte{first, second}, Options{Header: headers[header%3]}) })
	})
}

func checkFiles(t *testing.T, dir string, texts [][]byte, opts Options) {
	var x, y []float64
	var parts []*Table
	for i, text := range texts {
		path := filepath.Join(dir, strconv.Itoa(i))
		testcheck.Do(t, os.WriteFile(path, text, 0o600))
		if part, err := Read(path, opts); err == nil {
			parts = append(parts, part)
			x, y = append(x, part.X...), append(y, part.Y...)
		}
	}
	got, err := Read(dir, opts)
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Msg == "" || filepath.Dir(e.Source) != dir {
			t.Fatalf("error %#v", err)
		}
		if len(parts) == 2 && slices.Equal(parts[0].FeatureNames, parts[1].FeatureNames) && parts[0].TargetName == parts[1].TargetName && opts.Header == HeaderNo {
			t.Fatalf("%q alone are tables of the same columns, together %v", texts, err)
		}
		return
	}
	if len(parts) != 2 || got.N != parts[0].N+parts[1].N || !slices.Equal(got.X, x) || !slices.Equal(got.Y, y) || !slices.Equal(got.FeatureNames, parts[0].FeatureNames) {
		t.Fatalf("%q: %+v, want %v and %v of %d tables", texts, got, x, y, len(parts))
	}
}

// FuzzMask checks that a mask equals that column of the table in the same file, and
// that the flag FILE:COLUMN is split where it was joined.
func FuzzMask(f *testing.F) {
	for _, c := range [][2]string{{"0,1\n1,0\n", "1"}, {"a,b\n0,1\n", "b"}, {"a,b\nx,1\n", "-1"}, {"0\n1\n2\n", ""}, {"0\n\n1\n", "0"}, {"NaN\n", ""}, {"0:1\n", "a:b"}} {
		f.Add([]byte(c[0]), c[1])
	}
	path := filepath.Join(f.TempDir(), "mask")
	f.Fuzz(func(t *testing.T, text []byte, column string) {
		fuzzguard.Run(t, func() { checkMask(t, path, text, column) })
	})
}

func checkMask(t *testing.T, path string, text []byte, column string) {
	testcheck.Do(t, os.WriteFile(path, text, 0o600))
	if column != "" && !strings.Contains(column, ":") {
		if p, c, err := ParseMaskFlag(path + ":" + column); err != nil || p != path || c != column {
			t.Fatalf("%q:%q came apart as %q and %q, %v", path, column, p, c, err)
		}
	}
	mask, err := ReadMask(path, column, Options{})
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Msg == "" || e.Source != path || mask != nil {
			t.Fatalf("mask %v, error %#v", mask, err)
		}
		return
	}
	if column == "" {
		column = "0"
	}
	whole, err := Read(path, Options{Features: []string{column}, NoTarget: true})
	if err != nil || whole.N != len(mask) || whole.D != 1 {
		return // another column of that name or range, or one that is read twice
	}
	for i, v := range whole.X {
		if v != 0 && v != 1 || mask[i] != (v == 1) {
			t.Fatalf("%q, column %q: mask %v, table %v", text, column, mask, whole.X)
		}
	}
}
