package cuda

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/graph"
	"gpfit/internal/testcheck"
)

// wrongSteps make blocks of 128 at the size of these tests. The self-test has blocks of
// 40 at most, and its products have no side above 97.
var wrongSteps = sizes{fill: 128, factor: 128, symm: 128, leaf: 32, panel: 64, gemm: 1e6}

// finding names the check that detects a wrong result.
type finding string

const (
	// byFactor is the Cholesky factorization, which finds the damaged matrix not positive definite.
	byFactor   finding = "the factorization"
	byResidual finding = "the residual"
	byIdentity finding = "the identity"
	byNothing  finding = "nothing"
)

// TestWrongResults corrupts the results of one routine from a size that the self-test does not
// reach, and compares which check detects it first. The checks run in the order of a fit.
func TestWrongResults(t *testing.T) {
	emulator.Check(t)
	for _, c := range []struct {
		entry                           string
		from                            int
		leftOut, elementOff, transposed finding
	}{
		{"cusolverDnXpotrf", 60, byFactor, byResidual, byFactor},
		{"cublasDtrsm_v2_64", 100, byFactor, byResidual, byFactor},
		{"cublasDgemm_v2_64", 100, byFactor, byResidual, byResidual},
		{"cublasDgemmStridedBatched_64", 30, byIdentity, byIdentity, byIdentity},
		// Only leave-one-out objectives call it, and the identity does not apply to them.
		{"cublasDsymm_v2_64", 100, byNothing, byNothing, byNothing},
	} {
		for how, want := range map[emulator.Spoiling]finding{
			emulator.BlockLeftOut: c.leftOut, emulator.ElementOff: c.elementOff, emulator.BlockTransposed: c.transposed,
		} {
			emulator.Spoil(t, c.entry, c.from, how)
			if got := found(t); got != want {
				t.Errorf("%s, kind %d: found by %s, want %s", c.entry, how, got, want)
			}
			emulator.Reset()
		}
	}
	if got := found(t); got != byNothing {
		t.Errorf("right results: %s finds them wrong", got)
	}
}

// found evaluates as a fit does and returns the check that detects a wrong result.
func found(t *testing.T) finding {
	t.Helper()
	j, ctx := newJob(t, 301), context.Background()
	b := openBare(t, 0)
	b.sizes = selfTestSizes
	if err := b.selfTestOf(ctx, selfTests[0].kernel); err != nil {
		t.Fatalf("the self-test reaches the size: %v", err)
	}
	b.sizes = wrongSteps
	ws := j.workspace(t, b)
	obj := testcheck.Get(graph.Build(ws, graph.Spec{Program: j.prog, X: j.x, Y: j.y, Device: "cuda:0"}))(t)
	z := make([]float64, len(obj.Names()))
	for i, name := range obj.Names() {
		if name == "noise_variance" {
			z[i] = math.Log(0.01)
		}
	}
	if _, err := obj.Value(ctx, z); err != nil {
		if !errors.As(err, new(*device.NotPDError)) {
			t.Errorf("value: %v", err)
		}
		return byFactor
	}
	r := testcheck.Get(ws.Residual(ctx))(t)
	// This is the limit of package fit.
	if limit := math.Sqrt(float64(ws.N())) * obj.ResidualLimit(); !(r <= limit) {
		return byResidual
	}
	_, err := obj.ValueGradient(ctx, z, make([]float64, len(z)))
	var wrong *device.WrongError
	switch {
	case err == nil:
		return byNothing
	case !errors.As(err, &wrong) || wrong.Device != "cuda:0":
		t.Errorf("gradient: %v", err)
	}
	return byIdentity
}

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
	testcheck.Do(t, ws.Form(ctx, j.prog, j.theta, j.noise))
	return testcheck.Get(ws.Residual(ctx))(t)
}
