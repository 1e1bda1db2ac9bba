package devicetest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device/tiling"
	"gpfit/internal/testcheck"
)

// Tests of the arithmetic of tiles.

// tileModes and tileHalves have names for messages.
var (
	tileModes  = []string{"C = A·Bᵀ", "C = −A·Bᵀ", "C += A·Bᵀ", "C −= A·Bᵀ"}
	tileHalves = []string{"whole", "lower half", "upper half"}
)

// testTileProducts computes products of all kinds.
func testTileProducts(t *testing.T, s tileSuite) {
	eachOrder(t, func(t *testing.T, order int) {
		b := s.arithmetic(t, order, 3)
		a, other, c := b.random(), b.random(), b.random()
		for uppers := range 4 {
			p := tiling.Product{C: 0, A: 1, B: 2, UpperA: uppers&1 != 0, UpperB: uppers&2 != 0}
			x, y := a, other
			if p.UpperA {
				x = with(a, 0, below)
			}
			if p.UpperB {
				y = with(other, 0, below)
			}
			product := new(mat.Dense)
			product.Mul(x, y.T())
			for mode := range tileModes {
				for half := range tileHalves {
					if order > 200 && mode != uppers {
						continue
					}
					p.Mode, p.Half = tiling.Mode(mode), tiling.Half(half)
					if p.Rows = 0; (mode+half)%2 == 1 {
						p.Rows = order - 5
					}
					checkProduct(t, b, p, a, other, c, product)
				}
			}
		}
	})
}

// checkProduct computes a product. Whatever has no meaning is NaN.
func checkProduct(t *testing.T, b testedTiles, p tiling.Product, x, y, c, product *mat.Dense) {
	t.Helper()
	rows := p.Rows
	if rows == 0 {
		rows = b.order
	}
	unused := func(i, _ int) bool { return i >= rows }
	x, c = with(x, math.NaN(), unused), with(c, math.NaN(), unused)
	if p.UpperA {
		x = with(x, math.NaN(), below)
	}
	if p.UpperB {
		y = with(y, math.NaN(), below)
	}
	want := mat.DenseCopyOf(product)
	if p.Mode == tiling.ReplaceNegative || p.Mode == tiling.Subtract {
		want.Scale(-1, want)
	}
	if p.Mode == tiling.Add || p.Mode == tiling.Subtract {
		want.Add(want, c)
	} else {
		c = with(c, math.NaN(), whole)
	}
	b.write(p.C, c)
	b.write(p.A, x)
	b.write(p.B, y)
	testcheck.Do(t, b.Multiply(0, p), b.Wait(0))
	half := []elements{whole, lower, upper}[p.Half]
	meant := func(i, j int) bool { return i < rows && half(i, j) }
	what := fmt.Sprintf("%s, %s, upper %v, %v, %d rows", tileModes[p.Mode], tileHalves[p.Half], p.UpperA, p.UpperB, rows)
	first := b.read(p.C)
	compareTiles(t, what, first, want, meant, tileTolerance)
	if p.Mode == tiling.Replace || p.Mode == tiling.ReplaceNegative {
		testcheck.Do(t, b.Multiply(b.Lanes()-1, p), b.Wait(b.Lanes()-1))
		compareTiles(t, what+", in the last lane", b.read(p.C), first, meant, 0)
	}
}

// testTileFactor computes factors, solutions and inverses.
func testTileFactor(t *testing.T, s tileSuite) {
	eachOrder(t, func(t *testing.T, order int) {
		b := s.arithmetic(t, order, 3)
		sigma, diagonal := b.definite(), make([]float64, order)
		want := b.factorOf(sigma)
		b.write(0, with(sigma, math.NaN(), above))
		if minor := testcheck.Get(b.Factor(0, 0, diagonal))(t); minor != 0 {
			t.Fatal("minor", minor)
		}
		l := b.read(0)
		compareTiles(t, "factor", l, want, lower, tileTolerance)
		for i, v := range diagonal {
			if v != l.At(i, i) {
				t.Fatalf("diagonal %d is %v, but %v in the tile", i, v, l.At(i, i))
			}
		}
		x := b.random()
		b.write(2, with(want, math.NaN(), above)) // a factor that is written serves as well
		for _, factor := range []int{0, 2} {
			for _, rows := range []int{0, order - 3} {
				all := rows
				if rows == 0 {
					all = order
				}
				b.write(1, with(x, math.NaN(), func(i, _ int) bool { return i >= all }))
				testcheck.Do(t, b.Solve(0, 1, factor, rows), b.Wait(0))
				product := new(mat.Dense)
				product.Mul(b.read(1), with(want, 0, above).T())
				compareTiles(t, "solution", product, x, firstRows(all), 10*tileTolerance)
			}
			b.write(1, with(x, math.NaN(), whole))
			testcheck.Do(t, b.Invert(0, 1, factor), b.Wait(0))
			product := new(mat.Dense)
			product.Mul(with(b.read(1), 0, below), with(want, 0, above).T())
			compareTiles(t, "inverse", product, with(mat.NewDense(order, order, nil), 1, func(i, j int) bool { return i == j }), whole, 10*tileTolerance)
		}
		compareTiles(t, "factor after solutions", b.read(0), l, lower, 0)
	})
}

// testTileSubstitute computes with several vectors, and norms of rows.
func testTileSubstitute(t *testing.T, s tileSuite) {
	eachOrder(t, func(t *testing.T, order int) {
		b := s.arithmetic(t, order, 2)
		a, l := b.random(), with(b.factorOf(b.definite()), 0, above)
		b.write(0, a)
		b.write(1, with(l, math.NaN(), above))
		for _, m := range []int{1, 3, 29} {
			checkSubstitutions(t, b, m, a, l)
		}
		for _, rows := range []int{order, order - 3} {
			sums := slices.Repeat([]float64{1}, order)
			testcheck.Do(t, b.SquaredNorms(0, 0, rows, sums))
			for i, v := range sums {
				norm := mat.Norm(a.RowView(i), 2)
				if want := 1 + norm*norm; i < rows && math.Abs(v-want) > tileTolerance*want || i >= rows && v != 1 {
					t.Errorf("squared norm %d of %d is %v, want %v", i, rows, v, want)
				}
			}
		}
	})
}

// checkSubstitutions computes with m vectors and the tiles a in slot 0 and l, a factor, in slot 1.
func checkSubstitutions(t *testing.T, b testedTiles, m int, a, l *mat.Dense) {
	t.Helper()
	order, ld := b.order, b.order+3
	x, y := normals(b.rng, m*ld), normals(b.rng, m*ld)
	substitute := func(op tiling.Substitution, slot int) *mat.Dense {
		out := slices.Clone(y)
		testcheck.Do(t, b.Substitute(0, op, slot, x, out, ld, m))
		for i := order; i < len(out); i += ld {
			if !slices.Equal(out[i:i+ld-order], y[i:i+ld-order]) {
				t.Errorf("operation %d overwrites numbers between vectors", op)
			}
		}
		return mat.NewDense(m, order, strided(out, order, ld))
	}
	xs, ys := mat.NewDense(m, order, strided(x, order, ld)), mat.NewDense(m, order, strided(y, order, ld))
	want := new(mat.Dense)
	for op, matrix := range map[tiling.Substitution]mat.Matrix{tiling.SubtractProduct: a.T(), tiling.SubtractTransposed: a} {
		want.Mul(xs, matrix)
		want.Sub(ys, want)
		compareTiles(t, fmt.Sprint("operation ", op), substitute(op, 0), want, whole, tileTolerance)
	}
	for op, matrix := range map[tiling.Substitution]mat.Matrix{tiling.Forward: l.T(), tiling.Backward: l} {
		want.Mul(substitute(op, 1), matrix)
		compareTiles(t, fmt.Sprint("operation ", op), want, ys, whole, 10*tileTolerance)
	}
}

// testTileMinors factors matrices that are not positive definite.
func testTileMinors(t *testing.T, s tileSuite) {
	eachOrder(t, func(t *testing.T, order int) {
		b := s.arithmetic(t, order, 1)
		sigma, diagonal := b.definite(), make([]float64, order)
		factor := func(i, j int, v float64) int {
			m := mat.DenseCopyOf(sigma)
			m.Set(i, j, v)
			b.write(0, with(m, math.NaN(), above))
			return testcheck.Get(b.Factor(0, 0, diagonal))(t)
		}
		for _, i := range []int{0, 1, order / 2, order - 1} {
			if minor := factor(i, i, -1); minor != i+1 {
				t.Errorf("minor %d, want %d", minor, i+1)
			}
			for _, j := range []int{0, i} {
				if minor := factor(i, j, math.NaN()); minor <= 0 || minor > order {
					t.Errorf("minor %d of a matrix with a NaN at (%d, %d)", minor, i, j)
				}
			}
		}
		if minor := factor(0, 0, sigma.At(0, 0)); minor != 0 {
			t.Errorf("minor %d of a positive definite matrix after others", minor)
		}
	})
}
