package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/device/devicetest"
	"gpfit/device/tiling"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// bankOn returns a bank, which the test closes at its end. Its products leave out zeros in blocks of 8.
func bankOn(t testing.TB, b *Device, x *kernel.Points, order, slots int, host []float64) *tileBank {
	t.Helper()
	bank := testcheck.Get(b.NewTileBank(context.Background(), x, order, slots, host))(t).(*tileBank)
	bank.width = 8
	t.Cleanup(func() { testcheck.Do(t, bank.Close()) })
	return bank
}

// TestConformanceTiles runs the suite of devices that compute with tiles.
func TestConformanceTiles(t *testing.T) {
	needDevice(t)
	t.Parallel()
	devicetest.RunTiles(t, func(t *testing.T) tiling.Device { return mustOpen(t).(*Device) })
}

// TestConformanceTilesLate does so on a device whose streams work late and in random order.
func TestConformanceTilesLate(t *testing.T) {
	needDevice(t)
	if realDevice != "" || !testcheck.Long() {
		t.Skip("TestTilesLate has a sample of this; GPFIT_LONG=1 runs it")
	}
	if !emulator.Rerun(t, emulator.Config{Order: 11}) {
		devicetest.RunTiles(t, func(t *testing.T) tiling.Device { return mustOpen(t).(*Device) })
	}
}

// matters reports whether element (i, j) of an operand counts.
func matters(upper bool, i, j int) bool { return !upper || i <= j }

// wanted reports whether element (i, j) of a result is wanted.
func wanted(h tiling.Half, i, j int) bool {
	return h == tiling.Whole || h == tiling.Lower && i >= j || h == tiling.Upper && i <= j
}

// TestTileProducts computes products of all kinds. Elements that count as 0, and C where a product replaces it, are NaN.
func TestTileProducts(t *testing.T) {
	b := checked(t)
	x := newJob(t, 50).x
	rng := rand.New(rand.NewPCG(1, 2))
	for _, order := range []int{8, 24, 40} {
		bank := bankOn(t, b, x, order, 4, nil)
		if order == 40 {
			bank.width = 16 // the last block is smaller
		}
		numbers := func(f func(i, j int) bool) []float64 {
			v := make([]float64, order*order)
			for k := range v {
				if v[k] = rng.NormFloat64(); !f(k/order, k%order) {
					v[k] = math.NaN()
				}
			}
			return v
		}
		for kind := range 4 * 3 * 2 * 2 * 2 * 2 {
			p := tiling.Product{
				C: 0, A: 1, B: 2, Mode: tiling.Mode(kind % 4), Half: tiling.Half(kind / 4 % 3), UpperA: kind/12%2 == 1, UpperB: kind/24%2 == 1,
			}
			if kind/48%2 == 1 {
				p.Rows = order - 3
			}
			if kind/96 == 1 {
				if p.UpperA != p.UpperB {
					continue
				}
				p.B = 1
			}
			rows := order
			if p.Rows > 0 {
				rows = p.Rows
			}
			add := p.Mode == tiling.Add || p.Mode == tiling.Subtract
			in := [][]float64{
				numbers(func(i, j int) bool { return add && wanted(p.Half, i, j) }), numbers(func(i, j int) bool { return matters(p.UpperA, i, j) }),
				numbers(func(i, j int) bool { return matters(p.UpperB, i, j) }),
			}
			for slot, v := range in {
				testcheck.Do(t, bank.Write(0, slot, order, v, order))
			}
			testcheck.Do(t, bank.Multiply(0, p))
			got := make([]float64, order*order)
			testcheck.Do(t, bank.Read(0, p.C, rows, got, order))
			for i := range rows {
				for j := range order {
					want := 0.0
					for k := range order {
						if matters(p.UpperA, i, k) && matters(p.UpperB, j, k) {
							want += in[p.A][i*order+k] * in[p.B][j*order+k]
						}
					}
					if p.Mode == tiling.ReplaceNegative || p.Mode == tiling.Subtract {
						want = -want
					}
					if add {
						want += in[p.C][i*order+j]
					}
					if v := got[i*order+j]; wanted(p.Half, i, j) && !(math.Abs(v-want) <= 1e-12) {
						t.Fatalf("order %d, %+v: element (%d, %d) is %v, want %v", order, p, i, j, v, want)
					}
				}
			}
		}
		for what, p := range map[string]tiling.Product{"C is A": {B: 1}, "C is B": {A: 1}, "a slot too far": {A: 1, B: 4}, "rows": {A: 1, B: 2, Rows: order + 1}} {
			if bank.Multiply(0, p) == nil {
				t.Errorf("%s: no error", what)
			}
		}
	}
}

// tileWork counts the operations that the product of two tiles of an order takes, by the calls of the library.
func tileWork(t *testing.T, bank *tileBank, p tiling.Product) (flops float64) {
	for _, c := range emulator.Record(t, func() { testcheck.Do(t, bank.Multiply(0, p)); testcheck.Do(t, bank.Wait(0)) }) {
		flops += 2 * float64(c.M) * float64(c.N) * float64(c.K)
	}
	return flops
}

// TestTileWork bounds what products compute in vain: the products of 20 tiles a side take at most 3 % of n³ too much.
func TestTileWork(t *testing.T) {
	const order, tiles = 64, 20
	bank := bankOn(t, checked(t), newJob(t, 50).x, order, 3, nil)
	bank.width = order / 8
	work := func(p tiling.Product) float64 {
		p.A, p.B = 1, 2
		if excess := tileWork(t, bank, p) - tiling.Flops(p, order); excess >= 0 {
			return excess
		}
		t.Errorf("%+v: fewer operations than it takes", p)
		return 0
	}
	half, upper := work(tiling.Product{Half: tiling.Lower}), work(tiling.Product{UpperA: true})
	other := work(tiling.Product{UpperB: true})
	both := work(tiling.Product{UpperA: true, UpperB: true, Half: tiling.Upper})
	const pairs = tiles * tiles / 2
	excess := pairs*(2*half+upper+other) + tiles*both
	if n := float64(tiles * order); excess > 0.03*n*n*n {
		t.Errorf("%.4f of n³ in vain", excess/n/n/n)
	} else {
		t.Logf("%.4f of n³ in vain", excess/n/n/n)
	}
}

// TestTiles compares an evaluation in tiles with the method dense, for tables that end in a whole tile and within one, and
// with noise for each row.
func TestTiles(t *testing.T) {
	b := checked(t)
	for _, c := range []struct{ n, order int }{{5, 8}, {32, 8}, {61, 16}, {75, 24}, {70, 72}} {
		j := newJob(t, c.n)
		if c.n%2 == 1 {
			j.noise = make([]float64, c.n)
			for i := range j.noise {
				j.noise[i] = 0.1 + 0.01*float64(i)
			}
		}
		got := newGrid(t, j, c.order, b).evaluate()
		wantNear(t, fmt.Sprintf("n = %d in tiles of %d", c.n, c.order), got, j.dense(t, b))
	}
}

// TestTilesLate evaluates on devices whose streams work late, in random orders, and wants the bits of one device that
// works at once.
func TestTilesLate(t *testing.T) {
	for name, env := range map[string]string{"direct": "", "through the host": "GPFIT_EMU_PEER=0"} {
		t.Run(name, func(t *testing.T) {
			if emulator.Rerun(t, emulator.Config{Devices: 3, Env: []string{env}}) {
				return
			}
			emulator.Check(t)
			var on []*Device
			for i := range 3 {
				on = append(on, openBare(t, i))
			}
			j := newJob(t, 61)
			want := newGrid(t, j, 16, on[0]).evaluate()
			seeds := 4
			if testcheck.Long() {
				seeds = 40
			}
			for seed := range seeds {
				for _, count := range []int{1, 2, 3} {
					emulator.Order(t, 1+seed)
					before := emulator.Peered()
					g := newGrid(t, j, 16, on[:count]...)
					if got := g.evaluate(); !slices.Equal(got, want) {
						t.Errorf("order %d, %d devices: other results", seed, count)
					}
					copies := 0
					for _, n := range g.turn {
						copies += n
					}
					if bytes := emulator.Peered() - before; bytes != int64(copies)*8*16*leadingDim(16) {
						t.Errorf("%d devices: %d copies, %d bytes", count, copies, bytes)
					}
				}
			}
		})
	}
}

// stream multiplies tiles of the host that pass through few slots: the products of tiles 0 … count−1 with tile 0, one after
// the other, each loaded while the products before are computed, and stored.
func streamTiles(t testing.TB, bank *tileBank, in, out []float64, count int) {
	size := len(in) / count
	tile := func(v []float64, k int) []float64 { return v[k*size : (k+1)*size] }
	testcheck.Do(t, bank.Load(0, 0, tile(in, 0)))
	for k := range count {
		a, c := 1+k%3, 4+k%2
		testcheck.Do(t, bank.Load(0, a, tile(in, k)))
		testcheck.Do(t, bank.Multiply(0, tiling.Product{C: c, A: a, B: 0}))
		testcheck.Do(t, bank.Multiply(0, tiling.Product{C: c, A: a, B: a, Mode: tiling.Add}))
		testcheck.Do(t, bank.Store(0, c, tile(out, k)))
	}
	testcheck.Do(t, bank.Wait(0))
}

// TestTileStreams passes tiles through a bank whose streams work late, in page-locked memory of the host and in other memory.
func TestTileStreams(t *testing.T) {
	const order, count = 16, 12
	b := checked(t)
	rng := rand.New(rand.NewPCG(1, 3))
	size := order * int(leadingDim(order))
	memory := make([]float64, 2*count*size)
	in, out := memory[:count*size], memory[count*size:]
	for i := range in {
		in[i] = rng.NormFloat64()
	}
	x := newJob(t, 50).x
	streamTiles(t, bankOn(t, b, x, order, 6, nil), in, out, count)
	want := slices.Clone(out)
	most := 0
	for seed := range 40 {
		clear(out)
		emulator.Order(t, 1+seed)
		host := memory
		if seed%4 == 3 {
			host = nil
		}
		bank := bankOn(t, b, x, order, 6, host)
		streamTiles(t, bank, in, out, count)
		if !slices.Equal(out, want) {
			t.Fatalf("order %d: other products", seed)
		}
		most = max(most, emulator.Busy())
	}
	if most < tileStreams {
		t.Errorf("at most %d streams have work at the same time", most)
	}
}

// TestTileClose closes banks with work in all streams, and one whose tiles another bank still copies.
func TestTileClose(t *testing.T) {
	if emulator.Rerun(t, emulator.Config{Devices: 2}) {
		return
	}
	emulator.Check(t)
	const order = 16
	x, size := newJob(t, 50).x, order*int(leadingDim(order))
	a, b := openBare(t, 0), openBare(t, 1)
	for seed := range 10 {
		emulator.Order(t, 1+seed)
		memory := make([]float64, 4*size)
		for i := range memory {
			memory[i] = float64(i % 17)
		}
		var used []int64
		for i := range 2 {
			used = append(used, emulator.Used(i))
		}
		first, second := bankOn(t, a, x, order, 4, memory), bankOn(t, b, x, order, 4, memory)
		tile := func(k int) []float64 { return memory[k*size : (k+1)*size] }
		for range 3 {
			testcheck.Do(t, first.Load(0, 0, tile(0)))
			testcheck.Do(t, first.Load(0, 1, tile(1)))
			testcheck.Do(t, first.Multiply(0, tiling.Product{C: 2, A: 0, B: 1}))
		}
		testcheck.Do(t, second.Copy(0, 1, first, 2))
		testcheck.Do(t, first.Copy(0, 3, first, 2))
		testcheck.Do(t, first.Store(0, 3, tile(2)))
		testcheck.Do(t, first.Close())
		testcheck.Do(t, first.Close())
		if first.Load(0, 0, tile(0)) == nil || second.Copy(0, 1, first, 2) == nil {
			t.Error("a closed bank takes calls")
		}
		testcheck.Do(t, second.Multiply(0, tiling.Product{C: 2, A: 1, B: 1}))
		testcheck.Do(t, second.Store(0, 1, tile(3)))
		testcheck.Do(t, second.Wait(0))
		if !slices.Equal(tile(2), tile(3)) {
			t.Error("other numbers in the copy")
		}
		testcheck.Do(t, second.Close())
		for i := range 2 {
			if now := emulator.Used(i); now != used[i] {
				t.Errorf("%d bytes of device %d are left", now-used[i], i)
			}
		}
	}
}

// TestTileMemory checks that a bank stays within its plan and that too many slots are refused, before and at an allocation.
func TestTileMemory(t *testing.T) {
	b := checked(t)
	j := newJob(t, 300)
	const order = 104
	for _, slots := range []int{1, 40} {
		before := emulator.Used(0)
		tile, rest := b.TileSpace(j.x.N, j.x.D, order)
		bank := bankOn(t, b, j.x, order, slots, nil)
		testcheck.Do(t, bank.Bind(tiling.Binding{Program: j.prog, Theta: j.theta, Noise: j.noise, Adjoint: &device.Adjoint{Inv: 0.5, Outer: []float64{1}, Vectors: j.y}}))
		testcheck.Do(t, bank.Write(0, 0, order, make([]float64, order*order), order))
		if used, plan := emulator.Used(0)-before, int64(slots)*tile+rest-reserve/2; used > plan || used < int64(slots)*tile {
			t.Errorf("%d slots use %d bytes, planned %d", slots, used, plan)
		}
	}
	ctx := t.Context()
	far, _ := Driver{}.Typical()
	if tile, rest := far.(tiling.Device).TileSpace(300, 2, order); tile != 8*order*leadingDim(order) || rest <= reserve {
		t.Errorf("a typical device: %d bytes for a tile, %d others", tile, rest)
	}
	if _, err := far.(tiling.Device).NewTileBank(ctx, j.x, order, 1, nil); !errors.As(err, new(*device.UnavailableError)) {
		t.Errorf("a bank of a typical device: error %v", err)
	}
	tile, _ := b.TileSpace(j.x.N, j.x.D, order)
	var mem *device.MemoryError
	if _, err := b.NewTileBank(ctx, j.x, order, int(1<<30/tile), nil); !errors.As(err, &mem) || mem.Where != "device" || mem.Plan.N != j.x.N {
		t.Errorf("a bank of all memory: error %v", err)
	}
	for _, c := range []struct{ order, slots int }{{order + 1, 1}, {0, 1}, {order, 0}} {
		if _, err := b.NewTileBank(ctx, j.x, c.order, c.slots, nil); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
	bad := kernel.NewPoints(slices.Clone(j.x.X), j.x.N, j.x.D)
	bad.X[3] = math.NaN()
	if _, err := b.NewTileBank(ctx, bad, order, 1, nil); !errors.As(err, new(*device.NonFiniteError)) {
		t.Errorf("a NaN: error %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := b.NewTileBank(cancelled, j.x, order, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

// TestTileMinors expects the order of the minor that is not positive.
func TestTileMinors(t *testing.T) {
	const order = 24
	bank := bankOn(t, checked(t), newJob(t, 50).x, order, 1, nil)
	for _, bad := range []float64{-1, 0, math.NaN(), math.Inf(1)} {
		for _, row := range []int{0, 11, order - 1} {
			a := make([]float64, order*order)
			for i := range order {
				a[i*order+i] = 2
			}
			a[row*order+row] = bad
			testcheck.Do(t, bank.Write(0, 0, order, a, order))
			if minor := testcheck.Get(bank.Factor(0, 0, make([]float64, order)))(t); minor != row+1 {
				t.Errorf("%v in row %d: minor %d", bad, row, minor)
			}
		}
	}
}
