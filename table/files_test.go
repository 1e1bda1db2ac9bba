package table

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

func TestSeveralFiles(t *testing.T) {
	dir := testcheck.Folder(t, map[string]string{
		"part-2.csv": "a,y\n5,6\n", "part-10.csv.gz": gzipped(t, "a,y\n1,2\n3,4\n"), "part-3.csv": "# more\na;y\n7;8\n",
		".hidden": "x", "_SUCCESS": "",
	})
	for _, path := range []string{dir, dir + "/", filepath.Join(dir, "part-*"), filepath.Join(dir, "*.csv*")} {
		got := testcheck.Get(Read(path, Options{}))(t)
		if !reflect.DeepEqual(got.X, []float64{1, 3, 5, 7}) || !reflect.DeepEqual(got.Y, []float64{2, 4, 6, 8}) ||
			!reflect.DeepEqual(got.Line, []int{2, 3, 2, 3}) || got.N != 4 || got.SourceRows != 4 || got.TargetName != "y" {
			t.Errorf("%s: got %+v", path, got)
		}
	}
	one, err := Read(filepath.Join(dir, "part-[2]*"), Options{})
	if err != nil || one.N != 1 {
		t.Errorf("got %+v, %v", one, err)
	}
	mask, err := ReadMask(dir+"/*.csv", "y", Options{})
	if err == nil || !strings.Contains(err.Error(), `part-2.csv:2: column 2 ("y"): not 0 or 1`) || mask != nil {
		t.Errorf("mask: %v, %v", mask, err)
	}
	// A file whose name is a pattern takes precedence over the pattern.
	odd := testcheck.Folder(t, map[string]string{"a[1].csv": "1,2\n", "a1.csv": "3,4\n"})
	if got, err := Read(filepath.Join(odd, "a[1].csv"), Options{}); err != nil || got.X[0] != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestSeveralFilesOfEachFormat(t *testing.T) {
	for _, ext := range []string{".npy", ".npz"} {
		dir := t.TempDir()
		name := map[string]string{".npy": "real.npy", ".npz": "real_xy.npz"}[ext]
		data := testcheck.Get(os.ReadFile(formatsDir + name))(t)
		for i := range 3 {
			testcheck.Do(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i, ext)), data, 0o600))
		}
		one := testcheck.Get(Read(formatsDir+name, Options{}))(t)
		got, err := Read(dir, Options{})
		if err != nil || got.N != 3*one.N || !reflect.DeepEqual(got.X[2*len(one.X):], one.X) || !reflect.DeepEqual(got.Y[one.N:2*one.N], one.Y) {
			t.Errorf("%s: got %+v, %v", ext, got, err)
		}
	}
}

func TestSeveralFilesErrors(t *testing.T) {
	const ay = "a,y\n1,2\n"
	npy := string(npyFile(1, 2, false, func(_, _ int) float64 { return 1 }))
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // after the folder's name
	}{
		{"other name", map[string]string{"1": ay, "2": "a,z\n1,2\n"}, `/2:1: column 2 ("z"): %s/1 has "y" there`},
		{"other order", map[string]string{"1": ay, "2": "y,a\n1,2\n"}, `/2:1: column 1 ("y"): %s/1 has "a" there`},
		{"a column more", map[string]string{"1": ay, "2": "a,y,z\n1,2,3\n"}, `/2:1: column 3 ("z"): %s/1 has no such column`},
		{"a column less", map[string]string{"1": ay, "2": "a\n1\n"}, `/2:1: column 2 ("y") is missing; it is in %s/1`},
		{"no header", map[string]string{"1": ay, "2": "1,2\n"}, `/2:1: has no header, but %s/1 has a header`},
		{"other format", map[string]string{"1": ay, "2": npy}, `/2: has the format NumPy, but %s/1 has the format text`},
		{"bad cell", map[string]string{"1": ay, "2": "a,y\n\n1,z\n"}, `/2:3: column 2 ("y"): not a number: "z"`},
		{"no rows", map[string]string{"1": ay, "2": "a,y\n"}, `/2:1: no data rows, only a header`},
		{"no rows in the first", map[string]string{"1": "a,y\n", "2": ay}, `/1:1: no data rows, only a header`},
		{"a folder inside", map[string]string{"1": ay, "sub/2": ay}, `: contains the directory "sub"; gpfit reads only files`},
		{"nothing", nil, `: the directory has no files`},
	} {
		dir := testcheck.Folder(t, c.files)
		want := dir + c.want
		if strings.Contains(want, "%s") {
			want = fmt.Sprintf(want, dir)
		}
		got, err := Read(dir, Options{})
		if !errors.As(err, new(*Error)) || err.Error() != want || got != nil {
			t.Errorf("%s: got %v, %v\nwant %s", c.name, got, err, want)
		}
	}
	dir := t.TempDir()
	for pattern, want := range map[string]string{"/*.csv": ": no file matches the pattern", "/[": ": not a pattern: syntax error in pattern"} {
		if _, err := Read(dir+pattern, Options{}); err == nil || err.Error() != dir+pattern+want {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
