package ptx

import (
	"fmt"
	"slices"

	"gpfit/kernel/oplist"
)

// values computes values of the pairs of a pass: a thread has rows × cols of them, and pair p is in row p / cols, column p
// mod cols.
type values struct {
	operands
	k          *Kernel
	rows, cols int
	uniforms   string
	features   map[int]vec
	known      map[oplist.ID]vec
	roots      map[oplist.ID]*decayed
	live       lifetimes
}

func (b *values) pairs() int { return b.rows * b.cols }

// uniform returns a uniform value as an operand.
func (b *values) uniform(v oplist.ID) string {
	if value := b.k.list.At(v); value.Op == oplist.Number {
		return number(value.Number)
	}
	return b.do("ld.global.nc.f64", at(b.uniforms, 8*b.k.slot[v]))
}

// signOfOne returns 1 or −1 for a value that is the constant 1 or −1, and 0 otherwise.
func signOfOne(b *values, v oplist.ID) (sign float64) {
	if value := b.k.list.At(v); value.Op == oplist.Number && value.Number*value.Number == 1 {
		return value.Number
	}
	return 0
}

// value returns a value for all pairs, and computes it on first use.
func (b *values) value(v oplist.ID) vec {
	b.live.used(v)
	if out, ok := b.known[v]; ok {
		return out
	}
	value := b.k.list.At(v)
	out := compute(b, v, value)
	b.known[v] = out
	if value.Op != oplist.Feature && !value.Uniform {
		b.live.born(v)
	}
	return out
}

func compute(b *values, v oplist.ID, value *oplist.Value) vec {
	switch {
	case value.Uniform:
		return slices.Repeat(vec{b.do("mov.f64", b.uniform(v))}, b.pairs())
	case value.Op == oplist.Feature:
		b.live.used(value.Index)
		return b.features[value.Index]
	case value.Op == oplist.Sum:
		return sumOf(b, value)
	case value.Op == oplist.Product:
		return productOf(b, v, value)
	case value.Op == oplist.RootInverse:
		root := rootOf(b, value.Args[0])
		zero := b.is("eq", root, 0.0)
		return b.choose(0.0, b.each("rcp.rn.f64", root), zero)
	case value.Op == oplist.Sqrt:
		return rootOf(b, value.Args[0])
	case value.Op == oplist.Decay:
		return decayWith(b, value)
	}
	return functionOf(b, v, value, b.value(value.Args[0]))
}

func functionOf(b *values, v oplist.ID, value *oplist.Value, a vec) vec {
	switch value.Op {
	case oplist.Exp:
		if b.k.list.At(value.Args[0]).Sign.NotPositive() {
			return b.expNegative(a)
		}
		return b.exp(a, nil)
	case oplist.Log:
		return b.log(a)
	case oplist.LogOrZero:
		return b.choose(0.0, b.log(a), b.is("eq", a, 0.0))
	case oplist.Log1p:
		return logOnePlus(&b.arithmetic, a)
	case oplist.Sine, oplist.Cosine:
		return waveOf(b, v, value, a)
	case oplist.Tanh:
		return tanhOf(&b.arithmetic, a)
	case oplist.Arcsine:
		return arcsineOf(&b.arithmetic, a)
	case oplist.Erf:
		return erfOf(&b.arithmetic, a)
	case oplist.Sinc:
		return sincOf(&b.arithmetic, a, value.Index)
	case oplist.Abs:
		return b.each("abs.f64", a)
	case oplist.Positive:
		return b.choose(0.0, a, b.is("lt", a, 0.0))
	case oplist.Step:
		step := b.choose(1.0, 0.0, b.is("gt", a, 0.0))
		return b.choose(a, step, b.is("nan", a, a))
	case oplist.Power:
		return powerOf(&b.arithmetic, a, b.uniform(value.Coef[0]))
	}
	panic(fmt.Sprintf("kernels: unknown operation %d", value.Op))
}

// sumOf returns Σ coef·a + offset.
func sumOf(b *values, v *oplist.Value) vec {
	var out vec
	var start any // nil, or the first term
	if v.Offset != oplist.None {
		start = b.uniform(v.Offset)
	}
	for i, arg := range v.Args {
		a, sign := b.value(arg), signOfOne(b, v.Coef[i])
		switch {
		case sign == 1 && start == nil:
			out = a
		case sign == 1:
			out = b.add(a, start)
		case sign == -1 && start == nil:
			out = b.neg(a)
		case sign == -1:
			out = b.each("sub.rn.f64", start, a)
		case start == nil:
			out = b.mul(a, b.uniform(v.Coef[i]))
		default:
			out = b.fma(a, b.uniform(v.Coef[i]), start)
		}
		start = out
	}
	return out
}

// productOf returns Π a^power. It begins with a known product of some of the factors, if
// any, and divides once.
func productOf(b *values, id oplist.ID, v *oplist.Value) vec {
	left := map[oplist.ID]int{}
	for i, a := range v.Args {
		left[a] = v.Powers[i]
	}
	above, below := knownProduct(b, id, left), vec(nil)
	for _, a := range v.Args {
		switch p := left[a]; {
		case p > 0:
			above = multiplied(b, above, integerPower(b, b.value(a), p))
		case p < 0:
			below = multiplied(b, below, integerPower(b, b.value(a), -p))
		}
	}
	switch {
	case below == nil:
		return above
	case above == nil:
		return b.each("rcp.rn.f64", below)
	}
	return b.each("div.rn.f64", above, below)
}

// knownProduct returns a computed product of some of the factors and removes them from left.
func knownProduct(b *values, id oplist.ID, left map[oplist.ID]int) vec {
	best, most := oplist.None, 1
	for v := range b.k.list.Values[:id] {
		value := b.k.list.At(oplist.ID(v))
		if _, there := b.known[oplist.ID(v)]; !there || value.Op != oplist.Product || value.Uniform || len(value.Args) <= most {
			continue
		}
		if !slices.ContainsFunc(value.Args, func(a oplist.ID) bool {
			p := value.Powers[slices.Index(value.Args, a)]
			return p < 0 || left[a] < p
		}) {
			best, most = oplist.ID(v), len(value.Args)
		}
	}
	if best == oplist.None {
		return nil
	}
	for i, a := range b.k.list.At(best).Args {
		left[a] -= b.k.list.At(best).Powers[i]
	}
	return b.value(best)
}

// multiplied multiplies by a the product so far, which may be nil.
func multiplied(b *values, before, a vec) vec {
	if before == nil {
		return a
	}
	return b.mul(before, a)
}

// integerPower multiplies, from the highest bit of p ≥ 1 down.
func integerPower(b *values, a vec, p int) vec {
	out, bit := a, 1
	for bit <= p/2 {
		bit *= 2
	}
	for bit /= 2; bit > 0; bit /= 2 {
		if out = b.mul(out, out); p&bit != 0 {
			out = b.mul(out, a)
		}
	}
	return out
}

// rootOf returns √a, which a Decay may share.
func rootOf(b *values, a oplist.ID) vec { return decayOf(b, a).root }

func decayOf(b *values, a oplist.ID) *decayed {
	if b.roots[a] == nil {
		b.roots[a] = &decayed{root: b.each("sqrt.rn.f64", b.value(a))}
		b.live.born([2]oplist.ID{a, 0})
	}
	b.live.used([2]oplist.ID{a, 0})
	return b.roots[a]
}

// decayWith returns (Σ_k poly_k t^(k−1))·e^−t with t = √a. If e^−t counts as 0, so does the
// product.
func decayWith(b *values, v *oplist.Value) vec {
	a := v.Args[0]
	d := decayOf(b, a)
	if d.exp == nil {
		d.small = b.is("gt", d.root, float64(-leastExp))
		d.exp = b.expRaw(b.neg(d.root))
		b.live.born([2]oplist.ID{a, 1})
	}
	b.live.used([2]oplist.ID{a, 1})
	return b.choose(0.0, decayPolynomial(b, d, v.Poly), d.small)
}

// decayPolynomial returns Decay without the cutoff.
func decayPolynomial(b *values, d *decayed, poly []float64) vec {
	var sum vec // over k ≥ 1
	switch len(poly) {
	case 0, 1:
	case 2:
		if poly[0] == 0 && poly[1] == 1 {
			return d.exp
		}
		sum = b.mul(d.exp, poly[1])
	default:
		high := slices.Clone(poly[1:])
		slices.Reverse(high)
		if high[0] == 1 { // one coefficient fewer
			sum = b.add(d.root, high[1])
			for _, c := range high[2:] {
				sum = b.fma(sum, d.root, c)
			}
		} else {
			sum = b.polynomial(d.root, high...)
		}
		sum = b.mul(sum, d.exp)
	}
	if poly[0] == 0 {
		return sum
	}
	zero := b.is("eq", d.root, 0.0)
	term := b.choose(0.0, b.each("div.rn.f64", b.mul(d.exp, poly[0]), d.root), zero)
	if sum == nil {
		return term
	}
	return b.add(sum, term)
}

// waveOf returns sin 2πa or cos 2πa, and computes both if the list contains both for one argument.
func waveOf(b *values, v oplist.ID, value *oplist.Value, a vec) vec {
	partner := oplist.None
	for id := range b.k.list.Values {
		o := &b.k.list.Values[id]
		if b.k.need[id] && (o.Op == oplist.Sine || o.Op == oplist.Cosine) && o.Op != value.Op && o.Args[0] == value.Args[0] {
			partner = oplist.ID(id)
		}
	}
	sin, cos := b.turn(a, value.Op == oplist.Sine || partner != oplist.None)
	cosine := func() vec { return b.fma(b.mul(sin, -2.0), sin, 1.0) }
	sine := func() vec { return b.mul(b.mul(sin, 2.0), cos) }
	if value.Op == oplist.Sine {
		if partner != oplist.None {
			b.known[partner] = cosine()
		}
		return sine()
	}
	if partner != oplist.None {
		b.known[partner] = sine()
	}
	return cosine()
}
