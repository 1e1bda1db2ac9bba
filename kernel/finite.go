package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"math"
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
	// factors lists, for each φ_j, the atoms whose product it is.
	factors [][]int
	atoms   []atom
}

// atom is a function ψ whose product ψ(x)ψ(x′) occurs in a covariance function.
type atom struct {
	// key identifies it among the atoms of a program.
	key string
	// column is the column that it is, −1 if it is none.
	column int
	value  func(x *Points, i int) float64
	// name takes the names and units of columns.
	name func(columns []string, units []float64) string
}

// maxFinite limits the number of features.
const maxFinite = 2000

// ErrManyFeatures is the error of a kernel with too many features to list.
var ErrManyFeatures error = &CompileError{Msg: "more than " + strconv.Itoa(maxFinite) + " features, too many to list their weights"}

// FiniteFeatures returns the features of the kernel at θ, nil if there are none or infinitely many,
// and [ErrManyFeatures] if there are too many. It tests products of formulas on the points x.
func (p *Program) FiniteFeatures(theta []float64, x *Points) (*FiniteFeatures, error) {
	f := &finder{prog: p, theta: theta, x: x, uniforms: make([]float64, len(p.List.Values))}
	p.List.Uniforms(f.uniforms, theta, p.List.Needed(p.Value))
	terms, err := f.polynomial(p.Value)
	if errors.Is(err, errNotFinite) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := &FiniteFeatures{atoms: f.atoms}
	for _, t := range f.ordered(terms) {
		if v := terms[t.key]; v < 0 {
			return nil, nil
		} else if v > 0 {
			out.Variances, out.factors = append(out.Variances, v), append(out.factors, t.factors)
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
	for _, a := range f.factors[j] {
		for i := range out {
			out[i] *= f.atoms[a].value(x, i)
		}
	}
	return out
}

// Columns lists the columns (positions) whose product is part of φ_j, one for each power.
func (f *FiniteFeatures) Columns(j int) (columns []int) {
	for _, a := range f.factors[j] {
		if c := f.atoms[a].column; c >= 0 {
			columns = append(columns, c)
		}
	}
	return columns
}

// Name returns a name such as x^2*z, cos(2pi*x/3.1) or, for the first formula, phi1. A constant
// is 1. It takes the names of columns and their units, by which it multiplies periods.
func (f *FiniteFeatures) Name(j int, columns []string, units []float64) string {
	var parts []string
	factors := f.factors[j]
	for i := 0; i < len(factors); {
		n := 1
		for i+n < len(factors) && factors[i+n] == factors[i] {
			n++
		}
		name := f.atoms[factors[i]].name(columns, units)
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
	atoms    []atom
	products int // number of atoms that are formulas
}

// find returns the index of the atom with a key, −1 if there is none.
func (f *finder) find(key string) int {
	return slices.IndexFunc(f.atoms, func(a atom) bool { return a.key == key })
}

// add returns the index of an atom, which it adds if it is new.
func (f *finder) add(a atom) int {
	at := f.find(a.key)
	if at < 0 {
		at = len(f.atoms)
		f.atoms = append(f.atoms, a)
	}
	return at
}

// polynomial holds coefficients by the atoms of their monomials, as a key.
type polynomial map[string]float64

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
		return polynomial{"": f.uniforms[id]}, nil
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
		weight := 1.0
		if feature.Param >= 0 {
			weight /= f.theta[feature.Param+q] * f.theta[feature.Param+q]
		}
		at := f.add(atom{
			key: fmt.Sprint("column ", c), column: c,
			value: func(x *Points, i int) float64 { return x.Column(c)[i] },
			name:  func(columns []string, _ []float64) string { return columns[c] },
		})
		out[monomialKey([]int{at})] += weight
	}
	return out, nil
}

func (f *finder) sum(v *code.Value) (polynomial, error) {
	out := polynomial{}
	if v.Offset != code.None {
		out[""] = f.uniforms[v.Offset]
	}
	for i, arg := range v.Args {
		part, err := f.polynomial(arg)
		if err != nil {
			return nil, err
		}
		for key, c := range part {
			out[key] += uniform(f.uniforms, v.Coef[i]) * c
		}
	}
	return out, nil
}

func (f *finder) product(v *code.Value) (polynomial, error) {
	out := polynomial{"": 1}
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
			out[monomialKey(factors)] += va * vb
		}
		if len(out) > maxFinite {
			return nil, ErrManyFeatures
		}
	}
	return out, nil
}

// cosine returns cos 2π(u − u′) = cos 2πu cos 2πu′ + sin 2πu sin 2πu′.
func (f *finder) cosine(arg code.ID) (polynomial, error) {
	coef, core := f.prog.List.Factor(arg)
	v := f.prog.List.At(core)
	if v.Op != code.Feature || f.prog.Features[v.Index].Kind != Differences {
		return nil, errNotFinite
	}
	feature := &f.prog.Features[v.Index]
	w := wave{columns: feature.Dims}
	for q := range feature.Dims {
		period := 1 / uniform(f.uniforms, coef)
		if feature.Param >= 0 {
			period *= f.theta[feature.Param+q]
		}
		w.periods = append(w.periods, period)
	}
	out := polynomial{}
	for _, name := range []string{"cos", "sin"} {
		at := f.add(atom{
			key: fmt.Sprint(name, w), column: -1,
			value: func(x *Points, i int) float64 {
				sin, cos := math.Sincos(w.angle(x, i))
				if name == "sin" {
					return sin
				}
				return cos
			},
			name: func(columns []string, units []float64) string { return name + "(2pi*" + w.turns(columns, units) + ")" },
		})
		out[monomialKey([]int{at})] = 1
	}
	return out, nil
}

// wave is a sum of columns divided by periods.
type wave struct {
	columns []int
	periods []float64
}

// angle returns the angle of a point, in (−π, π].
func (w wave) angle(x *Points, i int) float64 {
	turns := 0.0
	for q, c := range w.columns {
		turns += x.Column(c)[i] / w.periods[q]
	}
	return 2 * math.Pi * (turns - math.Round(turns))
}

// turns returns the text of the sum.
func (w wave) turns(columns []string, units []float64) string {
	var turns []string
	for q, c := range w.columns {
		turns = append(turns, fmt.Sprintf("%s/%.4g", columns[c], units[c]*w.periods[q]))
	}
	if len(turns) == 1 {
		return turns[0]
	}
	return "(" + strings.Join(turns, "+") + ")"
}

// separable tests whether a product of values, with their powers, is ψ(x)ψ(x′) for a
// function ψ of a formula, which sees each point alone. If so, g(x, x′)² = g(x, x)·g(x′,
// x′) for all points, and ψ(x) = g(x, a)/√g(a, a) for the point a with the largest g(a, a).
func (f *finder) separable(ids []code.ID, powers []int) (polynomial, bool) {
	key := fmt.Sprint(ids, powers)
	if at := f.find(key); at >= 0 {
		return polynomial{monomialKey([]int{at}): 1}, true
	}
	if f.x.N == 0 || !f.seePointsAlone(ids) {
		return nil, false
	}
	g := func(x *Points, i int, y *Points, j int) float64 {
		out := 1.0
		for k, v := range f.prog.List.Evaluate(f.theta, f.alone(x, i, y, j), ids...) {
			out *= math.Pow(v, float64(powers[k]))
		}
		return out
	}
	anchor, largest := 0, math.Inf(-1)
	for i := range f.x.N {
		if v := g(f.x, i, f.x, i); v > largest {
			anchor, largest = i, v
		}
	}
	if !(largest > 0) {
		return nil, false
	}
	for i := range f.x.N {
		for _, j := range []int{anchor, (i + 1) % f.x.N, (7*i + 3) % f.x.N} {
			v := g(f.x, i, f.x, j)
			bound := productRounding * largest
			// Absolute: where ψ is small, the squares have underflowed first.
			if !(math.Abs(math.Abs(v)-math.Sqrt(max(0, g(f.x, i, f.x, i)*g(f.x, j, f.x, j)))) <= bound) || !(math.Abs(v-g(f.x, j, f.x, i)) <= bound) {
				return nil, false
			}
		}
	}
	at := &Points{N: 1, D: f.x.D, X: make([]float64, f.x.D)}
	for c := range at.D {
		at.X[c] = f.x.Column(c)[anchor]
	}
	root := math.Sqrt(largest)
	f.products++
	name := "phi" + strconv.Itoa(f.products)
	index := f.add(atom{
		key: key, column: -1,
		value: func(x *Points, i int) float64 { return g(x, i, at, 0) / root },
		name:  func([]string, []float64) string { return name },
	})
	return polynomial{monomialKey([]int{index}): 1}, true
}

// productRounding is the share of the largest value by which rounding, some ε, may change
// a product of formulas.
const productRounding = 1e-12

// seePointsAlone reports whether values depend on the pair, and only by sums over each
// point alone, as x, y, xx and yy of a formula.
func (f *finder) seePointsAlone(ids []code.ID) bool {
	any := false
	for i, need := range f.prog.List.Needed(ids...) {
		if v := f.prog.List.At(code.ID(i)); need && v.Op == code.Feature {
			any = true
			switch f.prog.Features[v.Index].Kind {
			case First, Second, FirstNorm, SecondNorm:
			default:
				return false
			}
		}
	}
	return any
}

// alone computes the features that belong to one point of a pair.
func (f *finder) alone(x *Points, i int, y *Points, j int) []float64 {
	out := make([]float64, len(f.prog.Features))
	for k := range f.prog.Features {
		feature := &f.prog.Features[k]
		points, row := x, i
		if feature.Kind == Second || feature.Kind == SecondNorm {
			points, row = y, j
		}
		for q, c := range feature.Dims {
			v := points.Column(c)[row]
			switch feature.Kind {
			case First, Second:
				out[k] += v
			case FirstNorm, SecondNorm:
				if feature.Param >= 0 {
					v /= f.theta[feature.Param+q]
				}
				out[k] += v * v
			}
		}
	}
	return out
}
