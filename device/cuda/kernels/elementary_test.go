package kernels_test

import (
	"math"
	"math/big"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

// bigExp returns eˣ to about 180 bits: Taylor's series of x/2^40, squared 40
// times.
func bigExp(x *big.Float) *big.Float {
	const halvings, precision = 40, 250
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
	r := new(big.Float).SetPrec(precision).Set(x)
	r.SetMantExp(r, -halvings)
	sum, term := number(1), number(1)
	for k := 1; k < 30; k++ {
		term.Mul(term, r)
		term.Quo(term, number(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// ulps returns |got − want| in units of the last place of want.
func ulps(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	diff, _ := new(big.Float).Sub(want, new(big.Float).SetFloat64(got)).Float64()
	return abs(diff) / (math.Nextafter(abs(w), math.Inf(1)) - abs(w))
}

// TestExp looks at exp through a kernel that is exp(−|x|), bit for bit.
func TestExp(t *testing.T) {
	rng := seeded(8)
	xs := []float64{0, 1, math.Ln2, math.Ln2 / 2, 3 * math.Ln2 / 2, 5e-324, 1e-17, 1e-8, 700, 707.99, 708, 708.5, 720, 745, 746, 1e5, 1e160, 1e300}
	for range 4000 {
		xs = append(xs, 708*rng.Float64(), rng.ExpFloat64())
	}
	prog := compile(t, "matern12", 1)
	m := newMachine(t)
	out := m.blank(int64(len(xs)))
	m.launch(kernels.Cross(m.program(prog, []float64{1, 1}), m.points(&kernel.Points{N: len(xs), D: 1, X: xs}),
		m.points(&kernel.Points{N: 1, D: 1, X: []float64{0}}), 0, 1, kernels.Matrix{A: out, LD: int64(len(xs))}))
	m.run()
	worst := 0.0
	for k, got := range m.floats(out) {
		x := math.Sqrt(xs[k] * xs[k]) // 0 or +Inf beyond the range of squares
		switch {
		case x == 0:
			if got != 1 {
				t.Errorf("exp(0) = %v", got)
			}
		case x > 708:
			if got != 0 {
				t.Errorf("exp(−%v) = %v, want 0", x, got)
			}
		default:
			u := ulps(got, bigExp(big.NewFloat(-x)))
			worst = max(worst, u)
			if u > 1 {
				t.Errorf("exp(−%v) is off by %.3f ulp", x, u)
			}
		}
	}
	t.Logf("exp: at most %.3f ulp off", worst)
}

func TestLog(t *testing.T) {
	rng := seeded(9)
	xs := []float64{1, 2, 0.5, 10, math.Sqrt2, math.Nextafter(1, 2), math.Nextafter(1, 0), 5e-324, 1e-310, math.SmallestNonzeroFloat64 * 3, 2.2250738585072014e-308, math.MaxFloat64}
	for range 400 {
		xs = append(xs, math.Exp(1400*rng.Float64()-700), 0.5+rng.Float64(), math.Exp(rng.NormFloat64()))
	}
	special := []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)}
	m := newMachine(t)
	parts := m.blank(kernels.MaxParts)
	var outs []kernels.Ptr
	for _, x := range append(xs, special...) {
		outs = append(outs, m.blank(1))
		l := kernels.LogDet(kernels.Matrix{A: m.put([]float64{x}), LD: 1}, 1, parts, outs[len(outs)-1])
		m.launch(l[:]...)
	}
	m.run()
	worst := 0.0
	for k, x := range xs {
		got := m.floats(outs[k])[0]
		// log x = y + log(x·e^−y) ≈ y + (x·e^−y − 1) − (…)²/2 for y near it. Not from
		// math.Log, which is wrong for subnormal numbers on amd64.
		y := got
		e := bigExp(big.NewFloat(-y))
		e.Mul(e, big.NewFloat(x))
		e.Sub(e, big.NewFloat(1))
		square := new(big.Float).Mul(e, e)
		e.Sub(e, square.Quo(square, big.NewFloat(2)))
		want := new(big.Float).SetPrec(250).SetFloat64(y)
		want.Add(want, e)
		if x == 1 {
			if got != 0 {
				t.Errorf("log 1 = %v", got)
			}
			continue
		}
		u := ulps(got, want)
		worst = max(worst, u)
		if u > 1 {
			t.Errorf("log %v = %v is off by %.3f ulp", x, got, u)
		}
	}
	t.Logf("log: at most %.3f ulp off", worst)
	for k, x := range special {
		got, want := m.floats(outs[len(xs)+k])[0], math.Log(x)
		if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("log %v = %v, want %v", x, got, want)
		}
	}
}

// TestLargeMatrix works in the last columns of a matrix of 70,000², whose indices
// exceed 2³² and whose size in bytes the memory; only touched pages are taken.
func TestLargeMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("short")
	}
	const n, cols = 70_000, 3
	rng := seeded(10)
	x := somePoints(rng, n, 2)
	prog := compile(t, "matern32(ard)", 2)
	theta := []float64{1, 2, 0.5}
	m := newMachine(t)
	on, onX := m.program(prog, theta), m.points(x)
	from := int64(n-cols) * n * 8
	last := make([]float64, n*cols)
	for k := range last {
		last[k] = poison
	}
	a := m.window(n*n*8, from, bytesOf(last))
	matrix := kernels.Matrix{A: a, LD: n}
	m.launch(
		kernels.Fill(on, onX, matrix, kernels.Vector{A: m.put([]float64{0.125}), N: 1}, n-cols, n),
		kernels.Transpose(matrix.At(n-1, n-cols), matrix.At(n-cols-5, n-1), 1, cols, 2),
	)
	diag := m.put([]float64{7, 8, 9})
	m.launch(kernels.SetDiagonal(matrix.At(n-cols, n-cols), kernels.Vector{A: diag, N: cols}, false))
	whole := m.blank(n)
	m.launch(kernels.GetDiagonal(matrix, kernels.Vector{A: whole, N: n}, false))
	m.run()
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	got := m.floats(a)
	k := row(e, x, n-1, x)
	for q := range cols {
		j := n - cols + q
		if q < cols-1 && !near(got[q*n+n-1], k[j], k[j]) {
			t.Errorf("element (n−1, %d) is %v, want %v", j, got[q*n+n-1], k[j])
		}
		if d := got[q*n+j]; d != float64(7+q) {
			t.Errorf("diagonal %d is %v", j, d)
		}
		if d := m.floats(whole)[j]; d != float64(7+q) {
			t.Errorf("copied diagonal %d is %v", j, d)
		}
		want := 2 * k[j]
		if q == cols-1 {
			want += 0.25
		}
		if v := got[(cols-1)*n+n-cols-5+q]; !near(v, want, want) {
			t.Errorf("transposed element %d is %v, want %v", q, v, want)
		}
	}
	if got[0] != poison {
		t.Error("wrote above the diagonal")
	}
}
