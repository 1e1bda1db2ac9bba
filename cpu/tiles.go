package cpu

import (
	"fmt"

	"gpfit/cpu/spd"
	"gpfit/device/tiling"
)

// Multiply implements [tiling.Bank].
func (b *tileBank) Multiply(lane int, p tiling.Product) error {
	rows := p.Rows
	l, c, err := b.at(lane, p.C, &rows)
	if err != nil {
		return err
	}
	_, x, err := b.at(lane, p.A, nil)
	if err != nil {
		return err
	}
	_, y, err := b.at(lane, p.B, nil)
	if err != nil {
		return err
	}
	if p.C == p.A || p.C == p.B {
		return fmt.Errorf("cpu: slot %d is an operand and the result of a product", p.C)
	}
	l.Multiply(spd.Multiplication{
		C: c, A: x, B: y, Rows: rows, UpperA: p.UpperA, UpperB: p.UpperB,
		Negative: p.Mode == tiling.ReplaceNegative || p.Mode == tiling.Subtract,
		Add:      p.Mode == tiling.Add || p.Mode == tiling.Subtract,
		Lower:    p.Half == tiling.Lower, Upper: p.Half == tiling.Upper,
	})
	return nil
}

// Factor implements [tiling.Bank].
func (b *tileBank) Factor(lane, a int, diagonal []float64) (minor int, err error) {
	l, tile, err := b.at(lane, a, nil)
	if err != nil {
		return 0, err
	}
	if len(diagonal) != b.order {
		return 0, fmt.Errorf("cpu: diagonal of %d elements of a tile of order %d", len(diagonal), b.order)
	}
	return l.Factor(tile, diagonal), nil
}

// with returns a lane and two slots, one of which it writes.
func (b *tileBank) with(lane, written, read int, rows *int) (l *tileLane, to, from []float64, err error) {
	if _, from, err = b.at(lane, read, nil); err != nil {
		return nil, nil, nil, err
	}
	if written == read {
		return nil, nil, nil, fmt.Errorf("cpu: slot %d is the operand and the result", read)
	}
	l, to, err = b.at(lane, written, rows)
	return l, to, from, err
}

// Solve implements [tiling.Bank].
func (b *tileBank) Solve(lane, c, l, rows int) error {
	work, tile, factor, err := b.with(lane, c, l, &rows)
	if err == nil {
		work.Solve(tile, factor, rows)
	}
	return err
}

// Invert implements [tiling.Bank].
func (b *tileBank) Invert(lane, dst, l int) error {
	work, tile, factor, err := b.with(lane, dst, l, nil)
	if err == nil {
		work.Invert(tile, factor)
	}
	return err
}

// Substitute implements [tiling.Bank].
func (b *tileBank) Substitute(lane int, op tiling.Substitution, a int, x, y []float64, ld, m int) error {
	l, tile, err := b.at(lane, a, nil)
	if err != nil {
		return err
	}
	product := op == tiling.SubtractProduct || op == tiling.SubtractTransposed
	if least := (m-1)*ld + b.order; m < 0 || m > 0 && (ld < b.order && m > 1 || len(y) < least || product && len(x) < least) {
		return fmt.Errorf("cpu: %d vectors, %d apart, in %d and %d numbers, for tiles of order %d", m, ld, len(x), len(y), b.order)
	}
	switch op {
	case tiling.SubtractProduct, tiling.SubtractTransposed:
		l.SubtractProducts(tile, op == tiling.SubtractTransposed, x, y, ld, m)
	default:
		l.SolveVectors(tile, op == tiling.Backward, y, ld, m)
	}
	return nil
}

// SquaredNorms implements [tiling.Bank].
func (b *tileBank) SquaredNorms(lane, a, rows int, sums []float64) error {
	l, tile, err := b.at(lane, a, &rows)
	if err != nil {
		return err
	}
	if len(sums) < rows {
		return fmt.Errorf("cpu: %d sums of squares for %d rows", len(sums), rows)
	}
	l.AddSquaredNorms(tile, rows, sums)
	return nil
}

// transfer copies a tile between a slot and memory of the host.
func (b *tileBank) transfer(lane, slot int, host []float64, load bool) error {
	_, tile, err := b.at(lane, slot, nil)
	if err != nil {
		return err
	}
	if len(host) < len(tile) {
		return fmt.Errorf("cpu: %d numbers for a tile of %d", len(host), len(tile))
	}
	if load {
		copy(tile, host)
	} else {
		copy(host, tile)
	}
	return nil
}

// Load implements [tiling.Bank].
func (b *tileBank) Load(lane, dst int, tile []float64) error {
	return b.transfer(lane, dst, tile, true)
}

// Store implements [tiling.Bank].
func (b *tileBank) Store(lane, src int, tile []float64) error {
	return b.transfer(lane, src, tile, false)
}

// Copy implements [tiling.Bank].
func (b *tileBank) Copy(lane, dst int, from tiling.Bank, src int) error {
	other, ok := from.(*tileBank)
	if !ok || other.order != b.order {
		return fmt.Errorf("cpu: copy from a bank of another kind, %T", from)
	}
	_, tile, err := other.at(0, src, nil)
	if err != nil {
		return err
	}
	return b.transfer(lane, dst, tile, true)
}

// Read implements [tiling.Bank].
func (b *tileBank) Read(lane, src, rows int, dst []float64, ld int) error {
	l, tile, err := b.dense(lane, src, &rows, dst, ld)
	if err != nil {
		return err
	}
	panel, lanes := l.rows.of(0), l.Lanes()
	for i := 0; i < rows; i += lanes {
		for j0 := 0; j0 < b.order; j0 += tileCols {
			j1 := min(j0+tileCols, b.order)
			l.Rows(tile, i, j0, j1, panel, tileStride)
			for r := range min(lanes, rows-i) {
				copy(dst[(i+r)*ld+j0:(i+r)*ld+j1], panel[r*tileStride:])
			}
		}
	}
	return nil
}

// dense is at for calls that copy rows from or to a matrix, row-major with leading dimension ld.
func (b *tileBank) dense(lane, slot int, rows *int, matrix []float64, ld int) (*tileLane, []float64, error) {
	l, tile, err := b.at(lane, slot, rows)
	if err == nil && (ld < b.order || len(matrix) < (*rows-1)*ld+b.order) {
		err = fmt.Errorf("cpu: %d rows of a tile of order %d, %d apart, in %d numbers", *rows, b.order, ld, len(matrix))
	}
	return l, tile, err
}

// Write implements [tiling.Bank].
func (b *tileBank) Write(lane, dst, rows int, src []float64, ld int) error {
	l, tile, err := b.dense(lane, dst, &rows, src, ld)
	if err != nil {
		return err
	}
	b.write(l, tile, rows, func(row []float64, r, j0, j1 int) { copy(row, src[r*ld+j0:r*ld+j1]) })
	return nil
}
