package kernels_test

import (
	"math"
	"slices"
	"testing"

	"gpfit/device/cuda/kernels"
)

// wantAll compares every element of a matrix with leading dimension ld with f, and everything
// outside rows×cols with poison.
func wantAll(t *testing.T, what string, got []float64, ld, rows, cols int, f func(i, j int) float64) {
	t.Helper()
	for k, v := range got {
		i, j := k%ld, k/ld
		want := poison
		if i < rows && j < cols {
			want = f(i, j)
		}
		if v != want {
			t.Fatalf("%s %d×%d: (%d, %d) is %v, want %v", what, rows, cols, i, j, v, want)
		}
	}
}

func TestBlocks(t *testing.T) {
	rng := seeded(6)
	m := newMachine(t)
	add := func(what string, rows, cols, ld int, initial []float64, f func(i, j int) float64, launch func(kernels.Matrix) kernels.Launch) {
		all := make([]float64, ld*(cols+1))
		for k := range all {
			all[k] = poison
			if i, j := k%ld, k/ld; initial != nil && i < rows && j < cols {
				all[k] = initial[i+j*rows]
			}
		}
		p := m.put(all)
		m.launch(launch(kernels.Matrix{A: p, LD: int64(ld)}))
		m.after(func() { wantAll(t, what, m.floats(p), ld, rows, cols, f) })
	}
	for _, rows := range sizesWith(257) {
		for _, cols := range []int{1, 5, 32, 33, rows} {
			r, c := int64(rows), int64(cols)
			src := normals(rng, rows*cols)
			from := kernels.Matrix{A: m.put(src), LD: r}
			at := func(i, j int) float64 { return src[i+j*rows] }
			add("copy", rows, cols, rows, nil, at,
				func(b kernels.Matrix) kernels.Launch { return kernels.Copy(from, b, r, c, false) })
			before := normals(rng, rows*cols)
			add("copy upper", rows, cols, rows, before, func(i, j int) float64 {
				if i <= j {
					return at(i, j)
				}
				return before[i+j*rows]
			}, func(b kernels.Matrix) kernels.Launch { return kernels.Copy(from, b, r, c, true) })
			half := c / 2
			add("copy each", rows, int(2*half), rows, nil, func(i, j int) float64 { return at(i, (j+int(half))%int(2*half)) },
				func(b kernels.Matrix) kernels.Launch { // the second half, then the first
					return kernels.CopyEach(from.At(0, half), -half*r, b, half*r, r, half, 2, false)
				})
		}
		n := int64(rows)
		src := normals(rng, rows*rows)
		lower := kernels.Matrix{A: m.put(src), LD: n}
		at := func(i, j int) float64 { return src[i+j*rows] }
		r0, r1 := rows/3, rows-rows/4
		factors := normals(rng, rows)
		add("symmetric columns", rows, r1-r0, rows+2, nil, func(i, j int) float64 { return factors[i] * at(min(i, j+r0), max(i, j+r0)) },
			func(b kernels.Matrix) kernels.Launch {
				return kernels.SymmetricColumns(lower, n, int64(r0), int64(r1), m.put(factors), b)
			})
		add("read rows", rows, r1-r0, rows+1, nil, func(j, i int) float64 {
			if j > i+r0 {
				return 0
			}
			return at(i+r0, j)
		}, func(b kernels.Matrix) kernels.Launch { return kernels.ReadRows(lower, n, int64(r0), int64(r1), b) })
		packed := normals(rng, rows*(r1-r0))
		add("write rows", rows, rows, rows+1, src, func(i, j int) float64 {
			if i >= r0 && i < r1 && j <= i {
				return packed[j+(i-r0)*rows]
			}
			return at(i, j)
		}, func(b kernels.Matrix) kernels.Launch {
			return kernels.WriteRows(b, n, int64(r0), int64(r1), kernels.Matrix{A: m.put(packed), LD: n})
		})
		diag := normals(rng, rows)
		for _, invert := range []bool{false, true} {
			add("set diagonal", rows, rows, rows+1, src, func(i, j int) float64 {
				switch {
				case i != j:
					return at(i, j)
				case invert:
					return 1 / diag[i]
				}
				return diag[i]
			}, func(b kernels.Matrix) kernels.Launch {
				return kernels.SetDiagonal(b, kernels.Vector{A: m.put(diag), N: n}, invert)
			})
			add("get diagonal", rows, 1, rows+1, nil, func(i, _ int) float64 {
				if invert {
					return 1 / at(i, i)
				}
				return at(i, i)
			}, func(b kernels.Matrix) kernels.Launch {
				return kernels.GetDiagonal(lower, kernels.Vector{A: b.A, N: n}, invert)
			})
		}
	}
	m.run()
}

// transposed returns the transpose of an n×m matrix.
func transposed(a []float64, n, m int) []float64 {
	out := make([]float64, len(a))
	for k, v := range a {
		out[k/n+k%n*m] = v
	}
	return out
}

// TestMove moves numbers from a room to two places, and others back.
func TestMove(t *testing.T) {
	m := newMachine(t)
	const count, to = 300, 3 * kernels.MoveWords
	places := []kernels.Ptr{m.put([]float64{7, 8, 9}), m.blank(count + 1), m.blank(2)}
	words := []int64{int64(places[0]), to + count + 1, 3, int64(places[1]), to, count, int64(places[2]), to + count, 1}
	for k := range int64(count + 1) {
		words = append(words, k) // the bits of a number
	}
	room := m.addresses(append(words, make([]int64, 4)...))
	m.launch(kernels.Move(room, 1, 2, false), kernels.Move(room, 0, 1, true))
	m.after(func() {
		large, small, all := m.floats(places[1]), m.floats(places[2]), m.floats(room)
		for k, v := range large[:count] {
			if math.Float64bits(v) != uint64(k) {
				t.Fatalf("number %d is %v", k, v)
			}
		}
		if large[count] != poison || math.Float64bits(small[0]) != count || small[1] != poison || !slices.Equal(all[to+count+1:], []float64{7, 8, 9, 0}) {
			t.Errorf("beyond the numbers %v, the other place %v, the room ends with %v", large[count], small, all[to+count+1:])
		}
	})
	m.run()
}

func TestSums(t *testing.T) {
	rng := seeded(7)
	m := newMachine(t)
	for _, n := range sizesWith(255, 256, 257, 1000, 5000) {
		v, logs, colsq := normals(rng, 3*n), m.blank(1), m.blank(3)
		rowsq := m.blank(3)
		parts, reduced := m.put(v), m.put([]float64{1, 2, 4})
		m.launch(kernels.Reduce(parts, int64(n), kernels.Vector{A: reduced, N: 3}, true))
		m.launch(kernels.ColumnSumSquares(kernels.Matrix{A: parts, LD: int64(n)}, int64(n), kernels.Vector{A: colsq, N: 3}))
		m.launch(kernels.RowSumSquares(kernels.Matrix{A: m.put(transposed(v, n, 3)), LD: 3}, int64(n), kernels.Vector{A: rowsq, N: 3}))
		// A diagonal matrix with leading dimension 0 is its own diagonal.
		a := normals(rng, n)
		for k, v := range a {
			a[k] = math.Exp(3 * v)
		}
		m.launch(kernels.LogDet(kernels.Matrix{A: m.put(a), LD: 0}, int64(n), m.blank(kernels.MaxParts), logs)...)
		m.after(func() {
			for q := range 3 {
				want, scale, square := float64(int(1)<<q), 0.0, 0.0
				for _, v := range v[q*n : (q+1)*n] {
					want, scale, square = want+v, scale+abs(v), square+v*v
				}
				if sum, sumsq := m.floats(reduced)[q], m.floats(colsq)[q]; !near(sum, want, scale) || !near(sumsq, square, square) {
					t.Errorf("n = %d: sums %v and %v, want %v and %v", n, sum, sumsq, want, square)
				}
			}
			if !slices.Equal(m.floats(rowsq), m.floats(colsq)) {
				t.Errorf("n = %d: other squares of rows, %v, than of columns, %v", n, m.floats(rowsq), m.floats(colsq))
			}
			want, scale := 0.0, 0.0
			for _, v := range a {
				want, scale = want+math.Log(v), scale+abs(math.Log(v))
			}
			if got := m.floats(logs)[0]; !near(got, want, scale) {
				t.Errorf("n = %d: Σ log is %v, want %v", n, got, want)
			}
		})
	}
	m.run()
}

func TestFirstBad(t *testing.T) {
	m := newMachine(t)
	for _, n := range []int{1, 255, 257, 5000, 300000} {
		for _, c := range []struct {
			bad      []int
			v        float64
			positive bool
			found    bool
		}{
			{nil, 0, true, false},
			{[]int{n - 1}, math.NaN(), false, true},
			{[]int{n - 1, n / 2, n / 3}, math.Inf(1), false, true},
			{[]int{0, n / 2}, math.Inf(-1), true, true},
			{[]int{n / 2}, 0, true, true},
			{[]int{n / 2}, -1, true, true},
			{[]int{n / 2}, -1, false, false},
		} {
			const stride = 2
			x := make([]float64, n*stride)
			want := int64(n)
			for k := range x {
				x[k] = 1
				if k%stride != 0 {
					x[k] = math.NaN()
				}
			}
			for _, b := range c.bad {
				x[b*stride] = c.v
			}
			if c.found {
				want = int64(slices.Min(c.bad))
			}
			l := kernels.FirstBad(m.put(x), int64(n), stride, c.positive, 0)
			first := m.put(slices.Repeat([]int64{math.MaxInt64}, int(l.Blocks)))
			l.Args[4] = uint64(first)
			m.launch(l)
			m.after(func() {
				if got := slices.Min(m.ints(first)); got != want {
					t.Errorf("first bad element is %d, want %d", got, want)
				}
			})
		}
	}
	m.run()
}

// TestInvert inverts diagonal blocks of well-conditioned triangles and multiplies back.
func TestInvert(t *testing.T) {
	rng := seeded(8)
	m := newMachine(t)
	for _, n := range []int{1, 2, 63, 64, 65, 150} {
		for _, order := range []int{1, 8, 16, 63, 64} {
			lda, ldb := n+3, n+1
			a, b := normals(rng, lda*n), normals(rng, ldb*n)
			for i := range n {
				a[i+i*lda] = 8 + math.Abs(a[i+i*lda])
			}
			before, p := slices.Clone(b), m.put(b)
			m.launch(kernels.Invert(kernels.Matrix{A: m.put(a), LD: int64(lda)}, int64(n), int64(order), kernels.Matrix{A: p, LD: int64(ldb)}))
			m.after(func() {
				got := m.floats(p)
				for j := range n {
					for i := range n {
						v := got[i+j*ldb]
						if i > j || i/order != j/order {
							if v != before[i+j*ldb] {
								t.Fatalf("n = %d, order %d: element (%d, %d) outside the triangles was written", n, order, i, j)
							}
							continue
						}
						sum := 0.0 // (Lᵀ·U)_ij for the block's first row o
						for k := i; k <= j; k++ {
							sum += a[k+i*lda] * got[k+j*ldb]
						}
						want := 0.0
						if i == j {
							want = 1
						}
						if !(math.Abs(sum-want) <= 1e-13) {
							t.Fatalf("n = %d, order %d: (Lᵀ·U)[%d, %d] = %v", n, order, i, j, sum)
						}
					}
				}
			})
		}
	}
	m.run()
}
