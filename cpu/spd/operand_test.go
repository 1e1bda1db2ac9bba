package spd

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// TestMultiply compares products of matrices and transposes with sums.
func TestMultiply(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	random := func(rows, columns int) blas64.General {
		m := blas64.General{Rows: rows, Cols: columns, Stride: columns + 3, Data: make([]float64, rows*(columns+3))}
		for i := range m.Data {
			m.Data[i] = rng.NormFloat64()
		}
		return m
	}
	at := func(o Operand, i, k int) float64 {
		if o.Transposed {
			i, k = k, i
		}
		return o.Data[i*o.Stride+k]
	}
	e, err := Open(1)
	if err != nil {
		t.Skip(err)
	}
	for _, size := range [][3]int{{1, 1, 1}, {7, 9, 5}, {8, 24, 288}, {300, 33, 290}, {17, 301, 3}} {
		m, n, k := size[0], size[1], size[2]
		for _, which := range []int{0, 1, 2, 3} {
			x, y := Operand{random(m, k), false}, Operand{random(n, k), false}
			if which&1 != 0 {
				x = Operand{random(k, m), true}
			}
			if which&2 != 0 {
				y = Operand{random(k, n), true}
			}
			c := random(m, n)
			want := append([]float64(nil), c.Data...)
			for i := range m {
				for j := range n {
					for q := range k {
						want[i*c.Stride+j] -= 0.5 * at(x, i, q) * at(y, j, q)
					}
				}
			}
			e.Multiply(c, -0.5, x, y)
			for i, v := range want {
				if !(math.Abs(c.Data[i]-v) <= 1e-12*math.Sqrt(float64(k))) {
					t.Fatalf("%v, %d: element %d is %v, want %v", size, which, i, c.Data[i], v)
				}
			}
		}
	}
}
