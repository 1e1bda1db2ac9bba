package hostmem

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"gpfit/internal/testcheck"
)

// TestLimits checks that Free never exceeds the process's own limits. The limit on the
// address space is 1 GiB above what this process and its threads take, which depends on the
// race detector and on the number of processors.
func TestLimits(t *testing.T) {
	if os.Getenv("HOSTMEM_PRINT") != "" {
		if free := Free(); free < 1<<20 || free > 2<<30 {
			t.Fatalf("%d bytes free, with at most 2 GiB left", free)
		}
		return
	}
	if err := CheckLimit(); err != nil {
		t.Errorf("without a limit: %v", err)
	}
	space := (pages(0) + threadsToCome() + spare + 1<<30) >> 10
	for _, limit := range []string{fmt.Sprintf("-v %d", space), "-d 2097152"} {
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

// TestCheckLimit: a limit a little above what the process has mapped leaves too little. The limit has
// room for one step of the heap: Go begins it at a random place of its first step, so that it may need
// the next one at any time.
func TestCheckLimit(t *testing.T) {
	if os.Getenv("HOSTMEM_CHECK") != "" {
		var old syscall.Rlimit
		testcheck.Do(t, syscall.Getrlimit(syscall.RLIMIT_AS, &old))
		low := syscall.Rlimit{Cur: uint64(pages(0)) + heapStep + 16<<20, Max: old.Max}
		testcheck.Do(t, syscall.Setrlimit(syscall.RLIMIT_AS, &low))
		err := CheckLimit()
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &old)
		var left, needed int
		if !errors.Is(err, ErrAddressSpace) {
			t.Fatalf("error %v", err)
		}
		if _, err := fmt.Sscanf(err.Error(), ErrAddressSpace.Error()+" leaves %d MiB, and a small job needs %d MiB:", &left, &needed); err != nil || left > 80 || needed <= left {
			t.Fatalf("%d of %d MiB are left, %v", left, needed, err)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TestCheckLimit")
	cmd.Env = append(os.Environ(), "HOSTMEM_CHECK=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
