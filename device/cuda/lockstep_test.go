package cuda

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// counts are calls and bytes of a computation.
type counts struct{ launches, synchronisations, bytes float64 }

func countsNow() counts {
	var c counts
	for _, entry := range []string{
		"cuLaunchKernel", "cuMemsetD8Async", "cublasDgemm_v2_64", "cublasDtrsm_v2_64", "cublasDgemmStridedBatched_64", "cublasDsymm_v2_64", "cusolverDnXpotrf",
	} {
		c.launches += float64(emulator.Calls(entry))
	}
	c.synchronisations = float64(emulator.Calls("cuStreamSynchronize"))
	c.bytes = float64(emulator.Copied())
	return c
}

// since returns the counts since before, for each of so many evaluations.
func (c counts) since(before counts, evaluations float64) counts {
	return counts{(c.launches - before.launches) / evaluations, (c.synchronisations - before.synchronisations) / evaluations, (c.bytes - before.bytes) / evaluations}
}

// TestLockstepCounts counts what a value with gradient takes by the steps of large matrices, and in lock step of 16.
func TestLockstepCounts(t *testing.T) {
	emulator.Check(t)
	n, companions := 200, 4
	if emulator.Long() {
		n, companions = 1000, 16
	}
	evaluations := func(j *job, b *Device, count int) []func() {
		var all []func()
		for range count {
			ws := j.workspace(t, b)
			obj := must.Get(graph.Build(ws, graph.Spec{Program: j.prog, X: j.x, Y: j.y, Device: "cuda:0"}))(t)
			z, g := make([]float64, len(obj.Names())), make([]float64, len(obj.Names()))
			all = append(all, func() {
				z[0] += 0.01
				if _, err := obj.ValueGradient(t.Context(), z, g); err != nil {
					t.Error(err)
				}
			})
		}
		return all
	}
	j := newJob(t, n)
	b := openBare(t, 0)
	b.sizes = defaultSizes
	b.sizes.together = 0
	alone := evaluations(j, b, 1)[0]
	alone() // loads kernels
	before := countsNow()
	alone()
	large := countsNow().since(before, 1)

	b.sizes = defaultSizes
	all := evaluations(j, b, companions)
	for _, f := range all {
		f()
	}
	before = countsNow()
	var wg sync.WaitGroup
	b.lockstep.company, b.lockstep.linger = companions, time.Minute // each group waits for all
	for _, f := range all {
		wg.Go(f)
	}
	wg.Wait()
	small := countsNow().since(before, float64(companions))
	t.Logf("n = %d: %+v by the steps of large matrices, %+v in lock step of %d", n, large, small, companions)
	_ = math.Pi
	_ = slices.Max[[]int]
	_ = context.Background
	_ = device.Auto
}
