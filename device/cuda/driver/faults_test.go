package driver_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

func TestOpenAndClose(t *testing.T) {
	emulator.Need(t)
	// Tests of devices that fail leave contexts behind.
	before, other := emulator.Retained(1), emulator.Retained(0)
	a := testcheck.Get(driver.Open(1))(t)
	b := testcheck.Get(driver.Open(1))(t)
	if emulator.Retained(1) != before+2 || emulator.Retained(0) != other || a.Info().Index != 1 || a.DriverVersion() != 12040 {
		t.Errorf("retained %d and %d", emulator.Retained(0), emulator.Retained(1))
	}
	testcheck.Do(t, a.Close(), a.Close())
	if _, err := a.Alloc(8); err != driver.ErrClosed {
		t.Errorf("after Close: %v", err)
	}
	p, err := b.Alloc(8)
	testcheck.Do(t, err, b.Free(p), b.Close())
	if emulator.Retained(1) != before {
		t.Errorf("retained %d, before %d", emulator.Retained(1), before)
	}
	for _, i := range []int{-1, 2} {
		var ue *driver.UnavailableError
		if _, err := driver.Open(i); !errors.As(err, &ue) || !strings.Contains(ue.Reason, "the driver lists 2") {
			t.Errorf("device %d: %v", i, err)
		}
	}
}

// work makes most of the calls once. It frees what it allocates in every case.
func work(d *driver.Device) (err error) {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Destroy()) }()
	e, err := d.NewEvent()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Destroy()) }()
	p, err := d.Alloc(64)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Free(p)) }()
	m, err := d.LoadModule(testKernels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Unload()) }()
	f, err := m.Function("geometry")
	if err != nil {
		return err
	}
	block := driver.Matrix{A: p, LD: 4}
	for _, step := range []func() error{
		func() error { return driver.CopyToDevice(s, p, make([]float64, 8)) },
		func() error { return driver.CopyBlockToDevice(s, block, make([]float64, 4), 2, 2, 2) },
		func() error { return s.Memset(p, 0, 64) },
		func() error { return f.Launch(s, 1, 1, uint64(p)) },
		func() error { return e.Record(s) },
		func() error { return e.Synchronize() },
		func() error { return driver.CopyBlockToHost(s, make([]float64, 4), 2, block, 2, 2) },
		func() error { return driver.CopyToHost(s, make([]int64, 8), p) },
		func() error { return d.Synchronize() },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// TestStickyErrorAtEachCall makes every call fail once with a sticky error. It checks
// that the error is returned, that the device is dead from then on and makes no further
// call, and that another device works.
func TestStickyErrorAtEachCall(t *testing.T) {
	emulator.Need(t)
	emulator.Reset()
	d, err := driver.Open(0)
	testcheck.Do(t, err, work(d), d.Close())
	calls := emulator.Calls("*")
	if calls < 20 {
		t.Fatalf("%d calls", calls)
	}
	other := testcheck.Get(driver.Open(1))(t)
	defer other.Close()
	// The first two calls retain the context and make it current; the last two undo these.
	for k := 1; k <= calls-4; k++ {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			emulator.Reset()
			d := testcheck.Get(driver.Open(0))(t)
			emulator.Inject(t, "*", k, 719)
			err = work(d)
			var e *driver.Error
			if !errors.As(err, &e) || !e.Sticky() || !driver.IsSticky(err) || driver.IsOutOfMemory(err) || d.Err() == nil {
				t.Fatalf("error %v, device %v", err, d.Err())
			}
			before := emulator.Calls("*")
			if err := d.Synchronize(); err != d.Err() {
				t.Errorf("later call: %v", err)
			}
			testcheck.Do(t, d.Close())
			if n := emulator.Calls("*"); n != before {
				t.Errorf("%d calls on a dead device", n-before)
			}
			testcheck.Do(t, work(other))
		})
	}
}

// TestStickyCodes makes a device unusable by each code that ends a context.
func TestStickyCodes(t *testing.T) {
	emulator.Need(t)
	for _, code := range []int{214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810} {
		emulator.Reset()
		d := testcheck.Get(driver.Open(0))(t)
		emulator.Inject(t, "cuMemAlloc_v2", 1, code)
		_, err := d.Alloc(8)
		var e *driver.Error
		if !driver.IsSticky(err) || d.Err() == nil || !errors.As(err, &e) || e.Name == "" {
			t.Errorf("code %d: error %v, device %v", code, err, d.Err())
		}
		testcheck.Do(t, d.Close())
	}
}

// TestErrorAtEachCall makes every call fail once, with an error that leaves the device usable.
func TestErrorAtEachCall(t *testing.T) {
	emulator.Need(t)
	emulator.Reset()
	d := testcheck.Get(driver.Open(0))(t)
	defer d.Close()
	before := emulator.Calls("*")
	testcheck.Do(t, work(d))
	calls := emulator.Calls("*") - before
	for k := 1; k <= calls; k++ {
		emulator.Inject(t, "*", k, 997)
		err := work(d)
		var e *driver.Error
		if !errors.As(err, &e) || e.Code != 997 || e.Name != "CUDA_ERROR_EMULATED" || e.Text != "an error of the emulated device" || d.Err() != nil {
			t.Fatalf("call %d: %v", k, err)
		}
		testcheck.Do(t, work(d))
	}
}

func TestOpenFails(t *testing.T) {
	emulator.Need(t)
	for _, entry := range []string{"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent"} {
		before := emulator.Retained(0)
		emulator.Inject(t, entry, 1, 46)
		var e *driver.Error
		if _, err := driver.Open(0); !errors.As(err, &e) || e.Op != entry || e.Code != 46 {
			t.Errorf("%s: %v", entry, err)
		}
		if n := emulator.Retained(0); n != before {
			t.Errorf("%s: context retained %d times", entry, n-before)
		}
	}
}

func TestKernelFault(t *testing.T) {
	emulator.Need(t)
	t.Cleanup(emulator.Reset)
	d := testcheck.Get(driver.Open(0))(t)
	defer d.Close()
	m := testcheck.Get(d.LoadModule(testKernels))(t)
	f := testcheck.Get(m.Function("fault"))(t)
	s := testcheck.Get(d.NewStream())(t)
	if err := f.Launch(s, 1, 1); !driver.IsSticky(err) || !strings.Contains(err.Error(), "ILLEGAL_ADDRESS") {
		t.Errorf("error %v", err)
	}
	if _, err := d.Alloc(8); !driver.IsSticky(err) {
		t.Errorf("error %v", err)
	}
}

func TestDetection(t *testing.T) {
	cases := []struct {
		name   string
		cfg    emulator.Config
		status driver.Status
		words  string
	}{
		{"old", emulator.Config{DriverVersion: 11080}, driver.DriverTooOld, "the NVIDIA driver supports CUDA 11.8, but gpfit needs 12.0 or later"},
		{"new", emulator.Config{DriverVersion: 13000}, driver.OK, ""},
		{"none", emulator.Config{Devices: -1}, driver.NoDevices, "no GPU"},
		{"missing", emulator.Config{NoDriver: true}, driver.NoLibrary, "GPFIT_CUDA_DRIVER cannot be opened"},
		{"mismatch", emulator.Config{InitCode: 803}, driver.InitFailed, "have different versions (restart after an update)"},
		{"stub", emulator.Config{InitCode: 34}, driver.BadLibrary, "stub of a CUDA toolkit"},
		{"turing", emulator.Config{Compute: "75"}, driver.NoUsableDevice, "compute capability 7.5, but gpfit needs 8.0 or later"},
		{"second", emulator.Config{Devices: 2, Compute: "70,80"}, driver.OK, ""},
		{"prohibited", emulator.Config{ComputeMode: "2"}, driver.NoUsableDevice, "prohibited"},
		{"system", emulator.Config{Env: []string{driver.LibraryVariable + "="}}, driver.NoLibrary, "libcuda.so.1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if emulator.Rerun(t, c.cfg) {
				return
			}
			d := driver.Detect()
			if c.name == "system" && d.Status != driver.NoLibrary {
				t.Skip("SKIPPED: this machine has an NVIDIA driver")
			}
			if d.Status != c.status || !strings.Contains(d.Reason, c.words) || (d.Status == driver.OK) != (d.Reason == "") {
				t.Errorf("%+v", d)
			}
			_, err := driver.Open(0)
			var ue *driver.UnavailableError
			switch {
			case c.name == "second":
				if !errors.As(err, &ue) || d.Devices[0].Unusable == "" || d.Devices[1].Unusable != "" {
					t.Errorf("error %v, %+v", err, d.Devices)
				}
			case c.status == driver.OK && err != nil, c.status != driver.OK && (!errors.As(err, &ue) || ue.Status != c.status):
				t.Errorf("error %v", err)
			}
			if d.Status != driver.OK && d.Status != driver.NoUsableDevice && len(d.Devices) != 0 {
				t.Errorf("devices %+v", d.Devices)
			}
		})
	}
}

// TestBadLibrary opens a library that is not a driver.
func TestBadLibrary(t *testing.T) {
	p := emulator.Build(t)
	cfg := emulator.Config{Env: []string{driver.LibraryVariable + "=" + filepath.Join(p.Root, "12", "libnvJitLink.so.12")}}
	if emulator.Rerun(t, cfg) {
		return
	}
	if d := driver.Detect(); d.Status != driver.BadLibrary || !strings.Contains(d.Reason, "it lacks cuInit, ") {
		t.Errorf("%+v", d)
	}
}
