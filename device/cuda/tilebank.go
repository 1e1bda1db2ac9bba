package cuda

import (
	"context"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/tiling"
	"gpfit/kernel"
)

// tileBank implements [tiling.Bank] with one lane: a tile is a column-major matrix in memory of its own, whose leading
// dimension is leadingDim of the order. The stream of the gpu computes. Two streams copy, one to the slots and one from
// them, so that a copy that waits for its tile holds back no other.
type tileBank struct {
	queue
	tileSlots
	plan  device.Plan
	x     *kernel.Points
	order int64
	// width is the width of the blocks of products.
	width  int64
	memory memory
	closed bool
	locked *driver.HostLock
	// near are the devices from which copies have been prepared.
	near map[*driver.Device]bool

	program program
	bound   tiling.Binding
	// xs are the points as in [Workspace], and blocks the same points block by block.
	xs, blocks buffer
	// ones are 1 and vector is for results, of the length of the order. sides are columns of Substitute, and test are
	// points of Cross. adjoint has the vectors and factors of the adjoint.
	noise, ones, vector, sides, test, adjoint buffer
	// upperA and upperB are diagonal blocks of operands that are upper triangular, with zeros below their diagonals.
	upperA, upperB buffer
}

var (
	_ tiling.Device = (*Device)(nil)
	_ tiling.Device = typical{}
)

// TileSpace implements [tiling.Device].
func (d *Device) TileSpace(n, columns, order int) (tile, rest int64) {
	return tileSpace(n, columns, order)
}

// NewTileBank implements [tiling.Device].
func (d *Device) NewTileBank(ctx context.Context, x *kernel.Points, order, slots int, host []float64) (tiling.Bank, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.gpu.translate(d.gpu.dev.Err(), device.Plan{}); err != nil {
		return nil, err
	}
	if order <= 0 || order%tiling.Unit != 0 || slots < 1 {
		return nil, argumentf("%d tiles of order %d, which is no multiple of %d", slots, order, tiling.Unit)
	}
	if err := device.CheckInputs(x); err != nil {
		return nil, err
	}
	tile, rest := d.TileSpace(x.N, x.D, order)
	what := fmt.Sprintf("%d tiles of %d×%d 8-byte numbers and working space", slots, order, order)
	plan := device.Plan{N: x.N, D: x.D, Needs: []device.Need{{Device: d.gpu.name, Bytes: int64(slots)*tile + rest, What: what}}}
	if err := plan.Check(d.Info()); err != nil {
		return nil, err
	}
	b := &tileBank{plan: plan, x: x, order: int64(order), width: upperWidth(int64(order)), memory: memory{gpu: d.gpu}, near: map[*driver.Device]bool{}}
	b.queue = queue{gpu: d.gpu, ctx: context.Background(), meter: &device.Meter{}, limit: d.sizesFor(x.N).gemm}
	if err := allocateTiles(b, slots, host); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// allocateTiles allocates the memory and the streams, and copies the points.
func allocateTiles(b *tileBank, slots int, host []float64) error {
	n, d, column := int64(b.x.N), int64(b.x.D), leadingDim(b.order)
	b.tileSlots = tileSlots{dev: b.gpu.dev, slots: make([]tileSlot, slots)}
	return b.do(func() {
		for i := range b.slots {
			b.need(&b.memory, &b.slots[i].buffer, column*b.order)
		}
		for _, c := range []struct {
			to    *buffer
			count int64
		}{
			{&b.xs, n * d}, {&b.blocks, n * d}, {&b.noise, n}, {&b.ones, b.order}, {&b.vector, b.order}, {&b.sides, 2 * column * sideColumns},
			{&b.test, b.order * d}, {&b.upperA, column * upperWidth(b.order)}, {&b.upperB, column * upperWidth(b.order)},
		} {
			b.need(&b.memory, c.to, c.count)
		}
		b.streams[computing] = b.gpu.stream
		for i := loading; i < tileStreams; i++ {
			b.then(func() (err error) {
				b.streams[i], err = b.gpu.dev.NewStream()
				return err
			})
		}
		b.then(func() (err error) {
			b.backlog, err = newBacklog(b.gpu)
			return err
		})
		b.then(func() (err error) {
			if b.locked, err = b.gpu.dev.LockHost(host); driver.IsSticky(err) {
				return err
			}
			return nil // without the lock copies are slower
		})
		b.clear(b.upperA.at, column*upperWidth(b.order))
		b.clear(b.upperB.at, column*upperWidth(b.order))
		b.upload(b.ones.at, repeated(1, b.order))
		b.upload(b.xs.at, b.x.X)
		for k := int64(0); k*b.order < n && b.err == nil; k++ {
			to := b.block(k)
			b.run(kernels.Copy(kernels.Matrix{A: b.xs.at.Offset(8 * k * b.order), LD: n}, kernels.Matrix{A: to.X, LD: to.N}, to.N, d, false))
		}
	})
}

func repeated(v float64, count int64) []float64 {
	all := make([]float64, count)
	for i := range all {
		all[i] = v
	}
	return all
}

// block returns the points of a block.
func (b *tileBank) block(k int64) kernels.Points {
	first := k * b.order
	return kernels.Points{X: b.blocks.at.Offset(8 * first * int64(b.x.D)), N: min(b.order, int64(b.x.N)-first)}
}

// rows returns the number of rows that a call means: all if it is 0. It fails for more than all.
func (b *tileBank) rows(n int) int64 {
	if n < 0 || int64(n) > b.order {
		b.fail(argumentf("%d rows of a tile of order %d", n, b.order))
	}
	if n == 0 {
		return b.order
	}
	return int64(n)
}

// at returns the matrix of a slot.
func (b *tileBank) at(slot int) kernels.Matrix {
	return kernels.Matrix{A: b.slots[slot].at, LD: leadingDim(b.order)}
}

// do runs calls of the queue, unless the bank is closed.
func (b *tileBank) do(call func()) error {
	if b.closed {
		return device.ErrStage
	}
	return b.perform(b.plan, call)
}

// work queues work on slots in a stream, after the earlier work on them that it must not overtake.
func (b *tileBank) work(stream int, uses []tileUse, call func()) error {
	return b.do(func() {
		for _, u := range uses {
			if u.slot < 0 || u.slot >= len(b.slots) {
				b.fail(argumentf("slot %d of %d", u.slot, len(b.slots)))
			}
		}
		if b.then(func() error { return b.await(stream, uses) }); b.err != nil {
			return
		}
		call()
		if err := b.mark(stream, uses); err != nil { // also after an error: a part of the work may be queued
			_ = b.streams[stream].Synchronize() // nothing else orders what comes after it
			b.fail(err)
		}
	})
}

// Lanes returns 1.
func (b *tileBank) Lanes() int { return 1 }

// Wait implements [tiling.Bank]. It does not wait for copies that are still to be used.
func (b *tileBank) Wait(int) error {
	return b.do(func() {
		b.wait()
		b.then(b.streams[storing].Synchronize)
	})
}

// Load implements [tiling.Bank].
func (b *tileBank) Load(_, dst int, tile []float64) error {
	return b.work(loading, []tileUse{{dst, true}}, func() {
		b.then(func() error { return driver.QueueToDevice(b.streams[loading], b.slots[dst].at, numbersOf(b, tile)) })
	})
}

// Store implements [tiling.Bank].
func (b *tileBank) Store(_, src int, tile []float64) error {
	return b.work(storing, []tileUse{{src, false}}, func() {
		b.then(func() error { return driver.QueueToHost(b.streams[storing], numbersOf(b, tile), b.slots[src].at) })
	})
}

// numbersOf returns the part of a tile's memory on the host that a slot fills.
func numbersOf(b *tileBank, tile []float64) []float64 {
	count := leadingDim(b.order) * b.order
	if int64(len(tile)) < count {
		b.fail(argumentf("a tile of %d numbers for %d", len(tile), count))
		return nil
	}
	return tile[:count]
}

// Copy implements [tiling.Bank].
func (b *tileBank) Copy(_, dst int, from tiling.Bank, src int) error {
	other, ok := from.(*tileBank)
	if !ok || other.order != b.order {
		return argumentf("a tile of another kind of bank")
	}
	bytes := 8 * leadingDim(b.order) * b.order
	if other == b {
		return b.work(loading, []tileUse{{dst, true}, {src, false}}, func() {
			b.then(func() error {
				return b.streams[loading].QueueFrom(b.slots[dst].at, b.gpu.dev, b.slots[src].at, bytes)
			})
		})
	}
	err := b.work(loading, []tileUse{{dst, true}}, func() {
		b.then(func() error {
			if remote := other.gpu.dev; !b.near[remote] {
				if _, err := b.gpu.dev.Reach(remote); err != nil {
					return err
				}
				b.near[remote] = true
			}
			return b.copyFrom(dst, &other.tileSlots, src, bytes)
		})
	})
	if lost, ok := errors.AsType[*device.LostError](err); ok && b.gpu.dev.Err() == nil {
		return other.gpu.translate(lost.Err, b.plan)
	}
	return err
}

// Read implements [tiling.Bank].
func (b *tileBank) Read(_, src, rows int, dst []float64, ld int) error {
	return b.work(computing, []tileUse{{src, false}}, func() { eachColumns(b, src, rows, dst, ld, false) })
}

// Write implements [tiling.Bank].
func (b *tileBank) Write(_, dst, rows int, src []float64, ld int) error {
	return b.work(computing, []tileUse{{dst, true}}, func() { eachColumns(b, dst, rows, src, ld, true) })
}

// eachColumns copies the first rows of a slot from or to rows on the host, some columns at a time.
func eachColumns(b *tileBank, slot, rows int, host []float64, ld int, write bool) {
	const step = 64
	m := b.rows(rows)
	if int64(ld) < b.order || int64(len(host)) < (m-1)*int64(ld)+b.order {
		b.fail(argumentf("%d rows, %d apart, in %d numbers", m, ld, len(host)))
	}
	part := make([]float64, m*step)
	for j0 := int64(0); j0 < b.order && b.err == nil; j0 += step {
		cols := min(step, b.order-j0)
		each := func(do func(host, tile *float64)) {
			for i := range m {
				row := host[i*int64(ld)+j0:][:cols]
				for j := range row {
					do(&row[j], &part[int64(j)*m+i])
				}
			}
		}
		if write {
			each(func(host, tile *float64) { *tile = *host })
			b.uploadBlock(b.at(slot).At(0, j0), part, m, m, cols)
			continue
		}
		if b.downloadBlock(part, m, b.at(slot).At(0, j0), m, cols); b.err == nil {
			each(func(host, tile *float64) { *host = *tile })
		}
	}
}

// Close implements [tiling.Bank]. It waits for all work, and for the copies that other banks make.
func (b *tileBank) Close() error {
	if b.closed {
		return nil
	}
	err := b.do(func() {
		var all []tileUse
		for i := range b.slots {
			all = append(all, tileUse{i, true})
		}
		for _, s := range b.streams {
			if s != nil {
				b.then(s.Synchronize)
			}
		}
		b.then(func() error { return b.await(computing, all) })
		b.wait()
	})
	if b.gpu.dev.Err() != nil {
		err = nil // there is nothing left to wait for
	}
	b.closed = true
	errs := []error{err, b.forget(), b.backlog.close()}
	for _, s := range b.streams[loading:] {
		errs = append(errs, s.Destroy())
	}
	return b.gpu.translate(errors.Join(append(errs, b.memory.free(), b.locked.Free(b.gpu.dev))...), b.plan)
}
