package oplist

import (
	"maps"
	"math"
	"slices"
)

// Num returns the number x.
func (l *List) Num(x float64) ID { return l.put(Value{Op: Number, Number: x + 0}) }

// Param returns θ[index].
func (l *List) Param(index int) ID { return l.put(Value{Op: Parameter, Index: index}) }

// RealParam returns θ[index], which may have either sign.
func (l *List) RealParam(index int) ID {
	return l.put(Value{Op: Parameter, Index: index, Real: true})
}

// Feat returns the pair's feature; sign is its known sign.
func (l *List) Feat(index int, sign Sign) ID {
	return l.put(Value{Op: Feature, Index: index, Sign: sign})
}

// number returns the number that a is, if it is one.
func (l *List) number(a ID) (float64, bool) {
	v := l.At(a)
	return v.Number, v.Op == Number
}

// Factor splits a into a uniform factor, None for 1, and the remaining core, which
// is None if a is uniform. It does not change the list.
func (l *List) Factor(a ID) (coef, core ID) {
	switch v := l.At(a); {
	case v.Uniform:
		return a, None
	case v.Op == Sum && len(v.Args) == 1 && v.Offset == None:
		return v.Coef[0], v.Args[0]
	}
	return None, a
}

// split is like Factor but returns the number 1 where a has no factor.
func (l *List) split(a ID) (coef, core ID) {
	if coef, core = l.Factor(a); coef == None {
		coef = l.Num(1)
	}
	return coef, core
}

// sums builds sums.
type sums struct{ *List }

// products builds products.
type products struct{ *List }

// linear is a sum Σ coef·core + offset under construction.
type linear struct {
	cores  []ID
	coefs  map[ID]ID
	offset ID
}

// Add returns a + b.
func (l *List) Add(a, b ID) ID { return sums{l}.combine(a, b, 1) }

// Sub returns a − b.
func (l *List) Sub(a, b ID) ID { return sums{l}.combine(a, b, -1) }

// Neg returns −a.
func (l *List) Neg(a ID) ID { return l.Mul(l.Num(-1), a) }

func (l sums) combine(a, b ID, sign float64) ID {
	if l.At(a).Uniform && l.At(b).Uniform {
		return l.addUniform(a, b, sign)
	}
	sum := linear{coefs: map[ID]ID{}, offset: l.Num(0)}
	l.collect(&sum, a, 1)
	l.collect(&sum, b, sign)
	return l.ofLinear(sum)
}

// collect adds sign·a to a sum. A sum of several terms with a factor stays whole;
// otherwise the factor would hide that two sums are equal.
func (l sums) collect(sum *linear, a ID, sign float64) {
	v := *l.At(a)
	if v.Uniform {
		sum.offset = l.addUniform(sum.offset, a, sign)
		return
	}
	term := func(coef, core ID) {
		coef = l.Mul(l.Num(sign), coef)
		if before, ok := sum.coefs[core]; ok {
			coef = l.addUniform(before, coef, 1)
		} else {
			sum.cores = append(sum.cores, core)
		}
		sum.coefs[core] = coef
	}
	if v.Op != Sum {
		term(l.Num(1), a)
		return
	}
	for i, core := range v.Args {
		term(v.Coef[i], core)
	}
	if v.Offset != None {
		sum.offset = l.addUniform(sum.offset, v.Offset, sign)
	}
}

func (l sums) ofLinear(sum linear) ID {
	v := Value{Op: Sum, Offset: None}
	slices.Sort(sum.cores)
	for _, core := range sum.cores {
		if x, ok := l.number(sum.coefs[core]); !ok || x != 0 {
			v.Args, v.Coef = append(v.Args, core), append(v.Coef, sum.coefs[core])
		}
	}
	if x, ok := l.number(sum.offset); !ok || x != 0 {
		v.Offset = sum.offset
	}
	switch {
	case len(v.Args) == 0:
		return sum.offset
	case len(v.Args) == 1 && v.Offset == None:
		if x, ok := l.number(v.Coef[0]); ok && x == 1 {
			return v.Args[0]
		}
	}
	return l.put(v)
}

// addUniform returns a + sign·b of uniform values, a sum of monomials with numeric coefficients.
func (l sums) addUniform(a, b ID, sign float64) ID {
	v, offset := Value{Op: Sum, Offset: None}, 0.0
	add := func(term ID, factor float64) {
		m := products(l).monomialOf(term)
		factor *= m.number
		m.number = 1
		if len(m.powers) == 0 {
			offset += factor
			return
		}
		core := products(l).ofMonomial(m)
		i := slices.Index(v.Args, core)
		if i < 0 {
			i = len(v.Args)
			v.Args, v.Coef = append(v.Args, core), append(v.Coef, l.Num(0))
		}
		v.Coef[i] = l.Num(l.At(v.Coef[i]).Number + factor)
	}
	for _, side := range []struct {
		id   ID
		sign float64
	}{{a, 1}, {b, sign}} {
		s := *l.At(side.id)
		if s.Op != Sum {
			add(side.id, side.sign)
			continue
		}
		for i, t := range s.Args {
			add(t, side.sign*l.At(s.Coef[i]).Number)
		}
		if s.Offset != None {
			offset += side.sign * l.At(s.Offset).Number
		}
	}
	keep := Value{Op: Sum, Offset: None}
	for i, t := range v.Args {
		if l.At(v.Coef[i]).Number != 0 {
			keep.Args, keep.Coef = append(keep.Args, t), append(keep.Coef, v.Coef[i])
		}
	}
	if offset != 0 {
		keep.Offset = l.Num(offset)
	}
	switch {
	case len(keep.Args) == 0:
		return l.Num(offset)
	case len(keep.Args) == 1 && keep.Offset == None:
		m := products(l).monomialOf(keep.Args[0])
		m.number *= l.At(keep.Coef[0]).Number
		return products(l).ofMonomial(m)
	}
	return l.put(keep)
}

// monomial is number·Π base^power, where either all bases are uniform or none is.
type monomial struct {
	number float64
	powers map[ID]int
}

func (l products) monomialOf(a ID) monomial {
	v := l.At(a)
	m := monomial{1, map[ID]int{}}
	switch {
	case v.Op == Number:
		m.number = v.Number
	case v.Op == Product:
		if v.Uniform {
			m.number = v.Number
		}
		for i, b := range v.Args {
			m.powers[b] = v.Powers[i]
		}
	default:
		m.powers[a] = 1
	}
	return m
}

func (m monomial) times(o monomial, power int) monomial {
	m.number *= math.Pow(o.number, float64(power))
	for b, p := range o.powers {
		m.powers[b] += p * power
	}
	return m
}

func (l products) ofMonomial(m monomial) ID {
	v := Value{Op: Product}
	for b, p := range m.powers {
		if p != 0 {
			v.Args = append(v.Args, b)
		}
	}
	if len(v.Args) == 0 || m.number == 0 {
		return l.Num(m.number)
	}
	slices.Sort(v.Args)
	for _, b := range v.Args {
		v.Powers = append(v.Powers, m.powers[b])
	}
	if l.At(v.Args[0]).Uniform {
		v.Number = m.number
	}
	if len(v.Args) == 1 && v.Powers[0] == 1 && m.number == 1 {
		return v.Args[0]
	}
	return l.put(v)
}

// Mul returns a·b.
func (l *List) Mul(a, b ID) ID { return products{l}.times(a, b, 1) }

// Div returns a/b.
func (l *List) Div(a, b ID) ID { return products{l}.times(a, b, -1) }

// PowInt returns a^power.
func (l *List) PowInt(a ID, power int) ID { return products{l}.times(l.Num(1), a, power) }

// times returns a·b^power.
func (l products) times(a, b ID, power int) ID {
	coefA, coreA := l.split(a)
	coefB, coreB := l.split(b)
	coef := l.ofMonomial(l.monomialOf(coefA).times(l.monomialOf(coefB), power))
	core := coreA
	switch {
	case coreB == None || power == 0:
	case coreA == None:
		core = l.productOf(monomial{1, map[ID]int{}}.times(l.monomialOf(coreB), power))
	default:
		core = l.productOf(l.monomialOf(coreA).times(l.monomialOf(coreB), power))
	}
	return l.scaled(coef, core)
}

// scaled returns coef·core, where core may itself have a factor or be None.
func (l products) scaled(coef, core ID) ID {
	if core == None {
		return coef
	}
	inner, core := l.split(core)
	coef = l.ofMonomial(l.monomialOf(coef).times(l.monomialOf(inner), 1))
	if core == None {
		return coef
	}
	return sums(l).ofLinear(linear{cores: []ID{core}, coefs: map[ID]ID{core: coef}, offset: l.Num(0)})
}

// productOf returns a product of nonuniform values. It merges exponentials into one
// and pairs roots.
func (l products) productOf(m monomial) ID {
	l.pairRoots(m)
	exponent, found := l.Num(0), false
	for _, b := range slices.Sorted(maps.Keys(m.powers)) {
		if v := *l.At(b); v.Op == Exp && m.powers[b] != 0 {
			exponent, found = l.Add(exponent, l.Mul(l.Num(float64(m.powers[b])), v.Args[0])), true
			delete(m.powers, b)
		}
	}
	if !found {
		return l.ofMonomial(m)
	}
	e := l.unary(Exp, l.joinLogs(exponent, m))
	if l.At(e).Uniform {
		return l.scaled(e, l.ofMonomial(m))
	}
	m.powers[e]++
	return l.ofMonomial(m)
}

// joinLogs moves factors (1 + a)^p into an exponent that contains log(1 + a).
func (l products) joinLogs(exponent ID, m monomial) ID {
	if l.At(exponent).Op != Sum {
		return exponent
	}
	for _, a := range slices.Clone(l.At(exponent).Args) {
		if v := *l.At(a); v.Op == Log1p {
			base := l.Add(l.Num(1), v.Args[0])
			exponent = l.Add(exponent, l.Mul(l.Num(float64(m.powers[base])), a))
			delete(m.powers, base)
		}
	}
	return exponent
}

// pairRoots simplifies products of roots: √a·√a to a, a/√a to √a and √a/√a to 1.
func (l products) pairRoots(m monomial) {
	for _, b := range slices.Sorted(maps.Keys(m.powers)) {
		v := *l.At(b)
		if v.Op != RootInverse && v.Op != Sqrt {
			continue
		}
		inner := l.monomialOf(v.Args[0])
		root, inverse := l.unary(Sqrt, v.Args[0]), l.unary(RootInverse, v.Args[0])
		for m.powers[inverse] > 0 && contains(m, inner) {
			m.powers[inverse]--
			m.powers[root]++
			m = m.times(inner, -1)
		}
		for m.powers[inverse] > 0 && m.powers[root] > 0 {
			m.powers[inverse]--
			m.powers[root]--
		}
		for m.powers[root] > 1 {
			m.powers[root] -= 2
			m = m.times(inner, 1)
		}
		switch of := *l.At(v.Args[0]); {
		case of.Sign == Above0: // 1/√a·1/√a is 1/a
			for m.powers[inverse] > 1 {
				m.powers[inverse] -= 2
				m = m.times(inner, -1)
			}
		case of.Op == Sqrt: // with a = √b it is 1/√b or 0
			for m.powers[inverse] > 1 {
				m.powers[inverse] -= 2
				m.powers[l.unary(RootInverse, of.Args[0])]++
			}
		}
	}
}

// contains reports whether m has all factors of part.
func contains(m, part monomial) bool {
	for b, p := range part.powers {
		if m.powers[b] < p {
			return false
		}
	}
	return true
}

// Apply returns a function of one value: an operation from [Exp] to [Step].
func (l *List) Apply(op Op, a ID) ID {
	switch sign := l.At(a).Sign; {
	case op == Sqrt:
		return l.rootOf(Sqrt, a, 1)
	case op == RootInverse:
		return l.rootOf(RootInverse, a, -1)
	case (op == Abs || op == Positive) && sign.NotNegative():
		return a
	case op == Abs && sign.NotPositive():
		return l.Neg(a)
	case op == LogOrZero && sign == Above0:
		return l.Apply(Log, a)
	case op == Log:
		if rest := l.beyondOne(a); rest != None {
			return l.unary(Log1p, rest)
		}
	case op == LogOrZero:
		if square := l.squareOfRoot(a); square != None {
			return l.Mul(l.Num(0.5), l.Apply(LogOrZero, square))
		}
	}
	return l.unary(op, a)
}

// beyondOne returns a − 1 if it is not uniform and known to be at least 0, or None.
func (l *List) beyondOne(a ID) ID {
	v := l.At(a)
	if v.Uniform || v.Op != Sum || v.Offset == None {
		return None
	}
	if x, ok := l.number(v.Offset); !ok || x != 1 {
		return None
	}
	if rest := l.Sub(a, l.Num(1)); l.At(rest).Sign.NotNegative() {
		return rest
	}
	return None
}

// squareOfRoot returns c²·b if a is c·√b with c > 0, or None.
func (l *List) squareOfRoot(a ID) ID {
	coef, core := l.split(a)
	if core == None || l.At(core).Op != Sqrt || l.At(coef).Sign != Above0 {
		return None
	}
	return l.Mul(l.PowInt(coef, 2), l.At(core).Args[0])
}

func (l *List) unary(op Op, a ID) ID {
	if x, ok := l.number(a); ok {
		return l.Num(functions[op](x))
	}
	return l.put(Value{Op: op, Args: []ID{a}})
}

// rootOf moves a nonnegative uniform factor out of the root.
func (l *List) rootOf(op Op, a ID, power int) ID {
	coef, core := l.split(a)
	sign := l.At(coef).Sign
	if core == None || !sign.NotNegative() || op == RootInverse && sign != Above0 {
		return l.unary(op, a)
	}
	return products{l}.times(l.unary(op, core), l.uniformRoot(coef), power)
}

// uniformRoot takes squares out of the root of a product.
func (l *List) uniformRoot(a ID) ID {
	m := products{l}.monomialOf(a)
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
		out = out.times(products{l}.monomialOf(l.unary(Sqrt, products{l}.ofMonomial(rest))), 1)
	}
	return products{l}.ofMonomial(out)
}

// Pow returns a^b for a uniform b.
func (l *List) Pow(a, b ID) ID {
	x, ok := l.number(b)
	switch {
	case ok && x == math.Trunc(x) && math.Abs(x) <= maxPower:
		return l.PowInt(a, int(x))
	case ok && x == 0.5:
		return l.Apply(Sqrt, a)
	}
	if rest := l.beyondOne(a); rest != None {
		return l.Apply(Exp, l.Mul(b, l.unary(Log1p, rest)))
	}
	if square := l.squareOfRoot(a); square != None {
		return l.Pow(square, l.Mul(l.Num(0.5), b))
	}
	v := Value{Op: Power, Args: []ID{a}, Coef: []ID{b}}
	if y, both := l.number(a); ok && both {
		return l.Num(math.Pow(y, x))
	}
	return l.put(v)
}

// maxPower bounds the powers that are multiplied out.
const maxPower = 200

// SincAt returns the Sinc of order n.
func (l *List) SincAt(a ID, n int) ID {
	if x, ok := l.number(a); ok {
		return l.Num(SincOf(n)(x))
	}
	return l.put(Value{Op: Sinc, Args: []ID{a}, Index: n})
}

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
