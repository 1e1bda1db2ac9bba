package kernels_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	"gpfit/device/cuda/kernels"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/kernel/oplist"
	pairs "gpfit/kernel/symbolic"
)

// own compiles a user-defined kernel with the parameters a, lengthscale and period, the
// latter two for each column with ard.
func own(t *testing.T, text string, d int, f func(p pair, a node) node) *kernel.Program {
	t.Helper()
	family := &kernel.Family{Name: "own", Parameters: []kernel.Parameter{
		{Name: "a"}, {Name: "lengthscale", Kind: kernel.Lengthscale, Count: kernel.PerColumn}, {Name: "period", Kind: kernel.Period, Count: kernel.PerColumn},
	}, Function: func(p *kernel.Pair) *kernel.Node { return f(p, p.Parameter("a")) }}
	expr := testcheck.Get(kernel.Parser{Families: []*kernel.Family{family}}.Parse(text))(t)
	return testcheck.Get(kernel.Compile(expr, kernel.Columns(d)))(t)
}

// distance returns the argument of most of the functions below.
func distance(p pair) node { return p.SquaredDistance("lengthscale") }

type (
	node = *kernel.Node
	pair = *kernel.Pair
)

// operations contains every operation of package oplist, and every feature, with value
// and derivatives.
var operations = map[string]func(p pair, a node) node{
	"exp":               func(p pair, a node) node { return p.Exp(p.Sub(a, distance(p))) },
	"log":               func(p pair, a node) node { return p.Log(p.Add(a, distance(p))) },
	"log1p":             func(p pair, a node) node { return p.Log1p(p.Mul(a, distance(p))) },
	"decay of degree 5": func(p pair, a node) node { return p.Decay(p.Mul(a, distance(p)), 1, 1, 0.4, 0.1, 0.01, 0.001) },
	"decay with a kink": func(p pair, a node) node { return p.Decay(p.Mul(a, distance(p)), 1, 0.5, 0.2, 0.1) },
	"decay of degree 0": func(p pair, a node) node { return p.Decay(p.Mul(a, distance(p)), 2) },
	"sqrt":              func(p pair, a node) node { return p.Mul(a, p.Sqrt(distance(p))) },
	"tanh":              func(p pair, a node) node { return p.Tanh(p.Mul(a, p.InnerProduct("lengthscale"))) },
	"erf":               func(p pair, a node) node { return pairs.Erf(p.Graph, p.Mul(a, p.InnerProduct("lengthscale"))) },
	"sinc":              func(p pair, a node) node { return pairs.Sinc(p.Graph, p.Mul(a, p.Sqrt(distance(p)))) },
	"sigmoid":           func(p pair, a node) node { return p.Sigmoid(p.Sub(distance(p), a)) },
	"abs":               func(p pair, a node) node { return p.Abs(p.Sub(distance(p), a)) },
	"positive":          func(p pair, a node) node { return p.PowInt(p.Positive(p.Sub(a, distance(p))), 3) },
	"step":              func(p pair, a node) node { return p.Positive(p.Sub(a, distance(p))) },
	"power":             func(p pair, a node) node { return p.Exp(p.Neg(p.Pow(distance(p), a))) },
	"power of 0":        func(p pair, a node) node { return p.Pow(distance(p), p.Add(a, p.Number(1.5))) },
	"inverse":           func(p pair, a node) node { return p.Div(p.Number(1), p.Add(a, p.Square(distance(p)))) },
	"inverse cube":      func(p pair, a node) node { return p.PowInt(p.Add(p.Number(1), p.Mul(a, distance(p))), -3) },
	"quotient": func(p pair, a node) node {
		return p.Div(p.Mul(distance(p), p.Exp(p.Neg(distance(p)))), p.Add(a, distance(p)))
	},
	"number": func(p pair, a node) node { return p.Mul(a, a) },
	"difference of terms": func(p pair, a node) node {
		return p.Sub(p.Add(p.Exp(p.Neg(distance(p))), a), p.Scale(0.1, p.Tanh(distance(p))))
	},
	"waves": func(p pair, a node) node {
		s := p.Difference("period")
		return p.Mul(p.Cos(p.Mul(a, s)), p.Cos(p.Mul(a, s)), p.CosineOfTurns(s), p.SineOfTurns(p.Square(s)))
	},
	"sines":           func(p pair, a node) node { return p.Mul(a, p.SineSquares("lengthscale", "period")) },
	"sines unweighed": func(p pair, a node) node { return p.Exp(p.Neg(p.Mul(a, p.SineSquares("", "period")))) },
	"mismatches":      func(p pair, a node) node { return p.Exp(p.Neg(p.Mul(a, p.Mismatches("lengthscale")))) },
	"coordinates": func(p pair, a node) node {
		x, y := p.Coordinates()
		return p.Exp(p.Neg(p.Mul(a, p.Square(p.Add(x, y)))))
	},
	"network": func(p pair, a node) node { // arcsine of a network, R&W eq. 4.29
		x, y := p.Norms("lengthscale")
		one := func(s node) node { return p.Add(p.Number(1), p.Mul(p.Scale(2, a), s)) }
		return p.Arcsine(p.Div(p.Mul(p.Scale(2, a), p.InnerProduct("lengthscale")), p.Sqrt(p.Mul(one(x), one(y)))))
	},
	"product of roots": func(p pair, a node) node {
		return p.Mul(p.Sqrt(distance(p)), p.Exp(p.Neg(p.Mul(a, p.Sqrt(distance(p))))))
	},
}

// TestOperations compares value and derivatives with the CPU's, for each operation at
// one number of columns, or in the long form at all of them.
func TestOperations(t *testing.T) {
	for i, name := range slices.Sorted(maps.Keys(operations)) {
		f := operations[name]
		for k, d := range []int{1, 2, 18, 35} { // columns in shared memory, one by one and in a loop, and in device memory
			text := "own(ard)"
			if d == 1 {
				text = "own"
			}
			if !testcheck.Long() && k != i%4 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, d), func(t *testing.T) {
				t.Parallel()
				compareWithCPU(t, own(t, text, d, f), d)
			})
		}
	}
}

// compareWithCPU compares Cross, Contract and Derivatives with the CPU, on points some of which are
// equal or have equal coordinates.
func compareWithCPU(t *testing.T, prog *kernel.Program, d int) {
	const n = 70
	rng := seeded(21)
	x := somePoints(rng, n, d)
	for c := range d {
		x.X[c*n+5], x.X[c*n+40] = x.X[c*n], x.X[c*n+3]
		x.X[c*n+7] = x.X[c*n+8]
	}
	theta := someTheta(rng, prog)
	m := newMachine(t)
	out, s := m.blank(n*n), normals(rng, n*n)
	on := m.points(x)
	m.launch(kernels.Cross(m.value(prog, theta), on, on, 0, n, kernels.Matrix{A: out, LD: n}))
	gradient, uniforms := m.gradient(prog, theta)
	work := m.work(gradient, 2)
	sums := m.put(make([]float64, gradient.Rows()))
	m.launch(kernels.Contract(gradient, on, kernels.Adjoint{Inv: 0.5, Inverse: kernels.Matrix{A: m.put(s), LD: n}}, 0, n, m.blank(n), sums, work)...)
	products := m.multiply(prog, theta, x, 0, n, 1+d%2, n)
	m.run()
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	products.check(t, m, e, 1)
	want, scale := make([]float64, prog.NumParams), make([]float64, prog.NumParams)
	single := make([]float64, prog.NumParams)
	for j := range n {
		for i, v := range row(e, x, j, x) {
			if got := m.floats(out)[j*n+i]; !near(got, v, 1+abs(v)) && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Fatalf("(%d, %d) is %v, want %v", i, j, got, v)
			}
		}
		for i := range j + 1 {
			g := s[j*n+i]
			if i == j {
				g /= 2
			}
			clear(single)
			e.RowGradient(single, []float64{g}, x, i, x, j, j+1)
			for q, v := range single {
				want[q] += v
				scale[q] += 1 + abs(v)
			}
		}
	}
	got := make([]float64, prog.NumParams)
	gradient.Assemble(got, theta, uniforms, m.floats(sums))
	for q := range got {
		if !near(got[q], want[q], scale[q]) && !(math.IsNaN(got[q]) && math.IsNaN(want[q])) {
			t.Errorf("derivative by %s is %v, want %v (terms add up to %v)", prog.Names()[q], got[q], want[q], scale[q])
		}
	}
}

// function evaluates f of the inner product x·1 at numbers xs.
func function(t *testing.T, a float64, xs []float64, f func(p pair, a, x node) node) []float64 {
	t.Helper()
	prog := own(t, "own", 1, func(p pair, a node) node { return f(p, a, p.InnerProduct("")) })
	return column(t, prog, []float64{a, 1, 1, 1}[:prog.NumParams], xs, 1)
}

// TestFunctions measures the errors of the elementary functions in units in the last
// place against package math, whose errors are within one.
func TestFunctions(t *testing.T) {
	rng := seeded(22)
	var small, any, positive []float64
	for range 3000 {
		small = append(small, 2*rng.Float64()-1, math.Exp(-40*rng.Float64()))
		any = append(any, 30*rng.NormFloat64(), -math.Exp(40*rng.Float64()-35), rng.NormFloat64())
		positive = append(positive, math.Exp(1300*rng.Float64()-650), rng.ExpFloat64(), 1+1e-3*rng.NormFloat64())
	}
	inf, nan := math.Inf(1), math.NaN()
	any = append(any, 0, 709.7, 710, 1e5, -740, -745, -746, -1e5, 1e300, -1e300, inf, -inf, nan)
	positive = append(positive, 0, 5e-324, 1e-310, math.MaxFloat64, inf, nan)
	small = append(small, 0, 0.5, 1, -1, -0.5, 1.5, nan)
	for _, c := range []struct {
		name string
		ulps float64
		xs   []float64
		f    func(p pair, a, x node) node
		want func(x float64) float64
	}{
		{"exp", 1.6, any, func(p pair, a, x node) node { return p.Exp(x) }, exactExp},
		{"log", 2, positive, func(p pair, a, x node) node { return p.Log(x) }, exactLog},
		{"tanh", 5, any, func(p pair, a, x node) node { return p.Tanh(x) }, math.Tanh},
		{"arcsine", 3, small, func(p pair, a, x node) node { return p.Arcsine(x) }, math.Asin},
		{"erf", 4, any, func(p pair, a, x node) node { return pairs.Erf(p.Graph, x) }, math.Erf},
		{"sinc", 3, small[:6000:6000], func(p pair, a, x node) node { return pairs.Sinc(p.Graph, x) }, oplist.SincOf(0)},
		{"power", 2, positive, func(p pair, a, x node) node { return p.Pow(x, p.Scale(0.25, a)) }, func(x float64) float64 { return math.Sqrt(math.Sqrt(x)) }},
		{"power 3/2", 3, positive[:6000:6000], func(p pair, a, x node) node { return p.Pow(x, p.Scale(1.5, a)) }, func(x float64) float64 { return x * math.Sqrt(x) }},
		{"positive", 0, any, func(p pair, a, x node) node { return p.Positive(x) }, func(x float64) float64 { return max(x, 0) }},
		{"abs", 0, any, func(p pair, a, x node) node { return p.Abs(x) }, math.Abs},
	} {
		worst := 0.0
		for k, got := range function(t, 1, c.xs, c.f) {
			x := c.xs[k]
			want := c.want(x)
			if math.IsNaN(want) && math.IsNaN(got) || got == want || abs(want) < 0x1p-1022 && abs(got) < 0x1p-1022 {
				continue // subnormal results have only a few digits
			}
			u := abs(got-want) / (math.Nextafter(abs(want), inf) - abs(want))
			if worst = max(worst, u); !(u <= c.ulps) {
				t.Errorf("%s(%v) = %v, want %v: %.2f ulp", c.name, x, got, want, u)
			}
		}
		t.Logf("%s: at most %.2f ulp off", c.name, worst)
	}
}

// TestSinc checks that sinc is right within a few units of its value at 0, for arguments of all sizes.
func TestSinc(t *testing.T) {
	rng := seeded(23)
	xs := []float64{0, 5e-324, 1e-300, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for range 2000 {
		xs = append(xs, 10*rng.NormFloat64(), math.Exp(20*rng.Float64()-5))
	}
	for k, got := range function(t, 1, xs, func(p pair, a, x node) node { return pairs.Sinc(p.Graph, x) }) {
		if want := oplist.SincOf(0)(xs[k]); !(abs(got-want) <= 4e-16) && !(math.IsNaN(got) && math.IsNaN(xs[k])) {
			t.Errorf("sinc(%v) = %v, want %v", xs[k], got, want)
		}
	}
}

// exactExp returns eˣ, computed with many digits and rounded.
func exactExp(x float64) float64 {
	if !(abs(x) < 760) {
		return math.Exp(x)
	}
	v, _ := bigExp(big.NewFloat(x)).Float64()
	return v
}

// exactLog returns math.Log of x, corrected for subnormal numbers, for which it is wrong on amd64.
func exactLog(x float64) float64 {
	if x > 0 && x < 1e-300 {
		return math.Log(x*0x1p60) - 60*math.Ln2
	}
	return math.Log(x)
}

// TestExtremes checks that covariances at distances beyond the range of squares are 0
// and that NaN stays NaN.
func TestExtremes(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	xs := []float64{0, 1e-200, 1e3, 1e100, 1e200, 1e308, inf, nan}
	for text, theta := range map[string][]float64{
		"rbf": {1, 2}, "matern12": {1, 2}, "matern32": {1, 2}, "matern52": {1, 2}, "rq": {1, 3, 2}, "rbf(ard) + matern32*matern52": {1, 1, 1, 1, 1},
	} {
		for k, got := range column(t, kerneltest.Program(t, text, 1), theta, xs, 0) {
			switch x := xs[k]; {
			case math.IsNaN(x):
				if !math.IsNaN(got) {
					t.Errorf("%s at NaN is %v", text, got)
				}
			case x <= 1e-200:
				if got != 2 {
					t.Errorf("%s at %v is %v", text, x, got)
				}
			case x >= 1e100 || text != "rq" && x >= 1e3:
				if !(got >= 0 && got < 1e-300) {
					t.Errorf("%s at %v is %v", text, x, got)
				}
			}
		}
	}
}
