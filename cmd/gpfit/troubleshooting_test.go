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
	var cases []documentedError
	for _, section := range strings.Split(string(testcheck.Get(os.ReadFile("testdata/errors.txt"))(t)), "\n## ")[1:] {
		m := errorSection.FindStringSubmatch(strings.TrimSpace(section) + "\n")
		if m == nil {
			t.Fatalf("not an error:\n%s", section)
		}
		cases = append(cases, documentedError{m[1], m[2], m[3], m[4], m[5]})
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

// documentedError has commands that provoke an error, the message, in which an ellipsis stands for any text, and commands
// that succeed afterwards, if any.
type documentedError struct {
	title, commands, code, message, cure string
}

var (
	errorSection = regexp.MustCompile(`(?s)^([^\n]+)\n(.+?)\n-- (\d+)\n(.+?)\n--\n(.*)$`)
	errorRow     = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:([0-9]+) \\| )?[^|]*\\|$")
)

// explained checks that each message has a row on the page with its exit code, which the section names if the row does not, and that
// no row has another message.
func explained(t *testing.T, page string, cases []documentedError) {
	found := map[string]bool{}
	for _, section := range strings.Split(page, "\n## ")[1:] {
		for _, row := range errorRow.FindAllStringSubmatch(section, -1) {
			words, known := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(row[1]), "…", ".*")), false
			for _, c := range cases {
				rightCode := row[2] == c.code || row[2] == "" && regexp.MustCompile(`(Exit code|, and) `+c.code+`\b`).MatchString(section)
				if rightCode && words.MatchString(c.message) {
					known, found[c.title] = true, true
				}
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
	if strconv.Itoa(code) != c.code {
		t.Errorf("exit code %d, the file says %s", code, c.code)
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
