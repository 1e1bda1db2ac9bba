package cuda

import (
	"math"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/internal/cuda/emulator"
)

// TestWaves counts, for graphics processors of 114, 132 and 144 multiprocessors, which share of the time of the phases has a
// tile on each, and the operations of a value with gradient.
func TestWaves(t *testing.T) {
	for _, multiprocessors := range []int{114, 132, 144} {
		for n, least := range map[int64]float64{3000: 0.45, 5000: 0.7, 10_000: 0.9, 20_000: 0.9, 35_000: 0.9} {
			s := spreading{n: n, leaf: panelWidth(n)}
			phases, _ := s.phases(multiprocessors)
			count, flops := 0, cube(n)/3+blocksFlops(n, defaultSizes.leaf, s.leaf)
			var time, work int64
			for _, p := range phases {
				took, did := p.waves(streams, multiprocessors)
				time, work, count, flops = time+took, work+did, count+len(p), flops+p.flops()
			}
			share, ratio := float64(work)/float64(multiprocessors)/float64(time), flops/cube(n)
			t.Logf("%d multiprocessors, n = %d: tiles/waves %.3f in %d products, %.3f n³ operations", multiprocessors, n, share, count, ratio)
			if share < least || n >= 10_000 && ratio > 1.06 || ratio < 1 {
				t.Errorf("%d multiprocessors, n = %d: tiles/waves %.3f, %.3f n³ operations", multiprocessors, n, share, ratio)
			}
		}
	}
}

// TestWavesOfPhases compares the time of simple phases with what can be counted by hand.
func TestWavesOfPhases(t *testing.T) {
	square := product{m: 512, n: 512, k: 100} // 16 tiles
	for _, c := range []struct {
		p                        phase
		streams, multiprocessors int
		time, work               int64
	}{
		{phase{square}, 1, 16, 100, 1600},
		{phase{square}, 1, 15, 200, 1600},
		{phase{square, square}, 1, 32, 200, 3200},
		{phase{square, square}, 2, 32, 100, 3200},
		{phase{square, square, square}, 3, 32, 200, 4800},
		{phase{{m: 1, n: 129, k: 7}, {m: 128, n: 1, k: 30}}, 2, 3, 30, 44},
		{nil, 3, 8, 0, 0},
	} {
		if time, work := c.p.waves(c.streams, c.multiprocessors); time != c.time || work != c.work {
			t.Errorf("%d products on %d streams: time %d, work %d; want %+v", len(c.p), c.streams, time, work, c)
		}
	}
}

// spreadSteps compute with U in a matrix of its own, at small n.
var spreadSteps = sizes{fill: 64, factor: 40, symm: 32, leaf: 16, panel: 32, gemm: 1e5, spread: 1000}

// TestSpread runs jobs with U in a matrix of its own. The results equal a job in place but for rounding, whatever the
// order of the streams, and on two lanes at once.
func TestSpread(t *testing.T) {
	emulator.Check(t)
	on := []device.DenseDevice{openBare(t, 0), openBare(t, 0)}
	jobs := []*job{newJob(t, 33), newJob(t, 130), newJob(t, 161)}
	var want [][]float64
	for _, j := range jobs {
		inPlace := j.mustRun(t, on[0], nil)
		on[0].(*Device).sizes = spreadSteps
		got := j.mustRun(t, on[0], nil)
		on[0].(*Device).sizes = smallSteps
		for i, v := range inPlace {
			if d := got[i] - v; !(d*d <= 1e-20*(1+v*v)) {
				t.Fatalf("n = %d: result %d is %v, in place %v", j.x.N, i, got[i], v)
			}
		}
		want = append(want, got)
	}
	for _, d := range on {
		d.(*Device).sizes = spreadSteps
	}
	seeds := 2
	if emulator.Long() {
		seeds = 10
	}
	for seed := range seeds {
		emulator.Order(t, 1+seed)
		atOnce(t, 2, jobs, want, on)
		if busy := emulator.Busy(); busy < 4 {
			t.Errorf("at most %d streams have work at the same time", busy)
		}
	}
}

// TestSpreadFlops compares the operations that a workspace counts with the operations of its products.
func TestSpreadFlops(t *testing.T) {
	b := checked(t)
	b.sizes = spreadSteps
	j := newJob(t, 130)
	ws := j.workspace(t, b)
	if _, err := j.runIn(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	before := ws.Work().Flops
	for _, step := range []func() error{
		func() error { return ws.Form(t.Context(), j.prog, j.theta, j.noise) },
		func() error { return ws.InverseDiagonal(t.Context(), make([]float64, 130)) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	s := spreading{n: 130, leaf: 32}
	phases, _ := s.phases(b.gpu.info.Multiprocessors)
	want := choleskyFlops(130, 40, 32) + blocksFlops(130, 16, 32) + slices.Concat(phases...).flops()
	if got := ws.Work().Flops - before; math.Abs(got/want-1) > 1e-12 {
		t.Errorf("%v operations, want %v", got, want)
	}
}
