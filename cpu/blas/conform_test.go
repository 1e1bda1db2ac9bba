package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// The conformance suite compares every routine of every variant of this machine
// with gonum's, for all parameters, for sizes around every block boundary, and with
// operands surrounded by NaN that must be neither read nor written.

var (
	reference  gonum.Implementation
	transposes = []blas.Transpose{blas.NoTrans, blas.Trans, blas.ConjTrans}
	uplos      = []blas.Uplo{blas.Lower, blas.Upper}
	sides      = []blas.Side{blas.Left, blas.Right}
	diags      = []blas.Diag{blas.NonUnit, blas.Unit}
	scalars    = []float64{0, 1, -1, 0.7}
)

// eps is the unit roundoff of float64.
const eps = 0x1p-53

// variants runs f for every variant of the machine, with small blocks if small is
// set, so that sizes that a test can afford cross every block boundary.
func variants(t *testing.T, small bool, f func(t *testing.T, impl *Implementation)) {
	for _, v := range Variants() {
		t.Run(v, func(t *testing.T) {
			impl, err := New(Options{Variant: v, Threads: 3})
			if err != nil {
				t.Fatal(err)
			}
			if small {
				// The blocks of the triangular routines must be multiples of 24.
				impl.e.blocking = blocking{kc: 48, nc: 48, mc: 24, super: 96, keep: 200}
			}
			f(t, impl)
		})
	}
}

// A matrix is a row-major matrix with NaN before, after and between its rows.
type matrix struct {
	rows, cols, ld int
	mem            []float64
}

const guard = 9 // elements before and after a matrix

func newMatrix(rng *rand.Rand, rows, cols, pad int) matrix {
	m := matrix{rows: rows, cols: cols, ld: max(1, cols) + pad}
	m.mem = make([]float64, 2*guard+max(0, (rows-1)*m.ld+cols))
	for i := range m.mem {
		m.mem[i] = math.NaN()
	}
	for i := range rows {
		for j := range cols {
			m.set(i, j, rng.NormFloat64())
		}
	}
	return m
}

func (m matrix) data() []float64 {
	return m.mem[guard : len(m.mem)-guard : len(m.mem)-guard]
}
func (m matrix) at(i, j int) float64     { return m.data()[i*m.ld+j] }
func (m matrix) set(i, j int, x float64) { m.data()[i*m.ld+j] = x }

func (m matrix) clone() matrix {
	m.mem = append([]float64(nil), m.mem...)
	return m
}

// triangleOnly replaces the elements outside a triangle, and a unit diagonal, by
// NaN.
func (m matrix) triangleOnly(ul blas.Uplo, d blas.Diag) {
	for i := range m.rows {
		for j := range m.cols {
			if ul == blas.Lower && j > i || ul == blas.Upper && j < i || d == blas.Unit && i == j {
				m.set(i, j, math.NaN())
			}
		}
	}
}

// abs returns the matrix of magnitudes.
func (m matrix) abs() matrix {
	m = m.clone()
	for i, x := range m.mem {
		m.mem[i] = math.Abs(x)
	}
	return m
}

// compare checks got against want, elementwise to tol times the element of scale;
// NaN must match NaN and Inf the same Inf, including the guards.
func compare(t *testing.T, name string, got, want, scale matrix, tol float64) {
	t.Helper()
	for i, g := range got.mem {
		w := want.mem[i]
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if bound := tol * scale.mem[i]; !(math.Abs(g-w) <= bound) {
			pos := i - guard
			t.Fatalf("%s: (%d, %d) is %v, want %v ± %.2g", name, pos/got.ld, pos%got.ld, g, w, bound)
		}
	}
}

// productTol bounds the difference of two sums of k products, with alpha and beta,
// relative to the sum of the magnitudes; each side rounds at most k+4 times.
func productTol(k int) float64 { return 2 * float64(k+4) * eps }

func checkGemm(t *testing.T, impl *Implementation, rng *rand.Rand, tA, tB blas.Transpose, m, n, k, pad int, alpha, beta float64) {
	t.Helper()
	ar, ac, br, bc := m, k, k, n
	if tA != blas.NoTrans {
		ar, ac = k, m
	}
	if tB != blas.NoTrans {
		br, bc = n, k
	}
	a, b, c := newMatrix(rng, ar, ac, pad), newMatrix(rng, br, bc, 2*pad), newMatrix(rng, m, n, pad/2)
	want, scale := c.clone(), c.abs()
	if beta == 0 {
		for i := range m {
			for j := range n {
				c.set(i, j, math.NaN())
			}
		}
	}
	impl.Dgemm(tA, tB, m, n, k, alpha, a.data(), a.ld, b.data(), b.ld, beta, c.data(), c.ld)
	reference.Dgemm(tA, tB, m, n, k, alpha, a.data(), a.ld, b.data(), b.ld, beta, want.data(), want.ld)
	reference.Dgemm(tA, tB, m, n, k, math.Abs(alpha), a.abs().data(), a.ld, b.abs().data(), b.ld, math.Abs(beta), scale.data(), scale.ld)
	name := fmt.Sprintf("Dgemm(%c, %c, m=%d, n=%d, k=%d, alpha=%v, beta=%v, pad=%d)", tA, tB, m, n, k, alpha, beta, pad)
	compare(t, name, c, want, scale, productTol(k))
}

// edges returns sizes around the tiles of all variants and the small blocks.
var edges = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 23, 24, 25, 47, 48, 49, 63, 64, 65, 95, 96, 97, 145}

// emulated reports whether -short goes with an emulated processor, on which a product of
// order 400 takes a second.
func emulated() bool { return testing.Short() && os.Getenv("GPFIT_EMULATED") != "" }

// brief reports whether -short goes with the race detector or an emulated processor. Both
// slow the reference down more than tenfold and have little to find in a larger size.
func brief() bool { return testing.Short() && raceEnabled || emulated() }

// upTo returns the sizes up to most on an emulated processor, and all on others.
func upTo(most int, sizes ...int) []int {
	if !emulated() {
		return sizes
	}
	return slices.DeleteFunc(sizes, func(n int) bool { return n > most })
}

// some is every fourth of sizes if the tests are brief.
func some(sizes []int) []int {
	if !brief() {
		return sizes
	}
	var out []int
	for i := 1; i < len(sizes); i += 4 {
		out = append(out, sizes[i])
	}
	return out
}

func TestDgemm(t *testing.T) {
	variants(t, true, func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(1, 2))
		// All triples of a few sizes; each triple tries the next combination of the
		// other arguments.
		sizes := some([]int{0, 1, 2, 7, 8, 9, 23, 24, 25, 48, 49, 97})
		turn := 0
		for _, m := range sizes {
			for _, n := range sizes {
				for _, k := range sizes {
					turn++
					tA, tB := transposes[turn%3], transposes[turn/3%3]
					checkGemm(t, impl, rng, tA, tB, m, n, k, turn%4, scalars[turn/2%4], scalars[turn/7%4])
				}
			}
		}
		// All combinations at every boundary, one dimension at a time.
		for _, e := range some(edges) {
			for _, tA := range transposes {
				for _, tB := range transposes {
					for _, beta := range scalars {
						checkGemm(t, impl, rng, tA, tB, e, 29, 50, 3, 0.7, beta)
						checkGemm(t, impl, rng, tA, tB, 29, e, 50, 3, -1, beta)
						checkGemm(t, impl, rng, tA, tB, 29, 50, e, 3, 1, beta)
					}
				}
			}
		}
	})
}

// TestRealBlocks crosses the boundaries of the default blocks.
func TestRealBlocks(t *testing.T) {
	variants(t, false, func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(1, 2))
		kc, nc, super := impl.e.kc, impl.e.nc, impl.e.super
		for _, d := range some([]int{-1, 1, 0}) {
			checkGemm(t, impl, rng, blas.NoTrans, blas.NoTrans, 97, nc+d, kc+d, 1, 1, 1)
			checkGemm(t, impl, rng, blas.Trans, blas.NoTrans, 101, 51, 2*kc+d, 0, 1, 0)
			checkGemm(t, impl, rng, blas.NoTrans, blas.Trans, super+d, 9, 33, 1, 1, 1)
			checkGemm(t, impl, rng, blas.NoTrans, blas.Trans, 9, super+d, 33, 1, 1, 1)
			for _, side := range sides {
				for _, ul := range uplos {
					checkTrmm(t, impl, rng, side, ul, blas.NoTrans, blas.NonUnit, kc+d, kc+d, 0, 0.7)
					checkTrsm(t, impl, rng, side, ul, blas.Trans, blas.NonUnit, kc+d, kc+d, 0, 0.7)
				}
			}
		}
		for _, ul := range uplos {
			checkSyrk(t, impl, rng, ul, blas.NoTrans, 511, 400, 0, -1, 1)
		}
	})
}

func checkSyrk(t *testing.T, impl *Implementation, rng *rand.Rand, ul blas.Uplo, tA blas.Transpose, n, k, pad int, alpha, beta float64) {
	t.Helper()
	ar, ac := n, k
	if tA != blas.NoTrans {
		ar, ac = k, n
	}
	a, c := newMatrix(rng, ar, ac, pad), newMatrix(rng, n, n, 2*pad)
	c.triangleOnly(ul, blas.NonUnit)
	want, scale := c.clone(), c.abs()
	if beta == 0 {
		for i := range c.mem {
			c.mem[i] = math.NaN()
		}
	}
	impl.Dsyrk(ul, tA, n, k, alpha, a.data(), a.ld, beta, c.data(), c.ld)
	reference.Dsyrk(ul, tA, n, k, alpha, a.data(), a.ld, beta, want.data(), want.ld)
	reference.Dsyrk(ul, tA, n, k, math.Abs(alpha), a.abs().data(), a.ld, math.Abs(beta), scale.data(), scale.ld)
	name := fmt.Sprintf("Dsyrk(%c, %c, n=%d, k=%d, alpha=%v, beta=%v, pad=%d)", ul, tA, n, k, alpha, beta, pad)
	compare(t, name, c, want, scale, productTol(k))
}

func TestDsyrk(t *testing.T) {
	variants(t, true, func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(3, 4))
		turn := 0
		for _, n := range some(edges) {
			for _, k := range []int{0, 1, 3, 8, 47, 48, 49, 97} {
				for _, ul := range uplos {
					for _, tA := range transposes {
						turn++
						checkSyrk(t, impl, rng, ul, tA, n, k, turn%3, scalars[turn%4], scalars[turn/3%4])
						checkSyrk(t, impl, rng, ul, tA, n, k, turn%3, -1, 1)
					}
				}
			}
		}
	})
}

func checkSymm(t *testing.T, impl *Implementation, rng *rand.Rand, side blas.Side, ul blas.Uplo, m, n, pad int, alpha, beta float64) {
	t.Helper()
	order := n
	if side == blas.Left {
		order = m
	}
	a, b, c := newMatrix(rng, order, order, pad), newMatrix(rng, m, n, pad), newMatrix(rng, m, n, 2*pad)
	a.triangleOnly(ul, blas.NonUnit)
	want, scale := c.clone(), c.abs()
	if beta == 0 {
		for i := range m {
			for j := range n {
				c.set(i, j, math.NaN())
			}
		}
	}
	impl.Dsymm(side, ul, m, n, alpha, a.data(), a.ld, b.data(), b.ld, beta, c.data(), c.ld)
	reference.Dsymm(side, ul, m, n, alpha, a.data(), a.ld, b.data(), b.ld, beta, want.data(), want.ld)
	reference.Dsymm(side, ul, m, n, math.Abs(alpha), a.abs().data(), a.ld, b.abs().data(), b.ld, math.Abs(beta), scale.data(), scale.ld)
	name := fmt.Sprintf("Dsymm(%c, %c, m=%d, n=%d, alpha=%v, beta=%v, pad=%d)", side, ul, m, n, alpha, beta, pad)
	compare(t, name, c, want, scale, productTol(order))
}

func TestDsymm(t *testing.T) {
	variants(t, true, func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(5, 6))
		turn := 0
		for _, m := range some(edges) {
			for _, n := range []int{0, 1, 3, 8, 25, 49, 97} {
				for _, side := range sides {
					for _, ul := range uplos {
						turn++
						checkSymm(t, impl, rng, side, ul, m, n, turn%3, scalars[turn%4], scalars[turn/3%4])
						checkSymm(t, impl, rng, side, ul, n, m, turn%3, 0.7, 1)
					}
				}
			}
		}
	})
}

func checkTrmm(t *testing.T, impl *Implementation, rng *rand.Rand, side blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n, pad int, alpha float64) {
	t.Helper()
	order := n
	if side == blas.Left {
		order = m
	}
	a, b := newMatrix(rng, order, order, pad), newMatrix(rng, m, n, 2*pad)
	a.triangleOnly(ul, d)
	want, scale := b.clone(), b.abs()
	impl.Dtrmm(side, ul, tA, d, m, n, alpha, a.data(), a.ld, b.data(), b.ld)
	reference.Dtrmm(side, ul, tA, d, m, n, alpha, a.data(), a.ld, want.data(), want.ld)
	reference.Dtrmm(side, ul, tA, d, m, n, math.Abs(alpha), a.abs().data(), a.ld, scale.data(), scale.ld)
	name := fmt.Sprintf("Dtrmm(%c, %c, %c, %c, m=%d, n=%d, alpha=%v, pad=%d)", side, ul, tA, d, m, n, alpha, pad)
	compare(t, name, b, want, scale, productTol(order))
}

// checkTrsm solves with a random triangle whose diagonal dominates, so that
// the solution is determined to a few units in the last place.
func checkTrsm(t *testing.T, impl *Implementation, rng *rand.Rand, side blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n, pad int, alpha float64) {
	t.Helper()
	order := n
	if side == blas.Left {
		order = m
	}
	a, b := newMatrix(rng, order, order, pad), newMatrix(rng, m, n, 2*pad)
	for i := range order {
		for j := range order {
			if i == j {
				a.set(i, j, 1+rng.Float64())
			} else {
				a.set(i, j, a.at(i, j)/float64(order))
			}
		}
	}
	a.triangleOnly(ul, d)
	want, scale := b.clone(), b.abs()
	impl.Dtrsm(side, ul, tA, d, m, n, alpha, a.data(), a.ld, b.data(), b.ld)
	reference.Dtrsm(side, ul, tA, d, m, n, alpha, a.data(), a.ld, want.data(), want.ld)
	// The comparison matrix, diagonal |d| and −|a| elsewhere, bounds the
	// inverse, and with it the forward error of substitution.
	bound := a.abs()
	for i := range order {
		for j := range order {
			if i != j {
				bound.set(i, j, -bound.at(i, j))
			}
		}
	}
	reference.Dtrsm(side, ul, tA, d, m, n, math.Abs(alpha), bound.data(), a.ld, scale.data(), scale.ld)
	name := fmt.Sprintf("Dtrsm(%c, %c, %c, %c, m=%d, n=%d, alpha=%v, pad=%d)", side, ul, tA, d, m, n, alpha, pad)
	compare(t, name, b, want, scale, 2*productTol(order))
}

// TestTriangular checks every fifth combination of sizes and arguments; with GPFIT_LONG,
// which CI sets, all of them.
func TestTriangular(t *testing.T) {
	every := 5
	if os.Getenv("GPFIT_LONG") != "" {
		every = 1
	}
	variants(t, true, func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(7, 8))
		turn := 0
		for _, m := range some(edges) {
			for _, n := range []int{0, 1, 3, 8, 25, 49, 97} {
				for _, side := range sides {
					for _, ul := range uplos {
						for _, tA := range transposes {
							for _, d := range diags {
								if turn++; turn%every != 0 {
									continue
								}
								alpha := scalars[turn/7%4]
								checkTrmm(t, impl, rng, side, ul, tA, d, m, n, turn%3, alpha)
								checkTrsm(t, impl, rng, side, ul, tA, d, m, n, turn%3, alpha)
								checkTrmm(t, impl, rng, side, ul, tA, d, n, m, turn%3, 1)
								checkTrsm(t, impl, rng, side, ul, tA, d, n, m, turn%3, 1)
							}
						}
					}
				}
			}
		}
	})
}
