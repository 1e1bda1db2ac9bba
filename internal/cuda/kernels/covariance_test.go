package kernels_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/cuda/emulator"
	"gpfit/internal/cuda/kernels"
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
	if emulator.Long() {
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
