package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"gpfit/internal/cuda/kernels"
	"gpfit/internal/kerneltest"
	"gpfit/kernel"
)

// TestContract contracts random symmetric matrices in panels and compares the results
// with the evaluator's reverse mode, relative to the sum of absolute terms. Below the
// diagonal the matrices contain NaN.
func TestContract(t *testing.T) {
	for i, p := range append(programs, struct {
		text string
		d    int
	}{deep, 3}) {
		t.Run(fmt.Sprintf("%s/%d", p.text, p.d), func(t *testing.T) {
			t.Parallel()
			rng := seeded(4)
			prog := kerneltest.Program(t, p.text, p.d)
			theta := someTheta(rng, prog)
			m := newMachine(t)
			on, uniforms := m.gradient(prog, theta)
			const inv = 0.75
			type result struct {
				x                           *kernel.Points
				s, middle, vectors, factors []float64
				diag, sums                  kernels.Ptr
			}
			var results []result
			for k, n := range sizesOf(i) {
				count := []int{1, 0, 5}[k%3]
				r := result{x: somePoints(rng, n, p.d), s: normals(rng, n*n), vectors: normals(rng, n*count), factors: normals(rng, count)}
				if k%2 == 0 {
					r.middle = normals(rng, n*n)
				}
				for j := range n {
					for i := j + 1; i < n; i++ {
						r.s[j*n+i] = math.NaN()
						if r.middle != nil {
							r.middle[j*n+i] = math.NaN()
						}
					}
				}
				x, inverse := m.points(r.x), kernels.Matrix{A: m.put(r.s), LD: int64(n)}
				adj := kernels.Adjoint{Inv: inv, Vectors: m.put(r.vectors), Outer: m.put(r.factors), Count: int64(count)}
				middle := kernels.Matrix{LD: int64(n)}
				if r.middle != nil {
					middle.A = m.put(r.middle)
				}
				r.diag, r.sums = m.blank(int64(n)), m.put(make([]float64, on.Rows()))
				work := kernels.ContractWork{Blocks: []int64{1, 3, 100}[k%3]}
				scratch, partial := kernels.ContractSpace(on.Kernel, work.Blocks)
				work.Scratch, work.Partial = m.scratch(scratch), m.scratch(partial)
				width := []int{n, 32, 50, 100}[k%4]
				for j0 := 0; j0 < n; j0 += width {
					adj.Inverse = inverse.At(0, int64(j0))
					if r.middle != nil {
						adj.Middle = middle.At(0, int64(j0))
					}
					l := kernels.Contract(on, x, adj, int64(j0), int64(min(j0+width, n)), r.diag, r.sums, work)
					m.launch(l...)
				}
				results = append(results, r)
			}
			m.run()
			e := kernel.NewEvaluator(prog)
			e.Bind(theta)
			for _, r := range results {
				n := r.x.N
				want, scale := make([]float64, prog.NumParams), make([]float64, prog.NumParams)
				diag := m.floats(r.diag)
				for j := range n {
					g, magnitude := make([]float64, j+1), make([]float64, j+1)
					for i := range g {
						add := func(v float64) {
							g[i] += v
							magnitude[i] += abs(v)
						}
						add(inv * r.s[j*n+i])
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
						t.Fatalf("n = %d: diagonal %d is %v, want %v", n, j, diag[j], g[j])
					}
					e.RowGradient(want, g, r.x, j, r.x, 0, j+1)
					e.RowGradient(scale, magnitude, r.x, j, r.x, 0, j+1)
				}
				grad := make([]float64, prog.NumParams)
				on.Assemble(grad, theta, uniforms, m.floats(r.sums))
				for q, got := range grad {
					if !near(got, want[q], scale[q]) {
						t.Errorf("n = %d: derivative by %s is %v, want %v (terms add up to %v)", n, prog.Names()[q], got, want[q], scale[q])
					}
				}
			}
		})
	}
}

// TestContractRepeats checks that the same launch yields the same bits with poisoned
// and used scratch memory, and for any interleaving of blocks.
func TestContractRepeats(t *testing.T) {
	rng := seeded(5)
	prog := kerneltest.Program(t, "rbf(ard) + matern32*matern12(ard)", 11)
	m := newMachine(t)
	const n = 200
	on, _ := m.gradient(prog, someTheta(rng, prog))
	x := m.points(somePoints(rng, n, 11))
	diag, adj := m.blank(n), kernels.Adjoint{
		Inv: 0.5, Inverse: kernels.Matrix{A: m.put(normals(rng, n*n)), LD: n}, Middle: kernels.Matrix{A: m.put(normals(rng, n*n)), LD: n},
		Vectors: m.put(normals(rng, 3*n)), Outer: m.put(normals(rng, 3)), Count: 3,
	}
	work := kernels.ContractWork{Blocks: 7}
	scratch, partial := kernels.ContractSpace(on.Kernel, work.Blocks)
	work.Scratch, work.Partial = m.blank(scratch/8), m.blank(partial/8)
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
