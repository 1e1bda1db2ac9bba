package blas

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/blas"
	lapack "gonum.org/v1/gonum/lapack/gonum"
)

// newTriangle returns a random triangle with a dominant diagonal.
func newTriangle(rng *rand.Rand, ul blas.Uplo, d blas.Diag, n, pad int) matrix {
	a := newMatrix(rng, n, n, pad)
	for i := range n {
		for j := range n {
			a.set(i, j, a.at(i, j)/float64(n))
		}
		a.set(i, i, 1+rng.Float64())
	}
	a.triangleOnly(ul, d)
	return a
}

// checkInverse multiplies the inverse by the triangle again. Each column is
// solved by substitution, whose residual is at most n+1 roundings of |L|·|W|;
// the product adds n+1 more.
func checkInverse(t *testing.T, impl *Implementation, rng *rand.Rand, ul blas.Uplo, d blas.Diag, n, pad int) {
	t.Helper()
	l := newTriangle(rng, ul, d, n, pad)
	w := l.clone()
	if !impl.Dtrtri(ul, d, n, w.data(), w.ld) {
		t.Fatalf("Dtrtri(%c, %c, n=%d): singular", ul, d, n)
	}
	// Elements outside the triangle must still be NaN.
	canary := w.clone()
	canary.triangleOnly(ul, d)
	compare(t, "outside the triangle", canary, w, w, 0)
	product := func(l, w matrix) matrix {
		full := newMatrix(rng, n, n, 0)
		for i := range n {
			for j := range n {
				full.set(i, j, 0)
				if i == j && d == blas.Unit {
					full.set(i, j, 1)
				} else if ul == blas.Lower && j <= i || ul == blas.Upper && j >= i {
					full.set(i, j, w.at(i, j))
				}
			}
		}
		reference.Dtrmm(blas.Left, ul, blas.NoTrans, d, n, n, 1, l.data(), l.ld, full.data(), full.ld)
		return full
	}
	identity := newMatrix(rng, n, n, 0)
	for i := range n {
		for j := range n {
			identity.set(i, j, 0)
		}
		identity.set(i, i, 1)
	}
	compare(t, fmt.Sprintf("Dtrtri(%c, %c, n=%d, pad=%d)", ul, d, n, pad), product(l, w), identity, product(l.abs(), w.abs()), 2*float64(n+1)*eps)
}

func checkSquare(t *testing.T, impl *Implementation, rng *rand.Rand, ul blas.Uplo, n, pad int) {
	t.Helper()
	got := newMatrix(rng, n, n, pad)
	got.triangleOnly(ul, blas.NonUnit)
	want, scale := got.clone(), got.abs()
	impl.Dlauum(ul, n, got.data(), got.ld)
	lapack.Implementation{}.Dlauum(ul, n, want.data(), want.ld)
	lapack.Implementation{}.Dlauum(ul, n, scale.data(), scale.ld)
	compare(t, fmt.Sprintf("Dlauum(%c, n=%d, pad=%d)", ul, n, pad), got, want, scale, productTol(n))
}

func TestInverse(t *testing.T) {
	all := func(sizes ...int) func(t *testing.T, impl *Implementation) {
		return func(t *testing.T, impl *Implementation) {
			rng := rand.New(rand.NewPCG(31, 1))
			for _, n := range sizes {
				for _, ul := range uplos {
					for _, d := range diags {
						checkInverse(t, impl, rng, ul, d, n, n%3)
					}
					checkSquare(t, impl, rng, ul, n, n%3)
				}
			}
		}
	}
	variants(t, true, all(some(append(edges, 191, 192, 193, 200, 216, 217, 241, 301))...))
	variants(t, false, all(upTo(289, 287, 288, 289, 577)...))
}

func TestSingular(t *testing.T) {
	for _, v := range Variants() {
		impl, err := New(Options{Variant: v})
		if err != nil {
			t.Fatal(err)
		}
		a := newTriangle(rand.New(rand.NewPCG(32, 1)), blas.Lower, blas.NonUnit, 40, 0)
		a.set(17, 17, 0)
		b := a.clone()
		if impl.Dtrtri(blas.Lower, blas.NonUnit, 40, a.data(), a.ld) || impl.Dpotri(blas.Lower, 40, a.data(), a.ld) {
			t.Errorf("%s: a zero on the diagonal was not noticed", v)
		}
		compare(t, "left alone", a, b, b, 0)
	}
}

// TestInverseDeterminism checks that the bits do not depend on the number of
// threads.
func TestInverseDeterminism(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	variants(t, false, func(t *testing.T, impl *Implementation) {
		for _, n := range upTo(400, 90, 400, 700) {
			a := newTriangle(rand.New(rand.NewPCG(33, 1)), blas.Lower, blas.NonUnit, n, 0)
			inverse := func(threads int) []float64 {
				impl.SetThreads(threads)
				w := a.clone()
				if !impl.Dpotri(blas.Lower, n, w.data(), w.ld) {
					t.Fatal("singular")
				}
				return zeroNaN(w.mem)
			}
			want := inverse(1)
			for _, threads := range []int{2, 3, 4, 4, 4, 4} {
				sameBits(t, fmt.Sprintf("n=%d, %d threads", n, threads), inverse(threads), want)
			}
		}
	})
}

func BenchmarkDtrtri(b *testing.B) {
	benchmark(b, benchSizes, func(n float64) float64 { return cube(n) / 3 }, func(impl *Implementation, n int, a, x, c []float64) {
		copy(c, a)
		impl.Dtrtri(blas.Lower, blas.NonUnit, n, c, n)
	})
}

func BenchmarkDlauum(b *testing.B) {
	benchmark(b, benchSizes, func(n float64) float64 { return cube(n) / 3 }, func(impl *Implementation, n int, a, x, c []float64) {
		copy(c, a)
		impl.Dlauum(blas.Lower, n, c, n)
	})
}
