package cpu

import (
	"context"
	"fmt"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
)

// tileBank implements [tiling.Bank] for tiles in memory. A lane computes on the goroutine that calls it, and
// its work is done when a call returns.
type tileBank struct {
	engine     *spd.Engine
	x          *kernel.Points
	order      int
	slots      [][]float64
	lanes      []tileLane
	evaluators evaluators
	noise      []float64
	adjoint    *device.Adjoint
}

// tileLane has the working space of a lane.
type tileLane struct {
	*spd.Tiles
	evaluator *kernel.Evaluator
	// rows holds parts of the rows of a panel, and adjoint a part of a row of an adjoint.
	rows    tiles
	adjoint []float64
	grad    []float64
}

var (
	_ tiling.Device = (*Device)(nil)
	_ tiling.Bank   = (*tileBank)(nil)
)

// TileSpace implements [tiling.Device].
func (dev *Device) TileSpace(_, _, order int) (tile, rest int64) {
	engine := dev.engines.all
	lane := engine.TilesNumbers(order) + engine.Lanes()*tileStride + tileCols
	return 8 * int64(order) * int64(order), 8 * int64(engine.Threads()) * int64(lane)
}

// NewTileBank implements [tiling.Device].
func (dev *Device) NewTileBank(ctx context.Context, x *kernel.Points, order, slots int, memory []float64) (tiling.Bank, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	size := order * order
	if order <= 0 || order%tiling.Unit != 0 || slots <= 0 || memory != nil && len(memory) < slots*size {
		return nil, fmt.Errorf("cpu: %d tiles of order %d in %d numbers", slots, order, len(memory))
	}
	if err := device.CheckInputs(x); err != nil {
		return nil, err
	}
	if memory == nil {
		tile, rest := dev.TileSpace(x.N, x.D, order)
		need := device.Need{Bytes: int64(slots)*tile + rest, What: fmt.Sprintf("%d tiles of order %d", slots, order)}
		if err := (device.Plan{N: x.N, D: x.D, Needs: []device.Need{need}}).Check(dev.Info()); err != nil {
			return nil, err
		}
		memory = spd.Memory(slots * size)
	}
	engine := dev.engines.all
	b := &tileBank{engine: engine, x: x, order: order, slots: make([][]float64, slots), lanes: make([]tileLane, engine.Threads())}
	for i := range b.slots {
		b.slots[i] = memory[i*size : (i+1)*size : (i+1)*size]
	}
	for i := range b.lanes {
		b.lanes[i] = tileLane{Tiles: engine.NewTiles(order), rows: newTiles(engine.Lanes(), 1), adjoint: make([]float64, tileCols)}
	}
	return b, nil
}

// Lanes returns the number of threads.
func (b *tileBank) Lanes() int { return len(b.lanes) }

// Bind implements [tiling.Bank].
func (b *tileBank) Bind(to tiling.Binding) error {
	if err := device.Invalid(name, device.CheckNoise(to.Noise, b.x.N)); err != nil {
		return err
	}
	if a := to.Adjoint; a != nil && len(a.Vectors) != b.x.N*len(a.Outer) {
		return fmt.Errorf("cpu: contraction with %d elements of %d vectors for n = %d", len(a.Vectors), len(a.Outer), b.x.N)
	}
	evaluators, err := b.evaluators.bind(len(b.lanes), b.x.D, to.Program, to.Theta)
	if err != nil {
		return err
	}
	b.noise, b.adjoint = append(b.noise[:0], to.Noise...), to.Adjoint
	for i := range b.lanes {
		b.lanes[i].evaluator, b.lanes[i].grad = evaluators[i], make([]float64, to.Program.NumParams)
	}
	return nil
}

// at returns a lane and a slot that it works on. rows, the first that are in use, become all if they are 0.
func (b *tileBank) at(lane, slot int, rows *int) (*tileLane, []float64, error) {
	if lane < 0 || lane >= len(b.lanes) || slot < 0 || slot >= len(b.slots) {
		return nil, nil, fmt.Errorf("cpu: lane %d of %d, slot %d of %d", lane, len(b.lanes), slot, len(b.slots))
	}
	if rows != nil {
		if *rows < 0 || *rows > b.order {
			return nil, nil, fmt.Errorf("cpu: %d rows of a tile of order %d", *rows, b.order)
		}
		if *rows == 0 {
			*rows = b.order
		}
	}
	return &b.lanes[lane], b.slots[slot], nil
}

// block returns the points of block i.
func (b *tileBank) block(i int) (first, end int, err error) {
	first = i * b.order
	if i < 0 || first >= b.x.N {
		return 0, 0, fmt.Errorf("cpu: block %d of %d points in tiles of order %d", i, b.x.N, b.order)
	}
	return first, min(first+b.order, b.x.N), nil
}

// write writes the first rows of a tile. row writes columns [j0, j1) of row r of the tile to dst.
func (b *tileBank) write(l *tileLane, tile []float64, rows int, row func(dst []float64, r, j0, j1 int)) {
	panel, lanes := l.rows.of(0), l.Lanes()
	for i := 0; i < rows; i += lanes {
		for j0 := 0; j0 < b.order; j0 += tileCols {
			j1 := min(j0+tileCols, b.order)
			if i+lanes > rows {
				l.Rows(tile, i, j0, j1, panel, tileStride)
			}
			for r := range min(lanes, rows-i) {
				row(panel[r*tileStride:][:j1-j0], i+r, j0, j1)
			}
			l.SetRows(tile, i, j0, j1, panel, tileStride)
		}
	}
}

// Fill implements [tiling.Bank].
func (b *tileBank) Fill(lane, dst, i, j int) error {
	l, tile, err := b.evaluating(lane, dst, nil)
	if err != nil {
		return err
	}
	i0, _, err := b.block(i)
	if err != nil {
		return err
	}
	first, end, err := b.block(j)
	if err != nil {
		return err
	}
	if i < j {
		return fmt.Errorf("cpu: tile (%d, %d) above the diagonal", i, j)
	}
	b.write(l, tile, b.order, func(row []float64, r, j0, j1 int) {
		k := i0 + r
		if k < b.x.N {
			own := max(first+j0, min(first+j1, end))
			sigmaRow(row, l.evaluator, b.x, b.noise, k, first+j0, own)
			clear(row[own-first-j0:])
			return
		}
		clear(row)
		if at := r - j0; i == j && at >= 0 && r < j1 {
			row[at] = 1
		}
	})
	return nil
}

// evaluating is at for calls that evaluate the kernel.
func (b *tileBank) evaluating(lane, slot int, rows *int) (*tileLane, []float64, error) {
	l, tile, err := b.at(lane, slot, rows)
	if err == nil && l.evaluator == nil {
		err = device.ErrStage
	}
	return l, tile, err
}

// Cross implements [tiling.Bank].
func (b *tileBank) Cross(lane, dst int, xs *kernel.Points, first, rows, j int) error {
	l, tile, err := b.evaluating(lane, dst, &rows)
	if err != nil {
		return err
	}
	c0, end, err := b.block(j)
	if err != nil {
		return err
	}
	if first < 0 || first+rows > xs.N || xs.D != b.x.D {
		return fmt.Errorf("cpu: points %d … %d of %d, of %d columns for %d", first, first+rows-1, xs.N, xs.D, b.x.D)
	}
	b.write(l, tile, rows, func(row []float64, r, j0, j1 int) {
		own := max(c0+j0, min(c0+j1, end))
		l.evaluator.Row(row, xs, first+r, b.x, c0+j0, own)
		clear(row[own-c0-j0:])
	})
	return nil
}

// Contract implements [tiling.Bank].
func (b *tileBank) Contract(lane, s, i, j int, grad, diag []float64) error {
	l, tile, err := b.evaluating(lane, s, nil)
	if err != nil {
		return err
	}
	if b.adjoint == nil {
		return device.ErrStage
	}
	i0, i1, err := b.block(i)
	if err != nil {
		return err
	}
	j0, j1, err := b.block(j)
	if err != nil {
		return err
	}
	if i > j || len(grad) != len(l.grad) || i == j && len(diag) < i1-i0 {
		return fmt.Errorf("cpu: contraction of block (%d, %d) to %d derivatives, not %d, and %d elements of a diagonal", i, j, len(grad), len(l.grad), len(diag))
	}
	clear(l.grad)
	panel, lanes := l.rows.of(0), l.Lanes()
	rows := adjointRows{x: b.x, adj: *b.adjoint, inverse: panel, g: l.adjoint}
	for k := i0; k < i1; k += lanes {
		first, own := j0, diag
		if i == j {
			first, own = k, diag[k-i0:]
		}
		for c := first; c < j1; c += tileCols {
			end := min(c+tileCols, j1)
			l.Rows(tile, k-i0, c-j0, end-j0, panel, tileStride)
			rows.contract(l.evaluator, l.grad, own, k, min(k+lanes, i1), c, end)
		}
	}
	for p, v := range l.grad {
		grad[p] += v
	}
	return nil
}

// Wait does nothing: the work of a lane is done.
func (b *tileBank) Wait(int) error { return nil }

// Close frees the slots.
func (b *tileBank) Close() error {
	b.slots, b.evaluators, b.adjoint = nil, evaluators{}, nil
	return nil
}
