package supervise

import (
	"errors"
	"fmt"
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
		const group = "/sys/fs/cgroup/memory/gpfit-supervise-test"
		under := map[string]string{"": "the limit of 6144 MiB on the address space"}
		if os.Mkdir(group, 0o755) == nil { // as root, where there is the first version of control groups
			defer os.Remove(group)
			testcheck.Do(t, os.WriteFile(group+"/memory.limit_in_bytes", []byte("400000000"), 0o600))
			under[group] = "the limit of its control group: raise it"
		}
		for group, says := range under {
			cmd := exec.Command(os.Args[0], "-test.run", "TestRun")
			cmd.Env = append(os.Environ(), "SUPERVISE_TEST=1", "SUPERVISE_GROUP="+group)
			out, err := cmd.CombinedOutput()
			failed, is := errors.AsType[*exec.ExitError](err)
			if text := string(out); !is || failed.ExitCode() != exit.Device || !strings.HasPrefix(text, "own words\ngpfit: the system refused memory under "+says) || strings.Count(text, "\n") != 2 {
				t.Errorf("%v\n%.1000s", err, text)
			}
		}
		return
	}
	group := os.Getenv("SUPERVISE_GROUP")
	if Watched() {
		_, _ = os.Stderr.WriteString("own words\n")
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 64<<20))
			for last := all[len(all)-1]; group != "" && len(last) > 0; last = last[4096:] {
				last[0] = 1 // a control group counts what is used
			}
		}
	}
	if group != "" {
		testcheck.Do(t, os.WriteFile(group+"/cgroup.procs", fmt.Append(nil, os.Getpid()), 0o600))
	}
	limit := syscall.Rlimit{Cur: 6 << 30, Max: 6 << 30}
	testcheck.Do(t, syscall.Setrlimit(syscall.RLIMIT_AS, &limit))
	code, _ := Run(nil)
	os.Exit(code)
}
