package emulator_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// shared declares an array of 64 numbers in shared memory. %rd1 is the address of the
// thread's number, %rd2 the address of its neighbour's.
const shared = `.shared .align 8 .f64 all[64]; mov.u64 %rd1, all; mul.wide.u32 %rd3, %t, 8; add.s64 %rd1, %rd1, %rd3;
xor.b32 %r1, %t, 1; mul.wide.u32 %rd3, %r1, 8; mov.u64 %rd2, all; add.s64 %rd2, %rd2, %rd3; cvt.rn.f64.u32 %fd1, %t;
`

const (
	illegalAddress = 700
	misaligned     = 716
	launchFailure  = 719
)

// misuses are kernels of 64 threads that must be refused. The message must name the
// line that is line lines after bodyLine, and contain words.
var misuses = []struct {
	name, body string
	code       driver.Code
	line       int
	words      string
}{
	{"race after a write", shared + "st.shared.f64 [%rd1], %fd1;\nld.shared.f64 %fd2, [%rd2];", launchFailure, 3,
		"block 0, thread 0: race: it reads byte 8 of shared memory, which thread 1 has written since the last barrier"},
	{"race after a read", shared + "st.shared.f64 [%rd1], %fd1;\nbar.sync 0; ld.shared.f64 %fd2, [%rd2];\nst.shared.f64 [%rd1], %fd2;", launchFailure, 4,
		"thread 0: race: it writes byte 0 of shared memory, which thread 1 has read since the last barrier"},
	{"race after a common read", shared + "st.shared.f64 [%rd1], %fd1; bar.sync 0; ld.shared.f64 %fd2, [all];\n@%p1 bra L; st.shared.f64 [%rd1], %fd2; L:", launchFailure, 3,
		"writes byte 0 of shared memory, which several threads have read"},
	{"race of writes", shared + "\nst.shared.f64 [all+8], %fd1;", launchFailure, 3, "thread 1: race: it writes byte 8"},
	{"never written", shared + "setp.ne.u32 %p1, %t, 5; @%p1 st.shared.f64 [%rd1], %fd1; bar.sync 0;\nld.shared.f64 %fd2, [%rd2];", launchFailure, 3,
		"thread 4: byte 40 of shared memory is read but was never written"},
	{"nothing written", "setp.eq.u32 %p1, %t, 99;\n" + shared + "ld.shared.f64 %fd2, [all];", launchFailure, 3, "byte 0 of shared memory is read but was never written"},
	{"beyond shared memory", shared + "\nst.shared.f64 [%rd1+8], %fd1;", illegalAddress, 3, "thread 63: byte 512 of 512 bytes of shared memory"},
	{"misaligned in shared memory", shared + "\nst.shared.f64 [%rd1+4], %fd1;", misaligned, 3, "thread 0: address 0x1000004 is not a multiple of 8"},
	{"local, never written", ".local .align 8 .b8 own[16]; st.local.u32 [own+8], %t;\nld.local.u64 %rd1, [own+8];", launchFailure, 1,
		"byte 8 of local memory is read but was never written"},
	{"beyond local memory", ".local .align 8 .b8 own[16]; cvt.u64.u32 %rd1, %t; mov.u64 %rd2, own; mad.wide.u32 %rd2, %t, 8, %rd2;\nst.local.u64 [%rd2], %rd1;", illegalAddress, 1,
		"thread 2: byte 16 of 16 bytes of local memory"},
	{"beyond global memory", "mul.wide.u32 %rd1, %t, 8; add.s64 %rd2, %mine, 8;\nst.global.u64 [%rd2], %rd1;", illegalAddress, 1, "thread 63: address 0x"},
	{"before global memory", "\nld.global.u64 %rd1, [%mine-8];", illegalAddress, 1, "thread 0: address 0x"},
	{"no address at all", "mov.u64 %rd1, 0;\n@!%p1 st.global.u64 [%rd1], %rd1; @%p1 st.global.u64 [%rd1], %rd1;", illegalAddress, 1, "address 0x0 is outside every allocation"},
	{"misaligned in global memory", "\nst.global.u64 [%mine+4], %rd1;", misaligned, 1, "is not a multiple of 8"},
	{"misaligned vector", "\nld.global.v2.f64 {%fd1, %fd2}, [%in+8];", misaligned, 1, "is not a multiple of 16"},
	{"barrier that some do not reach", "setp.lt.u32 %p1, %t, 9; @%p1 exit;\nbar.sync 0;", launchFailure, 1, "thread 9: 9 threads ended before a barrier at which others wait"},
	{"two barriers", "setp.lt.u32 %p1, %t, 9; @%p1 bra L;\nbar.sync 0; bra.uni E;\nL: bar.sync 0; E:", launchFailure, 2, fmt.Sprintf("thread 9 waits at a different barrier, in line %d", bodyLine+1)},
	{"shuffle without all", "setp.lt.u32 %p1, %t, 9;\n@%p1 shfl.sync.idx.b32 %r1, %t, 0, 31, -1;", launchFailure, 1, "waits for thread 9, which does not come"},
	{"shuffle of others", "\nshfl.sync.idx.b32 %r1, %t, 0, 31, 1;", launchFailure, 1, "in a thread that its mask does not name"},
}

// TestChecks runs each kernel in a separate process, to read its messages.
func TestChecks(t *testing.T) {
	const inside = "GPFIT_TEST_CHECKS"
	emulator.Need(t)
	if os.Getenv(inside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestChecks$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		for _, c := range misuses {
			_, said, _ := strings.Cut(string(out), "=== "+c.name+"\n")
			said, _, _ = strings.Cut(said, "\n")
			if where := fmt.Sprintf("kernel k, PTX line %d (", bodyLine+c.line); !strings.Contains(said, where) || !strings.Contains(said, c.words) {
				t.Errorf("%s: said %q, want %q and %q", c.name, said, where, c.words)
			}
		}
		return
	}
	for _, c := range misuses {
		before := emulator.Violations()
		fmt.Fprintf(os.Stderr, "\n=== %s\n", c.name)
		_, err := ptxRun(t, kernelText(c.body), 64, 64, make([]float64, 4))
		var e *driver.Error
		if !errors.As(err, &e) || e.Code != c.code || emulator.Violations() != before+1 {
			t.Errorf("%s: error %v, want code %d; %d violations", c.name, err, c.code, emulator.Violations()-before)
		}
		emulator.Reset()
	}
}

// TestNoChecks runs kernels that look like misuse but are correct.
func TestNoChecks(t *testing.T) {
	for name, body := range map[string]string{
		"a thread alone":  shared + "st.shared.f64 [%rd1], %fd1; ld.shared.f64 %fd2, [%rd1]; st.shared.f64 [%rd1], %fd2;",
		"with barriers":   shared + "st.shared.f64 [%rd1], %fd1; bar.sync 0; ld.shared.f64 %fd2, [%rd2]; bar.sync 0; st.shared.f64 [%rd1], %fd2;",
		"bytes of a word": ".shared .b8 all[64]; mov.u64 %rd1, all; cvt.u64.u32 %rd2, %t; add.s64 %rd1, %rd1, %rd2; st.shared.u8 [%rd1], %t; ld.shared.u8 %r1, [%rd1];",
		"not executed":    "setp.eq.u32 %p1, %t, 99; mov.u64 %rd1, 3; @%p1 st.global.u64 [%rd1], %rd1; @%p1 bar.sync 0; @%p1 trap;",
	} {
		if _, err := ptxRun(t, kernelText(body), 64, 64, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestGarbage reads a register that was never written.
func TestGarbage(t *testing.T) {
	got, err := ptxRun(t, kernelText("add.f64 %fd1, %fd1, 1.0; st.global.f64 [%mine], %fd1;"), 1, 1, nil)
	if err != nil || uint64(got[0])>>48 != 0xfff8 {
		t.Errorf("%x, %v", got, err)
	}
}

// TestTrap ends a launch by a trap, without misuse.
func TestTrap(t *testing.T) {
	emulator.Need(t)
	before := emulator.Violations()
	if _, err := ptxRun(t, kernelText("trap;"), 1, 1, nil); !driver.IsSticky(err) || emulator.Violations() != before {
		t.Errorf("error %v", err)
	}
}

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{Memory: 1 << 20})) }

func open(t *testing.T) (*driver.Device, driver.Ptr) {
	t.Helper()
	emulator.Need(t)
	d := testcheck.Get(driver.Open(0))(t)
	p := testcheck.Get(d.Alloc(104))(t)
	t.Cleanup(func() { d.Close() })
	return d, p
}

func TestMisuseOfMemoryShows(t *testing.T) {
	d, p := open(t)
	before := emulator.Violations()
	s := testcheck.Get(d.NewStream())(t)
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
	testcheck.Do(t, s.Destroy())
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
