package layers

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Package holds the measured numbers of a package.
type Package struct {
	Name     string // relative to the module
	Lines    int    // hand-written lines of Go without tests
	Exported int    // exported names, if other modules can import the package
	Files    int    // files of Go without tests, for all platforms
	Methods  int    // methods of the type that has most
	Up       int    // upward references between files, see [Arrange]

	mostMethods string // the type
}

// Sum is a measured number of the whole module.
type Sum struct {
	Name  string
	Value int
}

// Names of sums. A test in cmd/gpfit measures Frames.
const (
	sumLines    = "lines of Go"
	sumTests    = "lines of tests"
	sumAssembly = "lines of assembly"
	sumPublic   = "public packages"
	sumExported = "exported names"
	sumUp       = "references up"
	sumErrors   = "error types"
	sumShared   = "type names in several packages"
	sumFlags    = "flags bound by hand"

	Frames = "frames from runFit to Contract"
)

// Measured holds the numbers of a module.
type Measured struct {
	Packages []Package // sorted by name
	Sums     []Sum     // all but Frames
}

// Measure counts in the module in dir, whose loaded packages are pkgs.
func Measure(dir string, pkgs []*packages.Package) (*Measured, error) {
	tree, err := readTree(dir)
	if err != nil {
		return nil, err
	}
	m := &Measured{}
	var public, exported, up, errors, flags int
	declared := map[string]int{}
	for _, pkg := range pkgs {
		name, _ := relative(pkg.PkgPath)
		p := Package{Name: name, Lines: tree.lines[name], Files: tree.files[name], Up: len(Arrange(Files(pkg), References(pkg)).Up)}
		for _, t := range namedTypes(pkg.Types) {
			declared[t.Obj().Name()]++
			if isError(t) {
				errors++
			}
			if n := t.NumMethods(); n > p.Methods {
				p.Methods, p.mostMethods = n, t.Obj().Name()
			}
		}
		if isPublic(pkg) {
			public++
			p.Exported = exportedNames(pkg.Types)
		}
		exported += p.Exported
		up += p.Up
		flags += boundFlags(pkg)
		m.Packages = append(m.Packages, p)
	}
	shared := 0
	for _, n := range declared {
		if n > 1 {
			shared++
		}
	}
	slices.SortFunc(m.Packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	m.Sums = []Sum{
		{sumLines, tree.code}, {sumTests, tree.tests}, {sumAssembly, tree.assembly},
		{sumPublic, public}, {sumExported, exported}, {sumUp, up},
		{sumErrors, errors}, {sumShared, shared}, {sumFlags, flags},
	}
	return m, nil
}

// String returns the numbers as a table, with the type that has most methods.
func (m *Measured) String() string {
	var out strings.Builder
	for _, s := range m.Sums {
		fmt.Fprintf(&out, "%-30s %6d\n", s.Name, s.Value)
	}
	fmt.Fprintf(&out, "\n%-30s %6s %8s %5s %7s %2s\n", "package", "lines", "exported", "files", "methods", "up")
	for _, p := range m.Packages {
		fmt.Fprintf(&out, "%-30s %6d %8d %5d %7d %2d  %s\n", p.Name, p.Lines, p.Exported, p.Files, p.Methods, p.Up, p.mostMethods)
	}
	return out.String()
}

// tree holds the numbers that come from the text of files.
type tree struct {
	lines, files          map[string]int // by folder
	code, tests, assembly int            // lines in all folders, also in separate modules
}

// generated is the line by which Go's tools know a generated file.
var generated = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.$`)

// readTree counts the lines of the files below dir, except in hidden folders.
func readTree(dir string) (*tree, error) {
	t := &tree{lines: map[string]int{}, files: map[string]int{}}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != dir && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		code := strings.HasSuffix(path, ".go")
		if !code && !strings.HasSuffix(path, ".s") {
			return nil
		}
		lines, byHand, err := countLines(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(dir, filepath.Dir(path))
		folder = filepath.ToSlash(folder)
		switch {
		case !code:
			t.assembly += lines
		case strings.HasSuffix(path, "_test.go"):
			t.tests += lines
		default:
			t.files[folder]++
			if byHand {
				t.lines[folder] += lines
				t.code += lines
			}
		}
		return err
	})
	return t, err
}

// countLines counts the lines of a file and reports whether the file is written by hand.
func countLines(path string) (lines int, byHand bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false, err
	}
	defer f.Close()
	byHand = true
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<24)
	for s.Scan() {
		lines++
		byHand = byHand && !generated.Match(s.Bytes())
	}
	return lines, byHand, s.Err()
}

// isPublic reports whether other modules can import a package.
func isPublic(pkg *packages.Package) bool {
	return pkg.Name != "main" && !slices.Contains(strings.Split(pkg.PkgPath, "/"), "internal")
}

// namedTypes returns the types that a package declares outside functions.
func namedTypes(pkg *types.Package) []*types.Named {
	var out []*types.Named
	for _, name := range pkg.Scope().Names() {
		if t, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && !t.IsAlias() {
			out = append(out, t.Type().(*types.Named))
		}
	}
	return out
}

// isError reports whether a type that is not an interface implements error.
func isError(t *types.Named) bool {
	errorType := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return !types.IsInterface(t) && (types.Implements(t, errorType) || types.Implements(types.NewPointer(t), errorType))
}

// exportedNames counts the exported identifiers of a package and the exported methods of
// its exported types and interfaces.
func exportedNames(pkg *types.Package) int {
	n := 0
	for _, name := range pkg.Scope().Names() {
		if ast.IsExported(name) {
			n++
		}
	}
	for _, t := range namedTypes(pkg) {
		if !t.Obj().Exported() {
			continue
		}
		for m := range t.Methods() {
			if m.Exported() {
				n++
			}
		}
		if i, ok := t.Underlying().(*types.Interface); ok {
			for m := range i.ExplicitMethods() {
				if m.Exported() {
					n++
				}
			}
		}
	}
	return n
}

// tableBinder is the function that defines the flags of the table of options.
const tableBinder = "(*" + Module + "cmd/gpfit/internal/flags.Set).addTable"

// boundFlags counts the uses of functions and methods of package pflag that define flags, outside
// tableBinder.
func boundFlags(pkg *packages.Package) int {
	n := 0
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && pkg.TypesInfo.Defs[f.Name].(*types.Func).FullName() == tableBinder {
				continue
			}
			ast.Inspect(decl, func(node ast.Node) bool {
				if id, ok := node.(*ast.Ident); ok && definesFlag(pkg.TypesInfo.Uses[id]) {
					n++
				}
				return true
			})
		}
	}
	return n
}

// definesFlag reports whether an object is a function or a method of package pflag with a
// parameter "usage", as all have that define a flag, or one that adds finished flags.
func definesFlag(o types.Object) bool {
	f, ok := o.(*types.Func)
	return ok && f.Pkg() != nil && f.Pkg().Name() == "pflag" &&
		(strings.Contains(f.Signature().String(), " usage string") || strings.HasPrefix(f.Name(), "Add"))
}
