package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/kernel/oplist"
)

// FiniteFeatures are functions φ_j and variances v_j ≥ 0 for which
//
//	k(x, x′) = Σ_j v_j φ_j(x) φ_j(x′)
//
// so that a Gaussian process with covariance k is Σ_j w_j φ_j with independent weights of
// these variances (R&W, section 2.2.2). Kernels that have them are linear, poly, cosine,
// constant, formulas that are a product φ(x)·φ(y), and sums and products of these.
type FiniteFeatures struct {
	// Variances holds v_j.
	Variances []float64
	// Slopes are the derivatives of each v_j by log θ, nil where all are 0. Only
	// [Program.DifferentiableFeatures] computes them.
	Slopes [][]float64
	// Factors lists, for each φ_j, the atoms whose product it is.
	Factors [][]int
	Atoms   []Atom
}

// FiniteFeatures returns the features of the kernel at θ, nil if there are none or infinitely many,
// and [ErrManyFeatures] if there are too many. It tests products of formulas on the points x.
func (p *Program) FiniteFeatures(theta []float64, x *Points) (*FiniteFeatures, error) {
	return p.features(theta, x, false)
}

// DifferentiableFeatures is [Program.FiniteFeatures] with the derivatives by log θ. It has features of hamming, too:
// one for each value of a category in x, since these are of no use to a reader of weights. Waves of cosine begin at
// one of the points, so that a column far from 0 loses no digits.
func (p *Program) DifferentiableFeatures(theta []float64, x *Points) (*FiniteFeatures, error) {
	return p.features(theta, x, true)
}

func (p *Program) features(theta []float64, x *Points, slopes bool) (*FiniteFeatures, error) {
	f := &finder{prog: p, theta: theta, x: x, uniforms: make([]float64, len(p.List.Values)), byKey: map[string]int{}}
	p.List.Uniforms(f.uniforms, theta, p.List.Needed(p.Value))
	if slopes {
		f.derivatives = map[oplist.ID][]float64{}
	}
	terms, err := f.polynomial(p.Value)
	if errors.Is(err, errNotFinite) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &FiniteFeatures{Atoms: f.atoms}
	for _, t := range f.ordered(terms) {
		if v := terms[t.key]; v.value < 0 {
			return nil, nil
		} else if v.value > 0 {
			out.Variances, out.Factors = append(out.Variances, v.value), append(out.Factors, t.factors)
			out.Slopes = append(out.Slopes, v.slopes)
		}
	}
	if len(out.Variances) == 0 {
		return nil, nil
	}
	return out, nil
}

// Values returns φ_j at the points.
func (f *FiniteFeatures) Values(j int, x *Points) []float64 {
	out := slices.Repeat([]float64{1}, x.N)
	for _, a := range f.Factors[j] {
		for i := range out {
			out[i] *= f.Atoms[a].value(x, i)
		}
	}
	return out
}

// Columns lists the columns (positions) whose product is part of φ_j, one for each power.
func (f *FiniteFeatures) Columns(j int) (columns []int) {
	for _, a := range f.Factors[j] {
		if c := f.Atoms[a].column; c >= 0 {
			columns = append(columns, c)
		}
	}
	return columns
}

// Name returns a name such as x^2*z, cos(2pi*x/3.1) or, for the first formula, phi1. A constant
// is 1. It takes the names of columns and their units, by which it multiplies periods.
func (f *FiniteFeatures) Name(j int, columns []string, units []float64) string {
	var parts []string
	factors := f.Factors[j]
	for i := 0; i < len(factors); {
		n := 1
		for i+n < len(factors) && factors[i+n] == factors[i] {
			n++
		}
		name := f.Atoms[factors[i]].name(columns, units)
		if n > 1 {
			name += "^" + strconv.Itoa(n)
		}
		parts, i = append(parts, name), i+n
	}
	if parts == nil {
		return "1"
	}
	return strings.Join(parts, "*")
}

// errNotFinite is the error of a covariance function that is not a polynomial in atoms.
var errNotFinite = errors.New("kernel: no finite features")

// finder reads a program as a polynomial in products ψ(x)ψ(x′) of atoms.
type finder struct {
	prog     *Program
	theta    []float64
	x        *Points
	uniforms []float64
	atoms    []Atom
	byKey    map[string]int
	products int // number of atoms that are formulas
	// derivatives are the known ones of uniform values; nil if nobody wants derivatives.
	derivatives map[oplist.ID][]float64
}

// find returns the index of the atom with a key, −1 if there is none.
func (f *finder) find(key string) int {
	if at, known := f.byKey[key]; known {
		return at
	}
	return -1
}

// add returns the index of an atom, which it adds if it is new.
func (f *finder) add(a Atom) int {
	at := f.find(a.key)
	if at < 0 {
		at = len(f.atoms)
		f.atoms, f.byKey[a.key] = append(f.atoms, a), at
	}
	return at
}

// ordered lists monomials by degree, then by atoms.
func (f *finder) ordered(terms polynomial) []orderedTerm {
	var out []orderedTerm
	for key := range terms {
		out = append(out, orderedTerm{key, factorsOf(key)})
	}
	slices.SortFunc(out, func(a, b orderedTerm) int {
		return cmp.Or(cmp.Compare(len(a.factors), len(b.factors)), slices.Compare(a.factors, b.factors))
	})
	return out
}

type orderedTerm struct {
	key     string
	factors []int
}

func (f *finder) polynomial(id oplist.ID) (polynomial, error) {
	v := f.prog.List.At(id)
	if v.Uniform {
		return f.constant(id)
	}
	if !f.multiple(v) {
		if out, ok := f.separable([]oplist.ID{id}, []int{1}); ok {
			return out, nil
		}
	}
	switch v.Op {
	case oplist.Feature:
		return f.inner(&f.prog.Features[v.Index])
	case oplist.Sum:
		return f.sum(v)
	case oplist.Product:
		return f.product(v)
	case oplist.Cosine:
		return f.cosine(v.Args[0])
	case oplist.Exp:
		return f.levels(v.Args[0])
	}
	return nil, errNotFinite
}

// multiple reports whether a value is another one times uniform values, such as the variance of a formula. These
// belong to the variance of a feature, so that it is the function as the formula has it.
func (f *finder) multiple(v *oplist.Value) bool {
	switch v.Op {
	case oplist.Sum:
		return len(v.Args) == 1 && v.Offset == oplist.None
	case oplist.Product:
		for i, arg := range v.Args {
			if f.prog.List.At(arg).Uniform && v.Powers[i] > 0 {
				return true
			}
		}
	}
	return false
}

// inner returns Σ_c w_c x_c x′_c.
func (f *finder) inner(feature *Feature) (polynomial, error) {
	if feature.Kind != InnerProduct {
		return nil, errNotFinite
	}
	out := polynomial{}
	for q, c := range feature.Dims {
		weight := coefficient{value: 1}
		if feature.Param >= 0 {
			weight = f.inverseSquare(feature.Param + q)
		}
		at := f.add(Atom{
			key: fmt.Sprint("column ", c), column: c,
			value: func(x *Points, i int) float64 { return x.Column(c)[i] },
			name:  func(columns []string, _ []float64) string { return columns[c] },
		})
		key := monomialKey([]int{at})
		out[key] = out[key].plus(weight)
	}
	return out, nil
}

func (f *finder) sum(v *oplist.Value) (polynomial, error) {
	out := polynomial{}
	if v.Offset != oplist.None {
		var err error
		if out, err = f.constant(v.Offset); err != nil {
			return nil, err
		}
	}
	for i, arg := range v.Args {
		part, err := f.polynomial(arg)
		if err != nil {
			return nil, err
		}
		factor, err := f.uniform(v.Coef[i])
		if err != nil {
			return nil, err
		}
		for key, c := range part {
			out[key] = out[key].plus(c.times(factor))
		}
	}
	return out, nil
}

func (f *finder) product(v *oplist.Value) (polynomial, error) {
	out := polynomial{"": {value: 1}}
	var alone []oplist.ID
	var powers []int
	for i, arg := range v.Args {
		if f.prog.seePointsAlone([]oplist.ID{arg}) {
			alone, powers = append(alone, arg), append(powers, v.Powers[i])
			continue
		}
		if v.Powers[i] < 0 {
			return nil, errNotFinite
		}
		part, err := f.polynomial(arg)
		if err != nil {
			return nil, err
		}
		for range v.Powers[i] {
			if out, err = multiplied(out, part); err != nil {
				return nil, err
			}
		}
	}
	if alone == nil {
		return out, nil
	}
	part, ok := f.separable(alone, powers)
	if !ok {
		return nil, errNotFinite
	}
	return multiplied(out, part)
}

// cosine returns cos 2π(u − u′) = cos 2πu cos 2πu′ + sin 2πu sin 2πu′.
func (f *finder) cosine(arg oplist.ID) (polynomial, error) {
	coef, core := f.prog.List.Factor(arg)
	v := f.prog.List.At(core)
	if v.Op != oplist.Feature || f.prog.Features[v.Index].Kind != Differences {
		return nil, errNotFinite
	}
	w, key, err := f.wave(&f.prog.Features[v.Index], coef)
	if err != nil {
		return nil, err
	}
	params := w.params(f.prog.NumParams)
	out := polynomial{}
	for _, name := range []string{"cos", "sin"} {
		at := f.add(w.atom(name, key, params))
		out[monomialKey([]int{at})] = coefficient{value: 1}
	}
	return out, nil
}

// levels returns exp(Σ_c w_c[x_c ≠ x′_c] + o) for categories in columns c, with w_c ≤ 0, as a product of sums over the
// values l of each column:
//
//	e^w + (1 − e^w)·Σ_l [x = l][x′ = l].
func (f *finder) levels(exponent oplist.ID) (polynomial, error) {
	if f.derivatives == nil {
		return nil, errNotFinite
	}
	out := polynomial{"": {value: 1}}
	terms, coefficients := []oplist.ID{exponent}, []oplist.ID{oplist.None}
	if v := f.prog.List.At(exponent); v.Op == oplist.Sum {
		terms, coefficients = v.Args, v.Coef
		if v.Offset != oplist.None {
			o, err := f.uniform(v.Offset)
			if err != nil {
				return nil, err
			}
			out[""] = o.exp()
		}
	}
	for i, term := range terms {
		v := f.prog.List.At(term)
		if v.Op != oplist.Feature || f.prog.Features[v.Index].Kind != Mismatches {
			return nil, errNotFinite
		}
		factor, err := f.uniform(coefficients[i])
		if err != nil {
			return nil, err
		}
		if out, err = f.mismatched(out, &f.prog.Features[v.Index], factor); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// mismatched multiplies a polynomial by the factors of the columns of a feature, which factor multiplies.
func (f *finder) mismatched(out polynomial, feature *Feature, factor coefficient) (polynomial, error) {
	for q, c := range feature.Dims {
		weight := factor
		if feature.Param >= 0 {
			weight = factor.times(f.inverseSquare(feature.Param + q))
		}
		different := weight.exp()
		equal := coefficient{-math.Expm1(weight.value), combined(different.slopes, -1, nil, 0)}
		values := levelsOf(f.x, c, maxFinite)
		if values == nil {
			return nil, ErrManyFeatures
		}
		sum := polynomial{"": different}
		for _, l := range values {
			sum[monomialKey([]int{f.add(level(c, l))})] = equal
		}
		var err error
		if out, err = multiplied(out, sum); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wave returns the wave of a feature, a sum of differences, times a uniform value, and its key.
func (f *finder) wave(feature *Feature, coef oplist.ID) (w wave, key string, err error) {
	factor, err := f.uniform(coef)
	if err != nil {
		return w, "", err
	}
	w = wave{columns: feature.Dims, origin: f.originOf(feature.Dims)}
	for q := range feature.Dims {
		period := 1 / factor.value
		var slopes []float64 // of the logarithm
		if feature.Param >= 0 {
			period *= f.theta[feature.Param+q]
			slopes = f.slopesAt(feature.Param+q, 1)
		}
		slopes = combined(slopes, 1, factor.slopes, -1/factor.value)
		w.periods, w.slopes = append(w.periods, period), append(w.slopes, slopes)
	}
	key = fmt.Sprint(w.columns, w.periods)
	if f.derivatives != nil { // equal periods may be different parameters
		key += fmt.Sprint(feature.Param, coef)
	}
	return w, key, nil
}

// originOf returns where waves of some columns begin: at 0 for a reader of the features, and at one of the points where
// digits count. Then the sines of points that are whole periods apart are 0.
func (f *finder) originOf(columns []int) []float64 {
	out := make([]float64, len(columns))
	if f.derivatives == nil || f.x.N == 0 {
		return out
	}
	for q, c := range columns {
		out[q] = f.x.Column(c)[f.x.N/2]
	}
	return out
}

// separable returns the function ψ for a product of values, with their powers, that is ψ(x)ψ(x′).
func (f *finder) separable(ids []oplist.ID, powers []int) (polynomial, bool) {
	key := fmt.Sprint(ids, powers)
	if at := f.find(key); at >= 0 {
		return polynomial{monomialKey([]int{at}): {value: 1}}, true
	}
	if f.x.N == 0 || !f.prog.seePointsAlone(ids) {
		return nil, false
	}
	g := &formulaProduct{f.prog, f.theta, ids, powers}
	at, largest, ok := g.anchor(f.x)
	if !ok {
		return nil, false
	}
	root := math.Sqrt(largest)
	a := Atom{key: key, column: -1, value: func(x *Points, i int) float64 { return g.value(x, i, at, 0) / root }}
	if f.derivatives != nil {
		if err := g.differentiate(&a, at, largest); err != nil {
			return nil, false
		}
	}
	f.products++
	name := "phi" + strconv.Itoa(f.products)
	a.name = func([]string, []float64) string { return name }
	return polynomial{monomialKey([]int{f.add(a)}): {value: 1}}, true
}

// slopesAt returns the derivatives of a number that depends on one element of θ, nil if they are not wanted.
func (f *finder) slopesAt(param int, slope float64) []float64 {
	if f.derivatives == nil {
		return nil
	}
	out := make([]float64, f.prog.NumParams)
	out[param] = slope
	return out
}

// inverseSquare returns 1/θ² for one element of θ.
func (f *finder) inverseSquare(param int) coefficient {
	square := f.theta[param] * f.theta[param]
	return coefficient{1 / square, f.slopesAt(param, -2/square)}
}

// constant returns a uniform value as a polynomial.
func (f *finder) constant(id oplist.ID) (polynomial, error) {
	c, err := f.uniform(id)
	return polynomial{"": c}, err
}

// uniform returns a uniform value, 1 for None.
func (f *finder) uniform(id oplist.ID) (coefficient, error) {
	c := coefficient{value: uniform(f.uniforms, id)}
	if id == oplist.None || f.derivatives == nil {
		return c, nil
	}
	if v := f.prog.List.At(id); v.Op == oplist.Parameter {
		c.slopes = f.slopesAt(v.Index, c.value)
		return c, nil
	}
	slopes, known := f.derivatives[id]
	if !known {
		g, err := f.prog.differentiated(id)
		if err != nil {
			return c, err
		}
		for _, d := range g.ByParameter {
			if d != oplist.None {
				slopes = g.List.Evaluate(f.theta, nil, g.ByParameter...)
				break
			}
		}
		f.derivatives[id] = slopes
	}
	c.slopes = slopes
	return c, nil
}
