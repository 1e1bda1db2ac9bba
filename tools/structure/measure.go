package structure

import (
	"bufio"
	"cmp"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Import is an import of a package of the module by another, without tests. Names are relative to the module.
type Import struct{ From, To string }

// topOf returns the top folder of a package: "." for the module's own package.
func topOf(name string) string {
	top, _, _ := strings.Cut(name, "/")
	return top
}

// Measure returns the numbers of each top folder of the module in the folder dir, and all imports
// between its packages. pkgs are the packages without build tags.
func Measure(dir string, pkgs []*packages.Package) ([]Folder, []Import, error) {
	described, err := describe(dir)
	if err != nil {
		return nil, nil, err
	}
	folders := map[string]*Folder{}
	at := func(name string) *Folder {
		top := topOf(name)
		if folders[top] == nil {
			folders[top] = &Folder{Name: top}
		}
		return folders[top]
	}
	program := contents(described)
	err = eachFile(dir, described, func(name, file string) error {
		lines, byHand, err := countLines(file)
		switch {
		case err != nil:
		case strings.HasSuffix(file, "_test.go"):
			at(name).Tests += lines
		case byHand && program[name]:
			at(name).Code += lines
		case byHand:
			at(name).Tests += lines
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for _, pkg := range pkgs {
		name, _ := relative(pkg.PkgPath)
		if f := at(name); program[name] {
			if slices.Contains(Promised, name) {
				f.Exported += exportedNames(pkg.Types)
			}
			for t, n := range widths(pkg) {
				if n > f.Width || n == f.Width && name+"."+t < f.widest {
					f.Width, f.widest = n, name+"."+t
				}
			}
		}
	}
	var imports []Import
	for name, p := range described {
		for _, to := range p.imports {
			imports = append(imports, Import{name, to})
		}
	}
	slices.SortFunc(imports, func(a, b Import) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	out := make([]Folder, 0, len(folders))
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		out = append(out, *folders[name])
	}
	return out, imports, nil
}

// contents returns the packages that the program or the module's own package contains, with any of the build tags.
func contents(pkgs map[string]*describedPackage) map[string]bool {
	in := map[string]bool{}
	var add func(name string)
	add = func(name string) {
		if in[name] || pkgs[name] == nil {
			return
		}
		in[name] = true
		for _, i := range pkgs[name].imports {
			add(i)
		}
	}
	add(".")
	add(programName)
	return in
}

// eachFile calls f with the package and the path of each file of Go in the module, tests and all platforms included.
func eachFile(dir string, pkgs map[string]*describedPackage, f func(name, file string) error) error {
	return filepath.WalkDir(dir, func(file string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, other := os.Stat(filepath.Join(file, "go.mod"))
			if file != dir && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || other == nil) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		folder, err := filepath.Rel(dir, filepath.Dir(file))
		if err != nil {
			return err
		}
		return f(filepath.ToSlash(folder), file)
	})
}

var generated = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.$`)

// countLines returns the lines of a file and whether somebody wrote them by hand.
func countLines(file string) (lines int, byHand bool, err error) {
	f, err := os.Open(file)
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

// widths returns the methods of each struct of a package, with the functions of the package that take it first, after
// a context.
func widths(pkg *packages.Package) map[string]int {
	out := map[string]int{}
	count := func(t types.Type) {
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		n, ok := t.(*types.Named)
		if !ok || n.Obj().Pkg() != pkg.Types {
			return
		}
		if _, ok := n.Underlying().(*types.Struct); ok {
			out[n.Obj().Name()]++
		}
	}
	for _, file := range pkg.Syntax {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			sig := pkg.TypesInfo.Defs[f.Name].(*types.Func).Signature()
			if recv := sig.Recv(); recv != nil {
				count(recv.Type())
				continue
			}
			params := slices.Collect(sig.Params().Variables())
			if len(params) > 0 && params[0].Type().String() == "context.Context" {
				params = params[1:]
			}
			if len(params) > 0 {
				count(params[0].Type())
			}
		}
	}
	return out
}

// exportedNames counts exported declarations, and exported methods of exported types.
func exportedNames(pkg *types.Package) int {
	n := 0
	for _, name := range pkg.Scope().Names() {
		if !ast.IsExported(name) {
			continue
		}
		n++
		t, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || t.IsAlias() {
			continue
		}
		named, ok := t.Type().(*types.Named)
		if !ok {
			continue
		}
		for m := range named.Methods() {
			if m.Exported() {
				n++
			}
		}
		if i, ok := named.Underlying().(*types.Interface); ok {
			for m := range i.ExplicitMethods() {
				if m.Exported() {
					n++
				}
			}
		}
	}
	return n
}

const programName = "cmd/gpfit"

// Promised are the packages that other modules may rely on.
var Promised = []string{
	".", "batch", "compare", "cpu", "device", "device/cuda", "device/devicetest", "fit", "fit/dataset", "fit/problem",
	"fit/summary", "gp", "graph", "hyperopt", "hyperopt/descent", "kernel", "mean", "table", "table/feature", "table/formats",
}
