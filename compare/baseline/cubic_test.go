package baseline_test

import (
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/device/devicetest/precise"
)

// sameAsTextbook is the bound on differences from formulas with many digits, of targets around 1.
const sameAsTextbook = 1e-8

// TestCubicSmoothing compares the smoothing spline, whose knots are all inputs, with Reinsch's equations,
// g = (I + λQR⁻¹Qᵀ)⁻¹y (Green and Silverman 1994, eq. 2.9), at the inputs.
func TestCubicSmoothing(t *testing.T) {
	x, y := curve(25, 7)
	order := slices.Sorted(slices.Values(x.RawMatrix().Data))
	n := len(order)
	q, r := precise.New(n, n-2), precise.New(n-2, n-2)
	gap := func(i int) *big.Float { return precise.Minus(precise.Number(order[i+1]), precise.Number(order[i])) }
	for j := range n - 2 {
		left, right := gap(j), gap(j+1)
		q[j][j], q[j+2][j] = precise.Over(precise.Number(1), left), precise.Over(precise.Number(1), right)
		q[j+1][j] = precise.Minus(precise.Number(0), new(big.Float).Add(q[j][j], q[j+2][j]))
		r[j][j] = precise.Over(new(big.Float).Add(left, right), precise.Number(3))
		if j > 0 {
			r[j-1][j] = precise.Over(left, precise.Number(6))
			r[j][j-1] = precise.Over(left, precise.Number(6))
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
	identity := precise.New(n, n)
	for i := range n {
		identity.Add(i, i, precise.Number(1))
	}
	bends := precise.Product(q, precise.Solved(r, precise.Product(q, identity, true)), false)
	for _, lambda := range []float64{1e-6, 0.01, 3, 1e4} {
		system := precise.New(n, n)
		for i := range n {
			system.Add(i, i, precise.Number(1))
			for j := range n {
				system.Add(i, j, precise.Times(precise.Number(lambda), bends[i][j]))
			}
		}
		fitted := precise.Solved(system, precise.Column(targets))
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
		out := precise.Minus(precise.Number(v), precise.Number(knots[knot]))
		if out.Sign() <= 0 {
			return precise.Number(0)
		}
		return precise.Times(slices.Repeat([]*big.Float{out}, power)...)
	}
	// d returns d_j or its second derivative.
	d := func(v float64, j, power int) *big.Float {
		top := precise.Minus(positive(v, j, power), positive(v, k-1, power))
		return precise.Times(precise.Over(top, precise.Minus(precise.Number(knots[k-1]), precise.Number(knots[j]))), precise.Number(map[int]float64{3: 1, 1: 6}[power]))
	}
	basis := func(v float64, power int) []*big.Float {
		out := []*big.Float{precise.Number(1), precise.Number(v)}
		if power == 1 {
			out = []*big.Float{precise.Number(0), precise.Number(0)}
		}
		for j := range k - 2 {
			out = append(out, precise.Minus(d(v, j, power), d(v, k-2, power)))
		}
		return out
	}
	omega := precise.New(k, k)
	for i := range k - 1 {
		a, b := knots[i], knots[i+1]
		width := precise.Over(precise.Minus(precise.Number(b), precise.Number(a)), precise.Number(6))
		// The second derivatives at both ends; in the middle of a line is their mean.
		first, last := basis(a, 1), basis(b, 1)
		for p := range k {
			for q := range k {
				middle := precise.Over(precise.Times(new(big.Float).Add(first[p], last[p]), new(big.Float).Add(first[q], last[q])), precise.Number(4))
				sum := new(big.Float).Add(precise.Times(first[p], first[q]), precise.Times(precise.Number(4), middle))
				sum.Add(sum, precise.Times(last[p], last[q]))
				omega.Add(p, q, precise.Times(width, sum))
			}
		}
	}
	design := precise.New(0, 0)
	for i := range y {
		design = append(design, basis(x.At(i, 0), 3))
	}
	for _, lambda := range []float64{0, 0.02, 5} {
		system := precise.Product(design, design, true)
		for p := range k {
			for q := range k {
				system.Add(p, q, precise.Times(precise.Number(lambda), omega[p][q]))
			}
		}
		weights := precise.Solved(system, precise.Product(design, precise.Column(y), true))
		var want []float64
		places := []float64{9, 10.3, 10.7, 11.95, 12.2, 13.5, 13.6, 16}
		for _, v := range places {
			f, _ := precise.Product(precise.Matrix{basis(v, 3)}, weights, false)[0][0].Float64()
			want = append(want, f)
		}
		m := learn(t, baseline.Spline{Design: raw, Kind: baseline.CubicSpline, Knots: [][]float64{knots}, Lambdas: []float64{lambda}}, x, y).(*baseline.SplineModel)
		near(t, "natural cubic spline", predict(t, m, mat.NewDense(len(places), 1, places)).Mean, want, sameAsTextbook)
	}
}
