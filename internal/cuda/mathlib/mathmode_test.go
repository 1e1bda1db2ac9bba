package mathlib_test

import (
	"strings"
	"testing"

	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/cuda/mathlib"
	"gpfit/internal/must"
)

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
			lib := must.Get(mathlib.Load())(t)
			d := must.Get(driver.Open(0))(t)
			defer d.Close()
			s := must.Get(d.NewStream())(t)
			defer s.Destroy()
			for _, want := range []mathlib.Emulation{mathlib.Native, mathlib.WhereFaster, mathlib.WherePossible} {
				h := must.Get(lib.New(s, want))(t)
				if !can {
					want = mathlib.Native
				}
				if h.Emulation() != want {
					t.Errorf("%v, want %v", h.Emulation(), want)
				}
				must.Do(t, h.Close())
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
				emulator.Inject(t, entry, 1, emulator.Silent)
				if _, err := lib.New(s, mathlib.WherePossible); err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("%s: error %v", entry, err)
				}
				emulator.Reset()
			}
		})
	}
}
