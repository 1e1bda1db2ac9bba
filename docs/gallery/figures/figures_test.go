package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/must"
)

var (
	texts = regexp.MustCompile(`>([^<>\s][^<>]*)<`)
	parts = regexp.MustCompile(`<(path|text|g|image)\b`)
)

// TestFigures draws all figures and compares them with the gallery's figures. The last
// digits depend on the processor, so only the texts and the numbers of shapes count.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, write("../data", dir))
	for name := range figures {
		drawn := must.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		shown := must.Get(os.ReadFile(filepath.Join("..", name)))(t)
		for _, pattern := range []*regexp.Regexp{texts, parts} {
			got, want := pattern.FindAllString(string(drawn), -1), pattern.FindAllString(string(shown), -1)
			if slices.Sort(got); len(got) == 0 {
				t.Errorf("%s has none of %s", name, pattern)
			}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%s: run 'go run ./docs/gallery/figures'; drawn\n%s\nshown\n%s", name, got, want)
			}
		}
	}
}

// TestPages checks that every line of Go on the pages of the gallery stands in this program,
// and that the pages show all of its figures.
func TestPages(t *testing.T) {
	var program, pages strings.Builder
	for _, source := range glob(t, "*.go") {
		for line := range strings.Lines(readText(t, source)) {
			program.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	lines := 0
	for _, page := range glob(t, "../*.md") {
		text := readText(t, page)
		pages.WriteString(text)
		inGo := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				inGo = line == "```go"
				continue
			}
			if !inGo || line == "" {
				continue
			}
			lines++
			if !strings.Contains(program.String(), line+"\n") {
				t.Errorf("%s: %q is not in the program", page, line)
			}
		}
	}
	if lines < 5 {
		t.Errorf("%d lines of Go on the pages", lines)
	}
	for name := range figures {
		if !strings.Contains(pages.String(), "]("+name+")") {
			t.Errorf("no page shows %s", name)
		}
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %v, %v", pattern, names, err)
	}
	return names
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	return string(text)
}
