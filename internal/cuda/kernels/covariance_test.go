package kernels_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/cuda/emulator"
	"gpfit/internal/cuda/kernels"
	"gpfit/internal/kerneltest"
	"gpfit/kernel"
)

// sizes are around the edges of tiles.
var sizes = []int{1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 193}

// sizesWith returns the sizes and the given ones.
func sizesWith(more ...int) []int { return append(slices.Clone(sizes), more...) }

// sizesOf returns the sizes for the i-th program. The long form uses all sizes, and a
// larger one for every sixth program. The short form uses every third size and begins
// with a different one for the next program, so that each program covers several tiles
// and every size is used.
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
func checkFill(t *testing.T, a []float64, ld int, prog *kernel.Program, theta, noise []float64, x *kernel.Points, j0, j1 int) {
	t.Helper()
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	for j := range x.N {
		want := row(e, x, j, x)
		scale := bounds(e, prog, want, x, j, x)
		want[j] += noise[j%len(noise)]
		for i := range ld {
			got := a[j*ld+i]
			switch {
			case i < x.N && i >= j && j >= j0 && j < j1:
				if !near(got, want[i], scale[i]) {
					t.Fatalf("n = %d: (%d, %d) is %v, want %v", x.N, i, j, got, want[i])
				}
			case got != poison:
				t.Fatalf("n = %d, columns %d to %d: (%d, %d) was written", x.N, j0, j1, i, j)
			}
		}
	}
}

func TestFill(t *testing.T) {
	for i, p := range append(programs, struct {
		text string
		d    int
	}{deep, 3}) {
		t.Run(fmt.Sprintf("%s/%d", p.text, p.d), func(t *testing.T) {
			t.Parallel()
			rng := seeded(1)
			prog := kerneltest.Program(t, p.text, p.d)
			theta := someTheta(rng, prog)
			m := newMachine(t)
			on := m.value(prog, theta)
			type result struct {
				a          kernels.Ptr
				ld, j0, j1 int
				x          *kernel.Points
				noise      []float64
			}
			var results []result
			for k, n := range sizesOf(i) {
				r := result{ld: n + k%3, j1: n, x: somePoints(rng, n, p.d), noise: []float64{0.25}}
				if k%2 == 1 {
					r.noise = normals(rng, n)
					r.j0, r.j1 = n/3, n-n/5
				}
				r.a = m.blank(int64(r.ld * n))
				noise := kernels.Vector{A: m.put(r.noise), N: int64(len(r.noise))}
				m.launch(kernels.Fill(on, m.points(r.x), kernels.Matrix{A: r.a, LD: int64(r.ld)}, noise, int64(r.j0), int64(r.j1)))
				results = append(results, r)
			}
			m.run()
			for _, r := range results {
				checkFill(t, m.floats(r.a), r.ld, prog, theta, r.noise, r.x, r.j0, r.j1)
			}
		})
	}
}

func TestCross(t *testing.T) {
	for i, p := range programs {
		t.Run(fmt.Sprintf("%s/%d", p.text, p.d), func(t *testing.T) {
			t.Parallel()
			rng := seeded(2)
			prog := kerneltest.Program(t, p.text, p.d)
			theta := someTheta(rng, prog)
			m := newMachine(t)
			on := m.value(prog, theta)
			type result struct {
				out           kernels.Ptr
				ld, r0, r1, m int
				x, xs         *kernel.Points
			}
			var results []result
			for k, n := range sizesOf(i) {
				r := result{ld: n + k%2, m: 1 + 37*k%101, x: somePoints(rng, n, p.d)}
				r.xs = somePoints(rng, r.m, p.d)
				for c := range p.d { // make one test point equal to a training point
					r.xs.X[c*r.m] = r.x.X[c*n]
				}
				r.r0, r.r1 = r.m/4, r.m
				if k%3 == 0 {
					r.r0, r.r1 = 0, (r.m+1)/2
				}
				r.out = m.blank(int64(r.ld * r.m))
				m.launch(kernels.Cross(on, m.points(r.x), m.points(r.xs), int64(r.r0), int64(r.r1), kernels.Matrix{A: r.out, LD: int64(r.ld)}))
				results = append(results, r)
			}
			m.run()
			e := kernel.NewEvaluator(prog)
			e.Bind(theta)
			for _, r := range results {
				out := m.floats(r.out)
				for c := range r.m {
					var want, scale []float64
					if c < r.r1-r.r0 {
						want = row(e, r.xs, r.r0+c, r.x)
						scale = bounds(e, prog, want, r.xs, r.r0+c, r.x)
					}
					for i, got := range out[c*r.ld : (c+1)*r.ld] {
						if i < len(want) && !near(got, want[i], scale[i]) || i >= len(want) && got != poison {
							t.Fatalf("n = %d, m = %d: (%d, %d) is %v, want %v", r.x.N, r.m, i, c, got, want)
						}
					}
				}
			}
		})
	}
}

func TestMultiply(t *testing.T) {
	for i, p := range programs {
		t.Run(fmt.Sprintf("%s/%d", p.text, p.d), func(t *testing.T) {
			t.Parallel()
			rng := seeded(3)
			prog := kerneltest.Program(t, p.text, p.d)
			theta := someTheta(rng, prog)
			m := newMachine(t)
			on := m.value(prog, theta)
			type result struct {
				y        kernels.Ptr
				i0, i1   int
				cols     int
				x        *kernel.Points
				noise, v []float64
			}
			var results []result
			for k, n := range sizesOf(i) {
				r := result{i0: 0, i1: n, cols: 1 + k%6, x: somePoints(rng, n, p.d), noise: []float64{0.5}}
				if k%2 == 1 {
					r.noise, r.i0, r.i1 = normals(rng, n), n/4, n-n/3
				}
				r.v, r.y = normals(rng, (n+1)*r.cols), m.blank(int64((n+2)*r.cols))
				m.launch(kernels.Multiply(on, m.points(r.x), kernels.Vector{A: m.put(r.noise), N: int64(len(r.noise))}, int64(r.i0), int64(r.i1),
					kernels.Matrix{A: m.put(r.v), LD: int64(n + 1)}, int64(r.cols), kernels.Matrix{A: r.y, LD: int64(n + 2)}))
				results = append(results, r)
			}
			m.run()
			e := kernel.NewEvaluator(prog)
			e.Bind(theta)
			for _, r := range results {
				n, y := r.x.N, m.floats(r.y)
				for i := r.i0; i < r.i1; i++ {
					sigma := row(e, r.x, i, r.x)
					bound := bounds(e, prog, sigma, r.x, i, r.x)
					sigma[i] += r.noise[i%len(r.noise)]
					for q := range r.cols {
						want, scale := 0.0, 0.0
						for j, s := range sigma {
							term := s * r.v[q*(n+1)+j]
							want += term
							scale += abs(term) + abs(bound[j]*r.v[q*(n+1)+j])
						}
						if got := y[q*(n+2)+i-r.i0]; !near(got, want, scale) {
							t.Fatalf("n = %d: row %d of column %d is %v, want %v", n, i, q, got, want)
						}
					}
				}
				if y[r.i1-r.i0] != poison {
					t.Fatalf("n = %d: row %d was written", n, r.i1-r.i0)
				}
			}
		})
	}
}

func abs(v float64) float64 { return max(v, -v) }
