package main

import (
	"context"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
)

// card is a device with tiles that may use a part of its memory, and that counts copies.
type card struct {
	tiling.Device
	memory int64 // bytes that may be used; 0 means all free memory
	bank   *countingBank
}

// Info returns the device's information, with the memory that may be used.
func (c *card) Info() device.Info {
	info := c.Device.Info()
	if c.memory > 0 {
		info.MemoryFree = c.memory
	}
	return info
}

// NewTileBank implements [tiling.Device].
func (c *card) NewTileBank(ctx context.Context, x *kernel.Points, order, slots int, memory []float64) (tiling.Bank, error) {
	b, err := c.Device.NewTileBank(ctx, x, order, slots, memory)
	if err != nil {
		return nil, err
	}
	tile, _ := c.TileSpace(x.N, x.D, order)
	c.bank = &countingBank{Bank: b, tile: tile, order: order, slots: slots, hosted: 8 * int64(len(memory)) / tile}
	return c.bank, nil
}

// Close does nothing: the job closes the device.
func (c *card) Close() error { return nil }

// countingBank counts the copies of a bank. If idle it only copies, so that the copies of a schedule can be timed alone.
type countingBank struct {
	tiling.Bank
	tile, hosted           int64 // bytes of a tile, and the tiles on the host
	order, slots           int
	idle                   bool
	loaded, peered, stored int64 // bytes
}

// compute makes a call unless the bank is idle.
func (b *countingBank) compute(call func() error) error {
	if b.idle {
		return nil
	}
	return call()
}

func (b *countingBank) Fill(lane, dst, i, j int) error {
	return b.compute(func() error { return b.Bank.Fill(lane, dst, i, j) })
}

func (b *countingBank) Multiply(lane int, p tiling.Product) error {
	return b.compute(func() error { return b.Bank.Multiply(lane, p) })
}

func (b *countingBank) Factor(lane, a int, diagonal []float64) (minor int, err error) {
	if !b.idle {
		return b.Bank.Factor(lane, a, diagonal)
	}
	for i := range diagonal {
		diagonal[i] = 1
	}
	return 0, nil
}

func (b *countingBank) Solve(lane, c, l, rows int) error {
	return b.compute(func() error { return b.Bank.Solve(lane, c, l, rows) })
}

func (b *countingBank) Invert(lane, dst, l int) error {
	return b.compute(func() error { return b.Bank.Invert(lane, dst, l) })
}

func (b *countingBank) Substitute(lane int, op tiling.Substitution, a int, x, y []float64, ld, m int) error {
	return b.compute(func() error { return b.Bank.Substitute(lane, op, a, x, y, ld, m) })
}

func (b *countingBank) Contract(lane, s, i, j int, grad, diag []float64) error {
	return b.compute(func() error { return b.Bank.Contract(lane, s, i, j, grad, diag) })
}

func (b *countingBank) Load(lane, dst int, tile []float64) error {
	b.loaded += b.tile
	return b.Bank.Load(lane, dst, tile)
}

func (b *countingBank) Store(lane, src int, tile []float64) error {
	b.stored += b.tile
	return b.Bank.Store(lane, src, tile)
}

func (b *countingBank) Copy(lane, dst int, from tiling.Bank, src int) error {
	if other, ok := from.(*countingBank); ok {
		from = other.Bank
	}
	b.peered += b.tile
	return b.Bank.Copy(lane, dst, from, src)
}
