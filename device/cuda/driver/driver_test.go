package driver_test

import (
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
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{Devices: 2, Memory: 64 << 20})) }

// open opens the emulated device and closes it at the end of the test.
func open(t *testing.T) *driver.Device {
	t.Helper()
	emulator.Check(t)
	d, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func alloc(t *testing.T, d *driver.Device, n int64) driver.Ptr {
	t.Helper()
	p, err := d.Alloc(n)
	must(t, err)
	t.Cleanup(func() { must(t, d.Free(p)) })
	return p
}

func TestDetect(t *testing.T) {
	emulator.Need(t)
	d := driver.Detect()
	if d.Status != driver.OK || d.Reason != "" || d.DriverVersion != 12040 || len(d.Devices) != 2 || d.Library != os.Getenv(driver.LibraryVariable) {
		t.Fatalf("%+v", d)
	}
	want := driver.DeviceInfo{Index: 1, Name: "Emulated GPU 1", UUID: "GPU-e0e0e0e0-e0e0-e0e0-e0e0-e0e0e0e0e001", PCI: "0000:02:00.0",
		Major: 9, TotalMemory: 64 << 20, Multiprocessors: 4, ClockHz: 1.5e9, MemoryBandwidth: 256e9, L2Bytes: 8 << 20,
		SharedPerBlock: 227 << 10, ECC: true}
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
	s := d.DefaultStream()
	p := alloc(t, d, 1000*8)
	if d.Allocated() != 8000 || emulator.Used(0) != 8000 || p%256 != 0 {
		t.Errorf("allocated %d, used %d, at %x", d.Allocated(), emulator.Used(0), p)
	}
	free, total, err := d.MemInfo()
	if must(t, err); total != 64<<20 || free != total-8000 {
		t.Errorf("free %d of %d", free, total)
	}
	src := make([]float64, 1000)
	for i := range src {
		src[i] = float64(i)
	}
	must(t, driver.CopyToDevice(s, p, src))
	must(t, s.Copy(p, p.Offset(500*8), 100*8), s.Memset(p.Offset(10*8), 0, 8))
	dst := make([]float64, 100)
	must(t, driver.CopyToHost(s, dst, p))
	for i, v := range dst {
		if want := float64(500 + i); v != want && i != 10 || i == 10 && v != 0 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	must(t, driver.CopyToHost(s, dst[:0], p), driver.CopyToDevice[float64](s, p, nil), d.Free(0))
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
	if must(t, driver.CopyToHost(d.DefaultStream(), x, p)); !math.IsNaN(x[0]) || !math.IsNaN(x[7]) {
		t.Errorf("%v", x)
	}
}

func TestOutOfMemory(t *testing.T) {
	d := open(t)
	if _, err := d.Alloc(65 << 20); !driver.IsOutOfMemory(err) || driver.IsSticky(err) ||
		!strings.Contains(err.Error(), "CUDA_ERROR_OUT_OF_MEMORY, code 2): 68157440 bytes asked for, 67108864 of 67108864 free") {
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

func TestPinnedAndStreams(t *testing.T) {
	d := open(t)
	s, err := d.NewStream()
	must(t, err)
	start, err := d.NewEvent()
	must(t, err)
	end, err := d.NewEvent()
	must(t, err)
	b, err := d.AllocHost(64)
	must(t, err)
	p := alloc(t, d, 64)
	x := driver.HostSlice[float64](b)
	if len(x) != 8 || b.Len() != 64 {
		t.Fatalf("%d elements", len(x))
	}
	copy(x, []float64{1, 2, 3, 4})
	must(t, start.Record(s), s.UploadAsync(p, b, 0, 32), s.DownloadAsync(b, 32, p, 32), end.Record(s), s.Wait(end), end.Synchronize(), s.Synchronize())
	if !slices.Equal(x, []float64{1, 2, 3, 4, 1, 2, 3, 4}) {
		t.Errorf("%v", x)
	}
	if elapsed, err := end.Since(start); err != nil || elapsed < 0 {
		t.Errorf("elapsed %v, %v", elapsed, err)
	}
	if done, err := s.Done(); !done || err != nil {
		t.Errorf("stream done %v, %v", done, err)
	}
	if done, err := end.Done(); !done || err != nil {
		t.Errorf("event done %v, %v", done, err)
	}
	for _, r := range [][2]int64{{-8, 8}, {0, 65}, {60, 8}, {8, -1}} {
		if s.UploadAsync(p, b, r[0], r[1]) == nil || s.DownloadAsync(b, r[0], p, r[1]) == nil {
			t.Errorf("offset %d, %d bytes", r[0], r[1])
		}
	}
	emulator.Inject(t, "cuStreamQuery", 1, int(driver.CodeNotReady))
	if done, err := s.Done(); done || err != nil {
		t.Errorf("stream done %v, %v", done, err)
	}
	for range 2 { // twice does no harm
		must(t, s.Destroy(), start.Destroy(), end.Destroy(), b.Free())
	}
	if s.Device() != d || d.DefaultStream().Handle() != 0 {
		t.Error("stream")
	}
}

func TestBlocks(t *testing.T) {
	d := open(t)
	s := d.DefaultStream()
	const ld, rows, cols = 7, 3, 4
	p, q := alloc(t, d, ld*6*8), alloc(t, d, ld*6*8)
	m := make([]float64, ld*6)
	for i := range m {
		m[i] = float64(i)
	}
	must(t, driver.CopyToDevice(s, p, m), s.Memset(q, 0, ld*6*8))
	at := func(p driver.Ptr, i, j int64) driver.Ptr { return p.Offset(8 * (i + j*ld)) }
	must(t, s.CopyBlock(at(q, 1, 1), ld, at(p, 2, 0), ld, rows, cols, 8))
	block := make([]float64, rows*cols)
	must(t, driver.CopyBlockToHost(s, block, rows, at(q, 1, 1), ld, rows, cols))
	for j := range cols {
		for i := range rows {
			if want := m[2+i+j*ld]; block[i+j*rows] != want {
				t.Errorf("element (%d, %d) is %v, want %v", i, j, block[i+j*rows], want)
			}
		}
	}
	must(t, driver.CopyBlockToDevice(s, at(p, 0, 2), ld, block, rows, rows, cols))
	must(t, driver.CopyToHost(s, m, p))
	if m[2*ld] != block[0] || m[2*ld+2] != block[2] || m[5*ld] != block[9] || m[2*ld+3] != 2*ld+3 {
		t.Errorf("%v", m)
	}
	must(t, driver.CopyBlockToHost(s, block, rows, p, ld, 0, cols))
	if driver.CopyBlockToHost(s, block[:5], rows, p, ld, rows, cols) == nil || driver.CopyBlockToDevice(s, p, ld, block[:5], rows, rows, cols) == nil {
		t.Error("slice too short")
	}
}

func TestLaunch(t *testing.T) {
	d := open(t)
	s, err := d.NewStream()
	must(t, err)
	defer s.Destroy()
	m, err := d.LoadModule([]byte("any bytes"))
	must(t, err)
	axpy, err := m.Function("axpy")
	must(t, err)
	x, y := alloc(t, d, 800), alloc(t, d, 800)
	ones := slices.Repeat([]float64{1}, 100)
	must(t, driver.CopyToDevice(s, x, ones), driver.CopyToDevice(s, y, ones))
	must(t, axpy.Launch(s, driver.Dim{2, 1, 1}, driver.Dim{64, 1, 1}, 0, driver.I64(100), driver.F64(0.5), driver.P64(x), driver.P64(y)))
	must(t, driver.CopyToHost(s, ones, y))
	if ones[0] != 1.5 || ones[99] != 1.5 {
		t.Errorf("%v", ones)
	}

	geometry, err := m.Function("geometry")
	must(t, err)
	grid, block := driver.Dim{5, 6, 7}, driver.Dim{8, 4, 2}
	if err := geometry.Launch(s, grid, block, 100<<10, driver.P64(x)); err == nil || !strings.Contains(err.Error(), `kernel "geometry", grid [5 6 7]`) {
		t.Errorf("more than 48 KiB of shared memory: %v", err)
	}
	must(t, geometry.SetMaxDynamicShared(100<<10), geometry.Launch(s, grid, block, 100<<10, driver.P64(x)))
	out := make([]int64, 7)
	must(t, driver.CopyToHost(s, out, x))
	if !slices.Equal(out, []int64{5, 6, 7, 8, 4, 2, 100 << 10}) {
		t.Errorf("%v", out)
	}
	if v, err := geometry.Attribute(driver.MaxDynamicShared); v != 100<<10 || err != nil {
		t.Errorf("attribute %d, %v", v, err)
	}
	if geometry.SetMaxDynamicShared(1<<20) == nil || geometry.Launch(s, grid, driver.Dim{2048, 1, 1}, 0) == nil ||
		geometry.Launch(s, grid, block, 0, make([]uint64, 65)...) == nil {
		t.Error("limits")
	}
	var e *driver.Error
	if err := d.Synchronize(); err != nil {
		t.Error(err)
	}
	if f, err := m.Function("nothing"); err == nil {
		err = f.Launch(s, grid, block, 0)
		if !errors.As(err, &e) || !e.NotFound() {
			t.Errorf("unknown kernel: %v", err)
		}
	}
	constant, bytes, err := m.Global("emu_test_constant")
	if must(t, err); bytes < 64 {
		t.Errorf("%d bytes", bytes)
	}
	f, err := m.Function("constant")
	must(t, err)
	must(t, driver.CopyToDevice(s, constant, []float64{1, 2, 3, 4, 5, 6, 7, 8}), f.Launch(s, driver.Dim{1, 1, 1}, driver.Dim{1, 1, 1}, 0, driver.P64(x)))
	must(t, driver.CopyToHost(s, ones[:8], x))
	if ones[7] != 8 || f.Name() != "constant" {
		t.Errorf("constant memory: %v", ones[:8])
	}
	if _, _, err := m.Global("nothing"); !errors.As(err, &e) || !e.NotFound() {
		t.Errorf("unknown variable: %v", err)
	}
	must(t, m.Unload(), m.Unload())
}

func TestModuleErrors(t *testing.T) {
	d := open(t)
	var e *driver.Error
	if _, err := d.LoadModule([]byte("broken")); !errors.As(err, &e) || !e.InvalidModule() || !strings.Contains(err.Error(), "emulated syntax error on line 1") {
		t.Errorf("error %v", err)
	}
	if _, err := d.LoadModule(nil); err == nil {
		t.Error("empty module")
	}
	m, err := d.LoadModule([]byte(".version 7.8\n.visible .entry geometry(\n)\n{ret;}"))
	must(t, err)
	defer m.Unload()
	if _, err := m.Function("geo"); !errors.As(err, &e) || !e.NotFound() {
		t.Errorf("kernel that is not in the PTX: %v", err)
	}
	if _, err := m.Function("geometry"); err != nil {
		t.Error(err)
	}
}

func TestThread(t *testing.T) {
	emulator.Need(t)
	emulator.Reset()
	d := open(t)
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
					return d.Do(func() error { return d.DefaultStream().Memset(p, 1, 256) })
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
	must(t, d.Synchronize())
}
