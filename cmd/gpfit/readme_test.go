package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestREADME runs every gpfit command of README.md's shell blocks, in order, as
// they stand.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(examples, "examples"); err != nil {
		t.Skipf("SKIPPED: no symbolic links here: %v", err)
	}
	ran := 0
	inShell := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") {
			inShell = line == "```sh"
			continue
		}
		command, ok := strings.CutPrefix(line, "go run ./cmd/gpfit ")
		if !ok {
			command, ok = strings.CutPrefix(line, "gpfit ")
		}
		if !inShell || !ok {
			continue
		}
		ran++
		var stdout, stderr strings.Builder
		if code := run(context.Background(), shellWords(command), strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Errorf("%s\nexit code %d\n%s", line, code, stderr.String())
		}
		if ran == 1 {
			checkREADMEOutput(t, string(text), stdout.String())
		}
	}
	if ran < 5 {
		t.Errorf("%d commands found in README.md", ran)
	}
}

// checkREADMEOutput compares what README.md shows of the first command with
// what it prints, but for the last digits, which depend on the processor.
func checkREADMEOutput(t *testing.T, readme, stdout string) {
	_, shown, _ := strings.Cut(readme, "```text\n")
	shown, _, _ = strings.Cut(shown, "```")
	for _, words := range []string{"NLML                      -969.3393", "lengthscale[0]              0.49484", "noise_variance           0.00053844", "  RMSE                     0.41075"} {
		if !strings.Contains(shown, words) || !strings.Contains(stdout, words) {
			t.Errorf("%q is not in both README.md and the output:\n%s", words, stdout)
		}
	}
}

// shellWords splits a command at blanks, single quotes respected.
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
