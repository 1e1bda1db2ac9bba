package layers

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"gpfit/internal/must"
)

// TestBudgets compares the budgets with the code.
func TestBudgets(t *testing.T) {
	m := must.Get(Measure(root, loadModule(t)))(t)
	b := must.Get(ReadBudgets(root))(t)
	for _, what := range b.Check(m) {
		t.Error(what)
	}
}

// TestRaisedBudgets checks that the budgets of the working tree and of the last commits rose for
// reasons.
func TestRaisedBudgets(t *testing.T) {
	watchTree(t)
	compared, wrong, err := raisedInHistory(root)
	for _, what := range wrong {
		t.Error(what)
	}
	if err != nil || compared == 0 {
		t.Skipf("BUDGETS ARE NOT COMPARED WITH EARLIER ONES: git finds %d commits with their parents (%v)", compared, err)
	}
}

// raisedInHistory returns what [Budgets.Raised] says about the working tree in dir and each of the
// last commits that changed the budgets, against the commit before, and how many of these commits
// it compared. Files with another head, which commits before this check have, are left out.
func raisedInHistory(dir string) (compared int, wrong []string, err error) {
	const commits = "30"
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		return string(out), err
	}
	at := func(commit string) (*Budgets, error) {
		text, err := git("show", commit+":./"+BudgetPath)
		if err != nil || !strings.HasPrefix(text, budgetHead) {
			return nil, errors.Join(err, errors.New("another head"))
		}
		return ParseBudgets(text)
	}
	log, err := git("log", "-"+commits, "--format=%H", "--", BudgetPath)
	if err != nil {
		return 0, nil, err
	}
	now, err := ReadBudgets(dir)
	if err != nil {
		return 0, nil, err
	}
	if head, err := at("HEAD"); err == nil {
		wrong = now.Raised(head)
	}
	for commit := range strings.FieldsSeq(log) {
		after, err := at(commit)
		before, err2 := at(commit + "^")
		if err != nil || err2 != nil {
			continue
		}
		compared++
		for _, what := range after.Raised(before) {
			wrong = append(wrong, "commit "+commit[:8]+": "+what)
		}
	}
	return compared, wrong, nil
}

// TestRaisedInHistory checks that a budget without a reason is found in the working tree and in
// each earlier commit, and what a shallow clone and a folder without history say.
func TestRaisedInHistory(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	file := filepath.Join(dir, BudgetPath)
	must.Do(t, os.MkdirAll(filepath.Dir(file), 0o777))
	write := func(text string) { must.Do(t, os.WriteFile(file, []byte(budgetHead+text), 0o666)) }
	check := func(what, dir string, compared int, want ...string) {
		t.Helper()
		n, got, err := raisedInHistory(dir)
		for i := range got {
			got[i], _, _ = strings.Cut(got[i], ": give the reason")
			if commit, rest, found := strings.Cut(got[i], ": "); found && strings.HasPrefix(commit, "commit ") {
				got[i] = "commit: " + rest
			}
		}
		if err != nil || n != compared || !slices.Equal(got, want) {
			t.Errorf("%s: %d compared, %q, %v; want %d, %q", what, n, got, err, compared, want)
		}
	}
	git("init", "-q")
	must.Do(t, os.WriteFile(file, []byte("error types | 2 |\n"), 0o666))
	git("add", ".")
	git("commit", "-q", "-m", "another head")
	for _, text := range []string{"error types | 5 | x | y\n", "error types | 5 |\n", "error types | 6 |\n", "error types | 7 | a file may be locked\n", "error types | 4 |\n"} {
		write(text)
		git("add", ".")
		git("commit", "-q", "-m", "budgets")
	}
	git("commit", "-q", "--allow-empty", "-m", "other")
	const rise = "commit: error types: the budget rose from 5 to 6"
	check("history", dir, 3, rise)
	write("error types | 8 |\n")
	check("working tree", dir, 3, "error types: the budget rose from 4 to 8", rise)
	clone := filepath.Join(t.TempDir(), "clone")
	git("clone", "-q", "--depth", "1", "file://"+dir, clone)
	check("shallow clone", clone, 0)
	if _, _, err := raisedInHistory(t.TempDir()); err == nil {
		t.Error("no error without a history")
	}
}

// TestMeasure compares the numbers of a small module with explicit ones.
func TestMeasure(t *testing.T) {
	dir := module(t, "module")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "")
	pkgs := must.Get(Load(dir, "./..."))(t)
	m := must.Get(Measure(dir, pkgs))(t)
	// a has the names T, M, N, I, Q, Err, Error, C, B, V and G, and its files use one another.
	want := []Package{
		{"a", 27, 11, 4, 3, 1, "T"},
		{"cmd/gpfit/internal/flags", 13, 0, 1, 2, 0, "Set"},
		{"cmd/m", 24, 0, 1, 0, 0, ""},
		{"internal/c", 5, 0, 1, 0, 0, ""},
	}
	if !slices.Equal(m.Packages, want) {
		t.Errorf("packages %v, want %v", m.Packages, want)
	}
	sums := []Sum{
		{sumLines, 27 + 13 + 24 + 5 + 3 + 23}, {sumTests, 3}, {sumAssembly, 3}, {sumPublic, 1}, {sumExported, 11},
		{sumUp, 1}, {sumErrors, 1}, {sumShared, 1}, {sumFlags, 11},
	}
	if !slices.Equal(m.Sums, sums) {
		t.Errorf("sums %v, want %v", m.Sums, sums)
	}
}

// TestCheck checks that every violation of a budget is found, and nothing else.
func TestCheck(t *testing.T) {
	fine := "lines of Go | 1000 |\nerror types | 3 | three kinds\na | 1000 | 20 | 5 | 25 | 0 |\n"
	m := &Measured{[]Package{{Name: "a", Lines: 960, Exported: 20, Files: 5, Methods: 25}}, []Sum{{sumLines, 960}, {sumErrors, 3}}}
	for _, c := range []struct{ old, new, want string }{
		{"", "", ""},
		{"a | 1000", "a | 959", "a: 960 lines, the budget is 959: simplify"},
		{"a | 1000", "a | 1036", "a: 960 lines, the budget is 1036: run go run"},
		{"20 | 5", "19 | 5", "a: 20 exported names, the budget is 19"},
		{"20 | 5", "23 | 5", "a: 20 exported names, the budget is 23: run"},
		{"20 | 5", "20 | 4", "a: 5 files, the budget is 4"},
		{"25 | 0 |", "26 | 0 |", "a: the budget of 26 methods of a type is above 25"},
		{"25 | 0 |", "26 | 0 | one for each call of a library", ""},
		{"25 | 0", "25 | 1", "a: 0 references up, the budget is 1: run"},
		{"Go | 1000", "Go | 900", "module: 960 lines of Go, the budget is 900"},
		{"Go | 1000", "Go | 1500", "module: 960 lines of Go, the budget is 1500: run"},
		{"types | 3", "types | 2", "module: 3 error types, the budget is 2"},
		{"types | 3", "types | 4", "module: 3 error types, the budget is 4: run"},
		{"error types", "warning types", "module: it has no budget: run\nwarning types: there is no such"},
		{"a | 1000", "b | 1000", "a: it has no budget: run\nb: there is no such"},
	} {
		b := must.Get(ParseBudgets(strings.Replace(fine, c.old, c.new, 1)))(t)
		got := b.Check(m)
		want := strings.Split(c.want, "\n")
		if c.want == "" {
			want = nil
		}
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Errorf("%q → %q: %q, want %q", c.old, c.new, got, want)
		}
	}
	for _, bad := range []string{"a | x | why", "a | 1 | 2 | why", "a\n"} {
		if _, err := ParseBudgets(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

// TestRaised checks that a higher number than in the old file needs a new reason.
func TestRaised(t *testing.T) {
	old := "error types | 3 |\na | 1000 | 20 | 5 | 25 | 0 | it reads files\nx/b | 9 | 1 | 1 | 1 | 0 |\ny/c | 9 | 1 | 1 | 1 | 0 |\nz/c | 9 | 1 | 1 | 1 | 0 |\n"
	for _, c := range []struct{ now, want string }{
		{old, ""},
		{"error types | 2 |\na | 900 | 20 | 5 | 25 | 0 |\nnew | 1 | 1 | 1 | 1 | 1 |\n", ""},
		{"error types | 4 | a file may be locked\na | 1000 | 21 | 5 | 25 | 0 | it writes files\n", ""},
		{"error types | 4 |\n", "error types: the budget rose from 3 to 4"},
		{"a | 900 | 21 | 5 | 25 | 1 | it reads files\n", "a: the budget rose from 20 to 21 a: the budget rose from 0 to 1"},
		{"a | 900 | 21 | 5 | 25 | 0 |\n", "a: the budget rose from 20 to 21"},
		{"b | 9 | 2 | 1 | 1 | 0 |\nc | 9 | 2 | 1 | 1 | 0 |\n", "b: the budget rose from 1 to 2"},
		{"b | 9 | 2 | 1 | 1 | 0 | it moved\nx/b | 9 | 1 | 1 | 1 | 0 |\n", ""},
		{"z/b | 9 | 2 | 1 | 1 | 0 |\nx/b | 9 | 1 | 1 | 1 | 0 |\n", ""},
	} {
		before, err := ParseBudgets(old)
		now, err2 := ParseBudgets(c.now)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		var got []string
		for _, what := range now.Raised(before) {
			got = append(got, what[:strings.LastIndex(what, ": give the reason")])
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.now, got, c.want)
		}
	}
}

// TestLowered checks that budgets fall to what the code has and never rise, and that the
// text of budgets reads back.
func TestLowered(t *testing.T) {
	m := &Measured{
		[]Package{{Name: "a", Lines: 910, Exported: 21, Files: 5, Methods: 3}, {Name: "new", Lines: 3}},
		[]Sum{{sumLines, 960}, {sumErrors, 2}, {sumUp, 0}},
	}
	b := must.Get(ParseBudgets("lines of Go | 9999 |\nerror types | 3 | kinds\nfiles gone | 1 |\n" + Frames + " | 20 |\na | 1000 | 20 | 5 | 25 | 0 | why\nb | 0 | 0 | 0 | 0 | 0 |\n"))(t)
	lowered, above := b.Lowered(m)
	back := must.Get(ParseBudgets(lowered.String()))(t)
	want := must.Get(ParseBudgets("lines of Go | 1000 |\nerror types | 2 | kinds\nreferences up | 0 |\n" + Frames + " | 20 |\na | 950 | 20 | 5 | 3 | 0 | why\nnew | 50 | 0 | 0 | 0 | 0 |\n"))(t)
	if back.String() != want.String() {
		t.Errorf("%s, want %s", back, want)
	}
	if want := []string{"a: 21 exported names, the budget is 20"}; !slices.Equal(above, want) {
		t.Errorf("%q, want %q", above, want)
	}
}

// root is the folder of the module.
const root = "../.."

// watchTree reads the folders and files of the module, so that the go command does
// not use cached results of these tests after a change.
func watchTree(t *testing.T) {
	t.Helper()
	must.Do(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case err == nil && strings.HasSuffix(path, ".go"):
			_, err = os.Stat(path)
		}
		return err
	}))
}

// module writes the files of an archive in testdata into a new folder, and returns the folder.
func module(t *testing.T, archive string) string {
	t.Helper()
	files := map[string]string{}
	for _, f := range must.Get(txtar.ParseFile("testdata/" + archive + ".txtar"))(t).Files {
		files[f.Name] = string(f.Data)
	}
	return must.Folder(t, files)
}

// loadModule loads all packages of the module, once for all tests.
func loadModule(t *testing.T) []*packages.Package {
	t.Helper()
	watchTree(t)
	return must.Get(loaded())(t)
}

var loaded = sync.OnceValues(func() ([]*packages.Package, error) { return Load(root, "./...") })

// TestPage checks that the page of packages agrees with the code.
func TestPage(t *testing.T) {
	watchTree(t)
	want := must.Get(Page(root))(t)
	got, err := os.ReadFile(filepath.Join(root, PagePath))
	if err != nil || string(got) != want {
		t.Errorf("%s differs from the packages (%v): run %s", PagePath, err, PageCommand)
	}
}

// TestPageText compares a page with an explicit one, and checks the error for a package
// without a comment.
func TestPageText(t *testing.T) {
	pkgs := map[string]*describedPackage{
		"a": {"Package a uses [T] of d: x | y.", []string{"d", "c"}},
		"b": {"Bees buzz:", nil},
		"c": {"Command c does it,", []string{"d"}},
		"d": {"Package d works.", nil},
	}
	text, err := page(pkgs)
	_, rows, _ := strings.Cut(text, "|---|---|---|\n")
	if want := "| `b` | Bees buzz | – |\n| `d` | works | – |\n| `c` | does it | d |\n| `a` | uses T of d: x \\| y | c, d |\n"; err != nil || rows != want {
		t.Errorf("%v:\n%s, want\n%s", err, rows, want)
	}
	pkgs["d"].synopsis = ""
	if _, err := page(pkgs); err == nil || !strings.Contains(err.Error(), "package d: it has no package comment") {
		t.Errorf("error %v", err)
	}
}

// TestLibraryLinks checks that a program that imports the library links no reader of Parquet, no
// command line and no plots, and from fit and the module's root package no reader of tables.
func TestLibraryLinks(t *testing.T) {
	heavy := []string{"github.com/parquet-go/", "github.com/spf13/", "gonum.org/v1/plot"}
	for _, c := range []struct {
		pkg    string
		banned []string
	}{
		{".", append([]string{Module + "table"}, heavy...)},
		{"./fit", append([]string{Module + "table"}, heavy...)},
		{"./fit/dataset", heavy},
		{"./table", heavy},
		{"./batch", heavy},
	} {
		deps := must.Get(goList(root, "-deps", c.pkg))(t)
		for _, p := range deps {
			if slices.ContainsFunc(c.banned, func(prefix string) bool { return strings.HasPrefix(p, prefix) && p != Module+"table/feature" }) {
				t.Errorf("%s depends on %s", c.pkg, p)
			}
		}
	}
}

// TestReferences checks that uses of functions, types, methods, fields, constants
// and variables of another file are references, and that uses by tests are not.
func TestReferences(t *testing.T) {
	dir := module(t, "references")
	pkgs := must.Get(Load(dir, "."))(t)
	want := []Reference{
		{"b.go", "a.go", []string{"C", "F", "G", "T", "T.M", "V"}},
		{"c.go", "a.go", []string{"T"}},
		{"c.go", "b.go", []string{"f"}},
	}
	if got := References(pkgs[0]); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Files(pkgs[0]); !slices.Equal(got, []string{"a.go", "b.go", "c.go"}) {
		t.Errorf("files %v", got)
	}
}

// refs parses references from text such as "ab bc": file a uses b, b uses c.
func refs(text string) []Reference {
	var out []Reference
	for pair := range strings.FieldsSeq(text) {
		out = append(out, Reference{From: pair[:1], To: pair[1:]})
	}
	return out
}

// TestArrange compares arrangements with explicit ones.
func TestArrange(t *testing.T) {
	for _, c := range []struct{ files, refs, floors, up string }{
		{"a b c", "", "abc", ""},
		{"a b c", "ca cb", "c ab", ""},
		{"a b c d", "ab bc ac cd", "a b c d", ""},
		{"a b c", "ab bc ca ba", "b c a", "ab"},
		{"a b c d", "ab bc ca cb da", "cd a b", "bc"},
		{"a b c", "cb bc ca ab", "c a b", "bc"},
	} {
		a := Arrange(strings.Fields(c.files), refs(c.refs))
		var floors, up []string
		for _, f := range a.Floors {
			floors = append(floors, strings.Join(f, ""))
		}
		for _, r := range a.Up {
			up = append(up, r.From+r.To)
		}
		if got := strings.Join(floors, " "); len(a.Up) != len(strings.Fields(c.up)) || c.floors != got || strings.Join(up, " ") != c.up {
			t.Errorf("%s: floors %s and up %v, want %s and %s", c.refs, got, up, c.floors, c.up)
		}
	}
}
