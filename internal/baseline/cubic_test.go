package baseline_test

import (
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/baseline"
)

// digits is the precision of the references in bits.
const digits = 400

func exact(v float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(v) }

// matrix is a matrix of numbers with many digits.
type matrix [][]*big.Float

func newMatrix(n, m int) matrix {
	out := make(matrix, n)
	for i := range out {
		for range m {
			out[i] = append(out[i], exact(0))
		}
	}
	return out
}

func (a matrix) add(i, j int, v *big.Float) { a[i][j].Add(a[i][j], v) }

func times(v ...*big.Float) *big.Float {
	out := exact(1)
	for _, f := range v {
		out.Mul(out, f)
	}
	return out
}

func over(a, b *big.Float) *big.Float  { return new(big.Float).SetPrec(digits).Quo(a, b) }
func minus(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Sub(a, b) }

// product returns aᵀb if transposed, otherwise ab.
func product(a, b matrix, transposed bool) matrix {
	if transposed {
		flipped := newMatrix(len(a[0]), len(a))
		for i, row := range a {
			for j, v := range row {
				flipped[j][i] = v
			}
		}
		a = flipped
	}
	out := newMatrix(len(a), len(b[0]))
	for i := range out {
		for k := range b {
			for j := range out[i] {
				out.add(i, j, times(a[i][k], b[k][j]))
			}
		}
	}
	return out
}

// solved returns a⁻¹b by elimination with pivots. It changes both.
func solved(a, b matrix) matrix {
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
			factor := over(a[i][k], a[k][k])
			for j := range a[i] {
				a[i][j].Sub(a[i][j], times(factor, a[k][j]))
			}
			for j := range b[i] {
				b[i][j].Sub(b[i][j], times(factor, b[k][j]))
			}
		}
	}
	for k := range n {
		for j := range b[k] {
			b[k][j] = over(b[k][j], a[k][k])
		}
	}
	return b
}

func column(values []float64) matrix {
	out := newMatrix(len(values), 1)
	for i, v := range values {
		out[i][0] = exact(v)
	}
	return out
}

// sameAsTextbook is the bound on differences from formulas with many digits, of targets around 1.
const sameAsTextbook = 1e-8

// TestCubicSmoothing compares the smoothing spline, whose knots are all inputs, with Reinsch's equations,
// g = (I + λQR⁻¹Qᵀ)⁻¹y (Green and Silverman 1994, eq. 2.9), at the inputs.
func TestCubicSmoothing(t *testing.T) {
	x, y := curve(25, 7)
	order := slices.Sorted(slices.Values(x.RawMatrix().Data))
	n := len(order)
	q, r := newMatrix(n, n-2), newMatrix(n-2, n-2)
	gap := func(i int) *big.Float { return minus(exact(order[i+1]), exact(order[i])) }
	for j := range n - 2 {
		left, right := gap(j), gap(j+1)
		q[j][j], q[j+2][j] = over(exact(1), left), over(exact(1), right)
		q[j+1][j] = minus(exact(0), new(big.Float).Add(q[j][j], q[j+2][j]))
		r[j][j] = over(new(big.Float).Add(left, right), exact(3))
		if j > 0 {
			r[j-1][j] = over(left, exact(6))
			r[j][j-1] = over(left, exact(6))
		}
	}
	at := map[float64]int{}
	targets := make([]float64, n)
	for i, v := range order {
		at[v] = i
	}
	for i, v := range x.RawMatrix().Data {
		targets[at[v]] = y[i]
	}
	identity := newMatrix(n, n)
	for i := range n {
		identity.add(i, i, exact(1))
	}
	bends := product(q, solved(r, product(q, identity, true)), false)
	for _, lambda := range []float64{1e-6, 0.01, 3, 1e4} {
		system := newMatrix(n, n)
		for i := range n {
			system.add(i, i, exact(1))
			for j := range n {
				system.add(i, j, times(exact(lambda), bends[i][j]))
			}
		}
		fitted := solved(system, column(targets))
		want := make([]float64, n)
		for i := range want {
			want[i], _ = fitted[at[x.At(i, 0)]][0].Float64()
		}
		m := learn(t, baseline.Spline{Design: raw, Kind: baseline.CubicSpline, Lambdas: []float64{lambda}}, x, y).(*baseline.SplineModel)
		near(t, "smoothing spline", predict(t, m, x).Mean, want, sameAsTextbook)
	}
}

// TestCubicKnots compares a natural cubic spline with few knots with the normal equations of the textbook's
// basis of truncated powers, N_k = d_k − d_{K−1} (ESL, eq. 5.4 and 5.5), whose second derivatives are linear
// between knots, so that Simpson's rule integrates their products exactly. It predicts beyond the knots, too.
func TestCubicKnots(t *testing.T) {
	x, y := curve(40, 8)
	knots := []float64{10.3, 11, 11.9, 12.2, 13, 13.6}
	k := len(knots)
	positive := func(v float64, knot int, power int) *big.Float {
		out := minus(exact(v), exact(knots[knot]))
		if out.Sign() <= 0 {
			return exact(0)
		}
		return times(slices.Repeat([]*big.Float{out}, power)...)
	}
	// d returns d_j or its second derivative.
	d := func(v float64, j, power int) *big.Float {
		top := minus(positive(v, j, power), positive(v, k-1, power))
		return times(over(top, minus(exact(knots[k-1]), exact(knots[j]))), exact(map[int]float64{3: 1, 1: 6}[power]))
	}
	basis := func(v float64, power int) []*big.Float {
		out := []*big.Float{exact(1), exact(v)}
		if power == 1 {
			out = []*big.Float{exact(0), exact(0)}
		}
		for j := range k - 2 {
			out = append(out, minus(d(v, j, power), d(v, k-2, power)))
		}
		return out
	}
	omega := newMatrix(k, k)
	for i := range k - 1 {
		a, b := knots[i], knots[i+1]
		width := over(minus(exact(b), exact(a)), exact(6))
		// The second derivatives at both ends; in the middle of a line is their mean.
		first, last := basis(a, 1), basis(b, 1)
		for p := range k {
			for q := range k {
				middle := over(times(new(big.Float).Add(first[p], last[p]), new(big.Float).Add(first[q], last[q])), exact(4))
				sum := new(big.Float).Add(times(first[p], first[q]), times(exact(4), middle))
				sum.Add(sum, times(last[p], last[q]))
				omega.add(p, q, times(width, sum))
			}
		}
	}
	design := newMatrix(0, 0)
	for i := range y {
		design = append(design, basis(x.At(i, 0), 3))
	}
	for _, lambda := range []float64{0, 0.02, 5} {
		system := product(design, design, true)
		for p := range k {
			for q := range k {
				system.add(p, q, times(exact(lambda), omega[p][q]))
			}
		}
		weights := solved(system, product(design, column(y), true))
		var want []float64
		places := []float64{9, 10.3, 10.7, 11.95, 12.2, 13.5, 13.6, 16}
		for _, v := range places {
			f, _ := product(matrix{basis(v, 3)}, weights, false)[0][0].Float64()
			want = append(want, f)
		}
		m := learn(t, baseline.Spline{Design: raw, Kind: baseline.CubicSpline, Knots: [][]float64{knots}, Lambdas: []float64{lambda}}, x, y).(*baseline.SplineModel)
		near(t, "natural cubic spline", predict(t, m, mat.NewDense(len(places), 1, places)).Mean, want, sameAsTextbook)
	}
}
