package code

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Bounds of the values that random expressions continue with, so that they stay
// well conditioned and away from steps.
const smallest, largest = 1e-6, 1e6

const epsilon = 0x1p-52

// entry is a value of a list with its result by plain arithmetic and a bound of the
// rounding error.
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
	got := p.list.Evaluate(p.theta, p.features, e.id)[0]
	if !(math.Abs(got-e.value) <= 64*e.err) {
		p.t.Fatalf("%v, by plain arithmetic %v ± %v: %+v", got, e.value, e.err, *p.list.At(e.id))
	}
	switch v := p.list.At(e.id); {
	case v.Sign.NotNegative() && e.value < -64*e.err, v.Sign.NotPositive() && e.value > 64*e.err:
		p.t.Fatalf("%v has the sign %d: %+v", e.value, v.Sign, *v)
	}
	p.entries = append(p.entries, e)
}

// TestRandom compares random expressions, which are simplified during construction,
// with plain arithmetic.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPool(t)
		for range 40 {
			p.grow()
		}
	})
}
