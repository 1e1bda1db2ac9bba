package kernel

import (
	"fmt"
	"math"
	"slices"

	"gpfit/internal/each"
	"gpfit/internal/textform"
)

// Family is one kind of leaf: a covariance function with unit variance, written as an expression.
// The package derives its derivatives and the CPU and GPU code from that expression.
type Family struct {
	// Name is the name in the text form, for example "matern32".
	Name string
	// Parameters are the parameters of a leaf, in order; all are positive. The
	// signal variance is not one of them, because it belongs to the term.
	Parameters []Parameter
	// Degree means that leaves have an integer, 2 if not given, which [Pair.Degree]
	// returns. MaxDegree is the largest allowed.
	MaxDegree int
	// Function builds k(x, x′). It is called once for each leaf.
	Function func(p *Pair) *Node
	// linear marks the family whose variance has units of the inputs.
	linear bool
	// own is the number of a built-in family if it is not a degree.
	own *number
	// formula is set if the family is a formula.
	formula *formula
	// of is the family of the terms of a sum over columns.
	of *Family
}

// Parameter is a parameter that leaves of a family have.
type Parameter struct {
	// Name is a word such as "lengthscale".
	Name string
	// Kind chooses start value, bounds and units; 0 means [Shape].
	Kind Kind
	// Count is how many of this parameter a leaf has.
	Count Count
	// units override the units that follow from Kind.
	units Units
	// moves means that a Location moves with its column.
	moves bool
}

// Count is how many of a parameter a leaf has.
type Count uint8

// The counts.
const (
	// One means one, always.
	One Count = iota
	// PerColumn means one for each column with ard, and one without.
	PerColumn
	// OnlyARD means one for each column with ard, and none without.
	OnlyARD
)

func (q Parameter) kind() Kind {
	if q.Kind == 0 {
		return Shape
	}
	return q.Kind
}

func (q Parameter) unitsOf() Units {
	switch q.kind() {
	case Lengthscale, Period, InnerScale:
		return Units{Input: 1}
	}
	return q.units
}

// number describes the first argument of a family with a number: one of the count
// numbers first, first + 1, …
type number struct {
	name, what string
	first      float64
	count      int
	// standard is the position, from 1, of the default.
	standard int
}

// of returns the number at a position, counted from 1.
func (n *number) of(place int) float64 { return n.first + float64(place-1) }

// number returns the number of a family, nil if it has none.
func (f *Family) number() *number {
	if f.own != nil || f.MaxDegree == 0 {
		return f.own
	}
	return &number{name: "degree", what: "a whole number", first: 1, count: f.MaxDegree, standard: 2}
}

// check returns an error if a custom family is invalid; known finds the families defined before it.
func (f *Family) check(known func(name string) *Family) error {
	if !textform.IsName(f.Name) || known(f.Name) != nil || f.Name == formulaName || f.Name == additiveName {
		return fmt.Errorf("kernel: a custom kernel cannot be named %q: the name must be a word that is not in use", f.Name)
	}
	if f.Function == nil {
		return fmt.Errorf("kernel: family %s has no Function", f.Name)
	}
	names := map[string]bool{}
	for _, q := range f.Parameters {
		if names[q.Name] || isReserved(q.Name) && q.Name != ardScale || !textform.IsName(q.Name) {
			return fmt.Errorf("kernel: %s: parameter %q is given twice or is not an unused word", f.Name, q.Name)
		}
		if names[q.Name] = true; q.Kind == Variance || q.Kind == Weight {
			return fmt.Errorf("kernel: %s: parameter %s: every term of a kernel already has a signal variance", f.Name, q.Name)
		}
	}
	return nil
}

// realMark follows the start value of a parameter of either sign.
const realMark = "~real"

// mark returns what follows the start value of a parameter in the text form.
func (f *Family) mark(name string) string {
	if slices.ContainsFunc(f.Parameters, func(q Parameter) bool { return q.Name == name && q.Kind == Location }) {
		return realMark
	}
	return ""
}

// takesARD reports whether [WithARD] changes the family.
func (f *Family) takesARD() bool {
	return f.Name != "constant" && f.formula == nil && f.otherDistance() != sphereName
}

// scalesInner reports whether parameters of the columns, which the family has with ard, set its size.
func (f *Family) scalesInner() bool {
	return slices.ContainsFunc(f.Parameters, func(q Parameter) bool { return q.Kind == InnerScale || q.Kind == Variance })
}

// parameterNames lists the parameters that accept start values, in order.
func (f *Family) parameterNames() []string {
	names := each.Of(f.Parameters, func(q Parameter) string { return q.Name })
	return append(names, signalVariance)
}

// Families returns the names of all built-in leaf families.
func Families() []string { return familyNames(families) }

func familyNames(of []*Family) []string {
	return each.Of(of, func(f *Family) string { return f.Name })
}

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

// parametersOf lists the parameters of leaves of the family. With ard, the parameters of a
// formula have different units. input is the exponent of the inputs' units of its values.
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
		case q.Kind == Location:
			if q.units.Input = exponents[q.Name]; f.formula.comparedWithCoordinate(q.Name) {
				q.units.Input, q.moves = 1, true // a place in the column, whatever the units of the rest
			}
		case exponents[q.Name] == 1:
			q.Kind = Lengthscale
		default:
			q.units.Input = exponents[q.Name]
		}
		parameters = append(parameters, q)
	}
	return parameters, input
}

// The parameters of a program are positive, because a fit varies their logarithms. An offset
// may also be the constant 0: `poly(2, offset=0)` is (Σ x x′)². It is then a number of the
// expression and no parameter, so that no derivative and no device knows of it.

// takesZero reports whether leaves of the family may have the constant 0 for a parameter.
func (f *Family) takesZero(name string) bool {
	return slices.ContainsFunc(f.Parameters, func(q Parameter) bool { return q.Name == name && q.Kind == Offset && q.Count == One })
}

var (
	lengthscale = Parameter{Name: "lengthscale", Kind: Lengthscale, Count: PerColumn}
	// sineScale is compared with a sine, innerScale divides inner products.
	sineScale  = Parameter{Name: "lengthscale", Kind: Shape, Count: PerColumn}
	innerScale = Parameter{Name: "lengthscale", Kind: InnerScale, Count: OnlyARD}
	period     = Parameter{Name: "period", Kind: Period, Count: PerColumn}
	// indicatorScale divides numbers of mismatches.
	indicatorScale = Parameter{Name: "lengthscale", Kind: Shape, Count: PerColumn}
	// The lengthscale of gibbs varies over a column: lowScale at −1, highScale at
	// 1.
	lowScale  = Parameter{Name: "lengthscale_low", Kind: Lengthscale}
	highScale = Parameter{Name: "lengthscale_high", Kind: Lengthscale}
	alpha     = Parameter{Name: "alpha", Kind: Shape}
	offset    = Parameter{Name: "offset", Kind: Offset}
)

// families lists every leaf, in the order of the help text, with r² = Σ Δ_c²/ρ_c²
// over the columns c and Δ_c = x_c − x'_c. "R&W" is Rasmussen & Williams, Gaussian
// Processes for Machine Learning (2006).
var families = []*Family{
	{ // exp(−r²/2), R&W eq. 4.9.
		Name: "rbf", Parameters: []Parameter{lengthscale},
		Function: func(p *Pair) *Node { return p.Exp(p.Scale(-0.5, p.SquaredDistance("lengthscale"))) },
	},
	// (1, 1 + t and 1 + t + t²/3)·exp(−t) with t = r, √3 r and √5 r, R&W eq. 4.17.
	matern("matern12", 1, 1),
	matern("matern32", 3, 1, 1),
	matern("matern52", 5, 1, 1, 1.0/3),
	{ // Matérn of order ν = p + ½, R&W eq. 4.16.
		Name: "matern", Parameters: []Parameter{lengthscale},
		own: &number{name: "nu", what: "half an odd number", first: 0.5, count: 11, standard: 3},
		Function: func(p *Pair) *Node {
			order := p.Degree() - 1
			return p.Decay(p.Scale(float64(2*order+1), p.SquaredDistance("lengthscale")), maternPolynomial(order)...)
		},
	},
	{ // (1 + r²/(2α))^−α, R&W eq. 4.19.
		Name: "rq", Parameters: []Parameter{lengthscale, alpha},
		Function: func(p *Pair) *Node {
			a := p.Parameter("alpha")
			t := p.Div(p.SquaredDistance("lengthscale"), p.Scale(2, a))
			return p.Exp(p.Neg(p.Mul(a, p.Log1p(t))))
		},
	},
	{ // exp(−2 Σ sin²(πΔ_c/p_c)/ρ_c²), on one column R&W eq. 4.31. On several columns, the
		// form with the sine of the distance is not positive definite.
		Name: "periodic", Parameters: []Parameter{sineScale, period},
		Function: func(p *Pair) *Node { return p.Exp(p.Scale(-2, p.SineSquares("lengthscale", "period"))) },
	},
	{ // Σ x_c x'_c, with ard Σ x_c x'_c/ρ_c², R&W table 4.1.
		Name: "linear", Parameters: []Parameter{innerScale}, linear: true,
		Function: func(p *Pair) *Node { return p.InnerProduct("lengthscale") },
	},
	{ // (o + Σ x_c x'_c)^degree, R&W table 4.1.
		Name: "poly", Parameters: []Parameter{innerScale, offset}, MaxDegree: 100,
		Function: func(p *Pair) *Node {
			return p.PowInt(p.Add(p.Parameter("offset"), p.InnerProduct("lengthscale")), p.Degree())
		},
	},
	{ // cos(2π Σ Δ_c/p_c), the real part of a character and so positive definite in
		// any dimension: Bochner's theorem, R&W eq. 4.5.
		Name: "cosine", Parameters: []Parameter{period},
		Function: func(p *Pair) *Node { return p.CosineOfTurns(p.Difference("period")) },
	},
	{ // Wendland's piecewise polynomials, 0 from r = 1 on and 2q times
		// differentiable, R&W eq. 4.21.
		Name: "wendland", Parameters: []Parameter{lengthscale},
		own:      &number{name: "q", what: "a whole number", first: 0, count: 3, standard: 2},
		Function: wendland,
	},
	{ // The neural network covariance with bias variance o, R&W eq. 4.29:
		// (2/π) asin(2s/√((1 + 2v)(1 + 2v'))), s = o + Σ x_c x'_c/ρ_c², v = o + Σ x_c²/ρ_c².
		Name: "arcsine", Parameters: []Parameter{lengthscale, offset},
		Function: func(p *Pair) *Node {
			o := p.Parameter("offset")
			twice := func(a *Node) *Node { return p.Scale(2, p.Add(o, a)) }
			first, second := p.Norms("lengthscale")
			size := p.Mul(p.Add(p.Number(1), twice(first)), p.Add(p.Number(1), twice(second)))
			return p.Scale(2/math.Pi, p.Arcsine(p.Div(twice(p.InnerProduct("lengthscale")), p.Sqrt(size))))
		},
	},
	{ // The Gibbs covariance, whose lengthscale ℓ(x) varies with the mean of the columns.
		Name: "gibbs", Parameters: []Parameter{lowScale, highScale},
		Function: gibbs,
	},
	{ // exp(−Σ [x_c ≠ x'_c]/ρ_c²), for categories: equals rbf on a column of 0 and 1
		// for each category. Hutter, Hoos & Leyton-Brown, LION 5 (2011), eq. 1.
		Name: "hamming", Parameters: []Parameter{indicatorScale},
		Function: func(p *Pair) *Node { return p.Exp(p.Neg(p.Mismatches("lengthscale"))) },
	},
	{ // 1
		Name:     "constant",
		Function: func(p *Pair) *Node { return p.Number(1) },
	},
}

// matern returns the family (Σ_k poly_k t^k)·exp(−t) with t² = factor·r².
func matern(name string, factor float64, poly ...float64) *Family {
	return &Family{
		Name: name, Parameters: []Parameter{lengthscale},
		Function: func(p *Pair) *Node { return p.Decay(p.Scale(factor, p.SquaredDistance("lengthscale")), poly...) },
	}
}

// maternPolynomial returns the coefficients of p!/(2p)! Σ_i
// (p+i)!/(i!(p−i)!)·(2t)^(p−i), starting with the coefficient of t⁰, which is 1.
func maternPolynomial(p int) []float64 {
	out := []float64{1}
	for k := 1; k <= p; k++ {
		out = append(out, out[k-1]*float64(2*(p-k+1))/float64((2*p-k+1)*k))
	}
	return out
}

// wendland is (1 − r)₊^(j+q) times a polynomial of degree q, with j = ⌊d/2⌋ + q + 1 on
// d columns, on which it is positive definite.
func wendland(p *Pair) *Node {
	q := p.Degree() - 1
	j := len(p.dims)/2 + q + 1
	square := p.SquaredDistance("lengthscale")
	r := p.Sqrt(square)
	k := p.PowInt(p.Positive(p.Sub(p.Number(1), r)), j+q)
	linear := p.Number(1)
	switch q {
	case 1:
		linear = p.Add(linear, p.Scale(float64(j+1), r))
	case 2:
		linear = p.Add(linear, p.Scale(float64(j+2), r), p.Scale(float64(j*j+4*j+3)/3, square))
	}
	return p.Mul(k, linear)
}

// gibbs is (2ℓℓ'/(ℓ² + ℓ'²))^(d/2)·exp(−Σ Δ_c²/(ℓ² + ℓ'²)) on d columns, R&W eq. 4.32,
// with log ℓ linear in the mean m of the columns: ℓ = √(low·high)·e^(slope·m). The first
// factor is cosh(slope·(m − m'))^(−d/2).
func gibbs(p *Pair) *Node {
	d := len(p.dims)
	low, high := p.Parameter("lengthscale_low"), p.Parameter("lengthscale_high")
	slope := p.Scale(0.5/float64(d), p.Log(p.Div(high, low)))
	first, second := p.Coordinates()
	squared := func(x *Node) *Node { return p.Mul(low, high, p.Exp(p.Mul(p.Number(2), slope, x))) }
	turn := p.Mul(slope, p.sumOfDifferences(""))
	ratio := p.Div(p.Number(2), p.Add(p.Exp(turn), p.Exp(p.Neg(turn))))
	if d%2 == 1 {
		ratio = p.Sqrt(ratio)
	} else {
		d /= 2
	}
	return p.Mul(p.PowInt(ratio, d), p.Exp(p.Neg(p.Div(p.SquaredDistance(""), p.Add(squared(first), squared(second))))))
}
