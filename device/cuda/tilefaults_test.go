package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/device/tiling"
	"gpfit/internal/testcheck"
)

// tileStep is a call on a bank. Its results are added to a list.
type tileStep struct {
	name string
	call func(b *tileBank, add func(...float64)) error
}

const stepOrder = 16

// tileSteps are all calls, on two blocks of points. host is memory for two tiles.
func tileSteps(j *job, host []float64) []tileStep {
	size := stepOrder * int(leadingDim(stepOrder))
	factor := func(slot int) func(*tileBank, func(...float64)) error {
		return func(b *tileBank, add func(...float64)) error {
			d := make([]float64, stepOrder)
			minor, err := b.Factor(0, slot, d)
			if minor > 0 {
				return fmt.Errorf("minor %d", minor)
			}
			add(d...)
			return err
		}
	}
	return []tileStep{
		{"bind", func(b *tileBank, _ func(...float64)) error {
			adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: j.y}
			return b.Bind(tiling.Binding{Program: j.prog, Theta: j.theta, Noise: j.noise, Adjoint: &adj})
		}},
		{"fill", func(b *tileBank, _ func(...float64)) error { return b.Fill(0, 0, 0, 0) }},
		{"fill", func(b *tileBank, _ func(...float64)) error { return b.Fill(0, 1, 1, 0) }},
		{"fill", func(b *tileBank, _ func(...float64)) error { return b.Fill(0, 2, 1, 1) }},
		{"factor", factor(0)},
		{"solve", func(b *tileBank, _ func(...float64)) error { return b.Solve(0, 1, 0, 0) }},
		{"multiply", func(b *tileBank, _ func(...float64)) error {
			return b.Multiply(0, tiling.Product{C: 2, A: 1, B: 1, Mode: tiling.Subtract, Half: tiling.Lower})
		}},
		{"factor", factor(2)},
		{"store", func(b *tileBank, _ func(...float64)) error { return b.Store(0, 1, host[:size]) }},
		{"wait", func(b *tileBank, add func(...float64)) error {
			err := b.Wait(0)
			add(host[:size]...)
			return err
		}},
		{"load", func(b *tileBank, _ func(...float64)) error { return b.Load(0, 3, host[:size]) }},
		{"substitute", func(b *tileBank, add func(...float64)) error {
			y := slices.Clone(j.y[:stepOrder])
			err := b.Substitute(0, tiling.Forward, 0, nil, y, stepOrder, 1)
			if err == nil {
				err = b.Substitute(0, tiling.SubtractProduct, 3, y, y, stepOrder, 1)
			}
			add(y...)
			return err
		}},
		{"copy", func(b *tileBank, _ func(...float64)) error { return b.Copy(0, 5, b, 3) }},
		{"invert", func(b *tileBank, _ func(...float64)) error { return b.Invert(0, 4, 2) }},
		{"multiply", func(b *tileBank, _ func(...float64)) error {
			return b.Multiply(0, tiling.Product{C: 5, A: 4, B: 4, UpperA: true, UpperB: true, Half: tiling.Upper})
		}},
		{"contract", func(b *tileBank, add func(...float64)) error {
			grad, diag := make([]float64, len(j.theta)), make([]float64, stepOrder)
			err := b.Contract(0, 5, 1, 1, grad, diag)
			add(append(grad, diag...)...)
			return err
		}},
		{"cross", func(b *tileBank, _ func(...float64)) error { return b.Cross(0, 5, j.xs, 0, j.xs.N, 1) }},
		{"norms", func(b *tileBank, add func(...float64)) error {
			sums := make([]float64, j.xs.N)
			err := b.SquaredNorms(0, 5, j.xs.N, sums)
			add(sums...)
			return err
		}},
		{"write", func(b *tileBank, _ func(...float64)) error { return b.Write(0, 0, 1, j.y[:stepOrder], stepOrder) }},
		{"read", func(b *tileBank, add func(...float64)) error {
			all := make([]float64, stepOrder*stepOrder)
			err := b.Read(0, 1, stepOrder, all, stepOrder)
			add(all...)
			return err
		}},
	}
}

// runTiles makes all calls on a new bank. Errors begin with the name of the call. The bank is nil if there was none.
func runTiles(j *job, d *Device, host []float64) (bank *tileBank, out []float64, err error) {
	made, err := d.NewTileBank(context.Background(), j.x, stepOrder, 6, host)
	if err != nil {
		return nil, nil, fmt.Errorf("bank: %w", err)
	}
	bank = made.(*tileBank)
	out, err = runSteps(j, bank, host)
	return bank, out, err
}

func runSteps(j *job, bank *tileBank, host []float64) (out []float64, err error) {
	for _, s := range tileSteps(j, host) {
		if err := s.call(bank, func(v ...float64) { out = append(out, v...) }); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return out, nil
}

func tileHost() []float64 { return make([]float64, 2*stepOrder*leadingDim(stepOrder)) }

// TestTileFaults makes each call of the driver and of the libraries fail in turn. The bank, or the device if there is none,
// can do everything after that.
func TestTileFaults(t *testing.T) {
	j, host := newJob(t, 27), tileHost()
	d := checked(t)
	first, want, err := runTiles(j, d, host)
	testcheck.Do(t, err)
	testcheck.Do(t, first.Close())
	for entry, code := range map[string]int{
		"cuMemAlloc_v2": 2, "cuLaunchKernel": 2, "cublasDgemm_v2_64": 3, "cublasDtrsm_v2_64": 3, "cusolverDnXpotrf": 2, "cuMemcpyHtoDAsync_v2": 2,
		"cuMemcpyDtoHAsync_v2": 2, "cuMemcpyDtoDAsync_v2": 2, "cuMemcpy2DAsync_v2": 2, "cuMemsetD8Async": 2, "cuStreamWaitEvent": 2, "cuEventRecord": 2,
		"cuStreamCreateWithPriority": 2, "cuEventCreate": 2,
	} {
		t.Run(entry, func(t *testing.T) {
			seen := 0
			for k := 1; ; k++ {
				used := emulator.Used(0)
				emulator.Reset()
				emulator.Inject(t, entry, k, code)
				bank, out, err := runTiles(j, d, host)
				done := emulator.Calls(entry) < k
				emulator.Reset()
				switch {
				case done && (err != nil || !slices.Equal(out, want)):
					t.Fatalf("call %d is not made: error %v", k, err)
				case !done && !errors.As(err, new(*device.MemoryError)):
					t.Fatalf("call %d: error %v, want a MemoryError", k, err)
				}
				seen = k
				if bank == nil {
					bank, _, err = runTiles(j, d, host)
					testcheck.Do(t, err)
				}
				if again, err := runSteps(j, bank, host); err != nil || !slices.Equal(again, want) {
					t.Fatalf("call %d: after it error %v, or other results", k, err)
				}
				testcheck.Do(t, bank.Close())
				if now := emulator.Used(0); now != used {
					t.Fatalf("call %d: %d bytes are left", k, now-used)
				}
				if done {
					break
				}
			}
			if seen < 2 {
				t.Error("no call is made")
			}
		})
	}
}

// TestTileLockFails expects the same results if memory of the host cannot be locked, or is locked by others.
func TestTileLockFails(t *testing.T) {
	j, host := newJob(t, 27), tileHost()
	d := checked(t)
	var want []float64
	for _, code := range []int{0, 1, 712, 801} {
		emulator.Reset()
		if code != 0 {
			emulator.Inject(t, "cuMemHostRegister_v2", 1, code)
		}
		bank, out, err := runTiles(j, d, host)
		testcheck.Do(t, err)
		if emulator.Calls("cuMemHostRegister_v2") != 1 {
			t.Error("the memory is not locked")
		}
		if want == nil {
			want = out
		}
		if !slices.Equal(out, want) {
			t.Errorf("code %d: other results", code)
		}
		testcheck.Do(t, bank.Close())
	}
}

// TestTileLost makes the device fail permanently at each call in turn: this call and all later ones report it, and closing
// works.
func TestTileLost(t *testing.T) {
	j, host := newJob(t, 27), tileHost()
	emulator.Need(t)
	step := 5
	if testcheck.Long() {
		step = 1
	}
	for _, order := range []int{0, 3} {
		for k := 1; ; k += step {
			emulator.Reset()
			emulator.Order(t, order)
			d := testcheck.Get(open(0))(t)
			emulator.Inject(t, "*", k, 700)
			bank, _, err := runTiles(j, d, host)
			if err == nil && order == 0 {
				testcheck.Do(t, bank.Close())
				mustClose(t, d)
				break
			}
			if err == nil { // pending work failed, or none was left to fail
				err = bank.Wait(0)
			}
			if err == nil {
				testcheck.Do(t, bank.Close())
				mustClose(t, d)
				break
			}
			wantLost(t, fmt.Sprintf("call %d", k), err)
			if bank != nil {
				for _, s := range tileSteps(j, host) {
					wantLost(t, s.name+" after it", s.call(bank, func(...float64) {}))
				}
				wantLost(t, "wait after it", bank.Wait(0))
				testcheck.Do(t, bank.Close())
			}
			_, err = d.NewTileBank(context.Background(), j.x, stepOrder, 1, nil)
			wantLost(t, "another bank", err)
			mustClose(t, d)
		}
	}
	emulator.Reset()
}

// TestTileLostNeighbour loses a device from which another one copies, and which copies from it: the error names the lost one,
// and the other goes on.
func TestTileLostNeighbour(t *testing.T) {
	if emulator.Rerun(t, emulator.Config{Devices: 2}) {
		return
	}
	for _, order := range []int{0, 1, 2, 3} {
		emulator.Order(t, order)
		x := newJob(t, 50).x
		lostOne, other := testcheck.Get(open(0))(t), testcheck.Get(open(1))(t)
		a := testcheck.Get(lostOne.NewTileBank(t.Context(), x, stepOrder, 4, nil))(t).(*tileBank)
		b := testcheck.Get(other.NewTileBank(t.Context(), x, stepOrder, 4, nil))(t).(*tileBank)
		ones := slices.Repeat([]float64{1}, stepOrder*stepOrder)
		testcheck.Do(t, a.Write(0, 0, stepOrder, ones, stepOrder))
		testcheck.Do(t, b.Write(0, 0, stepOrder, ones, stepOrder))
		testcheck.Do(t, b.Copy(0, 1, a, 0))
		testcheck.Do(t, a.Copy(0, 1, b, 0))
		emulator.Inject(t, "cublasDgemm_v2_64", 1, 700)
		wantLost(t, "product", a.Multiply(0, tiling.Product{C: 2, A: 0, B: 0}))
		wantLost(t, "copy", b.Copy(0, 2, a, 0))
		testcheck.Do(t, b.Write(0, 0, stepOrder, ones, stepOrder)) // which the lost device copied
		testcheck.Do(t, b.Multiply(0, tiling.Product{C: 2, A: 0, B: 0}))
		got := make([]float64, stepOrder)
		testcheck.Do(t, b.Read(0, 2, 1, got, stepOrder))
		if got[3] != stepOrder {
			t.Errorf("the other device computes %v", got)
		}
		testcheck.Do(t, a.Close())
		testcheck.Do(t, b.Close())
		mustClose(t, lostOne)
		mustClose(t, other)
		emulator.Reset()
	}
}

// TestTileGoroutines uses two banks of two devices from one goroutine each, which copy from each other.
func TestTileGoroutines(t *testing.T) {
	if emulator.Rerun(t, emulator.Config{Devices: 2, Order: 5}) {
		return
	}
	emulator.Check(t)
	x := newJob(t, 50).x
	banks := []*tileBank{bankOn(t, openBare(t, 0), x, stepOrder, 6, nil), bankOn(t, openBare(t, 1), x, stepOrder, 6, nil)}
	for k, b := range banks {
		for slot := range 2 {
			testcheck.Do(t, b.Write(0, slot, stepOrder, slices.Repeat([]float64{float64(1 + 2*k + slot)}, stepOrder*stepOrder), stepOrder))
		}
	}
	var wg sync.WaitGroup
	for k, b := range banks {
		wg.Go(func() {
			got := make([]float64, stepOrder*stepOrder)
			for r := range 30 {
				other := banks[1-k]
				err := errors.Join(b.Copy(0, 2, other, r%2), b.Copy(0, 3, b, r%2), b.Multiply(0, tiling.Product{C: 4, A: 2, B: 3}),
					b.Read(0, 4, stepOrder, got, stepOrder))
				want := float64(stepOrder*(1+2*k+r%2)) * float64(1+2*(1-k)+r%2)
				if err != nil || slices.ContainsFunc(got, func(v float64) bool { return v != want }) {
					t.Errorf("bank %d, round %d: error %v, or a number other than %v", k, r, err, want)
					return
				}
			}
		})
	}
	wg.Wait()
}
