package kernels_test

import (
	"fmt"
	"math"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// TestContract contracts random symmetric matrices in panels and compares with
// the evaluator's reverse mode, relative to the sum of absolute terms. Below the
// diagonal the matrices hold NaN.
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
			on := m.program(prog, theta)
			const inv = 0.75
			type result struct {
				x                           *kernel.Points
				s, middle, vectors, factors []float64
				diag, grad                  kernels.Ptr
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
				r.diag, r.grad = m.blank(int64(n)), m.put(make([]float64, prog.NumParams))
				work := kernels.ContractWork{Blocks: []int64{1, 3, 100}[k%3]}
				scratch, partial := kernels.ContractSpace(on.Encoded, work.Blocks)
				work.Scratch, work.Partial = m.scratch(scratch), m.scratch(partial)
				width := []int{n, 32, 50, 100}[k%4]
				for j0 := 0; j0 < n; j0 += width {
					adj.Inverse = inverse.At(0, int64(j0))
					if r.middle != nil {
						adj.Middle = middle.At(0, int64(j0))
					}
					l := kernels.Contract(on, x, adj, int64(j0), int64(min(j0+width, n)), r.diag, r.grad, work)
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
				for q, got := range m.floats(r.grad) {
					if !near(got, want[q], scale[q]) {
						t.Errorf("n = %d: derivative by %s is %v, want %v (terms add up to %v)", n, prog.Names()[q], got, want[q], scale[q])
					}
				}
			}
		})
	}
}

// TestContractSharedLengthscales has two leaves on the same lengthscales, which
// [kernel.Compile] does not make.
func TestContractSharedLengthscales(t *testing.T) {
	const n, d = 100, 5
	rng := seeded(11)
	prog := &kernel.Program{D: d, Depth: 2, NumParams: d, Features: []kernel.Feature{{Dims: kernel.Columns(d), Param: 0}}, Code: []kernel.Instr{
		{Op: kernel.OpRBF, Param: -1}, {Op: kernel.OpMatern32, Param: -1}, {Op: kernel.OpMul, Param: -1},
	}}
	x, theta := somePoints(rng, n, d), []float64{1, 2, 3, 2, 1}
	s := normals(rng, n*n)
	m := newMachine(t)
	on := m.program(prog, theta)
	work := kernels.ContractWork{Blocks: 2}
	scratch, partial := kernels.ContractSpace(on.Encoded, work.Blocks)
	work.Scratch, work.Partial = m.scratch(scratch), m.scratch(partial)
	grad := m.put(make([]float64, d))
	adj := kernels.Adjoint{Inv: 0.5, Inverse: kernels.Matrix{A: m.put(s), LD: n}}
	l := kernels.Contract(on, m.points(x), adj, 0, n, m.blank(n), grad, work)
	m.launch(l...)
	m.run()
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	want, scale := make([]float64, d), make([]float64, d)
	for j := 1; j < n; j++ {
		g, magnitude := s[j*n:j*n+j], make([]float64, j) // twice one half
		for i := range g {
			magnitude[i] = abs(g[i])
		}
		e.RowGradient(want, g, x, j, x, 0, j)
		e.RowGradient(scale, magnitude, x, j, x, 0, j)
	}
	for q, got := range m.floats(grad) {
		if !near(got, want[q], scale[q]) {
			t.Errorf("derivative by lengthscale %d is %v, want %v", q, got, want[q])
		}
	}
}

// TestContractRepeats wants the same bits from the same launch with poisoned and
// used scratch memory, and for any interleaving of blocks.
func TestContractRepeats(t *testing.T) {
	rng := seeded(5)
	prog := kerneltest.Program(t, "rbf(ard) + matern32*matern12(ard)", 11)
	m := newMachine(t)
	const n = 200
	on, x := m.program(prog, someTheta(rng, prog)), m.points(somePoints(rng, n, 11))
	diag, adj := m.blank(n), kernels.Adjoint{
		Inv: 0.5, Inverse: kernels.Matrix{A: m.put(normals(rng, n*n)), LD: n}, Middle: kernels.Matrix{A: m.put(normals(rng, n*n)), LD: n},
		Vectors: m.put(normals(rng, 3*n)), Outer: m.put(normals(rng, 3)), Count: 3,
	}
	work := kernels.ContractWork{Blocks: 7}
	scratch, partial := kernels.ContractSpace(on.Encoded, work.Blocks)
	work.Scratch, work.Partial = m.blank(scratch/8), m.blank(partial/8)
	var grads []kernels.Ptr
	for range 4 {
		grad := m.put(make([]float64, prog.NumParams))
		l := kernels.Contract(on, x, adj, 0, n, diag, grad, work)
		m.launch(l...)
		grads = append(grads, grad)
	}
	m.run()
	for _, g := range grads[1:] {
		for q, v := range m.floats(g) {
			if v != m.floats(grads[0])[q] {
				t.Errorf("%s: %v, then %v", prog.Names()[q], m.floats(grads[0])[q], v)
			}
		}
	}
}
