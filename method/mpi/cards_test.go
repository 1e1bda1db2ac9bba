package mpi_test

import (
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda"
	"gpfit/device/devicetest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/method/mpi"
)

// cards are grids of emulated cards, with streams that work late in one of them.
func cards() []grid {
	return []grid{{rows: 2, cols: 2, block: 64, cards: true}, {rows: 1, cols: 1, block: 64, cards: true}, {rows: 1, cols: 2, block: 32, cards: true, order: 7},
		{rows: 3, cols: 1, block: 64, cards: true}}
}

// TestCards compares values and gradients on emulated cards with the results of the method dense.
func TestCards(t *testing.T) {
	texts, sizes := []string{"rbf(ard) + matern32*matern12(dims=1)"}, []int{97, 300}
	all := cards()[:1]
	if testcheck.Long() {
		texts, sizes, all = families(), []int{97, 300, 601}, cards()
	}
	for _, g := range all {
		g.run(t, func(t *testing.T) {
			dense := testcheck.Get(cpu.New(device.Options{}))(t)
			b := open(t)
			checkCapabilities(t, b)
			for _, text := range texts {
				for _, n := range sizes {
					if n <= 300 || text == "rbf(ard)" || text == "matern32" {
						compareOn(t, b, dense, text, n)
					}
				}
			}
		})
	}
}

// checkCapabilities checks what a workspace on cards can do.
func checkCapabilities(t *testing.T, b device.Backend) {
	w := testcheck.Get(b.NewWorkspace(t.Context(), kernel.NewPoints([]float64{1, 2}, 2, 1)))(t)
	defer w.Close()
	_, scores := w.(device.InverseDiagonal)
	_, draws := w.(device.JointCovariance)
	if _, derivatives := w.(device.DerivativeProducts); !scores || !draws || derivatives {
		t.Errorf("scores by leave-one-out %v, draws %v, products of derivatives %v", scores, draws, derivatives)
	}
}

// TestPlanOfOneCard compares the plan of one rank with the plan of the method dense, which has to come first where both fit.
func TestPlanOfOneCard(t *testing.T) {
	on, _ := cuda.Driver{}.Typical()
	b := testcheck.Get(mpi.Method{}.Backends([]device.Device{on}))(t)[0]
	for _, n := range []int{300, 20_000, 35_000, 100_000} {
		w := device.Workload{N: n, D: 3}
		if own, dense := b.Plan(w), (device.Dense{}).On(on.(device.DenseDevice)).Plan(w); own.DeviceBytes() < dense.DeviceBytes() || own.FlopsGradient < dense.FlopsGradient {
			t.Errorf("n = %d: %s and %g operations, dense %s and %g", n, device.FormatBytes(own.DeviceBytes()), own.FlopsGradient, device.FormatBytes(dense.DeviceBytes()), dense.FlopsGradient)
		}
	}
}

// TestOtherVariables gives rank 1 other variables than rank 0, whose variables count.
func TestOtherVariables(t *testing.T) {
	for _, g := range []grid{{rows: 1, cols: 2, block: 64}, {rows: 1, cols: 2, block: 64, cards: true}} {
		g.others = []string{"GPFIT_MPI_BLOCK=100", "GPFIT_MPI_GRID=2x1", "GPFIT_MPI_ENGINE=none"}
		g.run(t, func(t *testing.T) {
			compareOn(t, open(t), testcheck.Get(cpu.New(device.Options{}))(t), "rbf(ard)", 300)
		})
	}
}

// TestCardsConformance runs the suite of methods on emulated cards.
func TestCardsConformance(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("minutes of emulation: GPFIT_LONG=1 runs it")
	}
	for _, g := range cards() {
		g.run(t, func(t *testing.T) {
			b := open(t)
			devicetest.Run(t, func(t *testing.T) device.Backend { return kept{b} })
		})
	}
}

// kept is a backend that stays open.
type kept struct{ device.Backend }

func (kept) Close() error { return nil }
