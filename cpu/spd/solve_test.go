package spd

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// eachSize calls f with factored matrices of all variants, and with their factor by rows.
func eachSize(t *testing.T, f func(t *testing.T, m *Symmetric, rng reproducible, l [][]float64)) {
	sizes := []int{1, 3, 8, 29, 150, 311}
	if emulated() {
		sizes = sizes[:5]
	}
	for _, v := range isa.Supported() {
		e := newEngine(t, v, 2)
		for _, n := range sizes {
			t.Run(fmt.Sprintf("%s/%d", v, n), func(t *testing.T) {
				rng := newReproducible(n)
				m := factored(t, e, rng.definite(n))
				l := make([][]float64, n)
				for i := range l {
					l[i] = make([]float64, i+1)
					m.FactorRow(i, l[i])
				}
				f(t, m, rng, l)
			})
		}
	}
}

// near returns whether x is y up to the rounding of n operations with numbers below 4, for
// matrices with a dominant diagonal.
func near(x, y float64, n int) bool { return math.Abs(x-y) <= 16*float64(n+8)*unit }

func dot(x, y []float64) (s float64) {
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// TestVectors compares norms and products of solutions with their definitions.
func TestVectors(t *testing.T) {
	eachSize(t, func(t *testing.T, m *Symmetric, rng reproducible, l [][]float64) {
		n := m.n
		for _, counts := range [][2]int{{1, 1}, {m.Width(), m.lanes}, {m.lanes + 1, m.Width() - 1}} {
			want := make([][]float64, counts[0]+counts[1])
			for i := range want {
				want[i] = rng.numbers(n, 1)
			}
			load := func(first, count int) *Vectors {
				v := m.NewVectors()
				v.Load(count, make([]float64, m.lanes*n), func(i int, dst []float64) { copy(dst, want[first+i]) })
				return v
			}
			v, w := load(0, counts[0]), load(counts[0], counts[1])
			m.Solve([]*Vectors{v, w})
			for _, x := range want {
				for i := range x {
					x[i] = (x[i] - dot(l[i][:i], x)) / l[i][i]
				}
			}
			norms := make([]float64, counts[0])
			v.SquaredNorms(norms)
			stride := counts[0] + 2
			products := make([]float64, counts[1]*stride)
			v.Products(w, products, stride)
			for j, x := range want[:counts[0]] {
				if !near(norms[j], dot(x, x), 8*n) {
					t.Fatalf("counts %v: norm %d is %v, want %v", counts, j, norms[j], dot(x, x))
				}
				for i, y := range want[counts[0]:] {
					if p := products[i*stride+j]; !near(p, dot(x, y), 8*n) {
						t.Fatalf("counts %v: product %d, %d is %v, want %v", counts, i, j, p, dot(x, y))
					}
				}
			}
		}
	})
}

// TestVectorBits tests that the solution for a vector depends neither on the vectors
// beside it nor on how many share a call, also in concurrent calls.
func TestVectorBits(t *testing.T) {
	eachSize(t, func(t *testing.T, m *Symmetric, rng reproducible, _ [][]float64) {
		n, width := m.n, m.Width()
		numbers := rng.numbers(width*n, 1)
		norms := func(first, count, copies int) []float64 {
			vs := make([]*Vectors, copies)
			for c := range vs {
				vs[c] = m.NewVectors()
				vs[c].Load(count, make([]float64, m.lanes*n), func(i int, dst []float64) { copy(dst, numbers[(first+i)*n:]) })
			}
			m.Solve(vs)
			out := make([]float64, count)
			vs[copies-1].SquaredNorms(out)
			return out
		}
		want := norms(0, width, 1)
		var wg sync.WaitGroup
		for first := 0; first < width; first += 5 {
			wg.Go(func() {
				count := min(1+first/2, width-first)
				if got := norms(first, count, 1+first%3); !slices.Equal(got, want[first:first+count]) {
					t.Errorf("vectors from %d on have other bits alone", first)
				}
			})
		}
		wg.Wait()
	})
}

// TestEquations checks the residuals of L·Lᵀ·x = b.
func TestEquations(t *testing.T) {
	eachSize(t, func(t *testing.T, m *Symmetric, rng reproducible, l [][]float64) {
		n := m.n
		for _, count := range []int{1, m.lanes, m.Width() + 3} {
			b := rng.numbers(n*count, 1)
			x := slices.Clone(b)
			testcheck.Do(t, m.SolveEquations(t.Context(), x, count))
			half := slices.Clone(b)
			testcheck.Do(t, m.SolveTriangle(t.Context(), half, count, false))
			for q := range count {
				for i, row := range l {
					if got := dot(row, half[q*n:]); !near(got, b[q*n+i], 8*n) {
						t.Fatalf("%d sides: row %d of L·L⁻¹·b is %v, want %v", count, i, got, b[q*n+i])
					}
				}
			}
			testcheck.Do(t, m.SolveTriangle(t.Context(), half, count, true))
			for q := range count {
				for i := range n {
					if got := half[q*n+i]; !near(got, x[q*n+i], 8*n) {
						t.Fatalf("%d sides: L⁻ᵀ·L⁻¹·b is %v, Σ⁻¹·b is %v", count, got, x[q*n+i])
					}
				}
				y := make([]float64, n) // Lᵀ·x
				for i, row := range l {
					for j, v := range row {
						y[j] += v * x[q*n+i]
					}
				}
				for i, row := range l {
					if got := dot(row, y); !near(got, b[q*n+i], 8*n) {
						t.Fatalf("%d sides: equation %d of side %d gives %v, want %v", count, i, q, got, b[q*n+i])
					}
				}
			}
		}
	})
}

// TestRows compares rows of products with the inverse with their definition.
func TestRows(t *testing.T) {
	eachSize(t, func(t *testing.T, m *Symmetric, rng reproducible, _ [][]float64) {
		testcheck.Do(t, m.Invert(t.Context(), nil))
		n := m.n
		inverse := func(i int) []float64 {
			row := make([]float64, n)
			for j := range row {
				row[j] = m.InverseElement(i, j)
			}
			return row
		}
		i0 := n / 3 / m.lanes * m.lanes
		i1 := min(n, i0+2*m.Width()+1)
		q, r := m.NewRowBlock(i1-i0), m.NewRowBlock(i1-i0)
		scale := rng.numbers(n, 1)
		testcheck.Do(t, q.ScaledInverse(t.Context(), i0, i1, scale))
		compareRows(t, "ScaledInverse", q, 0, func(i, j int) float64 { return m.InverseElement(i, j) * scale[j] })
		testcheck.Do(t, r.MultiplyInverse(t.Context(), q, nil))
		rows := make([][]float64, n)
		for i := range rows {
			rows[i] = inverse(i)
		}
		compareRows(t, "MultiplyInverse", r, i0, func(i, j int) (s float64) {
			for k := range n {
				s += rows[i][k] * scale[k] * rows[k][j]
			}
			return s
		})
		testcheck.Do(t, q.ScaledInverse(t.Context(), i0, i1, nil))
		testcheck.Do(t, r.MultiplyBlock(t.Context(), q, 0, n, slices.Concat(rows...)))
		compareRows(t, "MultiplyBlock", r, 0, func(i, j int) float64 { return dot(rows[i], rows[j]) })
	})
}

// compareRows compares columns of r from j0 on, a multiple of the lanes.
func compareRows(t *testing.T, name string, r *RowBlock, j0 int, want func(i, j int) float64) {
	t.Helper()
	m := r.m
	rows := make([]float64, m.lanes*m.order)
	for i := r.i0; i < r.i1; i += m.lanes {
		r.Copy(i, j0, m.n, rows, m.order)
		for k := range min(m.lanes, r.i1-i) {
			for j := j0; j < m.n; j++ {
				if x, w := rows[k*m.order+j-j0], want(i+k, j); !near(x, w, m.n) {
					t.Fatalf("%s: element (%d, %d) is %v, want %v", name, i+k, j, x, w)
				}
			}
		}
	}
}
