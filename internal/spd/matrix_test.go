package spd

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/must"
	"gpfit/internal/variant"
)

// covariance returns a positive definite matrix.
func covariance(n int, noise float64) *mat.SymDense {
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64() * 3
	}
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			d := x[i] - x[j]
			s.SetSym(i, j, math.Exp(-d*d/2))
		}
		s.SetSym(i, i, 1+noise)
	}
	return s
}

// set writes rows from on.
func set(m *Symmetric, s mat.Symmetric, from int) {
	l := m.Lanes()
	rows := make([]float64, l*m.order)
	for i0 := from - from%l; i0 < m.order; i0 += l {
		for r := range l {
			for j := range m.n {
				if i0+r < m.n {
					rows[r*m.order+j] = s.At(i0+r, j)
				}
			}
		}
		m.SetRows(i0, 0, min(i0+l, m.order), rows, m.order)
	}
}

func engines(t testing.TB, threads int, f func(t testing.TB, e *Engine)) {
	for _, v := range variant.Supported() {
		e := NewEngine(v, threads)
		if tt, ok := t.(*testing.T); ok {
			tt.Run(fmt.Sprintf("%s/%d", v, threads), func(t *testing.T) { f(t, e) })
		}
	}
}

func TestFactorAndInverse(t *testing.T) {
	sizes := []int{1, 2, 3, 7, 8, 9, 23, 24, 25, 31, 50, 100, 190, 287, 288, 289, 300, 313, 500, 580, 777}
	if brief() {
		sizes = sizes[:11]
	}
	for _, threads := range []int{1, 2, 3} {
		engines(t, threads, func(t testing.TB, e *Engine) {
			for _, n := range sizes {
				s := covariance(n, 0.1)
				m := e.New(n)
				set(m, s, 0)
				if minor, err := m.Factor(context.Background(), 0, nil); minor != 0 || err != nil {
					t.Fatalf("n=%d: minor %d, %v", n, minor, err)
				}
				var chol mat.Cholesky
				chol.Factorize(s)
				var l mat.TriDense
				chol.LTo(&l)
				row := make([]float64, n)
				for i := range n {
					m.FactorRow(i, row[:i+1])
					for j := range i + 1 {
						if d := math.Abs(row[j] - l.At(i, j)); !(d <= 1e-12) {
							t.Fatalf("n=%d: L[%d][%d] = %v, want %v", n, i, j, row[j], l.At(i, j))
						}
					}
				}
				must.Do(t, m.Invert(context.Background(), nil))
				var inv mat.SymDense
				must.Do(t, chol.InverseTo(&inv))
				for i := range n {
					for j := range i + 1 {
						if d := math.Abs(m.InverseElement(i, j) - inv.At(i, j)); !(d <= 1e-10) {
							t.Fatalf("n=%d: inverse[%d][%d] = %v, want %v", n, i, j, m.InverseElement(i, j), inv.At(i, j))
						}
					}
				}
			}
		})
	}
}
