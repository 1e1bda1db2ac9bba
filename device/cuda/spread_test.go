package cuda

import (
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// TestOperations counts the operations of a value with gradient, with room for U: they exceed n³ by little.
func TestOperations(t *testing.T) {
	for n, most := range map[int64]float64{5000: 1.11, 10_000: 1.06, 20_000: 1.035, 35_000: 1.02} {
		leaf := panelWidth(n)
		phases := inversionSpread{n: n, leaf: leaf}.phases()
		f := lookAhead{Workspace: &Workspace{covariance: covariance{storage: storage{n: n}}}, block: leaf}
		for o := int64(0); o < n; o += leaf {
			f.updates = append(f.updates, updates(f.matrix, n, o, min(leaf, n-o), min(o+leaf, n), leaf/blockProducts))
		}
		factor := f.flops()
		if n <= defaultSizes.vendor {
			factor = cube(n) / 3
		}
		flops := factor + blocksFlops(n, defaultSizes.leaf, leaf) + slices.Concat(phases...).flops()
		t.Logf("n = %d: %.3f n³ operations, %.3f n³ of them in the factorization", n, flops/cube(n), factor/cube(n))
		if ratio := flops / cube(n); ratio < 1 || ratio > most {
			t.Errorf("n = %d: %.3f n³ operations, more than %v", n, ratio, most)
		}
	}
}

// spreadSteps compute with U in a matrix of its own, at small n.
var spreadSteps = sizes{fill: 64, factor: 40, symm: 32, leaf: 16, panel: 32, gemm: 1e5, spread: 1000}

// aheadSteps take blocks that the kernels of small matrices factor.
var aheadSteps = sizes{fill: 64, factor: 40, symm: 32, leaf: 16, panel: 64, gemm: 1e5, spread: 1000}

// TestAhead runs jobs whose factorization looks ahead.
func TestAhead(t *testing.T) {
	seeds := 1
	if testcheck.Long() {
		seeds = 3
	}
	besideInPlace(t, aheadSteps, seeds, 0, 65, 130, 321)
}

// TestSpread runs jobs with U in a matrix of its own.
func TestSpread(t *testing.T) {
	seeds := 1
	if testcheck.Long() {
		seeds = 10
	}
	besideInPlace(t, spreadSteps, seeds, 4, 33, 130, 161)
}

// besideInPlace runs jobs of n points. The results equal a job in place but for rounding, whatever the order of the
// streams, of which at least busy have work at the same time, and on two lanes at once.
func besideInPlace(t *testing.T, steps sizes, seeds, busy int, n ...int) {
	emulator.Check(t)
	on := []device.DenseDevice{openBare(t, 0), openBare(t, 0)}
	var jobs []*job
	var want [][]float64
	for _, rows := range n {
		j := newJob(t, rows)
		inPlace := j.mustRun(t, on[0], nil)
		on[0].(*Device).sizes = steps
		got := j.mustRun(t, on[0], nil)
		on[0].(*Device).sizes = smallSteps
		for i, v := range inPlace {
			if d := got[i] - v; !(d*d <= 1e-20*(1+v*v)) {
				t.Fatalf("n = %d: result %d is %v, in place %v", rows, i, got[i], v)
			}
		}
		jobs, want = append(jobs, j), append(want, got)
	}
	for _, d := range on {
		d.(*Device).sizes = steps
	}
	for seed := range seeds {
		emulator.Order(t, 1+seed)
		atOnce(t, 2, jobs, want, on)
		if most := emulator.Busy(); most < busy {
			t.Errorf("at most %d streams have work at the same time", most)
		}
	}
}

// TestSpreadCleared fails to clear the memory of U once: the next inversion clears it.
func TestSpreadCleared(t *testing.T) {
	b := checked(t)
	b.sizes = spreadSteps
	j := newJob(t, 130)
	want := j.mustRun(t, b, nil)
	ws := j.workspace(t, b)
	testcheck.Do(t, ws.Form(t.Context(), j.prog, j.theta, j.noise))
	emulator.Inject(t, "cuMemsetD8Async", 1, 2)
	if ws.InverseDiagonal(t.Context(), make([]float64, 130)) == nil {
		t.Fatal("no error")
	}
	emulator.Reset()
	j.same(t, testcheck.Get(j.runIn(t.Context(), ws))(t), want)
}

// TestSettles cancels a factorization that looks ahead, on a device that works late, and uses the workspace at once.
func TestSettles(t *testing.T) {
	emulator.Check(t)
	b := openBare(t, 0)
	b.sizes = aheadSteps
	j := newJob(t, 321)
	want := j.mustRun(t, b, nil)
	ws := j.workspace(t, b)
	seeds := 8
	if testcheck.Long() {
		seeds = 60
	}
	for seed := range seeds {
		emulator.Order(t, 1+seed)
		left := 3 + seed%48
		if err := ws.Form(limited{t.Context(), &left}, j.prog, j.theta, j.noise); err == nil {
			t.Fatalf("order %d: not cancelled", seed)
		}
		l := make([]float64, 321*321)
		testcheck.Do(t, ws.Form(t.Context(), j.prog, j.theta, j.noise))
		testcheck.Do(t, ws.ReadFactor(0, 321, l))
		if !slices.Equal(l, want[len(want)-len(l):]) {
			t.Errorf("order %d: another factor after a cancelled one", seed)
		}
	}
}
