package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestBridges checks the table of functions of Python and Go in docs/commands.md: it has every command, and the
// functions of Go are there. The tests of the Python package check the others.
func TestBridges(t *testing.T) {
	text := string(testcheck.Get(os.ReadFile("../../docs/commands.md"))(t))
	_, text, _ = strings.Cut(text, "| command | what it does | in Python | in Go |\n|---|---|---|---|\n")
	text, _, _ = strings.Cut(text, "\n\n")
	var rows []string
	name := regexp.MustCompile("`([^`]+)`")
	for row := range strings.Lines(text) {
		cells := strings.Split(row, "|")
		rows = append(rows, name.FindStringSubmatch(cells[1])[1])
		for _, found := range name.FindAllStringSubmatch(cells[4], -1) {
			parts := strings.Split(found[1], ".")
			folder := map[string]string{"gpfit": ".", "exchange": "gp/exchange"}[parts[0]]
			if folder == "" {
				folder = parts[0]
			}
			if !slices.Contains(functions(t, "../../"+folder), strings.Join(parts[1:], ".")) {
				t.Errorf("%s: package %s has no such function", found[1], folder)
			}
		}
	}
	for command := range actions {
		if command != "serve" && !slices.Contains(rows, command) {
			t.Errorf("docs/commands.md has no functions for %s", command)
		}
	}
	if len(rows) != len(actions)-1 {
		t.Errorf("%d commands in the table, %d in the program", len(rows), len(actions)-1)
	}
}

// functions returns the functions and methods in a folder.
func functions(t *testing.T, folder string) []string {
	var names []string
	for _, entry := range testcheck.Get(os.ReadDir(folder))(t) {
		if !strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		file := testcheck.Get(parser.ParseFile(token.NewFileSet(), folder+"/"+entry.Name(), nil, parser.SkipObjectResolution))(t)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if id, ok := of.(*ast.Ident); ok {
					name = id.Name + "." + name
				}
			}
			names = append(names, name)
		}
	}
	return names
}
