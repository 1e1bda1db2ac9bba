package kernel

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"gpfit/internal/each"
	"gpfit/kernel/oplist"
	"gpfit/kernel/symbolic"
)

// Program is a compiled covariance function on points of D columns. It consists of features of a
// pair and operations on them. It is immutable and safe for concurrent use.
type Program struct {
	// D is the number of columns of X.
	D int
	// Text is the expression that it was compiled from, and Labels are the labels of the columns: Compile makes the same
	// program of them, unless a family is a custom one.
	Text   string
	Labels []int
	// Features are the inputs of the operations.
	Features []Feature
	// List holds the operations for a value without derivatives; Value is the operation
	// that computes k(x, x′).
	List  *oplist.List
	Value oplist.ID
	// Params describes θ, a vector of NumParams positive numbers.
	Params    []Param
	NumParams int
	// Zeros are the names of the offsets that are the constant 0; θ does not have them.
	Zeros []string
	// monomials are the terms, as they were written.
	monomials []*Monomial
	gradient  func() *Gradient
	graph     *symbolic.Graph
	root      *Node
	// functions are values with their derivatives, by their IDs.
	functions sync.Map
}

// Same reports whether p and q compute the same function: they were compiled from the same expression for the
// same columns.
func (p *Program) Same(q *Program) bool {
	return p == q || q != nil && p.Text == q.Text && p.D == q.D && slices.Equal(p.Zeros, q.Zeros) && reflect.DeepEqual(p.Features, q.Features)
}

// Names returns the names of all elements of θ in order.
func (p *Program) Names() []string {
	var names []string
	for _, q := range p.Params {
		names = append(names, q.ElementNames()...)
	}
	return names
}

// Monomials returns the terms of the outermost sum, and of sums within it.
func (p *Program) Monomials() []*Monomial { return p.monomials }

// Monomial is one term of a covariance function as it was written: a product of a variance, leaves
// and sums, which are sums of monomials again. Methods that use the structure of a kernel, such as
// its states, read it; all others evaluate the operations of the program.
type Monomial struct {
	// Variance is the position in θ of its signal variance, −1 if it has none.
	Variance int
	Leaves   []PlacedLeaf
	Sums     [][]*Monomial
}

// PlacedLeaf is a leaf with the positions of its columns and parameters.
type PlacedLeaf struct {
	*Leaf
	// Columns are the positions of the columns on which it acts.
	Columns []int
	// Places are the positions in θ of its parameters, or of the first of several, by name.
	Places map[string]int
}

// CheckTheta returns an error unless theta consists of NumParams positive finite numbers.
func (p *Program) CheckTheta(theta []float64) error {
	if len(theta) != p.NumParams {
		return &CompileError{Msg: fmt.Sprintf("%d parameters for a kernel with %d", len(theta), p.NumParams)}
	}
	for i, v := range theta {
		if v == 0 && p.kindAt(i) == Offset {
			return &CompileError{Msg: fmt.Sprintf("%s = 0: write offset=0 in the kernel, which makes it a constant; parameters must be positive finite numbers", p.Names()[i])}
		}
		if p.kindAt(i) == Location && v-v == 0 {
			continue
		}
		if !(v > 0) || math.IsInf(v, 0) {
			return &CompileError{Msg: fmt.Sprintf("%s = %v: must be a positive finite number", p.Names()[i], v)}
		}
	}
	return nil
}

// IsReal reports whether an element of θ may have either sign. Derivatives by it are by the number
// itself, not by its logarithm.
func (p *Program) IsReal(i int) bool { return p.kindAt(i) == Location }

// kindAt returns the kind of an element of θ.
func (p *Program) kindAt(index int) Kind {
	for _, q := range p.Params {
		if index < q.Offset+q.Size {
			return q.Kind
		}
	}
	return 0
}

// finish compiles the value. The derivatives are compiled when they are first needed.
func (p *Program) finish() error {
	f, err := p.graph.Compile(p.root, false, 0, 0)
	if err != nil {
		return &CompileError{Msg: err.Error()}
	}
	p.List, p.Value = f.List, f.Value
	p.gradient = sync.OnceValue(func() *Gradient {
		symbolic.Building.Lock()
		defer symbolic.Building.Unlock()
		f, err := p.graph.Compile(p.root, true, len(p.Features), p.NumParams)
		if err != nil {
			// Unreachable: every op of package symbolic is differentiable once.
			panic(fmt.Sprintf("kernel: %s: %v", p.Text, err))
		}
		return newGradient(p.Features, f)
	})
	return nil
}

// differentiated returns a value with its derivatives, which are compiled on the first call.
func (p *Program) differentiated(id oplist.ID) (*symbolic.Function, error) {
	if f, ok := p.functions.Load(id); ok {
		return f.(*symbolic.Function), nil
	}
	f, err := differentiateAgain(p.List, id, len(p.Features), p.NumParams)
	if err == nil {
		p.functions.Store(id, f)
	}
	return f, err
}

func differentiateAgain(list *oplist.List, d oplist.ID, features, params int) (*symbolic.Function, error) {
	symbolic.Building.Lock()
	defer symbolic.Building.Unlock()
	g, root := symbolic.Raise(list, d)
	return g.Compile(root, true, features, params)
}

// Gradient returns the derivatives. They are compiled on the first call.
func (p *Program) Gradient() *Gradient { return p.gradient() }

// Expression returns the covariance function of a pair and its derivatives, as the
// nodes of a Gorgonia graph that the program was compiled from.
func (p *Program) Expression() *symbolic.Expression {
	p.gradient()
	return p.graph.Differentiated()
}

// Stationary reports whether the program depends only on the differences of points,
// so that its diagonal is constant.
func (p *Program) Stationary() bool {
	return !slices.ContainsFunc(p.Features, func(f Feature) bool {
		return !slices.Contains([]FeatureKind{SquaredDistance, SinSquares, Differences, Mismatches}, f.Kind)
	})
}

// CompileError reports an expression that does not fit the data.
type CompileError struct {
	Msg string
	// Text is the whole expression as [Expr] prints it, and Pos the byte offset of the faulty
	// part. Text is empty if the error is not about a part of an expression.
	Text string
	Pos  int
}

// Error returns the message, the expression and a mark below the faulty part.
func (e *CompileError) Error() string {
	if e.Text == "" {
		return "kernel: " + e.Msg
	}
	return (&ParseError{What: "kernel", Text: e.Text, Pos: e.Pos, Msg: e.Msg}).Error()
}

// Columns returns the labels 0 … d−1, the usual second argument of [Compile].
func Columns(d int) []int {
	labels := make([]int, d)
	for i := range labels {
		labels[i] = i
	}
	return labels
}

// FeatureName describes a feature: its kind, its columns and its parameters. label names
// the columns.
func (p *Program) FeatureName(index int, label func(column int) string) string {
	f := p.Features[index]
	columns := each.Of(f.Dims, label)
	name := kinds[f.Kind].title + " [" + strings.Join(columns, " ") + "]"
	if q := p.paramAt(f.Param); q != nil {
		name += " over " + q.Name + strings.Repeat("²", f.Power()-1)
	}
	if f.Kind == SinSquares || f.Kind == SinePhases {
		name += " by " + p.paramAt(f.Period).Name
	}
	return name
}

// paramAt returns the parameter with an element at an offset in θ.
func (p *Program) paramAt(offset int) *Param {
	for i := range p.Params {
		if q := &p.Params[i]; q.Offset <= offset && offset < q.Offset+q.Size {
			return q
		}
	}
	return nil
}

// Gradient describes how to compute the derivatives by all parameters from sums over pairs.
// [Gradient.Assemble] computes Σ_pairs adj·∂k/∂log θ_p, for weights adj of the pairs, from
//
//	Σ_pairs adj·value                          for every value in Sums,
//	Σ_pairs adj·weight·term_c(pair)            for every column c of a feature in Columns,
//
// where term_c is the part of column c in the feature, without its weight.
type Gradient struct {
	// List holds the operations. Features are the features of the program, followed
	// by the features that only derivatives need.
	List     *oplist.List
	Features []Feature
	// Sums are the values to sum; None stands for the number 1.
	Sums []oplist.ID
	// Columns are the sums by columns.
	Columns []ColumnSums
	// ByFeature are the derivatives by the features of the program, None for
	// features without one. The derivatives by the inputs are computed from them.
	ByFeature []oplist.ID
	// shares are the parts of the derivatives.
	shares []share
	// offsets[c] is the position of the c-th column's sums among all sums; the last element is
	// the number of all sums.
	offsets []int
}

// share is the part of a sum in the derivative by log θ_param: scale·coef/θ[over]^power times the sum,
// with a uniform coef, None for 1.
type share struct {
	param, sum  int
	scale       float64
	coef        oplist.ID
	over, power int
}

// ColumnSums requests sums by the columns of a feature that has one parameter for each column.
// SinSquares has two sums for each column: of sin²(πu) and of u·sin(2πu), u = Δ_c/p_c.
type ColumnSums struct {
	Feature int
	// Weight is a value, None for 1; Factor is uniform and multiplies the sums.
	Weight, Factor oplist.ID
}

func newGradient(features []Feature, f *symbolic.Function) *Gradient {
	g := &Gradient{List: f.List, Features: slices.Clone(features), ByFeature: f.ByFeature}
	for i, d := range f.ByParameter {
		if d != oplist.None {
			g.add(i, d)
		}
	}
	for i, d := range f.ByFeature {
		if d == oplist.None {
			continue
		}
		feature := &features[i]
		switch {
		case feature.OnePeriod():
			phases := g.List.Feat(len(g.Features), SinePhases.sign())
			g.Features = append(g.Features, Feature{Kind: SinePhases, Dims: feature.Dims, Param: -1, Period: feature.Period, Periods: 1})
			g.add(feature.Period, g.List.Mul(g.List.Num(-math.Pi), g.List.Mul(d, phases)))
		case feature.Param >= 0 || feature.Kind == SinSquares:
			factor, weight := g.List.Factor(d)
			g.Columns = append(g.Columns, ColumnSums{Feature: i, Weight: weight, Factor: factor})
		}
	}
	g.addColumns()
	return g
}

// addColumns adds the shares of the sums by columns and sets offsets.
func (g *Gradient) addColumns() {
	next := len(g.Sums)
	for _, c := range g.Columns {
		f, power := &g.Features[c.Feature], 0
		if f.Param >= 0 {
			power = f.Power()
		}
		d := len(f.Dims)
		g.offsets = append(g.offsets, next)
		for q := range d {
			own := share{sum: next + q, coef: c.Factor, over: f.Param + q, power: power}
			if f.Param >= 0 {
				own.param, own.scale = f.Param+q, -float64(power)
				g.shares = append(g.shares, own)
			}
			if f.Kind == SinSquares {
				own.param, own.scale, own.sum = f.Period+min(q, f.Periods-1), -math.Pi, next+d+q
				g.shares = append(g.shares, own)
			}
		}
		if next += d; f.Kind == SinSquares {
			next += d
		}
	}
	g.offsets = append(g.offsets, next)
}

// NumSums returns the number of all sums: of Sums, then of the columns.
func (g *Gradient) NumSums() int { return g.offsets[len(g.Columns)] }

// ColumnOffset returns the position of the sums of Columns[c] among all sums.
func (g *Gradient) ColumnOffset(c int) int { return g.offsets[c] }

// add makes value a part of the derivative by log θ_param. It adds each term of a
// sum separately, because other derivatives may need the same terms.
func (g *Gradient) add(param int, value oplist.ID) {
	put := func(coef, core oplist.ID) {
		sum := slices.Index(g.Sums, core)
		if sum < 0 {
			sum = len(g.Sums)
			g.Sums = append(g.Sums, core)
		}
		g.shares = append(g.shares, share{param: param, sum: sum, scale: 1, coef: coef})
	}
	var split func(outer, value oplist.ID)
	split = func(outer, value oplist.ID) {
		coef, core := g.List.Factor(value)
		if coef == oplist.None {
			coef = g.List.Num(1)
		}
		coef = g.List.Mul(outer, coef)
		if core == oplist.None {
			put(coef, oplist.None)
			return
		}
		v := *g.List.At(core)
		if v.Op != oplist.Sum {
			put(coef, core)
			return
		}
		for i, a := range v.Args {
			split(g.List.Mul(coef, v.Coef[i]), a)
		}
		if v.Offset != oplist.None {
			put(g.List.Mul(coef, v.Offset), oplist.None)
		}
	}
	split(g.List.Num(1), value)
}

// Needed marks the values that the sums and weights depend on and the uniform
// values that [Gradient.Assemble] takes.
func (g *Gradient) Needed() []bool {
	roots := slices.Clone(g.Sums)
	for _, c := range g.Columns {
		roots = append(roots, c.Weight)
	}
	for _, t := range g.shares {
		roots = append(roots, t.coef)
	}
	return g.List.Needed(roots...)
}

// Factors appends the factors of [Gradient.Assemble] to dst. inverse is 1/θ, and
// uniforms are the uniform values at θ.
func (g *Gradient) Factors(dst, inverse, uniforms []float64) []float64 {
	for _, t := range g.shares {
		factor := uniform(uniforms, t.coef)
		for range t.power {
			factor *= inverse[t.over]
		}
		dst = append(dst, t.scale*factor)
	}
	return dst
}

// Assemble adds the derivatives by log θ to grad. The CPU calls it for every row of
// pairs. sums are the sums of Sums, then the sums of Columns, one for each column;
// for SinSquares the sums of u·sin(2πu) follow.
func (g *Gradient) Assemble(grad, factors, sums []float64) {
	for i, t := range g.shares {
		grad[t.param] += factors[i] * sums[t.sum]
	}
}

// uniform returns a uniform factor, 1 for None.
func uniform(values []float64, v oplist.ID) float64 {
	if v == oplist.None {
		return 1
	}
	return values[v]
}
