// Package precise solves small linear systems in numbers of 400 bits: tests compare with the
// formulas of textbooks. Start at [Ridge].
package precise

import "math/big"

// digits is the precision of the references in bits.
const digits = 400

// Number returns a number with many digits.
func Number(v float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(v) }

// Matrix is a matrix of numbers with many digits.
type Matrix [][]*big.Float

// New returns a matrix of zeros.
func New(n, m int) Matrix {
	out := make(Matrix, n)
	for i := range out {
		for range m {
			out[i] = append(out[i], Number(0))
		}
	}
	return out
}

// Add adds v to an element.
func (a Matrix) Add(i, j int, v *big.Float) { a[i][j].Add(a[i][j], v) }

// Times returns the product of numbers.
func Times(v ...*big.Float) *big.Float {
	out := Number(1)
	for _, f := range v {
		out.Mul(out, f)
	}
	return out
}

// Over returns a/b.
func Over(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Quo(a, b) }

// Minus returns a − b.
func Minus(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Sub(a, b) }

// Product returns aᵀb if transposed, otherwise ab.
func Product(a, b Matrix, transposed bool) Matrix {
	if transposed {
		flipped := New(len(a[0]), len(a))
		for i, row := range a {
			for j, v := range row {
				flipped[j][i] = v
			}
		}
		a = flipped
	}
	out := New(len(a), len(b[0]))
	for i := range out {
		for k := range b {
			for j := range out[i] {
				out.Add(i, j, Times(a[i][k], b[k][j]))
			}
		}
	}
	return out
}

// Solved returns a⁻¹b by elimination with pivots. It changes both.
func Solved(a, b Matrix) Matrix {
	n := len(a)
	for k := range n {
		pivot := k
		for i := k + 1; i < n; i++ {
			if new(big.Float).Abs(a[i][k]).Cmp(new(big.Float).Abs(a[pivot][k])) > 0 {
				pivot = i
			}
		}
		a[k], a[pivot], b[k], b[pivot] = a[pivot], a[k], b[pivot], b[k]
		for i := range n {
			if i == k {
				continue
			}
			factor := Over(a[i][k], a[k][k])
			for j := range a[i] {
				a[i][j].Sub(a[i][j], Times(factor, a[k][j]))
			}
			for j := range b[i] {
				b[i][j].Sub(b[i][j], Times(factor, b[k][j]))
			}
		}
	}
	for k := range n {
		for j := range b[k] {
			b[k][j] = Over(b[k][j], a[k][k])
		}
	}
	return b
}

// Column returns numbers as a matrix of one column.
func Column(values []float64) Matrix {
	out := New(len(values), 1)
	for i, v := range values {
		out[i][0] = Number(v)
	}
	return out
}

// Ridge returns the weights w that minimize Σ(yᵢ − w′xᵢ)² + Σ penalty_j w_j², for rows xᵢ.
func Ridge(rows [][]float64, penalty, y []float64) []float64 {
	x := New(len(rows), len(penalty))
	for i, row := range rows {
		for j, v := range row {
			x[i][j] = Number(v)
		}
	}
	system := Product(x, x, true)
	for j, v := range penalty {
		system.Add(j, j, Number(v))
	}
	out := make([]float64, len(penalty))
	for j, row := range Solved(system, Product(x, Column(y), true)) {
		out[j], _ = row[0].Float64()
	}
	return out
}
