package mathlib_test

import (
	"errors"
	"strings"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/mathlib"
	"gpfit/internal/testcheck"
)

// session opens a device and a handle that the test may destroy, with 64 KiB of device memory.
func session(t *testing.T) (*driver.Device, *mathlib.Handle, driver.Ptr) {
	t.Helper()
	b := unchecked(t)
	p := testcheck.Get(b.d.Alloc(1 << 16))(t)
	t.Cleanup(func() { testcheck.Do(t, b.d.Free(p)) })
	return b.d, b.h, p
}

// gemm multiplies two 2×2 matrices.
func gemm(h *mathlib.Handle, p driver.Ptr) error {
	a := driver.Matrix{A: p, LD: 2}
	return h.Gemm(mathlib.NoTrans, mathlib.NoTrans, 2, 2, 2, 1, a, a, 0, driver.Matrix{A: p.Offset(64), LD: 2})
}

func potrf(h *mathlib.Handle, p driver.Ptr) error {
	_, err := h.Potrf(2, driver.Matrix{A: p, LD: 2})
	return err
}

func TestOutOfMemory(t *testing.T) {
	_, h, p := session(t)
	emulator.Inject(t, "cublasDgemm_v2_64", 1, 3)
	var e *mathlib.Error
	if err := gemm(h, p); !driver.IsOutOfMemory(err) || driver.IsSticky(err) || !errors.As(err, &e) ||
		err.Error() != "cublasDgemm_v2_64: CUBLAS_STATUS_ALLOC_FAILED (status 3)" {
		t.Errorf("error %v", err)
	}
	emulator.Inject(t, "*", 1, 2)
	if err := gemm(h, p); !driver.IsOutOfMemory(err) {
		t.Errorf("error %v", err)
	}
	emulator.Inject(t, "cusolverDnXpotrf_bufferSize", 1, 2)
	if err := potrf(h, p); !driver.IsOutOfMemory(err) || !strings.Contains(err.Error(), "CUSOLVER_STATUS_ALLOC_FAILED") {
		t.Errorf("error %v", err)
	}
	emulator.Inject(t, "cuMemAlloc_v2", 1, 2) // the allocation of the workspace
	if err := potrf(h, p); !driver.IsOutOfMemory(err) || !strings.Contains(err.Error(), "cuMemAlloc") {
		t.Errorf("error %v", err)
	}
	testcheck.Do(t, gemm(h, p), potrf(h, p))
}

func TestStatuses(t *testing.T) {
	d, h, p := session(t)
	var e *mathlib.Error
	if err := gemm(h, p.Offset(1<<16)); !errors.As(err, &e) || e.Name != "CUBLAS_STATUS_INVALID_VALUE" || e.OutOfMemory() || e.Sticky() {
		t.Errorf("matrix beyond its allocation: %v", err)
	}
	emulator.Inject(t, "cublasDgemm_v2_64", 1, 99)
	if err := gemm(h, p); !errors.As(err, &e) || e.Name != "CUBLAS_STATUS_UNKNOWN" || e.Status != 99 {
		t.Errorf("error %v", err)
	}
	// The status does not reveal its cause, and the driver knows of none.
	emulator.Inject(t, "cublasDgemm_v2_64", 1, 14)
	if err := gemm(h, p); !errors.As(err, &e) || e.Name != "CUBLAS_STATUS_INTERNAL_ERROR" || e.Err != nil || d.Err() != nil {
		t.Errorf("error %v", err)
	}
	emulator.Inject(t, "cuMemcpyDtoHAsync_v2", 1, 1)
	var de *driver.Error
	if err := potrf(h, p); !errors.As(err, &de) {
		t.Errorf("the info cannot be read: %v", err)
	}
}

// TestStickyErrors checks that a call returns the driver's code if the context dies
// within a library.
func TestStickyErrors(t *testing.T) {
	calls := map[string]func(h *mathlib.Handle, p driver.Ptr) error{
		"cublasDgemm_v2_64": gemm,
		"cublasDtrsm_v2_64": func(h *mathlib.Handle, p driver.Ptr) error {
			return h.Trsm(mathlib.Left, mathlib.NoTrans, 2, 2, driver.Matrix{A: p, LD: 2}, driver.Matrix{A: p.Offset(64), LD: 2})
		},
		"cusolverDnXpotrf": potrf,
		"cublasDgemmStridedBatched_64": func(h *mathlib.Handle, p driver.Ptr) error {
			a := mathlib.Strided{Matrix: driver.Matrix{A: p, LD: 2}}
			return h.GemmBatched(mathlib.NoTrans, mathlib.NoTrans, 2, 2, 2, 1, a, a, 0, mathlib.Strided{Matrix: a.At(0, 4)}, 1)
		},
	}
	for entry, call := range calls {
		t.Run(entry, func(t *testing.T) {
			d, h, p := session(t)
			t.Cleanup(emulator.Reset)
			emulator.Inject(t, entry, 1, 700)
			err := call(h, p)
			var e *mathlib.Error
			var de *driver.Error
			if !errors.As(err, &e) || !errors.As(err, &de) || !driver.IsSticky(err) || de.Code != driver.CodeIllegalAddress || d.Err() == nil {
				t.Fatalf("error %v", err)
			}
			before := emulator.Calls("*")
			for name, call := range calls {
				if err := call(h, p); !driver.IsSticky(err) {
					t.Errorf("%s: %v", name, err)
				}
			}
			testcheck.Do(t, h.Close(), d.Free(p))
			if n := emulator.Calls("*") - before; n != 0 {
				t.Errorf("%d calls on a dead device", n)
			}
		})
	}
}

// factored opens the libraries and factors a matrix of one element. Only that opens cuSOLVER.
func factored(t *testing.T, lib *mathlib.Library, s *driver.Stream, emulation mathlib.Emulation, inject func()) (calls int, err error) {
	t.Helper()
	p := testcheck.Get(s.Device().Alloc(8))(t)
	testcheck.Do(t, driver.CopyToDevice(s, p, []float64{4}))
	emulator.Reset()
	if inject != nil {
		inject()
	}
	h, err := lib.New(s, emulation)
	if err == nil {
		if emulator.Calls("cusolverDnCreate") != 0 {
			t.Error("cuSOLVER is open although nobody needs it")
		}
		_, err = h.Potrf(1, driver.Matrix{A: p, LD: 1})
		calls = emulator.Calls("*")
		emulator.Reset()
		testcheck.Do(t, h.Close())
	}
	emulator.Reset()
	testcheck.Do(t, s.Device().Free(p))
	return calls, err
}

// TestNewFails makes every call fail once that opens the libraries or factors.
func TestNewFails(t *testing.T) {
	b := setup(t)
	testcheck.Do(t, b.h.Close())
	lib, s := testcheck.Get(mathlib.Load())(t), b.s
	calls, err := factored(t, lib, s, mathlib.Native, nil)
	if err != nil || calls < 12 {
		t.Fatalf("%d calls, error %v", calls, err)
	}
	used := emulator.Used(0)
	for k := 1; k <= calls; k++ {
		if _, err := factored(t, lib, s, mathlib.Native, func() { emulator.Inject(t, "*", k, 2) }); !driver.IsOutOfMemory(err) || emulator.Used(0) != used {
			t.Errorf("call %d: %v", k, err)
		}
	}
}

// TestRequestedEmulation checks that gpfit reads the variables as cuBLAS does.
func TestRequestedEmulation(t *testing.T) {
	for _, c := range []struct {
		emulate, strategy string
		want              mathlib.Emulation
	}{
		{"", "", mathlib.Native}, {"0", "eager", mathlib.Native}, {"", "eager", mathlib.Native},
		{"1", "", mathlib.WhereFaster}, {"1", "performant", mathlib.WhereFaster}, {"1", "eager", mathlib.WherePossible},
	} {
		environment := map[string]string{"CUBLAS_EMULATE_DOUBLE_PRECISION": c.emulate, "CUBLAS_EMULATION_STRATEGY": c.strategy}
		if got := mathlib.RequestedEmulation(func(name string) string { return environment[name] }); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestMathMode checks that emulation follows the request if the libraries can emulate,
// and is off otherwise, and that every mode is read back.
func TestMathMode(t *testing.T) {
	for toolkit, can := range map[emulator.Toolkit]bool{emulator.CUDA12: false, emulator.CUDA13: true} {
		t.Run("toolkit "+string(toolkit), func(t *testing.T) {
			if emulator.Rerun(t, emulator.Config{Toolkit: toolkit, DriverVersion: 13000}) {
				return
			}
			lib := testcheck.Get(mathlib.Load())(t)
			d := testcheck.Get(driver.Open(0))(t)
			defer d.Close()
			s := testcheck.Get(d.NewStream())(t)
			defer s.Destroy()
			for _, want := range []mathlib.Emulation{mathlib.Native, mathlib.WhereFaster, mathlib.WherePossible} {
				h := testcheck.Get(lib.New(s, want))(t)
				if !can {
					want = mathlib.Native
				}
				if h.Emulation() != want {
					t.Errorf("%v, want %v", h.Emulation(), want)
				}
				testcheck.Do(t, h.Close())
			}
			if calls := emulator.Calls("cublasSetMathMode"); calls != 3 || emulator.Calls("cublasGetMathMode") != 3 {
				t.Errorf("%d math modes set, %d read", calls, emulator.Calls("cublasGetMathMode"))
			}
			if !can {
				return
			}
			// These libraries report success and change nothing.
			for entry, words := range map[string]string{
				"cublasSetMathMode":          "cuBLAS reports math mode 0 after gpfit set mode 8",
				"cusolverDnSetMathMode":      "cuSOLVER reports math mode 1 after gpfit set mode 4",
				"cublasSetEmulationStrategy": "cuBLAS reports emulation strategy 0 after gpfit set 2",
			} {
				silent := func() { emulator.Inject(t, entry, 1, emulator.Silent) }
				if _, err := factored(t, lib, s, mathlib.WherePossible, silent); err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("%s: error %v", entry, err)
				}
				emulator.Reset()
			}
		})
	}
}
