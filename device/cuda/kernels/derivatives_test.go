package kernels_test

import (
	"math"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/kernel"
)

// products are products of rows from i0 on with the columns of v, whose leading dimension is ld.
type products struct {
	on          kernels.Function
	values      []float64
	entry       *ptx.Entry
	x           *kernel.Points
	theta, v    []float64
	i0, ld, row int
	y           kernels.Ptr
}

// multiply queues the products of rows i0 ≤ i < i1 with one vector or with several.
func (m *machine) multiply(prog *kernel.Program, theta []float64, x *kernel.Points, i0, i1, vectors, ld int) *products {
	m.t.Helper()
	p := &products{x: x, theta: theta, entry: ptx.Derivatives(vectors), i0: i0, ld: ld, row: i1 - i0}
	p.on, p.values = m.gradient(prog, theta)
	p.v = normals(seeded(uint64(ld)), ld*p.entry.Vectors)
	p.y = m.blank(int64((p.row + 1) * p.on.NumSums() * p.entry.Vectors))
	scratch := m.blank(int64(p.on.ProductScratch(p.entry) * ((p.row + kernels.DerivativeRows - 1) / kernels.DerivativeRows)))
	m.launch(kernels.Derivatives(p.on, p.entry, m.points(x), int64(i0), int64(i1), kernels.Matrix{A: m.put(p.v), LD: int64(ld)}, scratch,
		kernels.Matrix{A: p.y, LD: int64(p.row + 1)}))
	return p
}

// check compares the products with the evaluator's reverse mode for each row, relative to the
// sums of 1+|term| or, for covariances whose terms do not cancel, of |term|.
func (p *products) check(t testing.TB, m *machine, e *kernel.Evaluator, least float64) {
	t.Helper()
	got, sums, assemble := m.floats(p.y), make([]float64, p.on.NumSums()), p.on.Assembler(p.theta, p.values)
	for k := range p.entry.Vectors {
		v := p.v[k*p.ld:][:p.x.N]
		for i := range p.row {
			grad, want, scale, one := make([]float64, len(p.theta)), make([]float64, len(p.theta)), make([]float64, len(p.theta)), make([]float64, len(p.theta))
			for s := range sums {
				sums[s] = got[(s*p.entry.Vectors+k)*(p.row+1)+i]
			}
			assemble(grad, sums)
			e.RowGradient(want, v, p.x, p.i0+i, p.x, 0, p.x.N)
			for j, f := range v {
				clear(one)
				e.RowGradient(one, []float64{f}, p.x, p.i0+i, p.x, j, j+1)
				for q, term := range one {
					scale[q] += least + abs(term)
				}
			}
			for q, w := range want {
				if !near(grad[q], w, scale[q]) && !(math.IsNaN(grad[q]) && math.IsNaN(w)) {
					t.Fatalf("n = %d: derivative %d of row %d times vector %d is %v, want %v (terms add up to %v)", p.x.N, q, p.i0+i, k, grad[q], w, scale[q])
				}
			}
		}
	}
	for s := range len(sums) * p.entry.Vectors {
		if got[s*(p.row+1)+p.row] != poison {
			t.Fatalf("n = %d: row %d of column %d was written", p.x.N, p.row, s)
		}
	}
}

func TestDerivatives(t *testing.T) {
	eachProgram(t, 6, withDeep, func(c *trial) {
		for k, n := range c.sizes {
			i0, i1 := 0, n
			if k%2 == 1 {
				i0, i1 = n/4, n-n/3
			}
			p := c.multiply(c.prog, c.theta, somePoints(c.rng, n, c.prog.D), i0, i1, 1+k%2, n+k%3)
			c.after(func() { p.check(c.t, c.machine, c.e, 0) })
		}
	})
}
