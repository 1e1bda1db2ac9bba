package main

import (
	"os"
	"path/filepath"
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
			of := ""
			if len(parts) == 3 {
				of = `\(\w+ \*?` + parts[1] + `\) `
			}
			if !regexp.MustCompile(`(?m)^func ` + of + parts[len(parts)-1] + `[(\[]`).MatchString(source(t, "../../"+folder)) {
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

// source returns the code of a folder.
func source(t *testing.T, folder string) string {
	var code strings.Builder
	for _, path := range testcheck.Get(filepath.Glob(folder + "/*.go"))(t) {
		code.Write(testcheck.Get(os.ReadFile(path))(t))
	}
	return code.String()
}
