package kernels_test

import (
	"math"
	"testing"

	"gpfit/internal/cuda/kernels"
	"gpfit/kernel"
)

// TestContract contracts random symmetric matrices in panels and compares the results
// with the evaluator's reverse mode, relative to the sum of absolute terms. Below the
// diagonal the matrices contain NaN.
func TestContract(t *testing.T) {
	eachProgram(t, 4, withDeep, func(c *trial) {
		on, uniforms := c.gradient(c.prog, c.theta)
		for k, n := range c.sizes {
			count := []int{1, 0, 5}[k%3]
			r := adjoint{inv: 0.75, x: somePoints(c.rng, n, c.prog.D), s: normals(c.rng, n*n), vectors: normals(c.rng, n*count), factors: normals(c.rng, count)}
			if k%2 == 0 {
				r.middle = normals(c.rng, n*n)
			}
			for j := range n {
				for i := j + 1; i < n; i++ {
					r.s[j*n+i] = math.NaN()
					if r.middle != nil {
						r.middle[j*n+i] = math.NaN()
					}
				}
			}
			x, inverse := c.points(r.x), kernels.Matrix{A: c.put(r.s), LD: int64(n)}
			adj := kernels.Adjoint{Inv: r.inv, Vectors: c.put(r.vectors), Outer: c.put(r.factors), Count: int64(count)}
			middle := kernels.Matrix{LD: int64(n)}
			if r.middle != nil {
				middle.A = c.put(r.middle)
			}
			diag, sums := c.blank(int64(n)), c.put(make([]float64, on.Rows()))
			work := c.work(on, []int64{1, 3, 100}[k%3])
			width := []int{n, 32, 50, 100}[k%4]
			for j0 := 0; j0 < n; j0 += width {
				adj.Inverse = inverse.At(0, int64(j0))
				if r.middle != nil {
					adj.Middle = middle.At(0, int64(j0))
				}
				c.launch(kernels.Contract(on, x, adj, int64(j0), int64(min(j0+width, n)), diag, sums, work)...)
			}
			c.after(func() {
				want, scale := r.contracted(c, c.floats(diag))
				grad := make([]float64, c.prog.NumParams)
				on.Assemble(grad, c.theta, uniforms, c.floats(sums))
				for q, got := range grad {
					if !near(got, want[q], scale[q]) {
						c.t.Errorf("n = %d: derivative by %s is %v, want %v (terms add up to %v)", n, c.prog.Names()[q], got, want[q], scale[q])
					}
				}
			})
		}
	})
}

// adjoint is the matrix inv·s + middle + Σ_k factor_k·v_k v_kᵀ.
type adjoint struct {
	x                           *kernel.Points
	inv                         float64
	s, middle, vectors, factors []float64
}

// contracted returns the derivatives and the sums of their absolute terms, and checks the diagonal.
func (r adjoint) contracted(c *trial, diag []float64) (want, scale []float64) {
	n := r.x.N
	want, scale = make([]float64, c.prog.NumParams), make([]float64, c.prog.NumParams)
	for j := range n {
		g, magnitude := make([]float64, j+1), make([]float64, j+1)
		for i := range g {
			add := func(v float64) {
				g[i] += v
				magnitude[i] += abs(v)
			}
			add(r.inv * r.s[j*n+i])
			if r.middle != nil {
				add(r.middle[j*n+i])
			}
			for q, f := range r.factors {
				add(f * r.vectors[q*n+i] * r.vectors[q*n+j])
			}
			if i < j {
				g[i] *= 2
				magnitude[i] *= 2
			}
		}
		if !near(diag[j], g[j], magnitude[j]) {
			c.t.Fatalf("n = %d: diagonal %d is %v, want %v", n, j, diag[j], g[j])
		}
		c.e.RowGradient(want, g, r.x, j, r.x, 0, j+1)
		c.e.RowGradient(scale, magnitude, r.x, j, r.x, 0, j+1)
	}
	return want, scale
}

// TestContractRepeats checks that the same launch yields the same bits with poisoned
// and used scratch memory, and for any interleaving of blocks.
func TestContractRepeats(t *testing.T) {
	const n = 200
	m, rng, on, x := gradientOf(t, 5, "rbf(ard) + matern32*matern12(ard)", n)
	diag, adj := m.blank(n), kernels.Adjoint{
		Inv: 0.5, Inverse: kernels.Matrix{A: m.put(normals(rng, n*n)), LD: n}, Middle: kernels.Matrix{A: m.put(normals(rng, n*n)), LD: n},
		Vectors: m.put(normals(rng, 3*n)), Outer: m.put(normals(rng, 3)), Count: 3,
	}
	work := m.work(on, 7)
	var grads []kernels.Ptr
	for range 4 {
		sums := m.put(make([]float64, on.Rows()))
		l := kernels.Contract(on, x, adj, 0, n, diag, sums, work)
		m.launch(l...)
		grads = append(grads, sums)
	}
	m.run()
	for _, g := range grads[1:] {
		for q, v := range m.floats(g) {
			if v != m.floats(grads[0])[q] {
				t.Errorf("row %d: %v, then %v", q, m.floats(grads[0])[q], v)
			}
		}
	}
}
