package structure

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestWalls compares the top folders with their walls, and their imports with the floors.
func TestWalls(t *testing.T) {
	folders, imports, err := Measure(root, loadModule(t))
	testcheck.Do(t, err)
	for _, what := range testcheck.Get(ReadWalls(root))(t).Check(folders, imports) {
		t.Error(what)
	}
}

// TestPromised checks that the promised packages are there, at most 20, and that other modules can import them.
func TestPromised(t *testing.T) {
	pkgs := testcheck.Get(describe(root))(t)
	for _, name := range Promised {
		if pkgs[name] == nil || slices.Contains(strings.Split(name, "/"), "internal") {
			t.Errorf("%s: there is no such package for other modules", name)
		}
	}
	if len(Promised) > 20 {
		t.Errorf("%d packages are promised, at most 20", len(Promised))
	}
}

// TestInternal checks that no package of the folder internal serves only one other folder.
func TestInternal(t *testing.T) {
	pkgs := testcheck.Get(describe(root))(t)
	users := map[string]map[string]bool{}
	for name, p := range pkgs {
		for _, i := range p.imports {
			if users[i] == nil {
				users[i] = map[string]bool{}
			}
			users[i][topOf(name)] = true
		}
	}
	for name := range contents(pkgs) {
		if topOf(name) == "internal" && len(users[name]) == 1 {
			t.Errorf("only %v uses %s: it belongs there", keys(users[name]), name)
		}
	}
}

func keys(set map[string]bool) (out []string) {
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// TestRaisedWalls checks that each of the last commits that raise a wall changes nothing else, and says in its
// message what left.
func TestRaisedWalls(t *testing.T) {
	compared, wrong, err := raisedInHistory(root)
	for _, what := range wrong {
		t.Error(what)
	}
	if err != nil || compared == 0 {
		t.Skipf("WALLS ARE NOT COMPARED WITH EARLIER ONES: git finds %d commits with their parents (%v)", compared, err)
	}
}

// raisedInHistory compares the walls in the last commits of the repository in dir with those before, and returns how
// many it compared and what is wrong.
func raisedInHistory(dir string) (compared int, wrong []string, err error) {
	git := func(args ...string) (string, error) {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		return string(out), err
	}
	at := func(commit string) (Walls, error) {
		text, err := git("show", commit+":./"+WallsPath)
		if err != nil {
			return nil, err
		}
		return ParseWalls(text)
	}
	log, err := git("log", "-30", "--no-merges", "--format=%H", "--", WallsPath)
	if err != nil {
		return 0, nil, err
	}
	for commit := range strings.FieldsSeq(log) {
		after, err := at(commit)
		before, err2 := at(commit + "^")
		if errors.Join(err, err2) != nil {
			continue
		}
		compared++
		raised := after.Raised(before)
		files, err := git("show", "--format=", "--name-only", commit)
		body, err2 := git("show", "-s", "--format=%b", commit)
		switch {
		case len(raised) == 0:
		case errors.Join(err, err2) != nil || len(strings.Fields(files)) > 1:
			wrong = append(wrong, commit[:8]+" raises walls and changes other files: "+strings.Join(raised, "; "))
		case strings.TrimSpace(body) == "":
			wrong = append(wrong, commit[:8]+" raises walls and does not say what left: "+strings.Join(raised, "; "))
		}
	}
	return compared, wrong, nil
}

// TestRaisedInHistory checks raises by themselves, with other files and without a message, and a clone without history.
func TestRaisedInHistory(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	file := filepath.Join(dir, WallsPath)
	testcheck.Do(t, os.MkdirAll(filepath.Dir(file), 0o777))
	git("init", "-q")
	commit := func(number, message string, others ...string) {
		t.Helper()
		testcheck.Do(t, os.WriteFile(file, []byte("fit | "+number+" | 1 | 1 | 1\n"), 0o666))
		for _, other := range others {
			testcheck.Do(t, os.WriteFile(filepath.Join(dir, other), []byte(number), 0o666))
		}
		git("add", ".")
		git("commit", "-q", "-m", message)
	}
	commit("5", "walls")
	commit("6", "walls: fit gets a chain\n\nthe nested searches left")
	commit("4", "fit: shorter", "a")
	commit("7", "fit: longer\n\nmuch left", "a")
	commit("8", "walls: more")
	compared, wrong, err := raisedInHistory(dir)
	if err != nil || compared != 4 || len(wrong) != 2 || !strings.Contains(wrong[0], "what left: fit: lines of code from 7 to 8") || !strings.Contains(wrong[1], "other files: fit: lines of code from 4 to 7") {
		t.Errorf("%d compared, %q, %v", compared, wrong, err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	git("clone", "-q", "--depth", "1", "file://"+dir, clone)
	if compared, wrong, err := raisedInHistory(clone); err != nil || compared+len(wrong) > 0 {
		t.Errorf("shallow clone: %d compared, %q, %v", compared, wrong, err)
	}
}

// TestMeasure counts a small module.
func TestMeasure(t *testing.T) {
	dir := module(t, "module")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOWORK", "off")
	folders, imports, err := Measure(dir, testcheck.Get(Load(dir, "./..."))(t))
	testcheck.Do(t, err)
	// kernel has T with 4 methods and functions, U with none; its exported names are T, M, U, I, Q, C, B and V.
	want := []Folder{
		{".", 5, 0, 1, 0, ""}, {"cmd", 7, 0, 0, 0, ""}, {"internal", 5, 3, 0, 0, ""}, {"kernel", 32, 9, 8, 4, "kernel.T"},
	}
	if !slices.Equal(folders, want) {
		t.Errorf("folders %v, want %v", folders, want)
	}
	if want := []Import{{".", "internal/c"}, {"cmd/gpfit", "kernel"}, {"kernel/kerneltest", "kernel"}}; !slices.Equal(imports, want) {
		t.Errorf("imports %v, want %v", imports, want)
	}
}

// TestCheckWalls breaks each wall.
func TestCheckWalls(t *testing.T) {
	const text = "cmd | 1000 | 1000 | 30 | 20\nkernel | 2000 | 500 | 90 | 31\n"
	for _, c := range []struct {
		change func(f []Folder)
		imp    Import
		want   string
	}{
		{func(f []Folder) {}, Import{"cmd/gpfit", "kernel/vec"}, ""},
		{func(f []Folder) { f[0].Code = 1001 }, Import{}, "cmd: 1001 lines of code, the wall is 1000: take"},
		{func(f []Folder) { f[0].Code = 800 }, Import{}, "cmd: 800 lines of code, the wall is 1000: run"},
		{func(f []Folder) { f[0].Tests = 1001 }, Import{}, "cmd: 1001 lines of tests"},
		{func(f []Folder) { f[1].Exported = 91 }, Import{}, "kernel: 91 exported names, the wall is 90"},
		{func(f []Folder) { f[1].Width = 32 }, Import{}, "kernel: 32 methods and functions of a type (vec.T), the wall is 31"},
		{func(f []Folder) { f[1].Name = "other" }, Import{}, "other: it has no row"},
		{func(f []Folder) { f[1].Name = "other" }, Import{}, "kernel: there is no such folder"},
		{func(f []Folder) {}, Import{"kernel/vec", "cmd/gpfit"}, "kernel/vec imports cmd/gpfit: the folder cmd is not below kernel"},
	} {
		folders := []Folder{{"cmd", 960, 960, 28, 19, ""}, {"kernel", 1950, 450, 88, 30, "vec.T"}}
		c.change(folders)
		got := strings.Join(testcheck.Get(ParseWalls(text))(t).Check(folders, []Import{c.imp}), "\n")
		if c.imp == (Import{}) {
			got = strings.ReplaceAll(got, "\n imports", "")
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	for _, bad := range []string{"cmd | 1 | 2 | 3\n", "cmd | 1 | 2 | 3 | x\n"} {
		if _, err := ParseWalls(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

// TestLoweredWalls checks that walls fall to 3 % above the code, and never rise.
func TestLoweredWalls(t *testing.T) {
	walls := testcheck.Get(ParseWalls("a | 9999 | 2000 | 30 | 20\nb | 100 | 1 | 1 | 1\n"))(t)
	got := walls.Lowered([]Folder{{"a", 8000, 2000, 10, 20, ""}, {"b", 101, 1, 1, 1, ""}})
	want := Walls{{"a", 8240, 2000, 13, 20, ""}, {"b", 100, 1, 1, 1, ""}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if again := testcheck.Get(ParseWalls(got.String()))(t); !slices.Equal(again, got) {
		t.Errorf("read back: %v", again)
	}
}
