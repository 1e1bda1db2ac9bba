package kernels_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device/cuda/kernels"
)

// batched is a batch of problems on a machine, with the matrices and right-hand sides that they began with.
type batched struct {
	kernels.Systems
	n         int
	sigma     [][]float64 // n×n, symmetric
	rhs       [][]float64
	a, out    []kernels.Ptr
	diag, sol []kernels.Ptr
	pivots    []kernels.Ptr
}

// positiveDefinite returns a matrix with eigenvalues from about 1 to n.
func positiveDefinite(rng *rand.Rand, n int) []float64 {
	g, a := normals(rng, n*n), make([]float64, n*n)
	for i := range n {
		for j := range n {
			for k := range n {
				a[i+j*n] += g[i+k*n] * g[j+k*n] / float64(n)
			}
		}
		a[i+i*n]++
	}
	return a
}

func newBatched(m *machine, sigma, rhs [][]float64, n int) *batched {
	b := &batched{n: n, sigma: sigma, rhs: rhs}
	ld := n + 3
	var words []int64
	for i, s := range sigma {
		a := slices.Repeat([]float64{poison}, ld*n)
		for j := range n {
			copy(a[j+j*ld:j*ld+n], s[j+j*n:(j+1)*n])
		}
		p := kernels.System{A: m.put(a), Panel: m.blank(int64(ld * kernels.MaxInvert)), Diagonal: m.blank(int64(n + 1)), Pivots: m.blank(int64(n)), RHS: m.put(append(slices.Clone(rhs[i]), poison)), Out: m.blank(3)}
		b.a, b.out, b.diag, b.sol = append(b.a, p.A), append(b.out, p.Out), append(b.diag, p.Diagonal), append(b.sol, p.RHS)
		b.pivots = append(b.pivots, p.Pivots)
		words = append(words, p.Words()...)
	}
	b.Systems = kernels.Systems{Problems: m.addresses(words), Count: int64(len(sigma)), N: int64(n), LD: int64(ld)}
	m.launch(b.Factor()...)
	m.launch(b.Solve()...)
	m.launch(b.Invert()...)
	return b
}

// results returns the matrix of a problem, its diagonal of Σ⁻¹, its solution and its other results.
func (b *batched) results(m *machine, i int) (a, diag, solution, out []float64) {
	return m.floats(b.a[i]), m.floats(b.diag[i]), m.floats(b.sol[i]), m.floats(b.out[i])
}

// TestBatch compares factors, solutions and inverses with their definitions, and a problem among others with the
// problem alone, whose bits must be the same.
func TestBatch(t *testing.T) {
	rng := seeded(9)
	m := newMachine(t)
	for _, n := range []int{1, 2, 63, 64, 65, 128, 150, 193} {
		var sigma, rhs [][]float64
		for range 3 {
			sigma, rhs = append(sigma, positiveDefinite(rng, n)), append(rhs, normals(rng, n))
		}
		all := newBatched(m, sigma, rhs, n)
		alone := newBatched(m, sigma[1:2], rhs[1:2], n)
		m.after(func() {
			for i := range sigma {
				all.check(t, m, i)
			}
			a, diag, x, out := all.results(m, 1)
			a1, diag1, x1, out1 := alone.results(m, 0)
			if !slices.Equal(a, a1) || !slices.Equal(diag, diag1) || !slices.Equal(x, x1) || !slices.Equal(out, out1) {
				t.Errorf("n = %d: a problem among others has other bits than alone", n)
			}
		})
	}
	m.run()
}

func (b *batched) check(t *testing.T, m *machine, k int) {
	t.Helper()
	n, ld, eps := b.n, int(b.LD), 1e-14*float64(b.n+10)
	a, diag, x, out := b.results(m, k)
	l := func(i, j int) float64 { return a[i+j*ld] }
	inv := func(i, j int) float64 {
		if i == j {
			return diag[i]
		}
		return a[min(i, j)+max(i, j)*ld]
	}
	logs, pivots := 0.0, m.floats(b.pivots[k])
	for i := range n {
		if pivots[i] != l(i, i) {
			t.Fatalf("n = %d: pivot %d is %v, want %v", n, i, pivots[i], l(i, i))
		}
		logs += math.Log(l(i, i))
		product, residual := 0.0, -b.rhs[k][i]
		for j := range n {
			residual += b.sigma[k][i+j*n] * x[j]
		}
		for j := range i + 1 {
			product = 0
			for q := range j + 1 {
				product += l(i, q) * l(j, q)
			}
			if !(math.Abs(product-b.sigma[k][i+j*n]) <= eps) {
				t.Fatalf("n = %d: (LLᵀ)[%d, %d] is %v, want %v", n, i, j, product, b.sigma[k][i+j*n])
			}
		}
		if !(math.Abs(residual) <= 10*eps) {
			t.Fatalf("n = %d: residual %v in row %d", n, residual, i)
		}
		for j := range n {
			sum := 0.0
			if i == j {
				sum = -1
			}
			for q := range n {
				sum += b.sigma[k][i+q*n] * inv(q, j)
			}
			if !(math.Abs(sum) <= 10*eps) {
				t.Fatalf("n = %d: (Σ·Σ⁻¹ − 1)[%d, %d] is %v", n, i, j, sum)
			}
		}
	}
	if out[0] != 0 || !near(out[1], logs, float64(n)) || out[2] != poison || diag[n] != poison || x[n] != poison {
		t.Errorf("n = %d: results %v, want 0 and %v; beyond the vectors %v and %v", n, out, logs, diag[n], x[n])
	}
	for j := range n {
		for i := n; i < ld; i++ {
			if a[i+j*ld] != poison {
				t.Fatalf("n = %d: row %d of column %d was written", n, i, j)
			}
		}
	}
}

// TestBatchMinor checks the order of the first minor that is not positive definite, beside a problem without one.
func TestBatchMinor(t *testing.T) {
	rng := seeded(10)
	m := newMachine(t)
	const n = 130
	for _, bad := range []int{0, 63, 64, 129} {
		for _, v := range []float64{0, math.NaN(), math.Inf(1)} {
			good, spoiled := positiveDefinite(rng, n), positiveDefinite(rng, n)
			spoiled[bad+bad*n] = v
			rhs := normals(rng, n)
			b := newBatched(m, [][]float64{spoiled, good}, [][]float64{rhs, rhs}, n)
			m.after(func() {
				if _, _, _, out := b.results(m, 0); out[0] != float64(bad+1) {
					t.Errorf("element %d is %v: minor %v", bad, v, out[0])
				}
				b.check(t, m, 1)
			})
		}
	}
	m.run()
}

// TestBatchSubstitution checks that no inverse of a block enters: with points on a line and hardly any noise the factor is
// as close to Σ as rounding allows, and positive definite where a factor by inverted blocks is not.
func TestBatchSubstitution(t *testing.T) {
	rng := seeded(11)
	m := newMachine(t)
	const n = 193
	for _, jitter := range []float64{1e-10, 1e-12} {
		s, x := make([]float64, n*n), normals(rng, n)
		for i := range n {
			for j := range n {
				s[i+j*n] = math.Exp(-0.5 * (x[i] - x[j]) * (x[i] - x[j]))
			}
			s[i+i*n] += jitter
		}
		b := newBatched(m, [][]float64{s}, [][]float64{x}, n)
		m.after(func() {
			a, _, _, out := b.results(m, 0)
			if out[0] != 0 {
				t.Errorf("jitter %g: minor %v is not positive definite", jitter, out[0])
			}
			worst := 0.0
			for i := range n {
				for j := range i + 1 {
					sum := -s[i+j*n]
					for q := range j + 1 {
						sum += a[i+q*int(b.LD)] * a[j+q*int(b.LD)]
					}
					worst = max(worst, math.Abs(sum))
				}
			}
			if !(worst <= 2e-14) { // a few dozen rounding errors of elements up to 1
				t.Errorf("jitter %g: LLᵀ differs from Σ by %g", jitter, worst)
			}
		})
	}
	m.run()
}

// TestBatchFlops counts operations: at most 1.15 n³ from n = 2,000 on.
func TestBatchFlops(t *testing.T) {
	for n, most := range map[int64]float64{1000: 1.25, 2000: 1.15, 2048: 1.08} {
		factor, invert := kernels.Systems{N: n}.Flops()
		cube := float64(n) * float64(n) * float64(n)
		t.Logf("n = %d: %.3f n³ + %.3f n³ operations", n, factor/cube, invert/cube)
		if total := (factor + invert) / cube; total < 1 || total > most || factor/cube < 1.0/3 {
			t.Errorf("n = %d: %.3f n³ operations, more than %v", n, total, most)
		}
	}
}
