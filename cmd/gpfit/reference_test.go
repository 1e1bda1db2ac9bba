package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/reference"
	"gpfit/internal/testcheck"
)

// TestReferencePages compares docs/reference with the pages that go generate writes.
func TestReferencePages(t *testing.T) {
	const dir = "../../docs/reference"
	pages := reference.Markdown(newRoot("", nil, io.Discard, io.Discard))
	if len(pages) < 20 || pages["gpfit-fit.md"] == nil {
		t.Fatalf("only %d pages", len(pages))
	}
	kept := testcheck.Get(os.ReadDir(dir))(t)
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

// TestCommandsPage checks that docs/commands.md has all exit codes and variables of the manual page.
func TestCommandsPage(t *testing.T) {
	page := string(testcheck.Get(os.ReadFile("../../docs/commands.md"))(t))
	_, manual, _ := strings.Cut(string(reference.Man(newRoot("", nil, nil, io.Discard), reference.Release{})["gpfit.1"]), "\n.SH EXIT STATUS\n")
	rows := regexp.MustCompile(`\.TP\n\\fB(.*)\\fR\n(.*)`).FindAllStringSubmatch(manual, -1)
	for _, row := range rows {
		for _, name := range strings.Split(row[1], ", ") {
			if !strings.Contains(page, "`"+name+"`") && !strings.Contains(page, "| "+name+" | "+row[2]+" |") {
				t.Errorf("docs/commands.md lacks %s", name)
			}
		}
	}
	if len(rows) != len(exit.Statuses())+12 {
		t.Errorf("the manual page has %d rows", len(rows))
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
	root := newRoot("", nil, io.Discard, io.Discard)
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
