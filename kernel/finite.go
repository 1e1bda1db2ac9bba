package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/code"
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

// Atom is a function ψ whose product ψ(x)ψ(x′) occurs in a covariance function.
type Atom struct {
	// Params are the elements of θ on which it depends, if derivatives were asked for.
	Params []int
	// key identifies it among the atoms of a program.
	key string
	// column is the column that it is, −1 if it is none.
	column int
	value  func(x *Points, i int) float64
	// slopes writes the derivatives by the logs of Params.
	slopes func(dst []float64, x *Points, i int)
	// name takes the names and units of columns.
	name func(columns []string, units []float64) string
}

// Value returns ψ at the i-th point.
func (a *Atom) Value(x *Points, i int) float64 { return a.value(x, i) }

// Slopes writes the derivatives of ψ at the i-th point by log θ for the elements of Params.
func (a *Atom) Slopes(dst []float64, x *Points, i int) { a.slopes(dst, x, i) }

// maxFinite limits the number of features.
const maxFinite = 2000

// ErrManyFeatures is the error of a kernel with too many features to list.
var ErrManyFeatures error = &CompileError{Msg: "more than " + strconv.Itoa(maxFinite) + " features, too many to list their weights"}

// FiniteFeatures returns the features of the kernel at θ, nil if there are none or infinitely many,
// and [ErrManyFeatures] if there are too many. It tests products of formulas on the points x.
func (p *Program) FiniteFeatures(theta []float64, x *Points) (*FiniteFeatures, error) {
	return p.features(theta, x, false)
}

// DifferentiableFeatures is [Program.FiniteFeatures] with the derivatives by log θ.
func (p *Program) DifferentiableFeatures(theta []float64, x *Points) (*FiniteFeatures, error) {
	return p.features(theta, x, true)
}

func (p *Program) features(theta []float64, x *Points, slopes bool) (*FiniteFeatures, error) {
	f := &finder{prog: p, theta: theta, x: x, uniforms: make([]float64, len(p.List.Values))}
	p.List.Uniforms(f.uniforms, theta, p.List.Needed(p.Value))
	if slopes {
		f.derivatives = map[code.ID][]float64{}
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
	products int // number of atoms that are formulas
	// derivatives are those of uniform values that were asked for; nil if none are wanted.
	derivatives map[code.ID][]float64
}

// find returns the index of the atom with a key, −1 if there is none.
func (f *finder) find(key string) int {
	return slices.IndexFunc(f.atoms, func(a Atom) bool { return a.key == key })
}

// add returns the index of an atom, which it adds if it is new.
func (f *finder) add(a Atom) int {
	at := f.find(a.key)
	if at < 0 {
		at = len(f.atoms)
		f.atoms = append(f.atoms, a)
	}
	return at
}

// polynomial holds coefficients by the atoms of their monomials, as a key.
type polynomial map[string]coefficient

// monomialKey and factorsOf convert between sorted atoms and keys.
func monomialKey(factors []int) string {
	out := make([]rune, len(factors))
	for i, a := range factors {
		out[i] = rune(a + 1)
	}
	return string(out)
}

func factorsOf(key string) (factors []int) {
	for _, r := range key {
		factors = append(factors, int(r)-1)
	}
	return factors
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

func (f *finder) polynomial(id code.ID) (polynomial, error) {
	v := f.prog.List.At(id)
	if v.Uniform {
		return f.constant(id)
	}
	if out, ok := f.separable([]code.ID{id}, []int{1}); ok {
		return out, nil
	}
	switch v.Op {
	case code.Feature:
		return f.inner(&f.prog.Features[v.Index])
	case code.Sum:
		return f.sum(v)
	case code.Product:
		return f.product(v)
	case code.Cosine:
		return f.cosine(v.Args[0])
	}
	return nil, errNotFinite
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
			scale := f.theta[feature.Param+q]
			weight = coefficient{1 / (scale * scale), f.slopesAt(feature.Param+q, -2/(scale*scale))}
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

func (f *finder) sum(v *code.Value) (polynomial, error) {
	out := polynomial{}
	if v.Offset != code.None {
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

func (f *finder) product(v *code.Value) (polynomial, error) {
	out := polynomial{"": {value: 1}}
	var alone []code.ID
	var powers []int
	for i, arg := range v.Args {
		if f.seePointsAlone([]code.ID{arg}) {
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

func multiplied(a, b polynomial) (polynomial, error) {
	out := polynomial{}
	for ka, va := range a {
		for kb, vb := range b {
			factors := append(factorsOf(ka), factorsOf(kb)...)
			slices.Sort(factors)
			key := monomialKey(factors)
			out[key] = out[key].plus(va.times(vb))
		}
		if len(out) > maxFinite {
			return nil, ErrManyFeatures
		}
	}
	return out, nil
}
