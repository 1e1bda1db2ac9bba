package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocumentedCommands runs every gpfit command in the shell blocks of README.md and of
// the pages of docs and examples, page by page and unchanged.
func TestDocumentedCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("runs for ten seconds")
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	pages = append(pages, "../../README.md", "../../examples/batch/README.md")
	commands := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		lines := documentedCommands(string(text))
		commands += len(lines)
		if len(lines) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			first := runInExamples(t, lines)
			if filepath.Base(page) == "README.md" && strings.HasPrefix(string(text), "# gpfit\n") {
				checkREADMEOutput(t, string(text), first)
			}
		})
	}
	if commands < 15 {
		t.Errorf("%d commands found in the documentation", commands)
	}
}

// documentedCommands returns the arguments of the gpfit commands in the shell blocks of
// a page.
func documentedCommands(page string) []string {
	var commands []string
	inShell := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inShell = line == "```sh"
			continue
		}
		command, ok := strings.CutPrefix(line, "go run ./cmd/gpfit ")
		if !ok {
			command, ok = strings.CutPrefix(line, "gpfit ")
		}
		if inShell && ok {
			commands = append(commands, command)
		}
	}
	return commands
}

// runInExamples runs commands in a new folder that has the examples. It returns the
// standard output of the first one.
func runInExamples(t *testing.T, commands []string) string {
	t.Helper()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(examples, "examples"); err != nil {
		t.Skipf("SKIPPED: no symbolic links here: %v", err)
	}
	var first string
	for i, command := range commands {
		var stdout, stderr strings.Builder
		if code := run(context.Background(), shellWords(command), strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Errorf("gpfit %s\nexit code %d\n%s", command, code, stderr.String())
		}
		if i == 0 {
			first = stdout.String()
		}
	}
	return first
}

// checkREADMEOutput compares the output of the first command in README.md with the
// printed one, without the last digits, which depend on the processor.
func checkREADMEOutput(t *testing.T, readme, stdout string) {
	_, shown, _ := strings.Cut(readme, "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	for _, words := range []string{"NLML                      -969.3393", "lengthscale[year]              0.494842", "noise_variance              0.000538444", "  RMSE                     0.41075"} {
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
