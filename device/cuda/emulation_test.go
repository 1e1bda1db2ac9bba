package cuda

import (
	"context"
	"strings"
	"testing"

	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// TestEmulatedFloat64 checks that gpfit emulates float64 by integers if the user asks for it, and
// reports it in the description of the device. The emulation passes the self-test and the residual
// check with the number of bits that cuBLAS chooses, but not with a few.
func TestEmulatedFloat64(t *testing.T) {
	for bits, exact := range map[string]bool{"55": true, "20": false} {
		t.Run(bits, func(t *testing.T) {
			if emulator.Rerun(t, emulator.Config{Toolkit: emulator.CUDA13, DriverVersion: 13000, Env: []string{
				"CUBLAS_EMULATE_DOUBLE_PRECISION=1", "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT=" + bits,
			}}) {
				return
			}
			b := openBare(t, 0)
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

// TestNativeFloat64 checks that products are native without the variable, and that CUDA
// 12 ignores it.
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
			if d := b.Info().Description; !strings.HasSuffix(d, c.want) {
				t.Errorf("description %q, want %q at its end", d, c.want)
			}
		})
	}
}

// residualOf returns the residual of the factor of a small job.
func residualOf(t *testing.T, b *Device) float64 {
	t.Helper()
	j, ctx := newJob(t, 301), context.Background()
	ws := j.workspace(t, b)
	must.Do(t, ws.Form(ctx, j.prog, j.theta, j.noise))
	return must.Get(ws.Residual(ctx))(t)
}
