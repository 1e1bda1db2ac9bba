package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// newSPD returns a random positive definite matrix with only one triangle stored.
func newSPD(rng *rand.Rand, ul blas.Uplo, n, pad int) matrix {
	b, a := newMatrix(rng, n, n, 0), newMatrix(rng, n, n, pad)
	reference.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, b.data(), b.ld, b.data(), b.ld, 0, a.data(), a.ld)
	for i := range n {
		a.set(i, i, a.at(i, i)+float64(n))
	}
	a.triangleOnly(ul, blas.NonUnit)
	return a
}

// checkCholesky factorises and multiplies the factors again. The backward
// error of the Cholesky factorisation is at most (n+1) roundings of |L|·|Lᵀ|
// (Higham, Accuracy and Stability of Numerical Algorithms, theorem 10.3); the
// product adds n+1 more.
func checkCholesky(t *testing.T, impl *Implementation, rng *rand.Rand, ul blas.Uplo, n, pad int) {
	t.Helper()
	a := newSPD(rng, ul, n, pad)
	f, want := a.clone(), a.clone()
	if minor := impl.Cholesky(ul, n, f.data(), f.ld); minor != 0 {
		t.Fatalf("Cholesky(%c, n=%d): minor %d", ul, n, minor)
	}
	product := func(f matrix) matrix {
		tri := newMatrix(rng, n, n, 0)
		for i := range n {
			for j := range n {
				tri.set(i, j, 0)
				if ul == blas.Lower && j <= i || ul == blas.Upper && j >= i {
					tri.set(i, j, f.at(i, j))
				}
			}
		}
		trans := blas.NoTrans
		if ul == blas.Upper {
			trans = blas.Trans
		}
		p := a.clone()
		reference.Dsyrk(ul, trans, n, n, 1, tri.data(), tri.ld, 0, zeroed(p, ul).data(), p.ld)
		return p
	}
	compare(t, fmt.Sprintf("Cholesky(%c, n=%d, pad=%d)", ul, n, pad), product(f), want, product(f.abs()), 2*float64(n+1)*eps)
}

// zeroed sets the triangle to zero.
func zeroed(m matrix, ul blas.Uplo) matrix {
	for i := range m.rows {
		for j := range m.cols {
			if ul == blas.Lower && j <= i || ul == blas.Upper && j >= i {
				m.set(i, j, 0)
			}
		}
	}
	return m
}

func TestCholesky(t *testing.T) {
	variants(t, true, func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(21, 1))
		for _, ul := range uplos {
			for _, n := range some(upTo(310, append(edges, 191, 192, 193, 200, 289, 297, 301, 383, 389, 500, 501)...)) {
				checkCholesky(t, impl, rng, ul, n, n%3)
			}
		}
	})
	variants(t, false, func(t *testing.T, impl *Implementation) {
		for _, n := range upTo(310, 310, 601) {
			checkCholesky(t, impl, rand.New(rand.NewPCG(21, 2)), blas.Lower, n, 0)
		}
	})
}

// TestNotPositive makes one pivot zero, negative or NaN, and checks the returned
// minor and the factor of the smaller minor.
func TestNotPositive(t *testing.T) {
	all := func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(22, 1))
		for _, ul := range uplos {
			for _, n := range some([]int{1, 7, 30, 100, 211, 300}) {
				good := newSPD(rng, ul, n, 1)
				if impl.Cholesky(ul, n, good.clone().data(), good.ld) != 0 {
					t.Fatal("not positive to begin with")
				}
				for _, bad := range []float64{0, -1, math.NaN()} {
					for _, at := range []int{0, n / 3, n / 2, n - 1} {
						a := good.clone()
						a.set(at, at, bad)
						if got := impl.Cholesky(ul, n, a.data(), a.ld); got != at+1 {
							t.Fatalf("%c, n=%d, pivot %v at %d: minor %d", ul, n, bad, at, got)
						}
						if impl.Dpotrf(ul, n, a.data(), a.ld) {
							t.Fatal("Dpotrf succeeded")
						}
						// The smaller minor's factor.
						b := good.clone()
						b.set(at, at, bad)
						impl.Cholesky(ul, n, b.data(), b.ld)
						f := good.clone()
						impl.Cholesky(ul, at, f.data(), f.ld)
						for i := range at {
							for j := range at {
								if inside := ul == blas.Lower && j <= i || ul == blas.Upper && j >= i; inside && math.Abs(b.at(i, j)-f.at(i, j)) > 1e-10 {
									t.Fatalf("%c, n=%d, pivot %v at %d: factor (%d, %d) is %v, want %v", ul, n, bad, at, i, j, b.at(i, j), f.at(i, j))
								}
							}
						}
					}
				}
			}
		}
	}
	variants(t, true, all)
}

// TestCholeskyDeterminism checks that the bits do not depend on the number of
// threads.
func TestCholeskyDeterminism(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	variants(t, false, func(t *testing.T, impl *Implementation) {
		for _, n := range upTo(400, 90, 400, 700) {
			a := newSPD(rand.New(rand.NewPCG(23, 1)), blas.Lower, n, 0)
			factor := func(threads int) []float64 {
				impl.SetThreads(threads)
				f := a.clone()
				if impl.Cholesky(blas.Lower, n, f.data(), f.ld) != 0 {
					t.Fatal("not positive")
				}
				return zeroNaN(f.mem)
			}
			want := factor(1)
			for _, threads := range []int{1, 2, 3, 4, 4, 4, 4} {
				sameBits(t, fmt.Sprintf("n=%d, %d threads", n, threads), factor(threads), want)
			}
		}
	})
}

func zeroNaN(s []float64) []float64 {
	for i, x := range s {
		if math.IsNaN(x) {
			s[i] = 0
		}
	}
	return s
}

func BenchmarkCholesky(b *testing.B) {
	benchmark(b, benchSizes, func(n float64) float64 { return cube(n) / 3 }, func(impl *Implementation, n int, a, x, c []float64) {
		copy(c, a)
		if impl.Cholesky(blas.Lower, n, c, n) != 0 {
			b.Fatal("not positive")
		}
	})
}
