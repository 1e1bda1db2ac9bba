package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gpfit/internal/testcheck"
)

// notRun says why blocks of the languages console, powershell and shell of a page run nowhere as they stand.
// All blocks of the languages sh and python run.
var notRun = map[string]string{
	"docs/compare.md": "tables of others, which are no part of the repository",
	"docs/large.md":   "a cluster, cards and the rights of root; ranks_linux_test.go runs a few ranks",
	"docs/reference":  "tables that do not exist, in the help of commands",
	"README.md":       "go test ./..., which is the first step of .ci/full",
}

// quickPages returns the pages that run without GPFIT_READER.
func quickPages() []string {
	pages := []string{"README.md", "docs/from-r.md", "docs/from-sklearn-and-gpytorch.md", "docs/problems.md"}
	if testcheck.Long() {
		pages = append(pages, "docs/first-hour.md")
	}
	return pages
}

// TestDocumentedCommands runs the shell blocks of some pages, one after the other in one folder, with the program
// of the test in the place of go run. With GPFIT_READER=1, which .ci/full sets in a fresh clone, it is a
// reader of all pages of docs, examples and python: all blocks run in the clone, and nothing stands in for anything.
func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a hundred processes")
	}
	r := newReader(t, os.Getenv("GPFIT_READER") != "")
	t.Parallel()
	for _, page := range userPages(t) {
		name := strings.TrimPrefix(filepath.ToSlash(page), "../../")
		text, blocks := readPage(t, page)
		if (r.all || slices.Contains(quickPages(), name)) && slices.ContainsFunc(blocks, block.runs) {
			t.Run(name, func(t *testing.T) { r.page(t, name, text, blocks) })
		}
	}
	checkPictures(t, r.dir)
}

// page runs the blocks of a page, with the Python blocks at the end in one session, and checks what it says about them.
func (r reader) page(t *testing.T, name, text string, blocks []block) {
	python, programs := "", 1
	var outputs []string
	for _, b := range blocks {
		switch {
		case !b.runs():
		case b.language == "python":
			python += b.text
		default:
			outputs = append(outputs, r.run(t, "sh", "-ec", b.text))
		}
	}
	if python != "" && r.all {
		programs++
		outputs = append(outputs, r.run(t, "sh", "-ec", `exec python3 -c "$0"`, python))
	}
	said := strings.Join(outputs, "")
	checkVerdicts(t, text, said)
	if name == "README.md" {
		checkREADMEOutput(t, text, outputs[0])
	}
	if name == "docs/first-hour.md" && !goodForecast.MatchString(said) {
		t.Errorf("the forecast does not match %s", goodForecast)
	}
	if shown := bothPrint.FindStringSubmatch(text); shown != nil && strings.Count(said, shown[1]) < programs {
		t.Errorf("not both print -%s:\n%s", shown[1], said)
	}
	if strings.Contains(name, "/gallery/") || name == "docs/problems.md" || name == "docs/from-r.md" {
		checkShownOutputs(t, text, said)
	}
}

// TestBlocks checks that each page with commands that no test runs is in the list of reasons, that other
// blocks hide no commands, and that a page has the command of each picture.
func TestBlocks(t *testing.T) {
	reasons := map[string]bool{"README.md": true} // of a block of sh
	var commands strings.Builder
	// Lines of usage have words in capitals, and messages have colons.
	hidden := regexp.MustCompile(`^(\$|(docker|git|go|gpfit|import|make|mpirun|pip|podman|python3?|srun|tar) [^A-Z:]*\n)`)
	for _, page := range userPages(t) {
		_, blocks := readPage(t, page)
		name := strings.TrimPrefix(filepath.ToSlash(page), "../../")
		for _, b := range blocks {
			switch b.language {
			case "sh":
				commands.WriteString(b.text)
			case "console", "powershell", "shell":
				if strings.HasPrefix(name, "docs/reference/") {
					name = "docs/reference"
				}
				if notRun[name] == "" {
					t.Errorf("%s: nobody says why this does not run:\n%s", name, b.text)
				}
				reasons[name] = true
			case "text":
				if hidden.MatchString(b.text) {
					t.Errorf("%s: a block of text has commands:\n%s", name, b.text)
				}
			case "python", "go", "yaml", "json", "csv":
			default:
				t.Errorf("%s: a block of the language %q", name, b.language)
			}
		}
	}
	if len(reasons) != len(notRun) {
		t.Errorf("of the reasons for %v, %v have a page", notRun, reasons)
	}
	pictures, _ := filepath.Glob("../../docs/pictures/*") // the pattern is valid
	for _, picture := range pictures {
		if !regexp.MustCompile(` --plot(-errors)? ` + regexp.QuoteMeta(filepath.Base(picture))).MatchString(commands.String()) {
			t.Errorf("no command in the documentation draws %s", picture)
		}
	}
}

// block is a fenced block of a page.
type block struct{ language, text string }

func (b block) runs() bool {
	return b.language == "python" || b.language == "sh" && b.text != "go test ./...\n"
}

var fence = regexp.MustCompile("(?ms)^( *)```(\\w*)\n(.*?)^ *```$")

// readPage returns the text of a page and its blocks. A notebook has the text of its cells, and runs as a whole.
func readPage(t *testing.T, page string) (string, []block) {
	t.Helper()
	text := string(testcheck.Get(os.ReadFile(page))(t))
	var blocks []block
	if filepath.Ext(page) == ".ipynb" {
		var notebook struct{ Cells []struct{ Source []string } }
		testcheck.Do(t, json.Unmarshal([]byte(text), &notebook))
		text = ""
		for _, cell := range notebook.Cells {
			text += strings.Join(cell.Source, "") + "\n"
		}
	}
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block{m[2], strings.ReplaceAll("\n"+m[3], "\n"+m[1], "\n")[1:]})
	}
	if filepath.Ext(page) == ".ipynb" {
		blocks = append(blocks, block{"sh", "jupyter execute " + strings.TrimPrefix(filepath.ToSlash(page), "../../") + "\n"})
	}
	return text, blocks
}

// reader runs commands of pages in a folder.
type reader struct {
	all bool // all pages, as they stand
	dir string
	env []string
}

// newReader returns a reader of all pages in the clone of this test, with a new environment of Python and Jupyter; or
// one in a new folder with examples and docs, for whom go runs the program of the test and pip does nothing.
func newReader(t *testing.T, all bool) reader {
	t.Helper()
	root := testcheck.Get(filepath.Abs("../.."))(t)
	if !all {
		r := reader{dir: t.TempDir()}
		if _, err := exec.LookPath("sh"); err != nil {
			t.Skipf("SKIPPED: no shell here: %v", err)
		}
		for _, folder := range []string{"examples", "docs"} {
			if err := os.Symlink(filepath.Join(root, folder), filepath.Join(r.dir, folder)); err != nil {
				t.Skipf("SKIPPED: no symbolic links here: %v", err)
			}
		}
		bin := testcheck.Folder(t, map[string]string{"go": "#!/bin/sh\nif [ $1 = run ]; then shift 2; exec gpfit \"$@\"; fi\n", "pip": "#!/bin/sh\n"})
		testcheck.Do(t, errors.Join(os.Chmod(filepath.Join(bin, "go"), 0o755), os.Chmod(filepath.Join(bin, "pip"), 0o755)))
		r.env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		return r
	}
	venv := t.TempDir()
	r := reader{all: true, dir: root}
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "GPFIT_") {
			r.env = append(r.env, variable)
		}
	}
	_, path, _ := strings.Cut(os.Getenv("PATH"), ":") // without the folder of TestMain
	gopath := strings.TrimSpace(r.run(t, "go", "env", "GOPATH"))
	r.env = append(r.env, "PATH="+strings.Join([]string{filepath.Join(venv, "bin"), path, filepath.Join(gopath, "bin")}, ":"))
	r.run(t, "python3", "-m", "venv", venv)
	r.run(t, "sh", "-ec", "pip install nbclient ipykernel")
	return r
}

// run runs a command and returns its standard output.
func (r reader) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	var stdout, stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%q\n%v\n%s", args, err, stderr.String())
	}
	return stdout.String()
}

var (
	shownVerdict = regexp.MustCompile("(?m)^verdict  .*$")
	bothPrint    = regexp.MustCompile(`Both print −([0-9.]+)\. `) // gpfit and scikit-learn
	badVerdict   = regexp.MustCompile("(?m)^verdict +(fair|poor): .*$")
)

// checkVerdicts checks that the verdicts on a page are among the printed ones, where an ellipsis stands for any
// text, and that the page says of each grade below good that a command has it.
func checkVerdicts(t *testing.T, page, outputs string) {
	t.Helper()
	for _, line := range shownVerdict.FindAllString(page, -1) {
		if !regexp.MustCompile("(?m)^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "$").MatchString(outputs) {
			t.Errorf("no command prints\n%s\nbut\n%s", line, strings.Join(shownVerdict.FindAllString(outputs, -1), "\n"))
		}
	}
	for _, bad := range badVerdict.FindAllStringSubmatch(outputs, -1) {
		if !regexp.MustCompile("(?i)verdict[^.:]*\\b" + bad[1] + "\\b").MatchString(page) {
			t.Errorf("the page does not say why a command prints\n%s", bad[0])
		}
	}
}

// goodForecast is the verdict on the forecast of the first hour, which holds between 93 and 97 % of the rows.
var goodForecast = regexp.MustCompile(`verdict +good: on 60 held-out rows .* hold 9[3-6]\.\d % of these rows\n`)

// userPages returns README.md and the pages of docs, examples and python with their folders.
func userPages(t *testing.T) []string {
	t.Helper()
	pages := []string{filepath.FromSlash("../../README.md")}
	for _, root := range []string{"docs", "examples", "python"} {
		testcheck.Do(t, filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "build" || d.Name() == "dist") {
				return filepath.SkipDir
			}
			if ext := filepath.Ext(path); ext == ".ipynb" || ext == ".md" {
				pages = append(pages, path)
			}
			return nil
		}))
	}
	return pages
}

// checkShownOutputs checks that each block of text on a page is a part of the output of one
// of its commands. An ellipsis stands for any text within a line.
func checkShownOutputs(t *testing.T, page, outputs string) {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```text\n(.*?)\n```").FindAllStringSubmatch(page, -1)
	for _, block := range blocks {
		lines := strings.ReplaceAll(regexp.QuoteMeta(block[1]), "…", ".*")
		if !regexp.MustCompile(`(?m)^` + lines + `$`).MatchString(outputs) {
			t.Errorf("the page shows\n%s\nbut the commands print\n%s", block[1], outputs)
		}
	}
}

// checkPictures compares the pictures that the commands of a page drew with the
// pictures of the same name in docs/pictures. The last digits depend on the processor,
// so only the shapes and texts count.
func checkPictures(t *testing.T, dir string) {
	t.Helper()
	drawn := testcheck.Get(filepath.Glob(filepath.Join(dir, "*.svg")))(t)
	for _, path := range drawn {
		shown, err := os.ReadFile(filepath.Join("../../docs/pictures", filepath.Base(path)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the page shows no picture of this plot
		}
		if err != nil {
			t.Fatal(err)
		}
		text := testcheck.Get(os.ReadFile(path))(t)
		if diff := gocmp.Diff(pictureShapes(string(shown)), pictureShapes(string(text))); diff != "" {
			t.Errorf("%s differs from docs/pictures (-shown +drawn):\n%s", filepath.Base(path), diff)
		}
	}
}

var (
	pictureTexts = regexp.MustCompile(`>([^<>\s][^<>]*)<`)
	pictureParts = regexp.MustCompile(`<(path|text|g)\b`)
)

// pictureShapes returns the numbers of the shapes of an SVG picture, and its texts in the
// order in which they stand.
func pictureShapes(svg string) map[string]any {
	shapes := map[string]any{}
	for _, m := range pictureParts.FindAllStringSubmatch(svg, -1) {
		n, _ := shapes[m[1]].(int)
		shapes[m[1]] = n + 1
	}
	var texts []string
	for _, m := range pictureTexts.FindAllStringSubmatch(svg, -1) {
		texts = append(texts, m[1])
	}
	shapes["texts"] = texts
	return shapes
}

// checkREADMEOutput compares the output of the first command in README.md with the
// printed one, without the last digits, which depend on the processor.
func checkREADMEOutput(t *testing.T, readme, stdout string) {
	_, shown, _ := strings.Cut(readme, "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	for _, words := range []string{"NLML -1171.570", "kernel matern32(ard) + rbf(dims=year)*periodic(dims=year) ", "noise_variance 0.00015", "verdict good: on 52 held-out rows the error (RMSE) is 0.1974,"} {
		if !strings.Contains(strings.Join(strings.Fields(shown), " "), words) || !strings.Contains(strings.Join(strings.Fields(stdout), " "), words) {
			t.Errorf("%q is not in both README.md and the output:\n%s", words, stdout)
		}
	}
}

// shellWords splits a command at blanks outside of single quotes.
func shellWords(command string) []string {
	var words []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
