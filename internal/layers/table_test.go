package layers

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// root is the folder of the module; package names are relative to it.
const root, module = "../..", "gpfit/"

// relative returns the name of a package of the module: "." for the one in its folder.
func relative(path string) (name string, ours bool) {
	if path+"/" == module {
		return ".", true
	}
	return strings.CutPrefix(path, module)
}

// tableHead is the head of the table of packages in ARCHITECTURE.md.
const tableHead = "| package | what it holds | imports of ours |\n|---|---|---|\n"

// A table row lists packages in backquotes, their contents, and their imports: "–"
// for none, "all above" for any package in the rows above, or a sorted list.
var tableRow = regexp.MustCompile("^\\| (`[^`|, ]+`(?:, `[^`|, ]+`)*) \\| [^|]+ \\| (–|all above|[^`|, ]+(?:, [^`|, ]+)*) \\|\n$")

type row struct {
	packages []string
	imports  string
}

func parseTable(text string) ([]row, error) {
	_, body, ok := strings.Cut(text, tableHead)
	if !ok {
		return nil, fmt.Errorf("no table has the head %q", tableHead)
	}
	var rows []row
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		m := tableRow.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("not of the form \"| `package`, … | what it holds | import, … |\": %s", line)
		}
		rows = append(rows, row{strings.Split(strings.ReplaceAll(m[1], "`", ""), ", "), m[2]})
	}
	return rows, nil
}

// checkTable compares the table with the imports of every package and returns a
// correction for each wrong row.
func checkTable(rows []row, imports map[string][]string) []string {
	var wrong []string
	errorf := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	above := map[string]bool{}
	for _, r := range rows {
		used := map[string]bool{}
		for _, p := range r.packages {
			list, there := imports[p]
			if !there || above[p] {
				errorf("%s is not a package, or has a row already: remove it from its row", p)
			}
			for _, imported := range list {
				used[imported] = true
				if !above[imported] {
					errorf("%s imports %s, which has no row above: take the import out, or move the row", p, imported)
				}
			}
		}
		if want := importCell(slices.Sorted(maps.Keys(used))); r.imports != want && r.imports != "all above" {
			errorf("%s: the row has the imports %q, the code has %q: write that, or change the code", strings.Join(r.packages, ", "), r.imports, want)
		}
		for _, p := range r.packages {
			above[p] = true
		}
	}
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		if !above[p] {
			errorf("%s has no row: add one, with the imports %q", p, importCell(imports[p]))
		}
	}
	return wrong
}

func importCell(imports []string) string {
	if len(imports) == 0 {
		return "–"
	}
	return strings.Join(imports, ", ")
}

// goList runs go list in the module's folder and returns the lines that it prints.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", strings.Join(args, " "), err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// watchTree reads the folders and files of the module, so that the go command does
// not use cached results of these tests after a change.
func watchTree(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case err == nil && strings.HasSuffix(path, ".go"):
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loadModule loads all packages of the module, once for all tests.
func loadModule(t *testing.T) []*packages.Package {
	t.Helper()
	watchTree(t)
	pkgs, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

var loaded = sync.OnceValues(func() ([]*packages.Package, error) { return Load(root, "./...") })

// TestImports checks that every package has a row in ARCHITECTURE.md and imports,
// with any of the build tags, exactly the packages in that row, which are in rows
// above.
func TestImports(t *testing.T) {
	watchTree(t)
	sets := map[string]map[string]bool{}
	for _, tags := range []string{"", "nogpu", "cu"} {
		for _, line := range goList(t, "-tags", tags, "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...") {
			words := strings.Fields(line)
			p, _ := relative(words[0])
			if sets[p] == nil {
				sets[p] = map[string]bool{}
			}
			for _, imported := range words[1:] {
				if name, ok := relative(imported); ok {
					sets[p][name] = true
				}
			}
		}
	}
	imports := map[string][]string{}
	for p, set := range sets {
		imports[p] = slices.Sorted(maps.Keys(set))
	}
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parseTable(string(text))
	if err != nil {
		t.Fatalf("ARCHITECTURE.md: %v", err)
	}
	for _, what := range checkTable(rows, imports) {
		t.Errorf("ARCHITECTURE.md, table of packages: %s", what)
	}
}

// TestCheckTable checks that every kind of wrong row is detected.
func TestCheckTable(t *testing.T) {
	imports := map[string][]string{"a": nil, "b": nil, "c": {"a", "b"}, "d": {"c"}}
	for _, c := range []struct{ rows, want string }{
		{"| `a`, `b` | x | – |\n| `c` | x | a, b |\n| `d` | x | c |\n", ""},
		{"| `a`, `b` | x | – |\n| `c` | x | all above |\n| `d` | x | c |\nafter the table", ""},
		{"| `a`, `b` | x | – |\n| `c` | x | a |\n| `d` | x | c |\n", `c: the row has the imports "a", the code has "a, b"`},
		{"| `a`, `b` | x | – |\n| `c` | x | a, b |\n| `d` | x | a, c |\n", `d: the row has the imports "a, c", the code has "c"`},
		{"| `a` | x | – |\n| `c` | x | a, b |\n| `b` | x | – |\n| `d` | x | c |\n", "c imports b, which has no row above"},
		{"| `a`, `b` | x | – |\n| `c` | x | a, b |\n", `d has no row: add one, with the imports "c"`},
		{"| `a`, `b`, `e` | x | – |\n| `c` | x | a, b |\n| `d` | x | c |\n", "e is not a package"},
		{"| `a`, `b` | x | – |\n| `a` | x | – |\n| `c` | x | a, b |\n| `d` | x | c |\n", "a is not a package, or has a row already"},
		{"| a | x | – |\n", "not of the form"},
		{"| `a` | x |  |\n", "not of the form"},
		{"| `a` | x | `b` |\n", "not of the form"},
	} {
		rows, err := parseTable("text\n\n" + tableHead + c.rows)
		got := strings.Join(checkTable(rows, imports), "\n")
		if err != nil {
			got = err.Error()
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.rows, got, c.want)
		}
	}
	if _, err := parseTable("no table"); err == nil {
		t.Error("no error without a table")
	}
}

// TestLibraryLinks checks that a program that imports the library links no reader of
// Parquet, no command line and no plots, and from fit and the module's root package no
// reader of tables.
func TestLibraryLinks(t *testing.T) {
	heavy := []string{"github.com/parquet-go/", "github.com/spf13/", "gonum.org/v1/plot"}
	for _, c := range []struct {
		pkg    string
		banned []string
	}{
		{".", append([]string{module + "table"}, heavy...)},
		{"./fit", append([]string{module + "table"}, heavy...)},
		{"./internal/dataset", heavy},
		{"./internal/rows", heavy},
		{"./table", heavy},
		{"./batch", heavy},
	} {
		for _, p := range goList(t, "-deps", c.pkg) {
			if slices.ContainsFunc(c.banned, func(prefix string) bool { return strings.HasPrefix(p+"/", prefix) }) {
				t.Errorf("%s depends on %s", c.pkg, p)
			}
		}
	}
}
