package cpu

import (
	"context"

	"gpfit/cpu/spd"
	"gpfit/device"
)

// middleRows returns the number of rows of the middle term formed at a time, a multiple of
// tileRows. More rows make products faster; fewer waste less work below the diagonal.
func middleRows(n int) int {
	switch {
	case n <= 2048:
		return 144
	case n <= 16384:
		return 288
	}
	return 576
}

// middleTerm describes the purpose of the panels in errors.
const middleTerm = "an adjoint with a middle term"

// middleElements returns the size of the two panels of makeMiddle.
func middleElements(e *spd.Engine, n int) int64 { return 2 * e.RowsNumbers(n, min(n, middleRows(n))) }

// middleFlops returns the work of all panels: n³, plus O(rows·n²) because a panel
// reaches below the diagonal.
func middleFlops(n int) float64 {
	sum := 0.0
	for i0, rows := 0, middleRows(n); i0 < n; i0 += rows {
		sum += 2 * float64(min(rows, n-i0)) * float64(n) * float64(n-i0)
	}
	return sum
}

// makeMiddle allocates two panels of rows, for rows of Σ⁻¹ and of the middle term.
func (c *contraction) makeMiddle() error {
	w := c.w
	if w.middle[0] != nil {
		return nil
	}
	if err := device.CheckHost(w.n, w.x.D, 8*middleElements(w.engine, w.n), middleTerm); err != nil {
		return err
	}
	rows := min(w.n, middleRows(w.n))
	w.middle = [2]*spd.RowBlock{w.matrix.NewRowBlock(rows), w.matrix.NewRowBlock(rows)}
	return nil
}

// withMiddle contracts an adjoint with a middle term Σ⁻¹·C·Σ⁻¹, panel by panel of rows.
func (c *contraction) withMiddle(ctx context.Context) error {
	w := c.w
	c.middle = newTiles(w.matrix.Lanes(), w.engines.all.Threads())
	left, term := w.middle[0], w.middle[1]
	for i0 := 0; i0 < w.n; i0 += middleRows(w.n) {
		i1 := min(i0+middleRows(w.n), w.n)
		if err := c.multiplyMiddle(ctx, left, term, i0, i1); err != nil {
			return err
		}
		if err := term.MultiplyInverse(ctx, left, w.Worked); err != nil {
			return err
		}
		if err := c.rows(ctx, i0, i1, term); err != nil {
			return err
		}
	}
	return nil
}

// multiplyMiddle sets left to rows i0 … i1−1 of Σ⁻¹·C. It uses space as working space.
func (c *contraction) multiplyMiddle(ctx context.Context, left, space *spd.RowBlock, i0, i1 int) error {
	if c.adj.Blocks == nil {
		return left.ScaledInverse(ctx, i0, i1, c.adj.Diagonal)
	}
	if err := space.ScaledInverse(ctx, i0, i1, nil); err != nil {
		return err
	}
	return c.adj.Blocks.Each(func(first, m int, elements []float64) error {
		if err := left.MultiplyBlock(ctx, space, first, m, elements); err != nil {
			return err
		}
		c.w.Worked(2 * float64(i1-i0) * float64(m) * float64(m))
		return nil
	})
}
