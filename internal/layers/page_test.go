package layers

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"gpfit/internal/must"
)

// root is the folder of the module.
const root = "../.."

// watchTree reads the folders and files of the module, so that the go command does
// not use cached results of these tests after a change.
func watchTree(t *testing.T) {
	t.Helper()
	must.Do(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case err == nil && strings.HasSuffix(path, ".go"):
			_, err = os.Stat(path)
		}
		return err
	}))
}

// module writes the files of an archive in testdata into a new folder, and returns the folder.
func module(t *testing.T, archive string) string {
	t.Helper()
	files := map[string]string{}
	for _, f := range must.Get(txtar.ParseFile("testdata/" + archive + ".txtar"))(t).Files {
		files[f.Name] = string(f.Data)
	}
	return must.Folder(t, files)
}

// loadModule loads all packages of the module, once for all tests.
func loadModule(t *testing.T) []*packages.Package {
	t.Helper()
	watchTree(t)
	return must.Get(loaded())(t)
}

var loaded = sync.OnceValues(func() ([]*packages.Package, error) { return Load(root, "./...") })

// TestPage checks that the page of packages agrees with the code.
func TestPage(t *testing.T) {
	watchTree(t)
	want := must.Get(Page(root))(t)
	got, err := os.ReadFile(filepath.Join(root, PagePath))
	if err != nil || string(got) != want {
		t.Errorf("%s differs from the packages (%v): run %s", PagePath, err, PageCommand)
	}
}

// TestPageText compares a page with an explicit one, and checks the error for a package
// without a comment.
func TestPageText(t *testing.T) {
	pkgs := map[string]*describedPackage{
		"a": {"Package a uses [T] of d: x | y.", []string{"d", "c"}},
		"b": {"Bees buzz:", nil},
		"c": {"Command c does it,", []string{"d"}},
		"d": {"Package d works.", nil},
	}
	text, err := page(pkgs)
	_, rows, _ := strings.Cut(text, "|---|---|---|\n")
	if want := "| `b` | Bees buzz | – |\n| `d` | works | – |\n| `c` | does it | d |\n| `a` | uses T of d: x \\| y | c, d |\n"; err != nil || rows != want {
		t.Errorf("%v:\n%s, want\n%s", err, rows, want)
	}
	pkgs["d"].synopsis = ""
	if _, err := page(pkgs); err == nil || !strings.Contains(err.Error(), "package d: it has no package comment") {
		t.Errorf("error %v", err)
	}
}

// TestLibraryLinks checks that a program that imports the library links no reader of Parquet, no
// command line and no plots, and from fit and the module's root package no reader of tables.
func TestLibraryLinks(t *testing.T) {
	heavy := []string{"github.com/parquet-go/", "github.com/spf13/", "gonum.org/v1/plot"}
	for _, c := range []struct {
		pkg    string
		banned []string
	}{
		{".", append([]string{Module + "table"}, heavy...)},
		{"./fit", append([]string{Module + "table"}, heavy...)},
		{"./internal/dataset", heavy},
		{"./internal/rows", heavy},
		{"./table", heavy},
		{"./batch", heavy},
	} {
		deps := must.Get(goList(root, "-deps", c.pkg))(t)
		for _, p := range deps {
			if slices.ContainsFunc(c.banned, func(prefix string) bool { return strings.HasPrefix(p+"/", prefix) }) {
				t.Errorf("%s depends on %s", c.pkg, p)
			}
		}
	}
}

// TestReferences checks that uses of functions, types, methods, fields, constants
// and variables of another file are references, and that uses by tests are not.
func TestReferences(t *testing.T) {
	dir := module(t, "references")
	pkgs := must.Get(Load(dir, "."))(t)
	want := []Reference{
		{"b.go", "a.go", []string{"C", "F", "G", "T", "T.M", "V"}},
		{"c.go", "a.go", []string{"T"}},
		{"c.go", "b.go", []string{"f"}},
	}
	if got := References(pkgs[0]); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Files(pkgs[0]); !slices.Equal(got, []string{"a.go", "b.go", "c.go"}) {
		t.Errorf("files %v", got)
	}
}

// refs parses references from text such as "ab bc": file a uses b, b uses c.
func refs(text string) []Reference {
	var out []Reference
	for pair := range strings.FieldsSeq(text) {
		out = append(out, Reference{From: pair[:1], To: pair[1:]})
	}
	return out
}

// TestArrange compares arrangements with explicit ones.
func TestArrange(t *testing.T) {
	for _, c := range []struct{ files, refs, floors, up string }{
		{"a b c", "", "abc", ""},
		{"a b c", "ca cb", "c ab", ""},
		{"a b c d", "ab bc ac cd", "a b c d", ""},
		{"a b c", "ab bc ca ba", "b c a", "ab"},
		{"a b c d", "ab bc ca cb da", "cd a b", "bc"},
		{"a b c", "cb bc ca ab", "c a b", "bc"},
	} {
		a := Arrange(strings.Fields(c.files), refs(c.refs))
		var floors, up []string
		for _, f := range a.Floors {
			floors = append(floors, strings.Join(f, ""))
		}
		for _, r := range a.Up {
			up = append(up, r.From+r.To)
		}
		if got := strings.Join(floors, " "); len(a.Up) != len(strings.Fields(c.up)) || c.floors != got || strings.Join(up, " ") != c.up {
			t.Errorf("%s: floors %s and up %v, want %s and %s", c.refs, got, up, c.floors, c.up)
		}
	}
}
