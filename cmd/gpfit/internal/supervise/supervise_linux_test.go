package supervise

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/testcheck"
)

// TestRun runs this test under a limit on the address space, in a process that takes memory without end. The one above ends with
// a message and no trace. Without a limit nothing is watched.
func TestRun(t *testing.T) {
	if os.Getenv("SUPERVISE_TEST") == "" {
		if _, done := Run(nil); done {
			t.Error("a process is watched without a limit")
		}
		cmd := exec.Command(os.Args[0], "-test.run", "TestRun")
		cmd.Env = append(os.Environ(), "SUPERVISE_TEST=1")
		out, err := cmd.CombinedOutput()
		failed, is := errors.AsType[*exec.ExitError](err)
		if text := string(out); !is || failed.ExitCode() != exit.Device || !strings.HasPrefix(text, "own words\ngpfit: the system refused memory under the limit of") || strings.Count(text, "\n") != 2 {
			t.Errorf("%v\n%.1000s", err, text)
		}
		return
	}
	if Watched() {
		_, _ = os.Stderr.WriteString("own words\n")
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 256<<20))
		}
	}
	limit := syscall.Rlimit{Cur: 6 << 30, Max: 6 << 30}
	testcheck.Do(t, syscall.Setrlimit(syscall.RLIMIT_AS, &limit))
	code, _ := Run(nil)
	os.Exit(code)
}
