package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"gpfit/internal/must"
)

// otherCommands are the programs other than gpfit in the shell blocks of pages for users, and
// where they are tested: commands of the shell that pages need run here.
var otherCommands = map[string]string{
	"git":     "by nobody: the address of the repository depends on its host",
	"cd":      "by nobody: every page runs in a folder of its own",
	"go":      "in .ci/steps and .ci/module",
	"make":    "in .ci/full, .ci/python and .ci/site",
	"pip":     "in .ci/python",
	"python3": "in gp, TestReadModel and TestSklearn",
	"mpirun":  "in ranks_linux_test.go, with fewer ranks", "srun": "in ranks_linux_test.go, on a cluster of one node", "apt-get": "in .ci/steps",
	"printf": "here", "head": "here", "cat": "here", "mkdir": "here",
}

// TestDocumentedCommands runs the gpfit commands in the shell blocks of README.md and of the
// first hour, with GPFIT_LONG the commands of all pages of docs, examples and python, page
// by page and unchanged. A page of errors has a test of its own.
func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a hundred processes")
	}
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skipf("SKIPPED: no shell here: %v", err)
	}
	slots, commands := make(chan bool, 2), 0
	var all strings.Builder
	for _, page := range userPages(t) {
		text := must.Get(os.ReadFile(page))(t)
		lines := documentedCommands(t, page, string(text))
		commands += len(lines)
		fmt.Fprintln(&all, lines)
		name := strings.TrimPrefix(filepath.ToSlash(page), "../../")
		if len(lines) == 0 || name != "README.md" && name != "docs/first-hour.md" && os.Getenv("GPFIT_LONG") == "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			twoAtATime(t, slots)
			outputs := runInExamples(t, lines)
			checkVerdicts(t, string(text), strings.Join(outputs, ""))
			if name == "README.md" {
				checkREADMEOutput(t, string(text), outputs[0])
			}
			if name == "docs/first-hour.md" && !goodForecast.MatchString(strings.Join(outputs, "")) {
				t.Errorf("the forecast does not match %s", goodForecast)
			}
			if filepath.Base(filepath.Dir(page)) == "gallery" {
				checkShownOutputs(t, string(text), outputs)
			}
		})
	}
	if commands < 50 {
		t.Errorf("%d commands found in the documentation", commands)
	}
	pictures, _ := filepath.Glob("../../docs/pictures/*") // the pattern is valid
	for _, picture := range pictures {
		if !regexp.MustCompile(` --plot(-errors)? ` + regexp.QuoteMeta(filepath.Base(picture))).MatchString(all.String()) {
			t.Errorf("no command in the documentation draws %s", picture)
		}
	}
}

var (
	shownVerdict = regexp.MustCompile("(?m)^verdict  .*$")
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
		must.Do(t, filepath.WalkDir(filepath.Join("../..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "build" || d.Name() == "dist") {
				return filepath.SkipDir
			}
			if filepath.Ext(path) == ".md" && d.Name() != "troubleshooting.md" {
				pages = append(pages, path)
			}
			return nil
		}))
	}
	return pages
}

// documentedCommands returns the gpfit commands in the shell blocks of a page, and the
// commands that prepare files for them. A backslash at the end of a line continues it.
func documentedCommands(t *testing.T, page, text string) []string {
	t.Helper()
	var commands []string
	inShell := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inShell = line == "```sh"
			continue
		}
		if !inShell || line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if command, ok := strings.CutPrefix(line, "go run ./cmd/gpfit "); ok {
			line = "gpfit " + command
		}
		program, _, _ := strings.Cut(line, " ")
		where, other := otherCommands[program]
		switch {
		case program == "gpfit" || where == "here" || strings.HasPrefix(line, "python3 docs/"):
			commands = append(commands, line)
		case !other:
			t.Errorf("%s: no test runs %q", page, line)
		}
	}
	return commands
}

// runInExamples runs commands in a new folder that has the examples and docs. It returns
// their standard outputs.
func runInExamples(t *testing.T, commands []string) []string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"examples", "docs"} {
		path := must.Get(filepath.Abs(filepath.Join("../..", folder)))(t)
		if err := os.Symlink(path, filepath.Join(dir, folder)); err != nil {
			t.Skipf("SKIPPED: no symbolic links here: %v", err)
		}
	}
	var outputs []string
	for _, command := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		var stdout, stderr strings.Builder
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%s\n%v\n%s", command, err, stderr.String())
		}
		outputs = append(outputs, stdout.String())
	}
	checkPictures(t, dir)
	return outputs
}

// checkShownOutputs checks that each block of text on a page is a part of the output of one
// of its commands. An ellipsis stands for any text within a line.
func checkShownOutputs(t *testing.T, page string, outputs []string) {
	t.Helper()
	blocks := regexp.MustCompile("(?s)```text\n(.*?)\n```").FindAllStringSubmatch(page, -1)
	for _, block := range blocks {
		lines := strings.ReplaceAll(regexp.QuoteMeta(block[1]), "…", ".*")
		if !regexp.MustCompile(`(?m)^` + lines + `$`).MatchString(strings.Join(outputs, "")) {
			t.Errorf("the page shows\n%s\nbut the commands print\n%s", block[1], strings.Join(outputs, ""))
		}
	}
}

// checkPictures compares the pictures that the commands of a page drew with the
// pictures of the same name in docs/pictures. The last digits depend on the processor,
// so only the shapes and texts count.
func checkPictures(t *testing.T, dir string) {
	t.Helper()
	drawn := must.Get(filepath.Glob(filepath.Join(dir, "*.svg")))(t)
	for _, path := range drawn {
		shown, err := os.ReadFile(filepath.Join("../../docs/pictures", filepath.Base(path)))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the page shows no picture of this plot
		}
		if err != nil {
			t.Fatal(err)
		}
		text := must.Get(os.ReadFile(path))(t)
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

// TestSameNumberAsSklearn compares the likelihood of gpfit with the number that
// docs/from-sklearn-and-gpytorch.md shows for both programs, and with scikit-learn's
// own if GPFIT_PYTHON, or python3, has it.
func TestSameNumberAsSklearn(t *testing.T) {
	const page = "../../docs/from-sklearn-and-gpytorch.md"
	text := must.Get(os.ReadFile(page))(t)
	t.Chdir("../..")
	command := strings.TrimPrefix(documentedCommands(t, page, string(text))[0], "gpfit ")
	var result struct{ NLML float64 }
	decodeLine(t, &result, append(shellWords(command), "--json")...)
	shown := regexp.MustCompile(`Both print −([0-9.]+)\. `).FindSubmatch(text)
	if shown == nil || fmt.Sprintf("%.6f", -result.NLML) != string(shown[1]) {
		t.Errorf("gpfit prints %.6f, the page shows −%s", result.NLML, shown)
	}
	python := cmp.Or(os.Getenv("GPFIT_PYTHON"), "python3")
	_, script, _ := strings.Cut(string(text), "```python\n")
	script, _, _ = strings.Cut(script, "```")
	var failed strings.Builder
	sklearn := exec.Command(python, "-c", script)
	sklearn.Stderr = &failed
	out, err := sklearn.Output()
	switch {
	case err != nil && (failed.Len() == 0 || strings.Contains(failed.String(), "ModuleNotFoundError")):
		t.Skipf("SKIPPED: no Python with scikit-learn to compare with: %v", err)
	case err != nil:
		t.Fatalf("%v\n%s", err, failed.String())
	}
	theirs, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	// Both solve by Cholesky in float64; the factor's condition is about 1e6.
	if err != nil || math.Abs(theirs-result.NLML) > 1e-8*math.Abs(theirs) {
		t.Errorf("scikit-learn prints %q, gpfit %v", out, result.NLML)
	}
}
