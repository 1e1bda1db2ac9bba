package spd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/isa"
)

// tileOrders have one group of panels, parts of one, and more than one chunk.
func tileOrders() []int {
	if brief() {
		return []int{8, 40}
	}
	return []int{8, 24, 40, 296, 592}
}

// eachTile calls f for all variants and orders, with random matrices.
func eachTile(t *testing.T, f func(t *testing.T, ts *Tiles, random func() *mat.Dense)) {
	for _, v := range isa.Supported() {
		for _, order := range tileOrders() {
			if v == isa.Generic && order > 300 {
				continue
			}
			t.Run(fmt.Sprint(v, "/", order), func(t *testing.T) {
				rng := newReproducible(order)
				f(t, newEngine(t, v, 1).NewTiles(order), func() *mat.Dense {
					return mat.NewDense(order, order, rng.numbers(order*order, 1))
				})
			})
		}
	}
}

// tile returns the tile of a matrix.
func (t *Tiles) tile(m *mat.Dense) []float64 {
	tile := Memory(t.order * t.order)
	for i := 0; i < t.order; i += t.lanes {
		t.SetRows(tile, i, 0, t.order, m.RawRowView(i), t.order)
	}
	return tile
}

// dense returns the matrix of a tile.
func (t *Tiles) dense(tile []float64) *mat.Dense {
	m := mat.NewDense(t.order, t.order, nil)
	for i := 0; i < t.order; i += t.lanes {
		t.Rows(tile, i, 0, t.order, m.RawRowView(i), t.order)
	}
	return m
}

// checkClose compares the elements for which meant is true.
func checkClose(t *testing.T, what string, got, want *mat.Dense, meant func(i, j int) bool) {
	t.Helper()
	n, _ := want.Dims()
	for i := range n {
		for j := range n {
			if a, b := got.At(i, j), want.At(i, j); meant(i, j) && !(math.Abs(a-b) <= 1e-12*float64(n)) {
				t.Fatalf("%s: element %d, %d is %v, not %v", what, i, j, a, b)
			}
		}
	}
}

// below and above report whether an element is strictly on that side of the diagonal.
func below(i, j int) bool { return i > j }
func above(i, j int) bool { return i < j }

// without returns a copy of m with v in some elements.
func without(m *mat.Dense, v float64, some func(i, j int) bool) *mat.Dense {
	out := new(mat.Dense)
	out.Apply(func(i, j int, x float64) float64 {
		if some(i, j) {
			return v
		}
		return x
	}, m)
	return out
}

// TestTileProducts compares products of all kinds with gonum's. What has no meaning is NaN.
func TestTileProducts(t *testing.T) {
	eachTile(t, func(t *testing.T, ts *Tiles, random func() *mat.Dense) {
		a, b, c := random(), random(), random()
		var products [4]*mat.Dense
		for kind := range 64 {
			has := func(bit int) bool { return kind>>bit&1 == 1 }
			p := Multiplication{Negative: has(0), Add: has(1), UpperA: has(2), UpperB: has(3), Lower: has(4), Upper: has(5), Rows: ts.order}
			if p.Lower && p.Upper || ts.order > 300 && kind&3 != kind>>2&3 {
				continue
			}
			if kind%3 == 1 {
				p.Rows = max(1, ts.order-9)
			}
			x, y := a, b
			p.A, p.B, p.C = ts.tile(a), ts.tile(b), ts.tile(c)
			if p.UpperA {
				x, p.A = without(a, 0, below), ts.tile(without(a, math.NaN(), below))
			}
			if p.UpperB {
				y, p.B = without(b, 0, below), ts.tile(without(b, math.NaN(), below))
			}
			if !p.Add {
				p.C = ts.tile(without(c, math.NaN(), func(int, int) bool { return true }))
			}
			ts.Multiply(p)
			if product := &products[kind>>2&3]; *product == nil {
				*product = new(mat.Dense)
				(*product).Mul(x, y.T())
			}
			want := mat.DenseCopyOf(products[kind>>2&3])
			if p.Negative {
				want.Scale(-1, want)
			}
			if p.Add {
				want.Add(want, c)
			}
			checkClose(t, fmt.Sprintf("negative %v, add %v, upper %v %v, half %v %v", p.Negative, p.Add, p.UpperA, p.UpperB, p.Lower, p.Upper), ts.dense(p.C), want,
				func(i, j int) bool { return i < p.Rows && !(p.Lower && i < j) && !(p.Upper && i > j) })
		}
	})
}

// TestTileFactors compares factors and what is computed with them with a Symmetric and with plain sums.
func TestTileFactors(t *testing.T) {
	eachTile(t, func(t *testing.T, ts *Tiles, random func() *mat.Dense) {
		n := ts.order
		lower := newReproducible(n).definite(n)
		m := factored(t, ts.Engine, lower)
		sigma := mat.NewDense(n, n, slices.Repeat([]float64{math.NaN()}, n*n))
		for i, row := range lower {
			copy(sigma.RawRowView(i), row)
		}
		l, diagonal := ts.tile(sigma), make([]float64, n)
		if minor := ts.Factor(l, diagonal); minor != 0 {
			t.Fatal("minor", minor)
		}
		factor := mat.NewDense(n, n, nil)
		for i := range n {
			m.FactorRow(i, factor.RawRowView(i)[:i+1])
			if diagonal[i] != m.FactorDiagonal()[i] {
				t.Fatalf("diagonal %d is %v, not %v", i, diagonal[i], m.FactorDiagonal()[i])
			}
		}
		checkClose(t, "factor", ts.dense(l), factor, func(i, j int) bool { return i >= j })
		x := random()
		solved, product := ts.tile(x), new(mat.Dense)
		ts.Solve(solved, l, n)
		product.Mul(ts.dense(solved), factor.T())
		checkClose(t, "solution", product, x, func(int, int) bool { return true })
		u := ts.tile(without(x, math.NaN(), func(int, int) bool { return true }))
		ts.Invert(u, l)
		upper := without(ts.dense(u), 0, below)
		product.Mul(upper, factor.T())
		unity := without(without(mat.NewDense(n, n, nil), 1, func(i, j int) bool { return i == j }), 0, below)
		checkClose(t, "inverse", product, unity, func(int, int) bool { return true })
		for _, transposed := range []bool{false, true} {
			for _, count := range []int{1, 3, 5, min(n, 30)} {
				ys, vs := mat.DenseCopyOf(x.Slice(0, count, 0, n)), mat.DenseCopyOf(x.Slice(0, count, 0, n))
				ts.SolveVectors(l, transposed, ys.RawMatrix().Data, n, count)
				ts.SubtractProducts(ts.tile(without(factor, 0, above)), transposed, ys.RawMatrix().Data, vs.RawMatrix().Data, n, count)
				if off := mat.Norm(vs, math.Inf(1)); !(off <= 1e-11) {
					t.Errorf("transposed %v, %d vectors: residual %v", transposed, count, off)
				}
			}
		}
		sums := slices.Repeat([]float64{1}, n)
		ts.AddSquaredNorms(ts.tile(x), n-3, sums)
		for i, v := range sums {
			row := x.RawRowView(i)
			if want := 1 + dot(row, row); i < n-3 && math.Abs(v-want) > 1e-12*want || i >= n-3 && v != 1 {
				t.Fatalf("squared norm %d is %v, not %v", i, v, want)
			}
		}
		sigma.Set(n-2, n-2, -1)
		if minor := ts.Factor(ts.tile(sigma), diagonal); minor != n-1 {
			t.Errorf("minor %d, not %d", minor, n-1)
		}
		sigma.Set(n/2, 0, math.NaN())
		if minor := ts.Factor(ts.tile(sigma), diagonal); minor != n/2+1 {
			t.Errorf("minor %d with a NaN in row %d", minor, n/2)
		}
	})
}
