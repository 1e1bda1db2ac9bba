package emulator_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{Memory: 1 << 20})) }

func open(t *testing.T) (*driver.Device, driver.Ptr) {
	t.Helper()
	emulator.Need(t)
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Alloc(104)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d, p
}

// geometry launches a kernel that writes 7 integers at p.
func geometry(t *testing.T, d *driver.Device, s *driver.Stream, p driver.Ptr) {
	t.Helper()
	m, err := d.LoadModule([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := m.Function("geometry")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Launch(s, 1, 1, uint64(p)), m.Unload()); err != nil {
		t.Error(err)
	}
}

func TestMisuseOfMemoryShows(t *testing.T) {
	d, p := open(t)
	before := emulator.Violations()
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Memset(p.Offset(96), 0, 9); err == nil {
		t.Error("memset beyond the allocation")
	}
	if n := emulator.Violations() - before; n != 1 {
		t.Errorf("%d violations", n)
	}
	// A kernel that writes before its memory.
	geometry(t, d, s, p.Offset(-8))
	blocks := emulator.Blocks()
	if err := d.Free(p); err != nil {
		t.Error(err)
	}
	if n := emulator.Violations() - before; n != 2 || emulator.Blocks() != blocks-1 {
		t.Errorf("%d violations", n)
	}
	if err := s.Destroy(); err != nil {
		t.Error(err)
	}
}

// TestKernelBeyondItsMemory has a kernel write beyond the end of its memory, in a
// process of its own, which must not survive it.
func TestKernelBeyondItsMemory(t *testing.T) {
	const beyond = "GPFIT_TEST_BEYOND"
	if os.Getenv(beyond) == "" {
		emulator.Need(t)
		cmd := exec.Command(os.Args[0], "-test.run=^TestKernelBeyondItsMemory$")
		cmd.Env = append(os.Environ(), beyond+"=1")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "SIGSEGV") {
			t.Errorf("error %v\n%s", err, out)
		}
		return
	}
	d, p := open(t)
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	geometry(t, d, s, p.Offset(104-6*8))
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

// A process without a compiler runs the tests that do not need the device, and
// fails if it is told to.
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
