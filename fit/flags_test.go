package fit

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// flagText matches a Go string that contains a command-line flag.
var flagText = regexp.MustCompile("[\"`][^\"`]*--[a-z]")

// TestNoFlags checks that the texts of library packages name options instead of
// flags. The texts of the listed files belong to other programs.
func TestNoFlags(t *testing.T) {
	others := []string{"internal/slurm/", "internal/cuda/bindings/", "internal/cuda/emulator/", "internal/rundir/rundir.go", "internal/spec/spec.go"}
	cmd := exec.Command("git", "ls-files", "fit", "gp", "graph", "hyperopt", "device", "kernel", "mean", "batch", "cpu")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("needs a git checkout: %v", err)
	}
files:
	for _, path := range strings.Fields(string(out)) {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, other := range others {
			if strings.HasPrefix(path, other) {
				continue files
			}
		}
		text, err := os.ReadFile("../" + path)
		if err != nil {
			continue // removed and not yet committed
		}
		for i, line := range strings.Split(string(text), "\n") {
			if flagText.MatchString(line) {
				t.Errorf("%s:%d: names a flag: %s", path, i+1, strings.TrimSpace(line))
			}
		}
	}
}
