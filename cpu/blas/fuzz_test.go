package blas

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas"
	lapack "gonum.org/v1/gonum/lapack/gonum"
)

// FuzzLevel3 compares one call of every variant with gonum's.
func FuzzLevel3(f *testing.F) {
	for routine := range uint8(5) {
		f.Add(routine, uint16(0), uint8(9), uint8(25), uint8(49), uint64(1), 1.0, 1.0)
		f.Add(routine, uint16(0xffff), uint8(100), uint8(3), uint8(64), uint64(2), -0.5, 0.0)
	}
	var impls []*Implementation
	for _, v := range Variants() {
		impl, err := New(Options{Variant: v, Threads: 2})
		if err != nil {
			f.Fatal(err)
		}
		impl.e.blocking = blocking{kc: 48, nc: 48, mc: 24, super: 96, keep: 200}
		impls = append(impls, impl)
	}
	f.Fuzz(func(t *testing.T, routine uint8, flags uint16, m, n, k uint8, seed uint64, alpha, beta float64) {
		// Beyond this the scaled sums may overflow in one order but not in another.
		if !(math.Abs(alpha) < 1e100 && math.Abs(beta) < 1e100) || alpha != 0 && math.Abs(alpha) < 1e-100 || beta != 0 && math.Abs(beta) < 1e-100 {
			t.Skip()
		}
		bit := func(i int) int { return int(flags >> i & 1) }
		side, ul, tA, tB, d, pad := sides[bit(0)], uplos[bit(1)], transposes[bit(2)], transposes[bit(3)], diags[bit(4)], int(flags>>5&7)
		for _, impl := range impls {
			rng := rand.New(rand.NewPCG(seed, 0))
			switch routine % 5 {
			case 0:
				checkGemm(t, impl, rng, tA, tB, int(m), int(n), int(k), pad, alpha, beta)
			case 1:
				checkSyrk(t, impl, rng, ul, tA, int(n), int(k), pad, alpha, beta)
			case 2:
				checkSymm(t, impl, rng, side, ul, int(m), int(n), pad, alpha, beta)
			case 3:
				checkTrmm(t, impl, rng, side, ul, tA, d, int(m), int(n), pad, alpha)
			case 4:
				checkTrsm(t, impl, rng, side, ul, tA, d, int(m), int(n), pad, alpha)
			}
		}
	})
}

// rbf is the matrix exp(−|xᵢ−xⱼ|²/2ρ²) of n points of [0, 1] with jitter added to
// its diagonal: it has a low numerical rank, so its factor is as ill-conditioned as
// the jitter allows.
func rbf(rng *rand.Rand, n int, rho, jitter float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.Float64()
	}
	k := make([]float64, n*n)
	for i := range n {
		for j := range n {
			r := (x[i] - x[j]) / rho
			k[i*n+j] = math.Exp(-r * r / 2)
		}
		k[i*n+i] += jitter
	}
	return k
}

// TestSolveAccuracy solves with factors of ill-conditioned kernel matrices.
// Substitution is backward stable: the residual is of the order of the rounding of
// |X|·|L| for any condition number. An inverse of a diagonal block would fail by
// orders of magnitude.
func TestSolveAccuracy(t *testing.T) {
	if brief() {
		t.Skip("takes minutes under the race detector or an emulator")
	}
	const n, m = 500, 60
	rng := rand.New(rand.NewPCG(1, 5))
	for _, jitter := range []float64{1e-6, 1e-8, 1e-10, 1e-12} {
		l := rbf(rng, n, 0.3, jitter)
		if !(lapack.Implementation{}).Dpotrf(blas.Lower, n, l, n) {
			t.Fatalf("jitter %g: not positive definite", jitter)
		}
		for _, side := range sides {
			for _, tA := range transposes[:2] {
				rows, cols := m, n
				if side == blas.Left {
					rows, cols = n, m
				}
				b := make([]float64, rows*cols)
				for i := range b {
					b[i] = rng.NormFloat64()
				}
				// residual is the largest |op(L)·X − B| relative to
				// |op(L)|·|X|, in units of the roundoff.
				residual := func(solve func(x []float64)) float64 {
					x := append([]float64(nil), b...)
					solve(x)
					worst := 0.0
					for line := range m {
						for i := range n {
							// sum + low is the sum to twice the precision:
							// products by FMA, sums by Knuth's TwoSum.
							sum, low, mag := 0.0, 0.0, 0.0
							for p := range n {
								// The coefficient of component p in equation i.
								r, c := i, p
								if (tA != blas.NoTrans) == (side == blas.Left) {
									r, c = p, i
								}
								if c > r {
									continue
								}
								xp := x[line*n+p%n]
								if side == blas.Left {
									xp = x[p*m+line]
								}
								product := float64(l[r*n+c] * xp)
								low += math.FMA(l[r*n+c], xp, -product)
								next := sum + product
								part := next - sum
								low += (sum - (next - part)) + (product - part)
								sum = next
								mag += math.Abs(product)
							}
							bi := b[line*n+i%n]
							if side == blas.Left {
								bi = b[i*m+line]
							}
							worst = max(worst, math.Abs(sum-bi+low)/(mag+math.Abs(bi)))
						}
					}
					return worst / eps
				}
				want := residual(func(x []float64) {
					reference.Dtrsm(side, blas.Lower, tA, blas.NonUnit, rows, cols, 1, l, n, x, cols)
				})
				variants(t, false, func(t *testing.T, impl *Implementation) {
					got := residual(func(x []float64) {
						impl.Dtrsm(side, blas.Lower, tA, blas.NonUnit, rows, cols, 1, l, n, x, cols)
					})
					t.Logf("jitter %g, side %c, trans %c: %.1f units, gonum %.1f", jitter, side, tA, got, want)
					if got > 3*want+20 {
						t.Errorf("jitter %g, side %c, trans %c: residual %.1f units, gonum's %.1f", jitter, side, tA, got, want)
					}
				})
			}
		}
	}
}
