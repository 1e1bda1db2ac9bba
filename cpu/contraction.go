package cpu

import (
	"context"

	"gpfit/device"
	"gpfit/internal/spd"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

// contraction is one call of Contract.
type contraction struct {
	w   *workspace
	adj device.Adjoint
	// weights are the middle term if it is diagonal, blocks if it is block-diagonal.
	weights    []float64
	blocks     *device.Blocks
	evaluators []*kernel.Evaluator
	grad, diag []float64
	middle     tiles // for rows of the middle term
	// tasks holds a gradient for each band of tileRows rows. They are added in
	// order at the end, so that the result does not depend on scheduling.
	tasks []float64
}

// rows forms rows i0 … i1−1 of G from the diagonal on, with off-diagonal
// elements doubled, and contracts them; i0 is a multiple of tileRows. middle holds these
// rows of the middle term, if there is one.
func (c *contraction) rows(ctx context.Context, i0, i1 int, middle *spd.RowBlock) error {
	w, p := c.w, len(c.grad)
	lanes := w.matrix.Lanes()
	return w.parallelFor(ctx, bands(i1-i0), func(worker, band int) {
		first := i0 + band*tileRows
		part := c.tasks[first/tileRows*p:][:p]
		for i := first; i < min(first+tileRows, i1); i += lanes {
			c.panel(worker, i, min(i+lanes, i1), middle, part)
		}
	})
}

// panel adds the contraction of rows i0 … i1−1, which share a panel, to part.
func (c *contraction) panel(worker, i0, i1 int, middle *spd.RowBlock, part []float64) {
	w := c.w
	g, inverse := w.adjoint[worker*tileCols:][:tileCols], w.tiles.of(worker)
	var extra []float64
	if middle != nil {
		extra = c.middle.of(worker)
	}
	for j0 := i0; j0 < w.n; j0 += tileCols {
		j1 := min(j0+tileCols, w.n)
		w.matrix.InverseRows(i0, j0, j1, inverse, tileStride)
		if middle != nil {
			middle.Copy(i0, j0, j1, extra, tileStride)
		}
		for i := i0; i < i1; i++ {
			j := max(i, j0)
			m := j1 - j
			at := (i-i0)*tileStride + j - j0
			row, rest := inverse[at:at+m], extra
			if middle != nil {
				rest = extra[at : at+m]
			}
			c.adjoint(g[:m], row, rest, i, j)
			if j == i {
				g[0] = c.diagonal(row[0], rest, i)
				c.diag[i] = g[0]
			}
			c.evaluators[worker].RowGradient(part, g[:m], w.x, i, w.x, j, j1)
		}
	}
}

// adjoint writes 2·G_ij, … to g, for i < j; row and extra are the rows of Σ⁻¹
// and of the middle term, from column j on.
func (c *contraction) adjoint(g, row, extra []float64, i, j int) {
	m, n, first := len(g), len(c.diag), 0
	switch {
	case extra != nil:
		vec.Combine(g, row, extra, 2*c.adj.Inv, 2)
	case len(c.adj.Outer) > 0:
		vec.Combine(g, row, c.adj.Vectors[j:j+m], 2*c.adj.Inv, 2*c.adj.Outer[0]*c.adj.Vectors[i])
		first = 1
	default:
		vec.Scale(g, row, 2*c.adj.Inv)
	}
	for k, f := range c.adj.Outer[first:] {
		v := c.adj.Vectors[(first+k)*n:]
		vec.Combine(g, g, v[j:j+m], 1, 2*f*v[i])
	}
}

// diagonal returns G_ii.
func (c *contraction) diagonal(inverse float64, extra []float64, i int) float64 {
	g := c.adj.Inv * inverse
	if extra != nil {
		g += extra[0]
	}
	for k, f := range c.adj.Outer {
		v := c.adj.Vectors[k*len(c.diag)+i]
		g += f * v * v
	}
	return g
}

// collect adds the gradients of all bands.
func (c *contraction) collect() {
	for t, v := range c.tasks {
		c.grad[t%len(c.grad)] += v
	}
}
