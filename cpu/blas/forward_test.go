package blas

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/blas"
)

// forwardNorms solves for the rows of b in groups of panels and returns the squared
// norms of the solutions.
func forwardNorms(s *ForwardSolve, b matrix, group int) []float64 {
	m, n := b.rows, b.cols
	norms, scratch := make([]float64, m), make([]float64, ScratchRows*n)
	var ps []*Panel
	for j := 0; j < m; j += s.Width() {
		p := s.NewPanel()
		s.Load(p, min(s.Width(), m-j), scratch, func(i int, dst []float64) {
			for c := range dst {
				dst[c] = b.at(j+i, c)
			}
		})
		ps = append(ps, p)
	}
	for band := range s.Bands() {
		var wg sync.WaitGroup
		for item := range s.Begin(band) {
			wg.Go(func() { s.Pack(item) })
		}
		wg.Wait()
		for g := range slices.Chunk(ps, group) {
			wg.Go(func() { s.Solve(g) })
		}
		wg.Wait()
	}
	for i, p := range ps {
		s.SquaredNorms(p, norms[i*s.Width():])
	}
	return norms
}

func TestForwardSolve(t *testing.T) {
	for _, name := range Variants() {
		t.Run(name, func(t *testing.T) {
			impl, err := New(Options{Variant: name, Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(7, 7))
			for _, n := range []int{1, 3, 7, 8, 9, 63, 64, 65, 129, 300, 513, 520, 700, 1100} {
				l := newTriangle(rng, blas.Lower, blas.NonUnit, n, 3)
				for _, m := range []int{1, 2, 8, 11, 24, 25, 60} {
					b := newMatrix(rng, m, n, 2)
					want := b.clone()
					reference.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, m, n, 1, l.data(), l.ld, want.data(), want.ld)
					got := forwardNorms(impl.NewForwardSolve(n, l.data(), l.ld, 1<<30), b, 3)
					for i, v := range got {
						norm := 0.0
						for c := range n {
							norm += want.at(i, c) * want.at(i, c)
						}
						// Both errors are some n·eps times the growth of the solution, which is
						// small for these triangles.
						if !(math.Abs(v-norm) <= 1e-12*norm) {
							t.Fatalf("n = %d, m = %d: squared norm %d is %v, want %v", n, m, i, v, norm)
						}
					}
				}
			}
		})
	}
}

// TestForwardSolveBits tests that the norm of a vector depends neither on the vectors
// beside it nor on panels and bands.
func TestForwardSolveBits(t *testing.T) {
	for _, name := range Variants() {
		t.Run(name, func(t *testing.T) {
			impl, err := New(Options{Variant: name})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(8, 8))
			for _, n := range []int{65, 700, 1100} {
				l, b := newTriangle(rng, blas.Lower, blas.NonUnit, n, 3), newMatrix(rng, 61, n, 0)
				whole := impl.NewForwardSolve(n, l.data(), l.ld, 1<<30)
				want := forwardNorms(whole, b, 4)
				for _, memory := range []int{1, 64 * 1100, 1 << 30} {
					s := impl.NewForwardSolve(n, l.data(), l.ld, memory)
					if memory == 1 && n > 65 && s.Bands() < 2 {
						t.Fatalf("n = %d has %d bands", n, s.Bands())
					}
					for _, group := range []int{1, 2} {
						if got := forwardNorms(s, b, group); !slices.Equal(got, want) {
							t.Errorf("n = %d, memory %d: other bits with groups of %d", n, memory, group)
						}
					}
				}
				for _, i := range []int{0, 7, 30, 60} {
					one := b
					one.rows = 1
					one.mem = b.mem[i*b.ld:][: 2*guard+n : 2*guard+n]
					if got := forwardNorms(whole, one, 1); got[0] != want[i] {
						t.Errorf("n = %d: vector %d alone has norm %v, among others %v", n, i, got[0], want[i])
					}
				}
			}
		})
	}
}

// TestForwardSolveAccuracy compares squared norms with 200-bit arithmetic for the
// factor of a covariance matrix of condition 1e10, and with Dtrsm, whose errors they
// must not exceed by much.
func TestForwardSolveAccuracy(t *testing.T) {
	const n, m, bits = 260, 3, 200
	rng := rand.New(rand.NewPCG(9, 9))
	l, b := newMatrix(rng, n, n, 0), newMatrix(rng, m, n, 0)
	covariance := func(i, j int) float64 { d := float64(i-j) / 40; return math.Exp(-d * d / 2) }
	for i := range n {
		for j := range n {
			l.set(i, j, covariance(i, j))
		}
		l.set(i, i, 1+1e-8)
		for r := range m {
			b.set(r, i, covariance(i, 17+80*r))
		}
	}
	if !reference64(t).Dpotrf(blas.Lower, n, l.data(), l.ld) {
		t.Fatal("not positive definite")
	}
	exact := make([]float64, m)
	for r := range m {
		v, sum := make([]*big.Float, n), new(big.Float).SetPrec(bits)
		for i := range n {
			v[i] = new(big.Float).SetPrec(bits).SetFloat64(b.at(r, i))
			for j := range i {
				p := new(big.Float).SetPrec(bits).SetFloat64(l.at(i, j))
				v[i].Sub(v[i], p.Mul(p, v[j]))
			}
			v[i].Quo(v[i], new(big.Float).SetPrec(bits).SetFloat64(l.at(i, i)))
			sum.Add(sum, new(big.Float).SetPrec(bits).Mul(v[i], v[i]))
		}
		exact[r], _ = sum.Float64()
	}
	worst := func(norms []float64) (e float64) {
		for r, v := range norms {
			e = max(e, math.Abs(v-exact[r])/exact[r])
		}
		return e
	}
	for _, name := range Variants() {
		impl, err := New(Options{Variant: name})
		if err != nil {
			t.Fatal(err)
		}
		solved := b.clone()
		impl.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, m, n, 1, l.data(), l.ld, solved.data(), solved.ld)
		before := make([]float64, m)
		for r := range m {
			row := solved.data()[r*solved.ld:][:n]
			before[r] = reference.Ddot(n, row, 1, row, 1)
		}
		got := worst(forwardNorms(impl.NewForwardSolve(n, l.data(), l.ld, 1<<20), b, 1))
		t.Logf("%s: relative error %.2g, of Dtrsm %.2g", name, got, worst(before))
		// The rounding of b alone is worth eps·√n.
		if floor := eps * math.Sqrt(n); got > 2*worst(before)+floor {
			t.Errorf("%s: relative error %.2g, of Dtrsm %.2g", name, got, worst(before))
		}
	}
}

// reference64 returns an implementation for preparing matrices.
func reference64(t *testing.T) *Implementation {
	t.Helper()
	impl, err := New(Options{Variant: Generic})
	if err != nil {
		t.Fatal(err)
	}
	return impl
}
