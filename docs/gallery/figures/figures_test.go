package main

import (
	"cmp"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/internal/testcheck"
)

var (
	texts = regexp.MustCompile(`>([^<>\s][^<>]*)<`)
	parts = regexp.MustCompile(`<(path|text|g|image)\b`)
)

// TestFigures draws all figures and compares them with the gallery's figures. The last
// digits depend on the processor, so only the texts and the numbers of shapes count.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	testcheck.Do(t, write("../data", dir))
	for name := range figures {
		drawn := testcheck.Get(os.ReadFile(filepath.Join(dir, name)))(t)
		shown := testcheck.Get(os.ReadFile(filepath.Join("..", name)))(t)
		for _, pattern := range []*regexp.Regexp{texts, parts} {
			got, want := pattern.FindAllString(string(drawn), -1), pattern.FindAllString(string(shown), -1)
			if slices.Sort(got); len(got) == 0 {
				t.Errorf("%s has none of %s", name, pattern)
			}
			if slices.Sort(want); !slices.Equal(got, want) {
				t.Errorf("%s: run 'go run -C docs/gallery/figures .'; drawn\n%s\nshown\n%s", name, got, want)
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
	text := testcheck.Get(os.ReadFile(name))(t)
	return string(text)
}

// corners returns the weights of example 20: of two and of six columns, without a penalty and
// with one.
func corners(t *testing.T) [][]float64 {
	t.Helper()
	rows, x := read("../data", "wide.csv")
	var all [][]float64
	for _, columns := range []int{2, 6} {
		weights := penalized(x.Slice(0, rows.N, 0, columns), rows.Y, []float64{0, 0.5}, baseline.Ridge{Design: plain})
		all = append(all, weights...)
	}
	return all
}

// TestShortest checks the weights without penalty against the singular value decomposition:
// six columns meet all targets, and ridge regression takes the same solution.
func TestShortest(t *testing.T) {
	rows, x := read("../data", "wide.csv")
	all := corners(t)
	for i, columns := range []int{2, 6} {
		part := x.Slice(0, rows.N, 0, columns)
		want := shortest(part, rows.Y)
		checkClose(t, all[2*i], want)
		var fit mat.VecDense
		fit.MulVec(part, mat.NewVecDense(columns, want))
		if columns > rows.N {
			checkClose(t, fit.RawVector().Data, rows.Y)
		}
	}
}

// TestNumPy compares the weights with the weights that the page's Python prints, if
// GPFIT_PYTHON, or python3, has NumPy.
func TestNumPy(t *testing.T) {
	_, script, found := strings.Cut(readText(t, "../20-minimum-norm.md"), "```python\n")
	script, _, _ = strings.Cut(script, "```")
	if !found || script == "" {
		t.Fatal("no Python on the page")
	}
	python := cmp.Or(os.Getenv("GPFIT_PYTHON"), "python3")
	if text, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		if os.Getenv("GPFIT_PYTHON_REQUIRED") != "" {
			t.Fatalf("%s cannot import numpy: %v\n%s", python, err, text)
		}
		t.Skipf("SKIPPED: %s cannot import numpy: %v", python, err)
	}
	command := exec.Command(python, "-c", script)
	command.Dir = "../../.."
	var failed strings.Builder
	command.Stderr = &failed
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, failed.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	all := corners(t)
	if len(lines) != len(all) {
		t.Fatalf("%d lines for %d penalties:\n%s", len(lines), len(all), out)
	}
	for i, line := range lines {
		var theirs []float64
		for word := range strings.FieldsSeq(line) {
			w := testcheck.Get(strconv.ParseFloat(word, 64))(t)
			theirs = append(theirs, w)
		}
		checkClose(t, all[i], theirs)
	}
}

// checkClose fails if numbers differ by more than the rounding of a few operations.
func checkClose(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%v, want %v", got, want)
		return
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= 1e-12*max(1, math.Abs(want[i]))) {
			t.Errorf("%v, want %v", got, want)
			return
		}
	}
}
