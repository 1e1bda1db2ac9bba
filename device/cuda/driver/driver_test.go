package driver_test

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{Devices: 2, Memory: 64 << 20})) }

// testKernels contains the kernels axpy, geometry and fault.
//
//go:embed testdata/kernels.ptx
var testKernels []byte

// open opens the emulated device and closes it at the end of the test.
func open(t *testing.T) *driver.Device {
	t.Helper()
	emulator.Check(t)
	d := testcheck.Get(driver.Open(0))(t)
	t.Cleanup(func() {
		testcheck.Do(t, d.Close())
	})
	return d
}

func stream(t *testing.T, d *driver.Device) *driver.Stream {
	t.Helper()
	s := testcheck.Get(d.NewStream())(t)
	t.Cleanup(func() { testcheck.Do(t, s.Destroy()) })
	return s
}

func alloc(t *testing.T, d *driver.Device, n int64) driver.Ptr {
	t.Helper()
	p := testcheck.Get(d.Alloc(n))(t)
	t.Cleanup(func() { testcheck.Do(t, d.Free(p)) })
	return p
}

func TestDetect(t *testing.T) {
	emulator.Need(t)
	d := driver.Detect()
	if d.Status != driver.OK || d.Reason != "" || d.DriverVersion != 12040 || len(d.Devices) != 2 || d.Library != os.Getenv(driver.LibraryVariable) {
		t.Fatalf("%+v", d)
	}
	want := driver.DeviceInfo{Index: 1, Name: "Emulated GPU 1", Major: 9, TotalMemory: 64 << 20, Multiprocessors: 4,
		ClockHz: 1.5e9, MemoryBandwidth: 256e9, SinglePerDouble: 2}
	if d.Devices[1] != want {
		t.Errorf("%+v, want %+v", d.Devices[1], want)
	}
	implementation := "dlopen"
	if cuTag {
		implementation = "gorgonia.org/cu"
	}
	if d.Implementation != implementation {
		t.Errorf("implementation %q", d.Implementation)
	}
}

func TestMemory(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	p := alloc(t, d, 1024*8)
	if emulator.Used(0) != 8192 || p%256 != 0 {
		t.Errorf("used %d, at %x", emulator.Used(0), p)
	}
	free, total, err := d.MemInfo()
	if testcheck.Do(t, err); total != 64<<20 || free != total-8192 {
		t.Errorf("free %d of %d", free, total)
	}
	src := make([]float64, 1024)
	for i := range src {
		src[i] = float64(i)
	}
	testcheck.Do(t, driver.CopyToDevice(s, p, src))
	testcheck.Do(t, driver.CopyToDevice(s, p, src[500:600]), s.Memset(p.Offset(10*8), 0, 8))
	dst := make([]float64, 100)
	testcheck.Do(t, driver.CopyToHost(s, dst, p))
	for i, v := range dst {
		if want := float64(500 + i); v != want && i != 10 || i == 10 && v != 0 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	testcheck.Do(t, driver.CopyToHost(s, dst[:0], p), driver.CopyToDevice[float64](s, p, nil), d.Free(0))
	if _, err := d.Alloc(0); err == nil {
		t.Error("allocation of 0 bytes")
	}
	var e *driver.Error
	if err := d.Free(p.Offset(8)); !errors.As(err, &e) || e.Code != driver.CodeInvalidValue {
		t.Errorf("free of a wrong address: %v", err)
	}
}

func TestUninitialisedMemoryIsNaN(t *testing.T) {
	d := open(t)
	p := alloc(t, d, 64)
	x := make([]float64, 8)
	if testcheck.Do(t, driver.CopyToHost(stream(t, d), x, p)); !math.IsNaN(x[0]) || !math.IsNaN(x[7]) {
		t.Errorf("%v", x)
	}
}

func TestOutOfMemory(t *testing.T) {
	d := open(t)
	if _, err := d.Alloc(65 << 20); !driver.IsOutOfMemory(err) || driver.IsSticky(err) ||
		!strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY, code 2): 68157440 bytes requested, 67108864 of 67108864 free") {
		t.Errorf("error %v", err)
	}
	alloc(t, d, 64<<20)
	if _, err := d.Alloc(1); !driver.IsOutOfMemory(fmt.Errorf("wrapped: %w", err)) {
		t.Errorf("error %v", err)
	}
	if d.Err() != nil {
		t.Error("the device is dead")
	}
}

func TestEvents(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	start := testcheck.Get(d.NewEvent())(t)
	end := testcheck.Get(d.NewEvent())(t)
	p := alloc(t, d, 64)
	x := []float64{1, 2, 3, 4}
	testcheck.Do(t, start.Record(s), driver.CopyToDevice(s, p, x), end.Record(s), end.Synchronize(), s.Synchronize())
	if elapsed, err := end.Since(start); err != nil || elapsed < 0 {
		t.Errorf("elapsed %v, %v", elapsed, err)
	}
	for range 2 { // a second call is harmless
		testcheck.Do(t, s.Destroy(), start.Destroy(), end.Destroy())
	}
	if s.Device() != d {
		t.Error("stream")
	}
}

func TestBlocks(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	const ld, rows, cols = 7, 3, 4
	a := driver.Matrix{A: alloc(t, d, ld*6*8), LD: ld}
	m := make([]float64, ld*6)
	for i := range m {
		m[i] = float64(i)
	}
	testcheck.Do(t, driver.CopyToDevice(s, a.A, m))
	block := make([]float64, (rows+1)*cols)
	testcheck.Do(t, driver.CopyBlockToHost(s, block, rows+1, a.At(2, 1), rows, cols))
	for j := range cols {
		for i := range rows + 1 {
			want := 0.0
			if i < rows {
				want = m[2+i+(1+j)*ld]
			}
			if block[i+j*(rows+1)] != want {
				t.Errorf("element (%d, %d) is %v, want %v", i, j, block[i+j*(rows+1)], want)
			}
		}
	}
	testcheck.Do(t, driver.CopyBlockToDevice(s, a.At(0, 2), block, rows+1, rows, cols))
	testcheck.Do(t, driver.CopyToHost(s, m, a.A))
	if m[2*ld] != block[0] || m[2*ld+2] != block[2] || m[5*ld] != block[12] || m[2*ld+3] != 2*ld+3 {
		t.Errorf("%v", m)
	}
	testcheck.Do(t, driver.CopyBlockToHost(s, block, rows, a, 0, cols))
	if driver.CopyBlockToHost(s, block[:5], rows, a, rows, cols) == nil || driver.CopyBlockToDevice(s, a, block[:5], rows, rows, cols) == nil {
		t.Error("slice too short")
	}
}

func TestLaunch(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	m := testcheck.Get(d.LoadModule(testKernels))(t)
	axpy := testcheck.Get(m.Function("axpy"))(t)
	x, y := alloc(t, d, 800), alloc(t, d, 800)
	ones := slices.Repeat([]float64{1}, 100)
	testcheck.Do(t, driver.CopyToDevice(s, x, ones), driver.CopyToDevice(s, y, ones))
	testcheck.Do(t, axpy.Launch(s, 2, 64, 100, math.Float64bits(0.5), uint64(x), uint64(y)))
	testcheck.Do(t, driver.CopyToHost(s, ones, y))
	if ones[0] != 1.5 || ones[99] != 1.5 {
		t.Errorf("%v", ones)
	}

	geometry := testcheck.Get(m.Function("geometry"))(t)
	testcheck.Do(t, geometry.Launch(s, 5, 96, uint64(x)))
	out := make([]int64, 7)
	testcheck.Do(t, driver.CopyToHost(s, out, x))
	if !slices.Equal(out, []int64{5, 1, 1, 96, 1, 1, 0}) {
		t.Errorf("%v", out)
	}
	if v, err := geometry.Attribute(driver.Registers); v != 64 || err != nil {
		t.Errorf("attribute %d, %v", v, err)
	}
	if err := geometry.Launch(s, 5, 2048, uint64(x)); err == nil || !strings.Contains(err.Error(), `kernel "geometry", 5 blocks of 2048 threads`) {
		t.Errorf("more than 1024 threads: %v", err)
	}
	if geometry.Launch(s, 0, 64, uint64(x)) == nil || geometry.Launch(s, 5, 64, make([]uint64, 65)...) == nil {
		t.Error("limits")
	}
	testcheck.Do(t, d.Synchronize())
	if f, err := m.Function("nothing"); err == nil {
		var e *driver.Error
		err = f.Launch(s, 5, 64)
		if !errors.As(err, &e) || e.Code != driver.CodeNotFound {
			t.Errorf("unknown kernel: %v", err)
		}
	}
	testcheck.Do(t, m.Unload(), m.Unload())
}

func TestModuleErrors(t *testing.T) {
	d := open(t)
	var e *driver.Error
	if _, err := d.LoadModule([]byte("broken")); !errors.As(err, &e) || !e.InvalidModule() || !strings.Contains(err.Error(), "ptxas: line 1: error: syntax error") {
		t.Errorf("error %v", err)
	}
	if _, err := d.LoadModule(nil); err == nil {
		t.Error("empty module")
	}
	m := testcheck.Get(d.LoadModule([]byte(".version 7.8\n.target sm_80\n.visible .entry geometry(\n)\n{ret;}")))(t)
	defer m.Unload()
	if _, err := m.Function("geo"); !errors.As(err, &e) || e.Code != driver.CodeNotFound {
		t.Errorf("kernel that is not in the PTX: %v", err)
	}
	testcheck.Get(m.Function("geometry"))(t)
}

func TestThread(t *testing.T) {
	emulator.Need(t)
	emulator.Reset()
	d := open(t)
	s := stream(t, d)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				p, err := d.Alloc(256)
				if err != nil {
					t.Error(err)
					return
				}
				err = d.Do(func() error {
					return d.Do(func() error { return s.Memset(p, 1, 256) })
				})
				if err := errors.Join(err, d.Free(p)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := emulator.Threads(0); n != 1 {
		t.Errorf("calls came from %d threads", n)
	}
	fail := errors.New("mine")
	if err := d.Do(func() error { return fail }); err != fail {
		t.Errorf("error %v", err)
	}
	func() {
		defer func() {
			if recover() != "oops" {
				t.Error("the panic was lost")
			}
		}()
		_ = d.Do(func() error { panic("oops") })
	}()
	testcheck.Do(t, d.Synchronize())
}

// BenchmarkCall measures a call that does nothing, from another goroutine and within Do.
func BenchmarkCall(b *testing.B) {
	emulator.Need(b)
	d := testcheck.Get(driver.Open(0))(b)
	defer d.Close()
	s := testcheck.Get(d.NewStream())(b)
	defer s.Destroy()
	b.Run("Thread", func(b *testing.B) {
		for b.Loop() {
			_ = s.Synchronize()
		}
	})
	b.Run("Within", func(b *testing.B) {
		b.ReportAllocs()
		_ = d.Do(func() error {
			for b.Loop() {
				_ = s.Synchronize()
			}
			return nil
		})
	})
}

// TestConnections checks that the driver starts with a queue for every stream, unless the user has chosen.
func TestConnections(t *testing.T) {
	emulator.Need(t)
	for value, want := range map[string]int{"": 32, "CUDA_DEVICE_MAX_CONNECTIONS=4": 4} {
		t.Run("with "+value, func(t *testing.T) {
			var env []string
			if value != "" {
				env = append(env, value)
			}
			if emulator.Rerun(t, emulator.Config{Env: env}) {
				return
			}
			testcheck.Get(driver.Open(0))(t).Close()
			if got := emulator.Connections(); got != want {
				t.Errorf("%d connections, want %d", got, want)
			}
		})
	}
}
