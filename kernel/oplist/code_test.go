package oplist

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Bounds of values with which random expressions continue, to stay well conditioned.
const smallest, largest = 1e-6, 1e6

const epsilon = 0x1p-52

// entry is a value of a list with its result by plain arithmetic and a bound of the rounding error.
type entry struct {
	id         ID
	value, err float64
}

// pool is a list with values at one point.
type pool struct {
	t               *rapid.T
	list            *List
	theta, features []float64
	entries         []entry
}

func newPool(t *rapid.T) *pool {
	p := &pool{t: t, list: &List{}}
	leaf := func(id ID, x float64) { p.entries = append(p.entries, entry{id, x, epsilon * math.Abs(x)}) }
	for i := range 2 {
		p.theta = append(p.theta, rapid.Float64Range(0.2, 3).Draw(t, "parameter"))
		leaf(p.list.Param(i), p.theta[i])
	}
	for i, sign := range []Sign{AtLeast0, AtLeast0, Unknown} {
		x := rapid.Float64Range(0.1, 3).Draw(t, "feature")
		if sign == Unknown && rapid.Bool().Draw(t, "negative") {
			x = -x
		}
		p.features = append(p.features, x)
		leaf(p.list.Feat(i, sign), x)
	}
	for range 2 {
		x := rapid.SampledFrom([]float64{-3, -1, -0.5, 0.5, 1, 2, 5}).Draw(t, "number")
		leaf(p.list.Num(x), x)
	}
	return p
}

// operand draws an allowed entry.
func (p *pool) operand(allowed func(entry) bool) (entry, bool) {
	var some []entry
	for _, e := range p.entries {
		if math.Abs(e.value) > smallest && math.Abs(e.value) < largest && allowed(e) {
			some = append(some, e)
		}
	}
	if some == nil {
		return entry{}, false
	}
	return some[rapid.IntRange(0, len(some)-1).Draw(p.t, "operand")], true
}

func anyValue(entry) bool   { return true }
func positive(e entry) bool { return e.value > 0 }
func within(x float64) func(entry) bool {
	return func(e entry) bool { return math.Abs(e.value) < x }
}

// function returns Apply for an operation.
func function(op Op) func(*List, ID) ID { return func(l *List, a ID) ID { return l.Apply(op, a) } }

// unaries are the functions of one value with their domains.
var unaries = []struct {
	allowed func(entry) bool
	of      func(l *List, a ID) ID
	f       func(a float64) float64
}{
	{within(20), function(Exp), math.Exp},
	{positive, function(Log), math.Log},
	{positive, function(LogOrZero), math.Log},
	{positive, function(Log1p), math.Log1p},
	{positive, function(Sqrt), math.Sqrt},
	{positive, function(RootInverse), func(a float64) float64 { return 1 / math.Sqrt(a) }},
	{within(20), function(Sine), func(a float64) float64 { return math.Sin(2 * math.Pi * a) }},
	{within(20), function(Cosine), func(a float64) float64 { return math.Cos(2 * math.Pi * a) }},
	{anyValue, function(Tanh), math.Tanh},
	{within(0.9), function(Arcsine), math.Asin},
	{anyValue, function(Erf), math.Erf},
	{anyValue, func(l *List, a ID) ID { return l.SincAt(a, 0) }, func(a float64) float64 { return math.Sin(a) / a }},
	{anyValue, function(Abs), math.Abs},
	{anyValue, function(Positive), func(a float64) float64 { return max(a, 0) }},
	{anyValue, function(Step), func(a float64) float64 { return math.Max(0, math.Copysign(1, a)) }},
	{anyValue, (*List).Neg, func(a float64) float64 { return -a }},
	{positive, func(l *List, a ID) ID { return l.Decay(a, []float64{0.5, 1, -2}) },
		func(a float64) float64 { t := math.Sqrt(a); return (0.5/t + 1 - 2*t) * math.Exp(-t) }},
}

// grow adds a value.
func (p *pool) grow() {
	a, ok := p.operand(anyValue)
	b, _ := p.operand(anyValue)
	l := p.list
	switch kind := rapid.IntRange(0, 9).Draw(p.t, "kind"); {
	case !ok:
	case kind < 2:
		p.keep(entry{l.Add(a.id, b.id), a.value + b.value, a.err + b.err})
	case kind < 3:
		p.keep(entry{l.Sub(a.id, b.id), a.value - b.value, a.err + b.err})
	case kind < 5:
		p.keep(entry{l.Mul(a.id, b.id), a.value * b.value, math.Abs(a.value)*b.err + math.Abs(b.value)*a.err})
	case kind < 6:
		v := a.value / b.value
		p.keep(entry{l.Div(a.id, b.id), v, (a.err + math.Abs(v)*b.err) / math.Abs(b.value)})
	case kind < 7:
		k := rapid.IntRange(-3, 4).Draw(p.t, "power")
		v := math.Pow(a.value, float64(k))
		p.keep(entry{l.PowInt(a.id, k), v, math.Abs(float64(k)*v/a.value)*a.err + 4*epsilon*math.Abs(v)})
	case kind < 8:
		p.power()
	default:
		p.unary()
	}
}

func (p *pool) power() {
	a, found := p.operand(positive)
	b, uniform := p.operand(func(e entry) bool { return p.list.At(e.id).Uniform && math.Abs(e.value) < 4 })
	if !found || !uniform {
		return
	}
	v := math.Pow(a.value, b.value)
	p.keep(entry{p.list.Pow(a.id, b.id), v, v * (math.Abs(b.value)/a.value*a.err + math.Abs(math.Log(a.value))*b.err)})
}

func (p *pool) unary() {
	u := unaries[rapid.IntRange(0, len(unaries)-1).Draw(p.t, "function")]
	a, ok := p.operand(u.allowed)
	if !ok {
		return
	}
	step := 1e-7 * math.Abs(a.value)
	slope := math.Abs(u.f(a.value+step)-u.f(a.value-step)) / (2 * step)
	// The argument of a sine is reduced, and numbers are rounded on the way.
	p.keep(entry{u.of(p.list, a.id), u.f(a.value), slope*(a.err+epsilon*math.Abs(a.value)) + epsilon})
}

// keep compares a value with the list's.
func (p *pool) keep(e entry) {
	e.err += epsilon * math.Abs(e.value)
	if math.Abs(e.value) > largest {
		return
	}
	if got := p.list.Evaluate(p.theta, p.features, e.id)[0]; !(math.Abs(got-e.value) <= 64*e.err) {
		p.t.Fatalf("%v, by plain arithmetic %v ± %v: %+v", got, e.value, e.err, *p.list.At(e.id))
	}
	switch v := p.list.At(e.id); {
	case v.Sign.NotNegative() && e.value < -64*e.err, v.Sign.NotPositive() && e.value > 64*e.err:
		p.t.Fatalf("%v has the sign %d: %+v", e.value, v.Sign, *v)
	}
	p.entries = append(p.entries, e)
}

// TestRandom compares random expressions, simplified as they are built, with plain arithmetic.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPool(t)
		for range 40 {
			p.grow()
		}
	})
}

// TestRules checks that two equal expressions simplify to the same value.
func TestRules(t *testing.T) {
	for name, pairs := range map[string]func(l *List, s, x, p ID) (a, b ID){
		"s·1/√s = √s": func(l *List, s, _, _ ID) (ID, ID) { return l.Mul(s, l.Apply(RootInverse, s)), l.Apply(Sqrt, s) },
		"√s·1/√s = 1": func(l *List, s, _, _ ID) (ID, ID) { return l.Mul(l.Apply(Sqrt, s), l.Apply(RootInverse, s)), l.Num(1) },
		"√s·√s = s":   func(l *List, s, _, _ ID) (ID, ID) { return l.Mul(l.Apply(Sqrt, s), l.Apply(Sqrt, s)), s },
		"√(p²s) = p√s": func(l *List, s, _, p ID) (ID, ID) {
			return l.Apply(Sqrt, l.Mul(l.PowInt(p, 2), s)), l.Mul(p, l.Apply(Sqrt, s))
		},
		"eˣ·eˢ = eˣ⁺ˢ": func(l *List, s, x, _ ID) (ID, ID) {
			return l.Mul(l.Apply(Exp, x), l.Apply(Exp, s)), l.Apply(Exp, l.Add(x, s))
		},
		"eˣ·e⁻ˣ = 1": func(l *List, _, x, _ ID) (ID, ID) { return l.Mul(l.Apply(Exp, x), l.Apply(Exp, l.Neg(x))), l.Num(1) },
		"eˣ/eᵖˣ": func(l *List, _, x, p ID) (ID, ID) {
			return l.Div(l.Apply(Exp, x), l.Apply(Exp, l.Mul(p, x))), l.Apply(Exp, l.Sub(x, l.Mul(p, x)))
		},
		"x³/x² = x":      func(l *List, _, x, _ ID) (ID, ID) { return l.Div(l.PowInt(x, 3), l.PowInt(x, 2)), x },
		"x³·x⁻³ = 1":     func(l *List, _, x, _ ID) (ID, ID) { return l.Mul(l.PowInt(x, 3), l.PowInt(x, -3)), l.Num(1) },
		"px/p = x":       func(l *List, _, x, p ID) (ID, ID) { return l.Div(l.Mul(p, x), p), x },
		"p² − p·p = 0":   func(l *List, _, _, p ID) (ID, ID) { return l.Sub(l.PowInt(p, 2), l.Mul(p, p)), l.Num(0) },
		"(x+p) − x = p":  func(l *List, _, x, p ID) (ID, ID) { return l.Sub(l.Add(x, p), x), p },
		"x⁰ = 1":         func(l *List, _, x, _ ID) (ID, ID) { return l.PowInt(x, 0), l.Num(1) },
		"|s| = s":        func(l *List, s, _, _ ID) (ID, ID) { return l.Apply(Abs, s), s },
		"|−s| = s":       func(l *List, s, _, _ ID) (ID, ID) { return l.Apply(Abs, l.Neg(s)), s },
		"max(p, 0) = p":  func(l *List, _, _, p ID) (ID, ID) { return l.Apply(Positive, p), p },
		"pow(s, ½) = √s": func(l *List, s, _, _ ID) (ID, ID) { return l.Pow(s, l.Num(0.5)), l.Apply(Sqrt, s) },
		"pow(s, 2) = s²": func(l *List, s, _, _ ID) (ID, ID) { return l.Pow(s, l.Num(2)), l.PowInt(s, 2) },
		"(1+s)⁻¹·exp(−p·log1p s) = exp((−p−1)·log1p s)": func(l *List, s, _, p ID) (ID, ID) {
			log := l.Apply(Log1p, s)
			a := l.Mul(l.PowInt(l.Add(l.Num(1), s), -1), l.Apply(Exp, l.Neg(l.Mul(p, log))))
			return a, l.Apply(Exp, l.Mul(l.Sub(l.Neg(p), l.Num(1)), log))
		},
	} {
		l := &List{}
		if a, b := pairs(l, l.Feat(0, AtLeast0), l.Feat(1, Unknown), l.Param(0)); a != b {
			t.Errorf("%s: %+v and %+v", name, *l.At(a), *l.At(b))
		}
	}
}

// TestSpecialPoints checks values at which a formula is singular as written.
func TestSpecialPoints(t *testing.T) {
	theta := []float64{0.5}
	for _, c := range []struct {
		name  string
		build func(l *List, s, p ID) ID
		want  float64
	}{
		{"√0", func(l *List, s, _ ID) ID { return l.Apply(Sqrt, s) }, 0},
		{"1/√0", func(l *List, s, _ ID) ID { return l.Apply(RootInverse, s) }, 0},
		{"1/√(p·0)", func(l *List, s, p ID) ID { return l.Apply(RootInverse, l.Mul(p, s)) }, 0},
		{"0/√0", func(l *List, s, _ ID) ID { return l.Mul(s, l.Apply(RootInverse, s)) }, 0},
		{"0³/0³", func(l *List, s, _ ID) ID { return l.Div(l.PowInt(s, 3), l.PowInt(s, 3)) }, 1},
		{"0·log 0", func(l *List, s, p ID) ID { return l.Mul(l.Pow(s, p), l.Apply(LogOrZero, s)) }, 0},
		{"step of 0", func(l *List, s, _ ID) ID { return l.Apply(Step, s) }, 0},
		{"decay at 0", func(l *List, s, _ ID) ID { return l.Decay(s, []float64{0, 1, 1}) }, 1},
		{"decay with 1/t at 0", func(l *List, s, _ ID) ID { return l.Decay(s, []float64{3, -0.5}) }, -0.5},
		{"decay far out", func(l *List, s, _ ID) ID { return l.Decay(l.Add(s, l.Num(math.Inf(1))), []float64{0, 1, 1}) }, 0},
		{"1/√ of a factor that is 0", func(l *List, s, p ID) ID {
			return l.Apply(RootInverse, l.Mul(l.Apply(Positive, l.Sub(p, l.Num(1))), l.Add(s, l.Num(1))))
		}, 0},
		{"√ of two factors below 0", func(l *List, s, p ID) ID {
			return l.Apply(Sqrt, l.Mul(l.Neg(l.Apply(Tanh, l.Neg(p))), l.Add(s, l.Num(4))))
		}, 2 * math.Sqrt(math.Tanh(0.5))},
	} {
		l := &List{}
		id := c.build(l, l.Feat(0, AtLeast0), l.Param(0))
		if got := l.Evaluate(theta, []float64{0}, id)[0]; !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%s: %v, want %v: %+v", c.name, got, c.want, *l.At(id))
		}
	}
}

// bigSinc returns j_n(x)/xⁿ = Σ_k (−x²/2)^k/(k!·(2n + 2k + 1)!!), DLMF 10.53.1, for |x| ≤ 100.
func bigSinc(n int, x float64) float64 {
	number := func(v float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(v) }
	term, sum := number(1), number(0)
	for k := 1; k <= n; k++ {
		term.Quo(term, number(float64(2*k+1)))
	}
	z := number(x)
	z.Mul(z, z)
	for k := 0; term.Sign() != 0 && term.MantExp(nil) > -200; k++ {
		sum.Add(sum, term)
		term.Mul(term, z)
		term.Quo(term, number(-2*float64((k+1)*(2*n+2*k+3))))
	}
	out, _ := sum.Float64()
	return out
}

// TestSinc compares sin(a)/a and what its derivatives need with sums in 400 bits, in units of the
// value at 0 or, far out, of the amplitude of the wave, and each derivative with central differences.
func TestSinc(t *testing.T) {
	for n := range 5 {
		f, next := SincOf(n), SincOf(n+1)
		worst, near := 0.0, math.Sqrt(SincNear(n))
		for x := 1e-9; x < 100; x *= 1.05 {
			want := bigSinc(n, x)
			for _, at := range []float64{x, -x} {
				size := math.Abs(want)
				if x > near {
					size = max(size, math.Pow(x, -float64(n+1)))
				}
				worst = max(worst, math.Abs(f(at)-want)/size)
			}
			slope := (8*(f(x+1e-3)-f(x-1e-3)) - (f(x+2e-3) - f(x-2e-3))) / 12e-3
			if got := -x * next(x); !(math.Abs(got-slope) <= 1e-12) {
				t.Errorf("order %d: derivative %v at %v, central difference %v", n, got, x, slope)
			}
		}
		if t.Logf("order %d: errors up to %.3g", n, worst); !(worst <= 16*epsilon) {
			t.Errorf("order %d: error %v", n, worst)
		}
		if got, want := f(0), bigSinc(n, 0); math.Abs(got-want) > epsilon*want || f(math.Inf(-1)) != 0 || !math.IsNaN(f(math.NaN())) {
			t.Errorf("order %d: %v, %v and %v at 0, −∞ and NaN, want %v, 0 and NaN", n, got, f(math.Inf(-1)), f(math.NaN()), want)
		}
	}
}
