package gp

import (
	"archive/zip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// writeUnchecked writes a model, even an invalid one, with a valid checksum.
func writeUnchecked(t *testing.T, m *Model) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gpfit")
	f := must.Get(os.Create(path))(t)
	must.Do(t, errors.Join(writeModel(m, f, nil, SchemaVersion), f.Close()))
	return path
}

// TestLoadNonFinite checks that a model with a valid checksum and numbers that are
// not finite is rejected with their position.
func TestLoadNonFinite(t *testing.T) {
	for want, change := range map[string]func(*Model){
		"element 2 of alpha is NaN":                 func(m *Model) { m.Alpha[2] = math.NaN() },
		"element 3 of X is +Inf":                    func(m *Model) { m.X[3] = math.Inf(1) },
		"element 0 of y is -Inf":                    func(m *Model) { m.Y[0] = math.Inf(-1) },
		"element 1 of rows is NaN":                  func(m *Model) { m.Rows = []float64{0, math.NaN(), 2, 3, 4} },
		"training row 1 has the invalid row number": func(m *Model) { m.Rows = []float64{0, -1, 2, 3, 4} },
		"invalid scale 0":                           func(m *Model) { m.Scaling.XScale[1] = 0 },
		"invalid scale -1":                          func(m *Model) { m.Scaling.YScale = -1 },
		"noise variance NaN of training":            func(m *Model) { m.Noise.Column, m.TrainNoise = "s", []float64{1, 1, 1, 1, math.NaN()} },
	} {
		m := newModel(t, 5)
		change(m)
		_, err := Load(writeUnchecked(t, m))
		var fe *FileError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "element 4 of noise is NaN") {
			t.Errorf("%s: error %v", want, err)
		}
		if err := m.Save(filepath.Join(t.TempDir(), "m")); err == nil {
			t.Errorf("%s: was saved", want)
		}
	}
}

// TestLoadClaims checks that the sizes in a header are compared with the file
// before memory is allocated.
func TestLoadClaims(t *testing.T) {
	for want, rewrite := range map[string]func(w *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte){
		"model.json claims": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return f.Name, zip.Store, []byte(strings.Replace(string(text), `"n": 5`, `"n": 100000000000`, 1))
		},
		"is compressed": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return f.Name, zip.Deflate, text
		},
		"is missing": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return strings.Replace(f.Name, "alpha", "beta", 1), zip.Store, text
		},
		"not an array of float64": func(_ *zip.Writer, f *zip.File, text []byte) (string, uint16, []byte) {
			return f.Name, zip.Store, []byte(strings.Replace(string(text), "(5, 2, )", "(9, 2, )", 1))
		},
	} {
		path := rewriteArchive(t, writeUnchecked(t, newModel(t, 5)), rewrite)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Load(path)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 {
			t.Errorf("%s: %d bytes were taken", want, took)
		}
	}
}

// rewriteArchive changes the entries of a model file and gives it a valid checksum.
func rewriteArchive(t *testing.T, path string, rewrite func(*zip.Writer, *zip.File, []byte) (string, uint16, []byte)) string {
	t.Helper()
	in := must.Get(zip.OpenReader(path))(t)
	defer in.Close()
	out := must.Get(os.Create(path + ".new"))(t)
	sum := newChecksumWriter(out)
	w := zip.NewWriter(sum)
	must.Do(t, w.SetComment(emptyComment))
	for _, f := range in.File {
		text := make([]byte, f.UncompressedSize64)
		r, err := f.Open()
		if err == nil {
			_, err = r.Read(text)
		}
		if err != nil && len(text) > 0 && err.Error() != "EOF" {
			t.Fatal(err)
		}
		name, method, text := rewrite(w, f, text)
		entry := must.Get(w.CreateHeader(&zip.FileHeader{Name: name, Method: method}))(t)
		if _, err := entry.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	must.Do(t, errors.Join(w.Close(), sum.finish(), out.Close()))
	return path + ".new"
}
