package kernel

import "math"

// newFormula makes a family of a formula.
func newFormula(f *formula) *Family {
	family := &Family{Name: formulaName, formula: f}
	for _, name := range f.parameterNames() {
		family.Parameters = append(family.Parameters, Parameter{Name: name, Kind: Shape})
	}
	if f.scaled() {
		family.Parameters = append(family.Parameters, Parameter{Name: ardScale, Kind: Lengthscale, Count: OnlyARD})
	}
	family.Function = func(p *Pair) *Node { return f.build(p) }
	return family
}

// parametersOf lists the parameters of leaves of the family. With ard, the
// parameters of a formula have different units. input is the exponent of the
// inputs' units of its values.
func (f *Family) parametersOf(ard bool) (parameters []Parameter, input float64) {
	switch {
	case f.formula == nil && f.linear && !ard:
		return f.Parameters, 2
	case f.formula == nil:
		return f.Parameters, 0
	}
	exponents, input := f.formula.units(ard)
	for _, q := range f.Parameters {
		switch {
		case q.Count == OnlyARD:
		case exponents[q.Name] == 1:
			q.Kind = Lengthscale
		default:
			q.units.Input = exponents[q.Name]
		}
		parameters = append(parameters, q)
	}
	return parameters, input
}

// coordinates returns the coordinates of the two points on the leaf's only column.
func (p *Pair) coordinates() (first, second *Node) {
	if len(p.dims) != 1 {
		p.Fail("x and y are the coordinates of two points on one column, but there are %d columns: choose one with dims=", len(p.dims))
	}
	return p.Coordinates()
}

// build returns the node of a formula.
func (f *formula) build(p *Pair) *Node {
	if x, ok := f.constant(); ok {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			p.Fail("%s is not a finite number", f)
		}
		return p.Number(x)
	}
	switch f.op {
	case opName:
		return f.named(p)
	case opCall:
		return formulaFunctions[f.name](p, f.args[0].build(p))
	case opNegate:
		return p.Neg(f.args[0].build(p))
	case opPower:
		return f.power(p)
	}
	a, b := f.args[0].build(p), f.args[1].build(p)
	switch f.op {
	case opAdd:
		return p.Add(a, b)
	case opSubtract:
		return p.Sub(a, b)
	case opMultiply:
		return p.Mul(a, b)
	}
	return p.Div(a, b)
}

// named returns the node of a variable or a parameter.
func (f *formula) named(p *Pair) *Node {
	for _, v := range formulaVariables {
		if v.name == f.name {
			return v.node(p)
		}
	}
	return p.Parameter(f.name)
}

// maxFormulaPower bounds the powers that become repeated multiplications.
const maxFormulaPower = 100

func (f *formula) power(p *Pair) *Node {
	base := f.args[0].build(p)
	x, ok := f.args[1].constant()
	switch {
	case ok && x == 0.5:
		return p.Sqrt(base)
	case ok && x == math.Trunc(x) && math.Abs(x) <= maxFormulaPower:
		return p.PowInt(base, int(x))
	}
	return p.Pow(base, f.args[1].build(p))
}

// constant returns the value of a formula without variables, parameters and
// functions.
func (f *formula) constant() (float64, bool) {
	switch f.op {
	case opNumber:
		return f.number, true
	case opName:
		return math.Pi, f.name == piName
	case opCall:
		return 0, false
	}
	a, ok := f.args[0].constant()
	if !ok || f.op == opNegate {
		return -a, ok
	}
	b, ok := f.args[1].constant()
	switch f.op {
	case opAdd:
		a += b
	case opSubtract:
		a -= b
	case opMultiply:
		a *= b
	case opDivide:
		a /= b
	case opPower:
		a = math.Pow(a, b)
	}
	return a, ok
}
