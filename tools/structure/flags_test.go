package structure

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// flagText matches a Go string that contains a command-line flag.
var flagText = regexp.MustCompile("[\"`][^\"`]*--[a-z]")

// TestNoFlags checks that the texts of library packages name options instead of flags.
func TestNoFlags(t *testing.T) {
	cmd := exec.Command("git", "ls-files", "fit", "gp", "graph", "hyperopt", "device", "kernel", "mean", "batch", "cpu",
		":!batch/rundir", ":!batch/slurm", ":!device/cuda/emulator") // they have texts for commands, and commands
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("needs a git checkout: %v", err)
	}
	for _, path := range strings.Fields(string(out)) {
		text, err := os.ReadFile("../../" + path)
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue // an error: removed and not yet committed
		}
		for i, line := range strings.Split(string(text), "\n") {
			if flagText.MatchString(line) {
				t.Errorf("%s:%d: names a flag: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	}
}
