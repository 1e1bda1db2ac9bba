package cuda

import (
	"context"
	"strings"
	"testing"

	"gpfit/device/cuda/emulator"
)

// TestEmulatedFloat64: emulation by integers is used where the user asks for it, is part
// of the device's description, and passes the self-test and the check of the residual
// with the bits that cuBLAS takes, but not with a few.
func TestEmulatedFloat64(t *testing.T) {
	for bits, exact := range map[string]bool{"55": true, "20": false} {
		t.Run(bits, func(t *testing.T) {
			if emulator.Rerun(t, emulator.Config{Toolkit: emulator.CUDA13, DriverVersion: 13000, Env: []string{
				"CUBLAS_EMULATE_DOUBLE_PRECISION=1", "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT=" + bits,
			}}) {
				return
			}
			b := openBare(t, 0)
			defer mustClose(t, b)
			if d := b.Info().Description; !strings.HasSuffix(d, "float64 EMULATED (CUBLAS_EMULATE_DOUBLE_PRECISION=1, performant)") {
				t.Errorf("description %q", d)
			}
			if err := b.selfTest(context.Background()); (err == nil) != exact {
				t.Errorf("self-test: %v", err)
			}
			b.sizes = wrongSteps
			if got := residualOf(t, b); (got < 1e-11) != exact {
				t.Errorf("residual %v", got)
			}
		})
	}
}

// TestNativeFloat64: without the variable products are native, and CUDA 12 ignores it.
func TestNativeFloat64(t *testing.T) {
	for name, c := range map[string]struct {
		machine emulator.Config
		want    string
	}{
		"unset": {emulator.Config{Toolkit: emulator.CUDA13, DriverVersion: 13000}, "native float64"},
		"CUDA 12": {emulator.Config{Env: []string{"CUBLAS_EMULATE_DOUBLE_PRECISION=1"}},
			"native float64 (CUBLAS_EMULATE_DOUBLE_PRECISION=1 has no effect before CUDA 13)"},
	} {
		t.Run(name, func(t *testing.T) {
			if emulator.Rerun(t, c.machine) {
				return
			}
			b := openBare(t, 0)
			defer mustClose(t, b)
			if d := b.Info().Description; !strings.HasSuffix(d, c.want) {
				t.Errorf("description %q, want %q at its end", d, c.want)
			}
		})
	}
}

// residualOf is that of the factor of a small job.
func residualOf(t *testing.T, b *Device) float64 {
	t.Helper()
	j, ctx := newJob(t, 301), context.Background()
	ws, err := b.NewWorkspace(ctx, j.x)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if err := ws.Form(ctx, j.prog, j.theta, j.noise); err != nil {
		t.Fatal(err)
	}
	r, err := ws.(*Workspace).Residual(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
