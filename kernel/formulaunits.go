package kernel

import (
	"math/big"
	"slices"
	"strconv"
)

// dimension is the exponent of the inputs' units of a quantity: a number plus a sum
// of the unknown exponents of parameters.
type dimension struct {
	number *big.Rat
	powers map[string]*big.Rat
}

func fixedDimension(x int64) dimension { return dimension{number: big.NewRat(x, 1)} }

// plus returns d + factor·e.
func (d dimension) plus(e dimension, factor *big.Rat) dimension {
	scaled := func(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, factor) }
	out := dimension{new(big.Rat).Add(d.number, scaled(e.number)), map[string]*big.Rat{}}
	for name, x := range d.powers {
		out.powers[name] = x
	}
	for name, x := range e.powers {
		sum := scaled(x)
		if before := out.powers[name]; before != nil {
			sum.Add(sum, before)
		}
		out.powers[name] = sum
	}
	return out
}

var one, minusOne = big.NewRat(1, 1), big.NewRat(-1, 1)

// analysis finds the dimensions of a formula. Its equations are dimensions that
// must be 0.
type analysis struct {
	ard       bool
	equations []dimension
}

// units returns the exponents of the inputs' units of the parameters and of the
// value of a formula. They follow from two rules: both sides of a sum have the same
// units, and arguments of functions have none. An exponent that the rules leave
// open is 0. If the rules contradict each other, as for exp(-r), nothing has units.
func (f *formula) units(ard bool) (parameters map[string]float64, value float64) {
	a := analysis{ard: ard}
	whole := a.of(f)
	names := f.parameterNames()
	solution, ok := solve(a.equations, names)
	parameters = map[string]float64{}
	for _, name := range names {
		if parameters[name] = 0; ok {
			parameters[name], _ = solution[name].Float64()
		}
	}
	if !ok {
		return parameters, 0
	}
	total := new(big.Rat).Set(whole.number)
	for name, x := range whole.powers {
		total.Add(total, new(big.Rat).Mul(x, solution[name]))
	}
	value, _ = total.Float64()
	return parameters, value
}

// none adds the equation that a quantity has no units.
func (a *analysis) none(d dimension) dimension {
	a.equations = append(a.equations, d)
	return fixedDimension(0)
}

func (a *analysis) of(f *formula) dimension {
	switch f.op {
	case opNumber:
		return fixedDimension(0)
	case opName:
		return a.named(f)
	case opNegate:
		return a.of(f.args[0])
	case opCall:
		return a.call(f)
	case opPower:
		return a.power(f)
	}
	left, right := a.of(f.args[0]), a.of(f.args[1])
	switch f.op {
	case opMultiply:
		return left.plus(right, one)
	case opDivide:
		return left.plus(right, minusOne)
	}
	a.none(left.plus(right, minusOne))
	return left
}

func (a *analysis) named(f *formula) dimension {
	for _, v := range formulaVariables {
		switch {
		case v.name != f.name:
		case v.scaled && a.ard:
			return fixedDimension(0)
		default:
			return fixedDimension(v.input)
		}
	}
	if f.name == piName {
		return fixedDimension(0)
	}
	return dimension{new(big.Rat), map[string]*big.Rat{f.name: one}}
}

func (a *analysis) call(f *formula) dimension {
	arg := a.of(f.args[0])
	switch f.name {
	case "abs", "pos":
		return arg
	case "sqrt":
		return fixedDimension(0).plus(arg, big.NewRat(1, 2))
	}
	return a.none(arg)
}

func (a *analysis) power(f *formula) dimension {
	base := a.of(f.args[0])
	if x, ok := f.args[1].constant(); ok {
		// Take the decimal number, not the nearest binary one.
		if exact, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64)); ok && len(exact.String()) < 60 {
			return fixedDimension(0).plus(base, exact)
		}
	}
	a.none(a.of(f.args[1]))
	return a.none(base)
}

// solve returns unknowns that make all equations 0, by Gauss–Jordan elimination.
// Free unknowns are 0. The result is false if no solution exists.
func solve(equations []dimension, unknowns []string) (map[string]*big.Rat, bool) {
	pivots := map[string]dimension{}
	for _, e := range equations {
		e = fixedDimension(0).plus(e, one)
		for name, row := range pivots {
			e = e.without(name, row)
		}
		i := slices.IndexFunc(unknowns, func(name string) bool { return e.powers[name] != nil && e.powers[name].Sign() != 0 })
		switch {
		case i >= 0:
			name := unknowns[i]
			e = fixedDimension(0).plus(e, new(big.Rat).Inv(e.powers[name]))
			for other, row := range pivots {
				pivots[other] = row.without(name, e)
			}
			pivots[name] = e
		case e.number.Sign() != 0:
			return nil, false
		}
	}
	out := map[string]*big.Rat{}
	for _, name := range unknowns {
		out[name] = new(big.Rat)
		if row, ok := pivots[name]; ok {
			out[name].Neg(row.number)
		}
	}
	return out, true
}

// without returns d minus the multiple of row that eliminates the unknown. The
// unknown's factor in row is 1.
func (d dimension) without(name string, row dimension) dimension {
	x := d.powers[name]
	if x == nil || x.Sign() == 0 {
		return d
	}
	return d.plus(row, new(big.Rat).Neg(x))
}
