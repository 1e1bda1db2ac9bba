package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

// TestTroubleshooting provokes each error of testdata/errors.txt by the commands there. The message, with its
// place, and the exit code must be as stated, and the commands of the cure must succeed afterwards in
// the same folder. docs/troubleshooting.md has a row with words of each message, and no other rows.
func TestTroubleshooting(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a hundred processes")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the commands are for a shell of Linux")
	}
	cases := documentedErrors(t, string(testcheck.Get(os.ReadFile("testdata/errors.txt"))(t)))
	if len(cases) < 30 {
		t.Errorf("%d errors found", len(cases))
	}
	explained(t, string(testcheck.Get(os.ReadFile("../../docs/troubleshooting.md"))(t)), cases)
	path := pathWithoutSlurm(t)
	slots := make(chan bool, 2)
	for _, c := range cases {
		t.Run(c.title, func(t *testing.T) {
			twoAtATime(t, slots)
			c.run(t, path)
		})
	}
}

// documentedError is an error with what provokes it.
type documentedError struct {
	title string
	// commands provoke the error.
	commands string
	// message are lines of standard error. An ellipsis stands for any text.
	message string
	code    int
	// cure are commands that succeed after the others, "" if there are none.
	cure string
}

var (
	shellBlock   = regexp.MustCompile("(?s)```sh\n(.*?)\n```")
	messageBlock = regexp.MustCompile("(?s)```text\n(.*?)\n```")
	exitCode     = regexp.MustCompile(`(?i)\bexit code ([0-9]+)\.`)
	errorRow     = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:([0-9]+) \\| )?[^|]*\\|$")
)

// documentedErrors returns the errors of a file. Each has commands, a message and an exit code.
func documentedErrors(t *testing.T, file string) []documentedError {
	var all []documentedError
	for _, section := range strings.Split(file, "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		shell := shellBlock.FindAllStringSubmatch(text, -1)
		message := messageBlock.FindAllStringSubmatch(text, -1)
		code := exitCode.FindStringSubmatch(text)
		if len(shell) < 1 || len(shell) > 2 || len(message) != 1 || code == nil {
			t.Errorf("%q lacks commands, the message or the exit code", title)
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

// explained checks that each message has a row on the page with its exit code, and that the message of each row is one of them. A row
// without a code has one that its section names.
func explained(t *testing.T, page string, cases []documentedError) {
	found := map[string]bool{}
	for _, section := range strings.Split(page, "\n## ")[1:] {
		for _, row := range errorRow.FindAllStringSubmatch(section, -1) {
			words := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(row[1]), "…", ".*"))
			known := false
			for _, c := range cases {
				code := strconv.Itoa(c.code)
				if !words.MatchString(c.message) || row[2] != "" && row[2] != code || row[2] == "" && !regexp.MustCompile(`(?:Exit code|, and) `+code+`\b`).MatchString(section) {
					continue
				}
				known, found[c.title] = true, true
			}
			if !known {
				t.Errorf("no command prints %q with the exit code of the page", row[1])
			}
		}
	}
	for _, c := range cases {
		if !found[c.title] {
			t.Errorf("the page has no row for %q:\n%s", c.title, c.message)
		}
	}
}

// pathWithoutSlurm returns a folder with gpfit and the few programs that the commands use.
func pathWithoutSlurm(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"gpfit", "sh", "dd", "flock", "gzip", "head", "mkdir", "rm", "sed"} {
		program := testcheck.Get(exec.LookPath(name))(t)
		testcheck.Do(t, os.Symlink(program, filepath.Join(dir, name)))
	}
	return dir
}

func (c documentedError) run(t *testing.T, path string) {
	dir := t.TempDir()
	few := !testcheck.Long() && !strings.Contains(c.message, "521") && !strings.Contains(c.message, "300 points")
	linkExamples(t, filepath.Join(dir, "examples"), few)
	code, stderr := runShell(t, dir, path, c.commands)
	if code != c.code {
		t.Errorf("exit code %d, the file says %d", code, c.code)
	}
	lines := strings.ReplaceAll(regexp.QuoteMeta(c.message), "…", ".*")
	if !strings.HasPrefix(c.message, "gpfit: ") || !regexp.MustCompile(`(?m)^`+lines+`$`).MatchString(stderr) {
		t.Errorf("the file shows\n%s\nbut gpfit says\n%s", c.message, stderr)
	}
	if c.cure == "" {
		return
	}
	if code, stderr := runShell(t, dir, path, c.cure); code != 0 {
		t.Errorf("the cure\n%s\nends with exit code %d\n%s", c.cure, code, stderr)
	}
}

// linkExamples makes a folder with the examples, of which co2.csv and its mask may have few rows: no message depends on the others.
func linkExamples(t *testing.T, dir string, few bool) {
	t.Helper()
	testcheck.Do(t, os.Mkdir(dir, 0o755))
	for _, path := range testcheck.Get(filepath.Glob("../../examples/*"))(t) {
		name := filepath.Base(path)
		if !few || name != "co2.csv" && name != "co2_mask.csv" {
			testcheck.Do(t, os.Symlink(testcheck.Get(filepath.Abs(path))(t), filepath.Join(dir, name)))
			continue
		}
		lines := strings.SplitAfter(string(testcheck.Get(os.ReadFile(path))(t)), "\n")
		write(t, dir, name, strings.Join(lines[:101], ""))
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
	if !testcheck.Long() {
		cmd.Env = append(cmd.Env, "GPFIT_KERNEL=rbf(ard)") // a choice of the kernel takes six fits
	}
	code, _, stderr := end(t, cmd)
	return code, stderr
}
