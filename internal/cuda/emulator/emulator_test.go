package emulator_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{Memory: 1 << 20})) }

func open(t *testing.T) (*driver.Device, driver.Ptr) {
	t.Helper()
	emulator.Need(t)
	d := must.Get(driver.Open(0))(t)
	p := must.Get(d.Alloc(104))(t)
	t.Cleanup(func() { d.Close() })
	return d, p
}

func TestMisuseOfMemoryShows(t *testing.T) {
	d, p := open(t)
	before := emulator.Violations()
	s := must.Get(d.NewStream())(t)
	if err := s.Memset(p.Offset(96), 0, 9); err == nil {
		t.Error("memset beyond the allocation")
	}
	if n := emulator.Violations() - before; n != 1 {
		t.Errorf("%d violations", n)
	}
	// A write before an allocation is detected when the allocation is freed.
	before = emulator.Violations()
	address := uintptr(p) - 1
	**(**byte)(unsafe.Pointer(&address)) = 0
	if err := d.Free(p); err != nil || emulator.Violations() != before+1 {
		t.Errorf("error %v, %d violations", err, emulator.Violations()-before)
	}
	must.Do(t, s.Destroy())
}

func TestSetMemory(t *testing.T) {
	d, p := open(t)
	defer d.Free(p)
	emulator.SetMemory(0, 150)
	defer emulator.SetMemory(0, 1<<20)
	if _, err := d.Alloc(51); !driver.IsOutOfMemory(err) || emulator.Used(0) != 104 {
		t.Errorf("error %v, %d bytes in use", err, emulator.Used(0))
	}
}

func TestFaultsFromTheStart(t *testing.T) {
	if emulator.Rerun(t, emulator.Config{Faults: []emulator.Fault{{Entry: "cuMemAlloc_v2", K: 2, Code: 2}, {Entry: "cuMemAlloc_v2", K: 4, Code: 700}}}) {
		return
	}
	d, p := open(t)
	if _, err := d.Alloc(1); !driver.IsOutOfMemory(err) {
		t.Errorf("second allocation: %v", err)
	}
	if _, err := d.Alloc(1); err != nil {
		t.Errorf("third allocation: %v", err)
	}
	if _, err := d.Alloc(1); !driver.IsSticky(err) {
		t.Errorf("fourth allocation: %v", err)
	}
	if err := d.Free(p); err != nil || emulator.Used(0) == 0 {
		t.Errorf("free on a dead device: %v", err)
	}
	emulator.Reset()
	if emulator.Used(0) != 0 || emulator.Blocks() != 0 || emulator.Handles() != 0 {
		t.Error("the memory of a dead context stayed")
	}
}

// TestNoCompiler checks that a process without a compiler runs the tests that do not
// need the device, and fails if the device is required.
func TestNoCompiler(t *testing.T) {
	emulator.Need(t)
	env := []string{"PATH=/nowhere", "HOME=" + t.TempDir()}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSetMemory$", "-test.v")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "EMULATED GPU NOT AVAILABLE: there is no C compiler") || !strings.Contains(string(out), "SKIPPED, no emulated GPU") {
		t.Errorf("%v\n%s", err, out)
	}
	cmd = exec.Command(os.Args[0], "-test.run=^TestSetMemory$")
	cmd.Env = append(env, "GPFIT_EMU_REQUIRED=1")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("passed:\n%s", out)
	}
}
