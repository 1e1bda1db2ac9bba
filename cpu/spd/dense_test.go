package spd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// dense returns rows of a triangle as a matrix stored by rows. Above the diagonal are NaNs.
func dense(rows [][]float64) []float64 {
	n := len(rows)
	a := slices.Repeat([]float64{math.NaN()}, n*n)
	for i, row := range rows {
		copy(a[i*n:], row[:i+1])
	}
	return a
}

// TestDense compares the operations on dense matrices with the operations on rows, whose
// bits they have, and weighed inverses with gonum's product.
func TestDense(t *testing.T) {
	for _, v := range isa.Supported() {
		for _, n := range []int{1, 3, 7, 8, 9, 29, 143, 145, 150, 311} {
			t.Run(fmt.Sprintf("%s/%d", v, n), func(t *testing.T) {
				e, rng := newEngine(t, v, 2), newReproducible(n)
				rows, c := rng.definite(n), rng.numbers(n, 1)
				want := factored(t, e, rows)
				m := e.New(n)
				pollute(m)
				m.Load(dense(rows))
				if minor, err := m.Factor(t.Context(), 0, nil); minor != 0 || err != nil {
					t.Fatalf("minor %d, %v", minor, err)
				}
				if !slices.Equal(everything(t, m), everything(t, want)) {
					t.Error("the factor and inverse of a loaded matrix have other bits")
				}
				inverse := make([]float64, n*n)
				m.Inverse(inverse)
				for i := range n {
					for j := range n {
						if inverse[i*n+j] != want.InverseElement(i, j) {
							t.Fatalf("element %d, %d is %v, not %v", i, j, inverse[i*n+j], want.InverseElement(i, j))
						}
					}
				}
				row := make([]float64, n-n/3)
				m.InverseRow(n/3, n/3, row)
				if !slices.Equal(row, inverse[n/3*(n+1):][:len(row)]) {
					t.Errorf("row %d is %v", n/3, row)
				}
				checkWeighed(t, e, inverse, c)
			})
		}
	}
}

// checkWeighed weighs a loaded inverse, in memory that was full of NaNs.
func checkWeighed(t *testing.T, e *Engine, inverse, c []float64) {
	t.Helper()
	n := len(c)
	m, got := e.New(n), make([]float64, n*n)
	pollute(m)
	m.LoadInverse(inverse)
	testcheck.Do(t, m.WeighInverse(t.Context(), c, got))
	var want mat.Dense
	s := mat.NewDense(n, n, inverse)
	want.Product(s, mat.NewDiagDense(n, c), s)
	largest := mat.Norm(&want, math.Inf(1))
	for i := range n {
		for j := range n {
			if d := math.Abs(got[i*n+j] - want.At(i, j)); !(d <= 1e-14*float64(n)*largest) {
				t.Fatalf("weighed element %d, %d is %v, want %v", i, j, got[i*n+j], want.At(i, j))
			}
			if got[i*n+j] != got[j*n+i] {
				t.Fatalf("weighed elements %d, %d are not symmetric", i, j)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.WeighInverse(ctx, c, got); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled product: %v", err)
	}
}
