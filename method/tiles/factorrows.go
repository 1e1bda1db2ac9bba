package tiles

import (
	"context"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
)

// ReadFactor implements [device.FactorStore].
func (w *workspace) ReadFactor(r0, r1 int, dst []float64) error {
	if !w.checked.Formed() {
		return device.ErrStage
	}
	if err := w.restore(context.Background()); err != nil {
		return err
	}
	for r := r0; r < r1; {
		i := r / w.order
		end := min(r1, (i+1)*w.order)
		if err := w.readBlock(i, r, end, dst[(r-r0)*w.n:]); err != nil {
			return err
		}
		r = end
	}
	return nil
}

// readBlock copies rows of L in one block.
func (w *workspace) readBlock(i, r0, r1 int, dst []float64) error {
	return w.run(context.Background(), pass{
		tasks: []task{{i, i}},
		owner: func(t task) int { return w.bankOf(t.i) },
		do: func(k *worker, _ int, _ task) {
			block := make([]float64, w.order*w.order)
			for j := range i + 1 {
				slot := k.operand(k.tile(i, j), versionFactor)
				k.do(0, func() error { return k.Read(k.lane, slot, r1-i*w.order, block, w.order) })
				for r := r0; r < r1; r++ {
					copy(dst[(r-r0)*w.n+j*w.order:(r-r0+1)*w.n], block[(r-i*w.order)*w.order:][:w.order])
				}
			}
			for r := r0; r < r1; r++ {
				clear(dst[(r-r0)*w.n+r+1 : (r-r0+1)*w.n])
			}
		},
	})
}

// WriteFactor implements [device.FactorStore]. It takes the rows in order.
func (w *workspace) WriteFactor(r0, r1 int, src []float64) error {
	if w.banks == nil {
		return device.ErrStage
	}
	if r0 == 0 {
		w.checked.SetFormed(false, 0)
		w.written, w.inverted, w.diagonal = 0, false, make([]float64, w.n)
		w.filled = tiling.Binding{}
		reset(w.versions)
	}
	if r0 != w.written || w.diagonal == nil {
		return device.ErrStage
	}
	for r := r0; r < r1; r++ {
		i := r / w.order
		if r == i*w.order {
			w.block = make([]float64, w.order*w.side*w.order)
			for q := range w.order { // rows after the last point are the identity's
				w.block[q*w.side*w.order+i*w.order+q] = 1
			}
		}
		from := src[(r-r0)*w.n:][:r+1]
		if err := device.CheckFactorRow(from, r); err != nil {
			return err
		}
		row := w.block[(r-i*w.order)*w.side*w.order:][:w.side*w.order]
		row[r] = 0
		copy(row, from)
		w.diagonal[r] = row[r]
		if w.written = r + 1; w.written == min(w.n, (i+1)*w.order) {
			if err := w.writeBlock(i); err != nil {
				return err
			}
		}
	}
	if w.written == w.n {
		w.block = nil
		w.checked.SetFormed(true, w.logDet())
	}
	return nil
}

// writeBlock sets the tiles of a block of rows.
func (w *workspace) writeBlock(i int) error {
	return w.run(context.Background(), pass{
		tasks: []task{{i, i}},
		owner: func(t task) int { return w.bankOf(t.i) },
		do: func(k *worker, _ int, _ task) {
			for j := range i + 1 {
				k.do(0, func() error { return k.Write(k.lane, k.spare, w.order, w.block[j*w.order:], w.side*w.order) })
				k.publish(k.tile(i, j), versionFactor)
			}
		},
	})
}

// ExtendFactor implements [device.FactorExtender], from the block of row known on.
func (w *workspace) ExtendFactor(ctx context.Context, prog *kernel.Program, theta, noise []float64, known int) error {
	if known > w.written || known == w.n && !w.checked.Formed() {
		return device.ErrStage
	}
	if known == w.n {
		return w.restore(ctx)
	}
	if err := w.checked.CheckForm(ctx, prog, theta, noise); err != nil {
		return err
	}
	err := w.form(ctx, prog, theta, noise, known/w.order)
	w.checked.SetFormed(err == nil, w.logDet())
	return err
}
