// Package structure measures the structure of the code. Its tests compare the top folders with their walls
// ([Walls]) and packages.md with the packages ([Page]), and resolve the links in pages and doc comments.
package structure

import (
	"errors"
	"slices"

	"golang.org/x/tools/go/packages"
)

// Load parses and type-checks the packages matching patterns, relative to the
// folder dir, without their tests. It leaves out folders that hold only tests.
func Load(dir string, patterns ...string) ([]*packages.Package, error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo
	pkgs, err := packages.Load(&packages.Config{Mode: mode, Dir: dir}, patterns...)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, p := range pkgs {
		for _, e := range p.Errors {
			errs = append(errs, e)
		}
	}
	testsOnly := func(p *packages.Package) bool { return len(p.GoFiles) == 0 }
	return slices.DeleteFunc(pkgs, testsOnly), errors.Join(errs...)
}
