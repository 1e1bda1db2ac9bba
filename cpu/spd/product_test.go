package spd

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/internal/isa"
)

// TestAddProduct compares products of matrices of all shapes with sums in plain order, and with products of parts,
// whose bits they have.
func TestAddProduct(t *testing.T) {
	for _, v := range isa.Supported() {
		for _, shape := range [][3]int{{1, 1, 1}, {3, 50, 7}, {8, 24, 288}, {17, 301, 289}, {40, 9, 600}, {5, 3, 0}} {
			t.Run(fmt.Sprint(v, shape), func(t *testing.T) {
				m, n, k := shape[0], shape[1], shape[2]
				e, rng := newEngine(t, v, 1), newReproducible(m+n+k)
				const more = 3 // strides have room
				rows := func(count, cols int) blas64.General {
					stride := cols + more
					return blas64.General{Rows: count, Cols: cols, Stride: stride, Data: rng.numbers(count*stride, 1)}
				}
				x, y, before := rows(m, k), rows(n, k), rng.numbers(m*(n+more), 1)
				c, parts := slices.Clone(before), slices.Clone(before)
				e.AddProduct(c, n+more, -1.5, x, y)
				half := n / 2
				e.AddProduct(parts, n+more, -1.5, x, blas64.General{Rows: half, Cols: k, Stride: y.Stride, Data: y.Data})
				e.AddProduct(parts[half:], n+more, -1.5, x, blas64.General{Rows: n - half, Cols: k, Stride: y.Stride, Data: y.Data[half*y.Stride:]})
				if !slices.Equal(c, parts) {
					t.Error("a part of a product has other bits")
				}
				for i := range m {
					for j := range n + more {
						sum, size := 0.0, 0.0
						for p := 0; p < k && j < n; p++ {
							term := x.Data[i*x.Stride+p] * y.Data[j*y.Stride+p]
							sum, size = sum+term, size+math.Abs(term)
						}
						at := i*(n+more) + j
						// Each of two sums of k terms has an error of k rounding errors of its size at most.
						if want := before[at] - 1.5*sum; math.Abs(c[at]-want) > 0x1p-52*(2+float64(k))*(1.5*size+math.Abs(want)) {
							t.Fatalf("element %d, %d is %v, not %v", i, j, c[at], want)
						}
					}
				}
			})
		}
	}
}
