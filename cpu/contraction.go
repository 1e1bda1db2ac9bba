package cpu

import (
	"context"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// contraction is one call of Contract.
type contraction struct {
	w          *workspace
	adj        device.Adjoint
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
		rows := adjointRows{x: w.x, adj: c.adj, inverse: inverse, extra: extra, g: g}
		rows.contract(c.evaluators[worker], part, c.diag[i0:i1], i0, i1, j0, j1)
	}
}

// adjointRows are parts of consecutive rows of Σ⁻¹ and of a middle term, unless extra is nil, tileStride apart.
type adjointRows struct {
	x              *kernel.Points
	adj            device.Adjoint
	inverse, extra []float64
	g              []float64 // working space for a row
}

// contract adds to grad the contraction of columns [j0, j1) of the rows i0 … i1−1 of the adjoint, from the diagonal on,
// with elements off the diagonal doubled. It writes elements on the diagonal to diag.
func (c *adjointRows) contract(e *kernel.Evaluator, grad, diag []float64, i0, i1, j0, j1 int) {
	for i := i0; i < min(i1, j1); i++ {
		j := max(i, j0)
		m := j1 - j
		at := (i-i0)*tileStride + j - j0
		row, rest := c.inverse[at:at+m], c.extra
		if rest != nil {
			rest = rest[at : at+m]
		}
		g := c.g[:m]
		c.adjoint(g, row, rest, i, j)
		if j == i {
			g[0] = c.diagonal(row[0], rest, i)
			diag[i-i0] = g[0]
		}
		e.RowGradient(grad, g, c.x, i, c.x, j, j1)
	}
}

// adjoint writes 2·G_ij, … to g, for i < j; row and extra are the rows of Σ⁻¹
// and of the middle term, from column j on.
func (c *adjointRows) adjoint(g, row, extra []float64, i, j int) {
	m, n, first := len(g), c.x.N, 0
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
func (c *adjointRows) diagonal(inverse float64, extra []float64, i int) float64 {
	g := c.adj.Inv * inverse
	if extra != nil {
		g += extra[0]
	}
	for k, f := range c.adj.Outer {
		v := c.adj.Vectors[k*c.x.N+i]
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
