package layers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Module is the path of the module, with a slash.
const Module = "gpfit/"

// PagePath is the page of packages, relative to the module's folder, and PageCommand is the
// command that writes it.
const (
	PagePath    = "docs/packages.md"
	PageCommand = "go run ./internal/layers/cmd/page"
)

// describedPackage is a row of the page of packages.
type describedPackage struct {
	synopsis string   // the first sentence of the package comment
	imports  []string // packages of this module, with any of the build tags
}

// Page returns the page that lists the packages of the module in dir, first the packages
// that import no other package of the module.
func Page(dir string) (string, error) {
	pkgs, err := describe(dir)
	if err != nil {
		return "", err
	}
	return page(pkgs)
}

// describe asks the go command for the packages in dir, without folders that hold only tests.
func describe(dir string) (map[string]*describedPackage, error) {
	pkgs := map[string]*describedPackage{}
	for _, tags := range []string{"", "nogpu", "cu"} {
		lines, err := goList(dir, "-tags", tags, "-f", "{{if .GoFiles}}{{.ImportPath}}\t{{.Doc}}\t{{join .Imports \" \"}}{{end}}", "./...")
		if err != nil {
			return nil, err
		}
		for _, line := range lines {
			fields := strings.Split(line, "\t")
			name, _ := relative(fields[0])
			p := pkgs[name]
			if p == nil {
				p = &describedPackage{synopsis: fields[1]}
				pkgs[name] = p
			}
			for imported := range strings.FieldsSeq(fields[2]) {
				if other, ours := relative(imported); ours && !slices.Contains(p.imports, other) {
					p.imports = append(p.imports, other)
				}
			}
		}
	}
	return pkgs, nil
}

// goList runs go list in dir and returns the lines that it prints.
func goList(dir string, args ...string) ([]string, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(args, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

// relative returns the name of a package of the module: "." for the package in its folder.
func relative(path string) (name string, ours bool) {
	if path+"/" == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module)
}

// page prints packages by height, the length of the longest chain of imports below a
// package, and by name.
func page(pkgs map[string]*describedPackage) (string, error) {
	heights := map[string]int{}
	var height func(string) int
	height = func(name string) int {
		h, known := heights[name]
		if !known {
			for _, i := range pkgs[name].imports {
				h = max(h, height(i)+1)
			}
			heights[name] = h
		}
		return h
	}
	var b strings.Builder
	b.WriteString("# Packages\n\nThe packages of the Go module. Each imports only packages above it. `" + PageCommand + "`\nwrites this page from the package comments.\n\n| package | what it does | imports of ours |\n|---|---|---|\n")
	names := slices.Sorted(maps.Keys(pkgs))
	slices.SortStableFunc(names, func(a, c string) int { return height(a) - height(c) })
	for _, name := range names {
		text, err := purpose(pkgs[name].synopsis)
		if err != nil {
			return "", fmt.Errorf("package %s: %w", name, err)
		}
		imports := "–"
		if len(pkgs[name].imports) > 0 {
			imports = strings.Join(slices.Sorted(slices.Values(pkgs[name].imports)), ", ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, text, imports)
	}
	return b.String(), nil
}

// purpose cuts "Package x" and "Command x" and the marks of links off a first sentence.
func purpose(synopsis string) (string, error) {
	words := strings.Fields(synopsis)
	if len(words) == 0 {
		return "", fmt.Errorf("it has no package comment")
	}
	if len(words) > 2 && (words[0] == "Package" || words[0] == "Command") {
		words = words[2:]
	}
	text := strings.TrimRight(strings.Join(words, " "), ".,:;")
	return strings.NewReplacer("|", "\\|", "[", "", "]", "").Replace(text), nil
}
