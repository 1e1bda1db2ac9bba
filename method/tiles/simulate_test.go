package tiles

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// speeds describe a machine for a simulation: operations per second of a card, bytes per second between the host and each
// card and between two cards.
type speeds struct{ rate, link, peer float64 }

// clockCard is a card whose banks compute nothing and count time.
type clockCard struct {
	tiling.Device
	info device.Info
	speeds
	hosted *sync.Map // *float64 → when a tile of the host is ready
	bank   *clockBank
}

func (c *clockCard) Info() device.Info { return c.info }

func (c *clockCard) TileSpace(n, d, order int) (tile, rest int64) {
	return 8 * int64(order) * int64(order), 8*int64(n)*int64(d+8) + 1<<30
}

func (c *clockCard) NewTileBank(_ context.Context, _ *kernel.Points, order, slots int, _ []float64) (tiling.Bank, error) {
	c.bank = &clockBank{clockCard: c, order: float64(order), ready: make([]float64, slots), used: make([]float64, slots)}
	return c.bank, nil
}

// clockBank has the times at which the bank's thread, its stream for work and its streams for copies are free, and at which
// each slot is ready, and was used last.
type clockBank struct {
	tiling.Bank
	*clockCard
	order                         float64
	now, busy, loading, storing   float64
	worked                        float64
	mu                            sync.Mutex
	ready, used                   []float64
	loadedBytes, peerBytes, wrote float64
}

func (b *clockBank) Lanes() int   { return 1 }
func (b *clockBank) Close() error { return nil }
func (b *clockBank) bytes() float64 {
	return 8 * b.order * b.order
}

// work is an operation on slots, the first of which it writes.
func (b *clockBank) work(flops float64, slots ...int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	start := max(b.now, b.busy)
	for _, s := range slots {
		start = max(start, b.ready[s])
	}
	b.busy = start + flops/b.rate
	b.worked += flops / b.rate
	for _, s := range slots {
		b.used[s] = b.busy
	}
	b.ready[slots[0]] = b.busy
	return nil
}

func (b *clockBank) Fill(_, dst, _, _ int) error { return b.work(0, dst) }
func (b *clockBank) Multiply(_ int, p tiling.Product) error {
	return b.work(tiling.Flops(p, int(b.order)), p.C, p.A, p.B)
}
func (b *clockBank) Solve(_, c, l, _ int) error { return b.work(b.order*b.order*b.order, c, l) }
func (b *clockBank) Invert(_, dst, l int) error { return b.work(b.order*b.order*b.order/3, dst, l) }
func (b *clockBank) Wait(int) error             { b.now = max(b.now, b.busy, b.storing); return nil }
func (b *clockBank) Bind(tiling.Binding) error  { return nil }

func (b *clockBank) Factor(lane, a int, _ []float64) (int, error) {
	_ = b.work(b.order*b.order*b.order/3, a)
	return 0, b.Wait(lane)
}

func (b *clockBank) Contract(lane, s, _, _ int, _, _ []float64) error {
	_ = b.work(0, s)
	return b.Wait(lane)
}

func (b *clockBank) arrive(dst int, from, speed float64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loading = max(b.now, b.loading, from, b.used[dst]) + b.bytes()/speed
	b.ready[dst] = b.loading
	return nil
}

func (b *clockBank) Load(_, dst int, tile []float64) error {
	at, _ := b.hosted.LoadOrStore(&tile[0], 0.0)
	b.loadedBytes += b.bytes()
	return b.arrive(dst, at.(float64), b.link)
}

func (b *clockBank) Copy(_, dst int, from tiling.Bank, src int) error {
	other := from.(*clockBank)
	other.mu.Lock()
	at := other.ready[src]
	other.mu.Unlock()
	b.peerBytes += b.bytes()
	return b.arrive(dst, at, b.peer)
}

func (b *clockBank) Store(_, src int, tile []float64) error {
	b.storing = max(b.now, b.storing, b.ready[src]) + b.bytes()/b.link
	b.wrote += b.bytes()
	b.hosted.Store(&tile[0], b.storing)
	return nil
}

// simulated is the result of a simulation of a value with gradient.
type simulated struct {
	a                                arrangement
	seconds, busy                    float64 // the share of the time in which cards compute
	loads, peers, stores             int64
	loadBytes, peerBytes, storeBytes float64
}

// simulate counts time and copies of a value with gradient of n rows on cards of so much memory each.
func simulate(t *testing.T, n, cards int, memory, hostMemory int64, s speeds) (r simulated) {
	t.Helper()
	var devices []tiling.Device
	var all []*clockCard
	hosted := &sync.Map{}
	for i := range cards {
		c := &clockCard{info: device.Info{Name: fmt.Sprintf("card:%d", i), MemoryFree: memory}, speeds: s, hosted: hosted}
		devices, all = append(devices, c), append(all, c)
	}
	room := free{host: hostMemory}
	for range cards {
		room.devices = append(room.devices, memory)
	}
	r.a = arrange(n, 8, 0, devices, room)
	if !r.a.fits(room) {
		t.Fatalf("n = %d does not fit on %d cards: %v", n, cards, r.a.needs)
	}
	a := r.a
	a.tileBytes = 8 // a number for each tile of the host
	m, err := newMachine(t.Context(), nil, a, devices)
	testcheck.Do(t, err)
	testcheck.Do(t, m.factor(t.Context(), 0, make([]float64, n)))
	testcheck.Do(t, m.invert(t.Context()))
	testcheck.Do(t, m.contract(t.Context(), nil, make([]float64, n)))
	work := 0.0
	for _, c := range all {
		r.seconds = max(r.seconds, c.bank.now)
		work += c.bank.worked
		r.loadBytes += c.bank.loadedBytes
		r.peerBytes += c.bank.peerBytes
		r.storeBytes += c.bank.wrote
	}
	sum := m.copied()
	r.loads, r.peers, r.stores = sum.Loads, sum.Peers, sum.Stores
	r.busy = work / r.seconds / float64(cards)
	return r
}

// TestSimulation counts the copies of large matrices, and prints them with the times of a model with -v: 50 TFLOP/s for a card,
// 25 GB/s to the host, 200 GB/s between cards. Copies do not depend on the model. docs/large.md has the table.
func TestSimulation(t *testing.T) {
	h100 := speeds{rate: 50e12, link: linkRate, peer: 200e9}
	const card, big, memory = 84e9, 149e9, 512e9
	for _, one := range []struct {
		n, cards     int
		memory, host int64
		long         bool
	}{
		{140_000, 1, card, memory, false}, {188_000, 1, big, memory, false}, {250_000, 1, card, memory, false},
		{250_000, 4, card, memory, false}, {250_000, 8, card, memory, false}, {280_000, 8, card, memory, false},
		{250_000, 16, card, memory, true}, {250_000, 64, card, memory, true},
		{500_000, 4, card, 4 * memory, true}, {500_000, 16, card, 4 * memory, true}, {500_000, 64, card, 4 * memory, true},
	} {
		if one.long && !testcheck.Long() {
			continue
		}
		r := simulate(t, one.n, one.cards, one.memory, one.host, h100)
		t.Logf("n = %6d, %2d cards: order %d, %3d tiles a side, %3d on the host; %7.0f GB from the host, %7.0f GB between cards; %5.1f s, cards busy %.2f",
			one.n, one.cards, r.a.order, r.a.side, r.a.hostOwn, r.loadBytes/1e9, r.peerBytes/1e9, r.seconds, r.busy)
		r.check(t, one.cards)
	}
}

// check compares the copies with formulas. A card loads the host's share of the tiles that products take. From other
// cards it takes at most one row of tiles for each row of L and of U, and its share of the tiles that the
// second and the third pass take.
func (r simulated) check(t *testing.T, cards int) {
	t.Helper()
	side, others := float64(r.a.side), float64(cards-1)
	share := float64(r.a.hostOwn) / float64(r.a.tiles())
	if most := 1.1 * share * r.a.copies(); float64(r.loads) > most+side {
		t.Errorf("%d loads, the formula has %.0f", r.loads, most)
	}
	if most := 1.1 * (others/float64(cards)*side*side*side/3 + others*side*side); float64(r.peers) > most {
		t.Errorf("%d copies between cards, the formula has %.0f", r.peers, most)
	}
}
