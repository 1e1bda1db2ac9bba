package structure

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
	PagePath    = "tools/structure/packages.md"
	PageCommand = "go run -C tools ./structure/cmd/page"
)

// describedPackage is a row of the page of packages.
type describedPackage struct {
	synopsis string   // the first sentence of the package comment
	imports  []string // packages of this module, with any of the build tags
}

// Page returns the page that lists the packages of the module in dir by its floors.
func Page(dir string) (string, error) {
	pkgs, err := describe(dir)
	if err != nil {
		return "", err
	}
	walls, err := ReadWalls(dir)
	if err != nil {
		return "", err
	}
	return page(pkgs, walls)
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

// relative returns the name of a package of the module relative to it, and reports
// whether the path is of such a package.
func relative(path string) (name string, ours bool) {
	if path+"/" == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module)
}

const pageHead = `# Packages

The packages by floors: a folder imports only folders below it, and keeps what only it uses in its ` + "`internal`" + `.
Other modules may rely on packages with a star. ` + "`" + PageCommand + "`" + ` writes this page.

| package | promised | what it does |
|---|---|---|
`

// page returns the text of the page. The packages of a floor are sorted by name.
func page(pkgs map[string]*describedPackage, walls Walls) (string, error) {
	var b strings.Builder
	b.WriteString(pageHead)
	names := slices.Sorted(maps.Keys(pkgs))
	slices.SortStableFunc(names, func(a, c string) int { return walls.floor(topOf(a)) - walls.floor(topOf(c)) })
	program := contents(pkgs)
	for _, name := range names {
		text, err := purpose(pkgs[name].synopsis)
		if err != nil {
			return "", fmt.Errorf("package %s: %w", name, err)
		}
		star := ""
		switch {
		case slices.Contains(Promised, name):
			star = "★"
		case !program[name]:
			star = "tests"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", name, star, text)
	}
	return b.String(), nil
}

// purpose returns what a package does, from the first sentence of its comment up to a colon, without the
// name of the package.
func purpose(synopsis string) (string, error) {
	words := strings.Fields(synopsis)
	if len(words) == 0 {
		return "", fmt.Errorf("it has no package comment")
	}
	if len(words) > 2 && (words[0] == "Package" || words[0] == "Command") {
		words = words[2:]
	}
	text, _, _ := strings.Cut(strings.TrimRight(strings.Join(words, " "), ".,:;"), ": ")
	return strings.NewReplacer("|", "\\|", "[", "", "]", "").Replace(text), nil
}
