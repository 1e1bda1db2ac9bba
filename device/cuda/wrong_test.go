package cuda

import (
	"context"
	"errors"
	"math"
	"testing"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// wrongSteps make blocks of 128 at the size of these tests. The self-test has blocks of
// 40 at most, and its products have no side above 97.
var wrongSteps = sizes{fill: 128, factor: 128, symm: 128, leaf: 32, panel: 64, gemm: 1e6}

// finding names the check that detects a wrong result.
type finding string

const (
	// byFactor is the Cholesky factorisation, which finds the damaged matrix not positive definite.
	byFactor   finding = "the factorisation"
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
	if err := b.selfTestOf(ctx, selfTestKernels[0]); err != nil {
		t.Fatalf("the self-test reaches the size: %v", err)
	}
	b.sizes = wrongSteps
	ws := j.workspace(t, b)
	obj := must.Get(graph.Build(ws, graph.Spec{Program: j.prog, X: j.x, Y: j.y, Device: "cuda:0"}))(t)
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
	r := must.Get(ws.Residual(ctx))(t)
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
