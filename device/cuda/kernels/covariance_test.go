package kernels_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// sizes are around the edges of tiles.
var sizes = []int{1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 193}

// sizesWith returns the sizes and the given ones.
func sizesWith(more ...int) []int { return append(slices.Clone(sizes), more...) }

// sizesOf returns the sizes for the i-th program. The long form uses all sizes, and a larger one
// for every sixth program. The short form uses every third size and begins with a different one for
// the next program, so that each program covers several tiles and every size is used.
func sizesOf(i int) []int {
	if testcheck.Long() {
		if i%6 == 0 {
			return sizesWith(500)
		}
		return sizesWith()
	}
	var some []int
	for k := i % 3; k < len(sizes); k += 3 {
		some = append(some, sizes[k])
	}
	return some
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// checkFill compares columns j0 … j1−1 of a, whose leading dimension is ld, and expects
// everything else to be untouched.
func (c *trial) checkFill(a []float64, ld int, noise []float64, x *kernel.Points, j0, j1 int) {
	for j := range x.N {
		want := row(c.e, x, j, x)
		scale := bounds(c.e, c.prog, want, x, j, x)
		want[j] += noise[j%len(noise)]
		for i := range ld {
			got := a[j*ld+i]
			switch {
			case i < x.N && i >= j && j >= j0 && j < j1:
				if !near(got, want[i], scale[i]) {
					c.t.Fatalf("n = %d: (%d, %d) is %v, want %v", x.N, i, j, got, want[i])
				}
			case got != poison:
				c.t.Fatalf("n = %d, columns %d to %d: (%d, %d) was written", x.N, j0, j1, i, j)
			}
		}
	}
}

func TestFill(t *testing.T) {
	eachProgram(t, 1, withDeep, func(c *trial) {
		on := c.value(c.prog, c.theta)
		for k, n := range c.sizes {
			ld, j0, j1, x, noise := n+k%3, 0, n, somePoints(c.rng, n, c.prog.D), []float64{0.25}
			if k%2 == 1 {
				noise = normals(c.rng, n)
				j0, j1 = n/3, n-n/5
			}
			a := c.blank(int64(ld * n))
			vector := kernels.Vector{A: c.put(noise), N: int64(len(noise))}
			c.launch(kernels.Fill(on, c.points(x), kernels.Matrix{A: a, LD: int64(ld)}, vector, int64(j0), int64(j1)))
			c.after(func() { c.checkFill(c.floats(a), ld, noise, x, j0, j1) })
		}
	})
}

func TestCross(t *testing.T) {
	eachProgram(t, 2, programs, func(c *trial) {
		on := c.value(c.prog, c.theta)
		for k, n := range c.sizes {
			d, ld, m, x := c.prog.D, n+k%2, 1+37*k%101, somePoints(c.rng, n, c.prog.D)
			xs := somePoints(c.rng, m, d)
			for q := range d { // make one test point equal to a training point
				xs.X[q*m] = x.X[q*n]
			}
			r0, r1 := m/4, m
			if k%3 == 0 {
				r0, r1 = 0, (m+1)/2
			}
			out := c.blank(int64(ld * m))
			c.launch(kernels.Cross(on, c.points(x), c.points(xs), int64(r0), int64(r1), kernels.Matrix{A: out, LD: int64(ld)}))
			c.after(func() {
				for q := range m {
					var want, scale []float64
					if q < r1-r0 {
						want = row(c.e, xs, r0+q, x)
						scale = bounds(c.e, c.prog, want, xs, r0+q, x)
					}
					for i, got := range c.floats(out)[q*ld : (q+1)*ld] {
						if i < len(want) && !near(got, want[i], scale[i]) || i >= len(want) && got != poison {
							c.t.Fatalf("n = %d, m = %d: (%d, %d) is %v, want %v", n, m, i, q, got, want)
						}
					}
				}
			})
		}
	})
}

func TestMultiply(t *testing.T) {
	eachProgram(t, 3, programs, func(c *trial) {
		on := c.value(c.prog, c.theta)
		for k, n := range c.sizes {
			i0, i1, cols, x, noise := 0, n, 1+k%6, somePoints(c.rng, n, c.prog.D), []float64{0.5}
			if k%2 == 1 {
				noise, i0, i1 = normals(c.rng, n), n/4, n-n/3
			}
			v, product := normals(c.rng, (n+1)*cols), c.blank(int64((n+2)*cols))
			c.launch(kernels.Multiply(on, c.points(x), kernels.Vector{A: c.put(noise), N: int64(len(noise))}, int64(i0), int64(i1),
				kernels.Matrix{A: c.put(v), LD: int64(n + 1)}, int64(cols), kernels.Matrix{A: product, LD: int64(n + 2)}))
			c.after(func() {
				y := c.floats(product)
				for i := i0; i < i1; i++ {
					sigma := row(c.e, x, i, x)
					bound := bounds(c.e, c.prog, sigma, x, i, x)
					sigma[i] += noise[i%len(noise)]
					for q := range cols {
						want, scale := 0.0, 0.0
						for j, s := range sigma {
							term := s * v[q*(n+1)+j]
							want += term
							scale += abs(term) + abs(bound[j]*v[q*(n+1)+j])
						}
						if got := y[q*(n+2)+i-i0]; !near(got, want, scale) {
							c.t.Fatalf("n = %d: row %d of column %d is %v, want %v", n, i, q, got, want)
						}
					}
				}
				if y[i1-i0] != poison {
					c.t.Fatalf("n = %d: row %d was written", n, i1-i0)
				}
			})
		}
	})
}

func abs(v float64) float64 { return max(v, -v) }

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

// TestContractTile contracts matrices tile by tile, and compares sums and diagonals with the whole.
func TestContractTile(t *testing.T) {
	eachProgram(t, 6, programs[:3], func(c *trial) {
		on, uniforms := c.gradient(c.prog, c.theta)
		for k, n := range c.sizes {
			order, ld := []int{8, 24, 40, 72}[k%4], int64(80)
			r := adjoint{inv: 0.75, x: somePoints(c.rng, n, c.prog.D), s: normals(c.rng, n*n), vectors: normals(c.rng, 2*n), factors: normals(c.rng, 2)}
			x, adj, work := c.points(r.x), kernels.Adjoint{Inv: r.inv, Vectors: c.put(r.vectors), Outer: c.put(r.factors), Count: 2}, c.work(on, 3)
			var diags, sums []kernels.Ptr
			for j0 := 0; j0 < n; j0 += order {
				j1 := min(j0+order, n)
				for i0 := 0; i0 <= j0; i0 += order {
					tile := slices.Repeat([]float64{math.NaN()}, int(ld)*order)
					i1 := min(i0+order, n)
					for j := j0; j < j1; j++ {
						for i := i0; i < min(i1, j+1); i++ {
							tile[i-i0+(j-j0)*int(ld)] = r.s[j*n+i]
						}
					}
					diag, out := c.blank(int64(j1-j0)), c.put(make([]float64, on.Rows()))
					adj.Inverse = kernels.Matrix{A: c.put(tile), LD: ld}
					c.launch(kernels.ContractTile(on, x, adj, int64(i0), int64(i1), int64(j0), int64(j1), diag, out, work, false)...)
					if sums = append(sums, out); i0 == j0 {
						diags = append(diags, diag)
						continue
					}
					c.after(func() {
						if slices.ContainsFunc(c.floats(diag), func(v float64) bool { return v != poison }) {
							c.t.Errorf("n = %d: a tile off the diagonal wrote a diagonal", n)
						}
					})
				}
			}
			c.after(func() {
				var diag []float64
				for _, p := range diags {
					diag = append(diag, c.floats(p)...)
				}
				want, scale := r.contracted(c, diag)
				grad := make([]float64, c.prog.NumParams)
				for _, p := range sums {
					on.Assemble(grad, c.theta, uniforms, c.floats(p))
				}
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
