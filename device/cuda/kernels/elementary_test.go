package kernels_test

import (
	"math"
	"math/big"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// bigExp returns eˣ to about 180 bits, from the Taylor series of x/2^40, squared 40 times.
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

// ulps returns |got − want| in units in the last place of want.
func ulps(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	diff, _ := new(big.Float).Sub(want, new(big.Float).SetFloat64(got)).Float64()
	return abs(diff) / (math.Nextafter(abs(w), math.Inf(1)) - abs(w))
}

// TestExp tests exp through a kernel that is exp(−|x|), bit for bit.
func TestExp(t *testing.T) {
	rng := seeded(8)
	xs := []float64{0, 1, math.Ln2, math.Ln2 / 2, 3 * math.Ln2 / 2, 5e-324, 1e-17, 1e-8, 700, 707.99, 708, 708.5, 720, 745, 746, 1e5, 1e160, 1e300}
	for range 4000 {
		xs = append(xs, 708*rng.Float64(), rng.ExpFloat64())
	}
	worst := 0.0
	for k, got := range column(t, kerneltest.Program(t, "matern12", 1), []float64{1, 1}, xs, 0) {
		x := math.Sqrt(xs[k] * xs[k]) // √(x²) is 0 or +Inf beyond the range of squares
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

// column runs a kernel of one column on the points x and the point y.
func column(t *testing.T, prog *kernel.Program, theta, x []float64, y float64) []float64 {
	m := newMachine(t)
	out := m.blank(int64(len(x)))
	m.launch(kernels.Cross(m.value(prog, theta), m.points(&kernel.Points{N: len(x), D: 1, X: x}),
		m.points(&kernel.Points{N: 1, D: 1, X: []float64{y}}), 0, 1, kernels.Matrix{A: out, LD: int64(len(x))}))
	m.run()
	return m.floats(out)
}

// TestTurns tests sines and cosines through cosine, which is 1 − 2 sin²(πx), and through periodic
// with a lengthscale so small that it shows the relative error of sin²(πx) near whole numbers.
func TestTurns(t *testing.T) {
	rng := seeded(12)
	xs := []float64{0, 0.25, 0.5, 0.75, 1, 1.5, 1e-300, 1e-9, 0.1, 1e6 + 0.125, 1e15 + 0.5, 1 << 52, 1<<53 + 2, 1e300, -0.3, -7.75}
	for range 4000 {
		xs = append(xs, rng.Float64(), 100*rng.NormFloat64(), math.Exp(60*rng.Float64()-30))
	}
	worst := 0.0
	for k, got := range column(t, kerneltest.Program(t, "cosine", 1), []float64{1, 1}, xs, 0) {
		// The remainder is exact. Rounding its product with 2π costs up to 4e-16.
		diff := abs(got - math.Cos(2*math.Pi*math.Remainder(xs[k], 1)))
		worst = max(worst, diff)
		if !(diff <= 1.6e-15) {
			t.Errorf("cos(2π·%v) is off by %.3g", xs[k], diff)
		}
	}
	t.Logf("cosine: at most %.3g off", worst)
	const rho = 1.0 / 4096
	near := xs[:0]
	for range 4000 {
		whole := float64(rng.IntN(1000))
		near = append(near, whole+rho*rng.NormFloat64())
	}
	for k, got := range column(t, kerneltest.Program(t, "periodic", 1), []float64{rho, 1, 1}, near, 0) {
		s := math.Sin(math.Pi * math.Remainder(near[k], 1))
		exponent := 2 * s * s / (rho * rho)
		if want := math.Exp(-exponent); !(abs(got-want) <= 2e-15*want*(1+exponent)) {
			t.Errorf("periodic(%v) = %v, want %v", near[k], got, want)
		}
	}
}

// TestLogOnePlus tests log(1 + t) through rq: with α = ½ it is (1 + x²)^−½.
func TestLogOnePlus(t *testing.T) {
	rng := seeded(13)
	xs := []float64{0, 1e-200, 1e-9, 1e-5, 1, 1e5, 1e80, 1e100, 1e200}
	for range 3000 {
		xs = append(xs, math.Exp(40*rng.Float64()-20))
	}
	for k, got := range column(t, kerneltest.Program(t, "rq", 1), []float64{1, 0.5, 1}, xs, 0) {
		want := 1 / math.Hypot(1, xs[k])
		switch {
		case xs[k] > 1e150: // its square is not finite
			if got != 0 {
				t.Errorf("rq at %v = %v", xs[k], got)
			}
		case !(abs(got-want) <= 1e-15*want*(1+math.Log1p(xs[k]))):
			t.Errorf("rq at %v = %v, want %v", xs[k], got, want)
		}
	}
	// For a small x and a large α, 1 − k(x) is α·log(1 + t) to first order.
	for k, got := range column(t, kerneltest.Program(t, "rq", 1), []float64{1, 1e12, 1}, xs, 0) {
		want := math.Exp(-1e12 * math.Log1p(xs[k]*xs[k]/2e12))
		if xs[k] < 30 && !(abs(got-want) <= 1e-15*want*(2+xs[k]*xs[k])) {
			t.Errorf("rq with a large α at %v = %v, want %v", xs[k], got, want)
		}
	}
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
		m.launch(kernels.LogDet(kernels.Matrix{A: m.put([]float64{x}), LD: 1}, 1, parts, outs[len(outs)-1])...)
	}
	m.run()
	worst := 0.0
	for k, x := range xs {
		got := m.floats(outs[k])[0]
		// For y near log x, log x = y + log(x·e^−y) ≈ y + (x·e^−y − 1) − (…)²/2. The
		// test does not use math.Log, which is wrong for subnormal numbers on amd64.
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

// TestLargeMatrix works in the last columns of a matrix of 70,000², whose indices exceed 2³² and
// whose size in bytes exceeds the memory. The system allocates only the pages that it touches.
func TestLargeMatrix(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("GPFIT_LONG=1 runs the long form")
	}
	const n, cols = 70_000, 3
	rng := seeded(10)
	x := somePoints(rng, n, 2)
	prog := kerneltest.Program(t, "matern32(ard)", 2)
	theta := []float64{1, 2, 0.5}
	m := newMachine(t)
	on, onX := m.value(prog, theta), m.points(x)
	from := int64(n-cols) * n * 8
	last := make([]float64, n*cols)
	for k := range last {
		last[k] = poison
	}
	a := m.window(n*n*8, from, bytesOf(last))
	matrix := kernels.Matrix{A: a, LD: n}
	m.launch(
		kernels.Fill(on, onX, matrix, kernels.Vector{A: m.put([]float64{0.125}), N: 1}, n-cols, n),
		kernels.Copy(matrix.At(n-1, n-cols), matrix.At(n-9, n-cols), 1, cols, false),
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
		want := k[j]
		if q == cols-1 {
			want += 0.125
		}
		if v := got[q*n+n-9]; !near(v, want, want) {
			t.Errorf("copied element %d is %v, want %v", q, v, want)
		}
	}
	if got[0] != poison {
		t.Error("wrote above the diagonal")
	}
}
