package mpi

import (
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/testcheck"
)

// TestReferencePlan checks that a plan with the reference BLAS takes ten times as long as with another one.
func TestReferencePlan(t *testing.T) {
	host := testcheck.Get(cpu.Open(device.Options{}))(t)
	found, err := Method{}.Backends([]device.Device{host})
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	kept := reference.Load()
	t.Cleanup(func() { reference.Store(kept) })
	defer opened.Store(opened.Swap(nil))
	w, rates := device.Workload{N: 3000, D: 2}, []float64{0, 0}
	for i, isReference := range []bool{false, true} {
		reference.Store(isReference)
		rates[i] = found[0].Plan(w).FlopRate
	}
	if ratio := rates[0] / rates[1]; ratio < 9.99 || ratio > 10.01 {
		t.Errorf("%g, %g operations per second", rates[0], rates[1])
	}
}
