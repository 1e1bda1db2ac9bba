package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/reference"
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
	"printf":  "here", "head": "here", "cat": "here", "mkdir": "here",
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
		if !strings.Contains(all.String(), " --plot "+filepath.Base(picture)) {
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
		case program == "gpfit" || where == "here":
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
	for _, words := range []string{"NLML                     -1171.570", "kernel                 matern32(ard) + rbf(dims=year)*periodic(dims=year)\n", "noise_variance                 0.0001529", "verdict                good: on 52 held-out rows the error (RMSE) is 0.1974,"} {
		if !strings.Contains(shown, words) || !strings.Contains(stdout, words) {
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

// TestReferencePages checks that docs/reference is what go generate writes.
func TestReferencePages(t *testing.T) {
	const dir = "../../docs/reference"
	pages := reference.Markdown(newRoot(nil, io.Discard, io.Discard))
	if len(pages) < 20 || pages[reference.Index] == nil {
		t.Fatalf("only %d pages", len(pages))
	}
	kept := must.Get(os.ReadDir(dir))(t)
	for _, f := range kept {
		if pages[f.Name()] == nil {
			t.Errorf("%s/%s is of no command: remove it", dir, f.Name())
		}
	}
	for name, text := range pages {
		if was, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(was, text) {
			t.Errorf("%s/%s is not what the commands give: run go generate ./cmd/gpfit (%v)", dir, name, err)
		}
	}
}

// roffPrograms are the programs that render manual pages, with the arguments that make
// them print warnings.
var roffPrograms = [][]string{
	{"mandoc", "-T", "utf8", "-W", "warning", "-O", "width=240"},
	{"groff", "-man", "-Tutf8", "-ww", "-rLL=240n", "-P-c"},
}

// TestManPages renders the page of every command. It checks that there are no warnings and
// that the rendered page has all sections, flags and examples, as a user types them.
func TestManPages(t *testing.T) {
	root := newRoot(nil, io.Discard, io.Discard)
	pages := reference.Man(root, reference.Release{Version: "1.2.3", Date: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)})
	rendered := 0
	for _, program := range roffPrograms {
		if _, err := exec.LookPath(program[0]); err != nil {
			t.Logf("SKIPPED: no %s here", program[0])
			continue
		}
		rendered++
		for _, cmd := range allCommands(root) {
			source := pages[strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"]
			if cmd.Hidden {
				continue
			}
			text := render(t, program, source)
			wanted := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO", "gpfit 1.2.3", "2026-11-22", cmd.CommandPath()}
			for line := range strings.Lines(cmd.Example) {
				wanted = append(wanted, strings.TrimSpace(line))
			}
			cmd.Flags().VisitAll(func(f *pflag.Flag) { wanted = append(wanted, "--"+f.Name) })
			for _, w := range wanted {
				if !strings.Contains(text, w) {
					t.Errorf("%s: the page of %s lacks %q", program[0], cmd.CommandPath(), w)
				}
			}
		}
	}
	if rendered == 0 {
		t.Skip("SKIPPED: neither mandoc nor groff here, so no page was rendered")
	}
}

// effects are the bytes by which groff and mandoc print bold letters and underlines.
var effects = regexp.MustCompile(".\x08|\x1b\\[[0-9;]*m")

// render returns a manual page as plain text.
func render(t *testing.T, program []string, page []byte) string {
	t.Helper()
	cmd := exec.Command(program[0], program[1:]...)
	var out, warnings bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(page), &out, &warnings
	if err := cmd.Run(); err != nil || warnings.Len() > 0 {
		t.Errorf("%s: %v\n%s\n%.300s", program[0], err, warnings.String(), page)
	}
	return effects.ReplaceAllString(out.String(), "")
}

// TestReferenceCommand checks the command that writes the pages, its date and its errors.
func TestReferenceCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man", "man1")
	t.Setenv("SOURCE_DATE_EPOCH", "86400")
	mustLine(t, "reference", "man", dir)
	page, err := os.ReadFile(filepath.Join(dir, "gpfit-fit.1"))
	if err != nil || !bytes.Contains(page, []byte("1970-01-02")) {
		t.Errorf("%v, %.80s", err, page)
	}
	for _, c := range []struct{ epoch, format, want string }{
		{"86400", "html", "must be markdown or man"},
		{"today", "man", `SOURCE_DATE_EPOCH="today": must be a number of seconds`},
	} {
		t.Setenv("SOURCE_DATE_EPOCH", c.epoch)
		ends(t, exit.Usage, c.want, "reference", c.format, dir)
	}
}

// TestTroubleshooting provokes each error of docs/troubleshooting.md by the commands shown
// there. The message, with its place, and the exit code must be as on the page. If the page
// gives commands as the cure, they must succeed afterwards in the same folder.
func TestTroubleshooting(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a hundred processes")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the commands are for a shell of Linux")
	}
	page := must.Get(os.ReadFile("../../docs/troubleshooting.md"))(t)
	cases := documentedErrors(t, string(page))
	if len(cases) < 30 {
		t.Errorf("%d errors found on the page", len(cases))
	}
	path := pathWithoutSlurm(t)
	slots := make(chan bool, 2)
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			twoAtATime(t, slots)
			c.run(t, path)
		})
	}
}

// documentedError is a section of the page.
type documentedError struct {
	title string
	// commands provoke the error.
	commands string
	// message are lines of standard error. An ellipsis stands for any text.
	message string
	code    int
	// cure are commands that succeed after the others, "" if the page shows none.
	cure string
}

var (
	shellBlock   = regexp.MustCompile("(?s)```sh\n(.*?)\n```")
	messageBlock = regexp.MustCompile("(?s)```text\n(.*?)\n```")
	exitCode     = regexp.MustCompile(`\nExit code ([0-9]+)\. [^*]+\n\n\*\*Cure\.\*\* `)
)

// documentedErrors returns the errors of a page. Each has commands, a message, an exit code
// with the cause, and a cure.
func documentedErrors(t *testing.T, page string) []documentedError {
	var all []documentedError
	for _, section := range strings.Split(page, "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		title, text, _ := strings.Cut(section, "\n")
		shell := shellBlock.FindAllStringSubmatch(text, -1)
		message := messageBlock.FindAllStringSubmatch(text, -1)
		code := exitCode.FindStringSubmatch(text)
		if len(shell) < 1 || len(shell) > 2 || len(message) != 1 || code == nil {
			t.Errorf("%q lacks commands, the message, the exit code with the cause, or the cure", title)
			continue
		}
		c := documentedError{title: title, commands: shell[0][1], message: message[0][1]}
		c.code, _ = strconv.Atoi(code[1])
		if len(shell) == 2 {
			c.cure = shell[1][1]
		}
		all = append(all, c)
	}
	return all
}

// pathWithoutSlurm returns a folder with gpfit and the few programs that the commands use.
func pathWithoutSlurm(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"gpfit", "sh", "dd", "flock", "gzip", "head", "mkdir", "rm", "sed"} {
		program := must.Get(exec.LookPath(name))(t)
		must.Do(t, os.Symlink(program, filepath.Join(dir, name)))
	}
	return dir
}

func (c documentedError) run(t *testing.T, path string) {
	dir := t.TempDir()
	examples := must.Get(filepath.Abs("../../examples"))(t)
	must.Do(t, os.Symlink(examples, filepath.Join(dir, "examples")))
	code, stderr := runShell(t, dir, path, c.commands)
	if code != c.code {
		t.Errorf("exit code %d, the page says %d", code, c.code)
	}
	lines := strings.ReplaceAll(regexp.QuoteMeta(c.message), "…", ".*")
	if !strings.HasPrefix(c.message, "gpfit: ") || !regexp.MustCompile(`(?m)^`+lines+`$`).MatchString(stderr) {
		t.Errorf("the page shows\n%s\nbut gpfit says\n%s", c.message, stderr)
	}
	if c.cure == "" {
		return
	}
	if code, stderr := runShell(t, dir, path, c.cure); code != 0 {
		t.Errorf("the cure\n%s\nends with exit code %d\n%s", c.cure, code, stderr)
	}
}

// runShell runs commands in a folder with only the programs of path, and returns their exit
// code and standard error.
func runShell(t *testing.T, dir, path, commands string) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(path, "sh"), "-c", commands)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + path, "HOME=" + dir}
	code, _, stderr := end(t, cmd)
	return code, stderr
}
