package structure

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// doors are the functions that open files and folders by their names.
var doors = []string{"Open", "OpenFile", "OpenRoot", "OpenInRoot", "DirFS", "ReadFile", "ReadDir", "Create", "CreateTemp", "WriteFile"}

// rooms are the packages that call them for the others.
var rooms = map[string]string{
	"internal/userfile":   "reads what a user names",
	"internal/atomicfile": "writes results, and flushes folders",
}

// otherDoors are files that open something else, with the reason.
var otherDoors = map[string]string{
	"internal/hostmem/hostmem_linux.go":    "/proc and the control group",
	"cpu/system_linux.go":                  "/proc/cpuinfo",
	"method/mpi/group.go":                  "/sys",
	"device/cuda/driver/load.go":           "/proc/driver",
	"device/cuda/mathlib/find.go":          "/etc/ld.so.conf",
	"compare/speed/memory_linux.go":        "/proc/self/clear_refs",
	"method/tiles/store.go":                "scratch files of tiles, which have no name",
	"cmd/gpfit/closed_linux.go":            "/proc",
	"cmd/gpfit/internal/serve/own_unix.go": "the null device",
}

// opens returns the places in a file that call one of the doors, or name one as a value.
func opens(fset *token.FileSet, file *ast.File) (places []string) {
	name := ""
	for _, i := range file.Imports {
		if path, _ := strconv.Unquote(i.Path.Value); path == "os" {
			if name = "os"; i.Name != nil {
				name = i.Name.Name
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(doors, s.Sel.Name) {
			if of, ok := s.X.(*ast.Ident); ok && of.Name == name {
				places = append(places, fmt.Sprintf("%s calls os.%s", fset.Position(s.Pos()), s.Sel.Name))
			}
		}
		return true
	})
	return places
}

// TestDoors: the program opens files in the rooms alone. A new door uses one of them, or gets a reason above.
func TestDoors(t *testing.T) {
	watchTree(t)
	pkgs := testcheck.Get(describe(root))(t)
	program, used := contents(pkgs), map[string]bool{}
	testcheck.Do(t, eachFile(root, pkgs, func(name, path string) error {
		file := filepath.ToSlash(testcheck.Get(filepath.Rel(root, path))(t))
		if !program[name] || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		places := opens(fset, parsed)
		if len(places) > 0 {
			used[name], used[file] = true, true
		}
		if rooms[name] == "" && otherDoors[file] == "" {
			for _, place := range places {
				t.Errorf("%s: internal/userfile opens what a user names, internal/atomicfile writes", place)
			}
		}
		return nil
	}))
	for _, of := range []map[string]string{rooms, otherDoors} {
		for name := range of {
			if !used[name] {
				t.Errorf("%s opens nothing: take it from the list", name)
			}
		}
	}
}

// TestOpens checks that calls and values are found, under any name of the package, and nothing else.
func TestOpens(t *testing.T) {
	for text, want := range map[string]int{
		`import "os"; var a, _ = os.Open("x")`:                                    1,
		`import "os"; var f = os.ReadFile`:                                        1,
		`import sys "os"; func f() { sys.WriteFile("", nil, 0); sys.Create("") }`: 2,
		`import "os"; var i, _ = os.Stat("x")`:                                    0,
		`import "gpfit/os2"; var a = os2.Open("x")`:                               0,
	} {
		fset := token.NewFileSet()
		if got := opens(fset, testcheck.Get(parser.ParseFile(fset, "a.go", "package a\n"+text, 0))(t)); len(got) != want {
			t.Errorf("%s: %v, want %d", text, got, want)
		}
	}
}
