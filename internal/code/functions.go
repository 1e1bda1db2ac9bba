package code

import "math"

// unary returns op of a.
func (l *List) unary(op Op, a ID) ID {
	v := Value{Op: op, Args: []ID{a}}
	if x, ok := l.number(a); ok {
		return l.Num(apply(&v, x, 0))
	}
	return l.put(v)
}

// Exp returns e^a.
func (l *List) Exp(a ID) ID { return l.unary(Exp, a) }

// Log returns log a.
func (l *List) Log(a ID) ID { return l.unary(Log, a) }

// LogOrZero returns log a, and 0 where a is 0.
func (l *List) LogOrZero(a ID) ID { return l.unary(LogOrZero, a) }

// Log1p returns log(1 + a).
func (l *List) Log1p(a ID) ID { return l.unary(Log1p, a) }

// Sqrt returns √a. It moves a nonnegative uniform factor out of the root.
func (l *List) Sqrt(a ID) ID { return l.root(Sqrt, a, 1) }

// RootInverse returns 1/√a, and 0 where a is 0.
func (l *List) RootInverse(a ID) ID { return l.root(RootInverse, a, -1) }

func (l *List) root(op Op, a ID, power int) ID {
	coef, core := l.split(a)
	sign := l.At(coef).Sign
	if core == None || !sign.NotNegative() || op == RootInverse && sign != Above0 {
		return l.unary(op, a)
	}
	return l.times(l.unary(op, core), l.uniformRoot(coef), power)
}

// uniformRoot takes squares out of the root of a product.
func (l *List) uniformRoot(a ID) ID {
	m := l.monomialOf(a)
	if m.number < 0 { // and so is the rest
		return l.unary(Sqrt, a)
	}
	out, rest := monomial{math.Sqrt(m.number), map[ID]int{}}, monomial{1, map[ID]int{}}
	for b, p := range m.powers {
		if p%2 == 0 && l.At(b).Sign == Above0 {
			out.powers[b] = p / 2
		} else {
			rest.powers[b] = p
		}
	}
	if len(rest.powers) > 0 {
		out = out.times(l.monomialOf(l.unary(Sqrt, l.ofMonomial(rest))), 1)
	}
	return l.ofMonomial(out)
}

// Sine returns sin 2πa, Cosine cos 2πa.
func (l *List) Sine(a ID) ID { return l.unary(Sine, a) }

// Cosine returns cos 2πa.
func (l *List) Cosine(a ID) ID { return l.unary(Cosine, a) }

// Tanh returns tanh a.
func (l *List) Tanh(a ID) ID { return l.unary(Tanh, a) }

// Arcsine returns arcsin a.
func (l *List) Arcsine(a ID) ID { return l.unary(Arcsine, a) }

// Abs returns |a|.
func (l *List) Abs(a ID) ID {
	switch s := l.At(a).Sign; {
	case s.NotNegative():
		return a
	case s.NotPositive():
		return l.Neg(a)
	}
	return l.unary(Abs, a)
}

// Positive returns max(a, 0).
func (l *List) Positive(a ID) ID {
	if l.At(a).Sign.NotNegative() {
		return a
	}
	return l.unary(Positive, a)
}

// Step returns 1 where a > 0, and 0 elsewhere.
func (l *List) Step(a ID) ID { return l.unary(Step, a) }

// Pow returns a^b for a uniform b.
func (l *List) Pow(a, b ID) ID {
	x, ok := l.number(b)
	switch {
	case ok && x == math.Trunc(x) && math.Abs(x) <= maxPower:
		return l.PowInt(a, int(x))
	case ok && x == 0.5:
		return l.Sqrt(a)
	}
	v := Value{Op: Power, Args: []ID{a}, Coef: []ID{b}}
	if y, both := l.number(a); ok && both {
		return l.Num(math.Pow(y, x))
	}
	return l.put(v)
}

// maxPower bounds the powers that are multiplied out.
const maxPower = 200

// Decay returns (Σ_k poly[k]·t^(k−1))·e^−t with t = √a.
func (l *List) Decay(a ID, poly []float64) ID {
	for len(poly) > 1 && poly[len(poly)-1] == 0 {
		poly = poly[:len(poly)-1]
	}
	if len(poly) == 1 && poly[0] == 0 {
		return l.Num(0)
	}
	return l.put(Value{Op: Decay, Args: []ID{a}, Poly: poly})
}
