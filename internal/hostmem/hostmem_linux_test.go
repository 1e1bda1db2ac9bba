package hostmem

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLimits checks that Free never exceeds the process's own limits.
func TestLimits(t *testing.T) {
	if os.Getenv("HOSTMEM_PRINT") != "" {
		if free := Free(); free < 1<<20 || free > 2<<30 {
			t.Fatalf("%d bytes free, with a limit of 2 GiB", free)
		}
		return
	}
	for _, limit := range []string{"-v 2097152", "-d 2097152"} {
		cmd := exec.Command("sh", "-c", "ulimit "+limit+" && exec \"$0\" -test.run TestLimits", os.Args[0])
		cmd.Env = append(os.Environ(), "HOSTMEM_PRINT=1")
		if out, err := cmd.CombinedOutput(); err != nil && !strings.Contains(string(out), "ulimit:") {
			t.Errorf("ulimit %s: %v\n%s", limit, err, out)
		}
	}
	if Free() <= 0 {
		t.Error("nothing is free")
	}
}
