package code

import (
	"math"
	"testing"
)

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
		a, b := pairs(l, l.Feat(0, AtLeast0), l.Feat(1, Unknown), l.Param(0))
		if a != b {
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
