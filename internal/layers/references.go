package layers

import (
	"cmp"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/packages"
)

// Reference records that one file of a package uses declarations of another.
type Reference struct {
	From, To string
	// Names are the functions, types, constants, variables, methods and fields
	// that From uses, sorted.
	Names []string
}

// Files returns the names of a package's files, sorted.
func Files(pkg *packages.Package) []string {
	var out []string
	for _, path := range pkg.GoFiles {
		out = append(out, filepath.Base(path))
	}
	slices.Sort(out)
	return out
}

// References returns the references between the files of a package, one for each
// ordered pair of files, sorted.
func References(pkg *packages.Package) []Reference {
	file := func(at token.Pos) string { return filepath.Base(pkg.Fset.File(at).Name()) }
	names := map[[2]string]map[string]bool{}
	for use, obj := range pkg.TypesInfo.Uses {
		if obj.Pkg() != pkg.Types || !obj.Pos().IsValid() {
			continue
		}
		pair := [2]string{file(use.Pos()), file(obj.Pos())}
		if pair[0] == pair[1] {
			continue
		}
		if names[pair] == nil {
			names[pair] = map[string]bool{}
		}
		names[pair][qualifiedName(obj)] = true
	}
	var out []Reference
	for pair, set := range names {
		out = append(out, Reference{pair[0], pair[1], slices.Sorted(maps.Keys(set))})
	}
	slices.SortFunc(out, func(a, b Reference) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	return out
}

// qualifiedName returns an object's name, for a method together with the name of its receiver.
func qualifiedName(obj types.Object) string {
	f, ok := obj.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		return obj.Name()
	}
	t := f.Signature().Recv().Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name() + "." + obj.Name()
	}
	return obj.Name()
}
