package structure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"gpfit/internal/testcheck"
)

// root is the folder of the module.
const root = "../.."

// watchTree reads the folders and files of the module, so that the go command does
// not use cached results of these tests after a change.
func watchTree(t *testing.T) {
	t.Helper()
	testcheck.Do(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
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
	for _, f := range testcheck.Get(txtar.ParseFile("testdata/" + archive + ".txtar"))(t).Files {
		files[f.Name] = string(f.Data)
	}
	return testcheck.Folder(t, files)
}

// loadModule loads all packages of the module, once for all tests.
func loadModule(t *testing.T) []*packages.Package {
	t.Helper()
	watchTree(t)
	return testcheck.Get(loaded())(t)
}

var loaded = sync.OnceValues(func() ([]*packages.Package, error) { return Load(root, "./...") })

// TestPage checks that the page of packages agrees with the code.
func TestPage(t *testing.T) {
	watchTree(t)
	want := testcheck.Get(Page(root))(t)
	got, err := os.ReadFile(filepath.Join(root, PagePath))
	if err != nil || string(got) != want {
		t.Errorf("%s differs from the packages (%v): run %s", PagePath, err, PageCommand)
	}
}

// TestPageText compares a page with an explicit one, and checks the error for a package
// without a comment.
func TestPageText(t *testing.T) {
	pkgs := map[string]*describedPackage{
		".":            {"Package gpfit fits [T]: x | y.", []string{"kernel/d"}},
		"cmd/gpfit":    {"Command gpfit does it,", []string{"kernel/d", "."}},
		"kernel/tests": {"Bees buzz:", nil},
		"kernel/d":     {"Package d works | plays.", nil},
	}
	walls := Walls{{Name: "cmd"}, {Name: "."}, {Name: "kernel"}}
	text, err := page(pkgs, walls)
	_, rows, _ := strings.Cut(text, "|---|---|---|\n")
	if want := "| `cmd/gpfit` |  | does it |\n| `.` | ★ | fits T |\n| `kernel/d` |  | works \\| plays |\n| `kernel/tests` | tests | Bees buzz |\n"; err != nil || rows != want {
		t.Errorf("%v:\n%s, want\n%s", err, rows, want)
	}
	pkgs["kernel/d"].synopsis = ""
	if _, err := page(pkgs, walls); err == nil || !strings.Contains(err.Error(), "package kernel/d: it has no package comment") {
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
		{"./fit/dataset", heavy},
		{"./table", heavy},
		{"./batch", heavy},
	} {
		deps := testcheck.Get(goList(root, "-deps", c.pkg))(t)
		for _, p := range deps {
			if slices.ContainsFunc(c.banned, func(prefix string) bool { return strings.HasPrefix(p, prefix) && p != Module+"table/feature" }) {
				t.Errorf("%s depends on %s", c.pkg, p)
			}
		}
	}
}
