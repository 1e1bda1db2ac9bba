package kernel

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/internal/each"
	"gpfit/kernel/symbolic"
)

// Compile translates e for points whose columns carry the given labels. `dims=` and
// the names of ARD lengthscales refer to these labels, which differ from positions
// when columns of a table were left out.
//
// Every term of a sum carries one signal variance, a multiplicative factor: rbf is
// signal_variance·exp(−½r²), and rbf*matern32 has one as well. A product has none
// if other parameters set its size, because the data could not distinguish the two:
//
//   - a product with a linear(ard) or poly(ard) leaf, whose lengthscales set the
//     size;
//   - a product with a sum, whose terms have their own variances. If a product has
//     several sums, or a sum and a linear(ard) or poly(ard), all but one of them
//     omit the variance of their first term that would have one.
//
// Several linear(ard) or poly(ard) leaves in one product keep all their
// lengthscales, although only products of these matter then.
func Compile(e Expr, labels []int) (*Program, error) {
	symbolic.Building.Lock()
	defer symbolic.Building.Unlock()
	c := compiler{prog: &Program{D: len(labels), Text: e.String(), Labels: slices.Clone(labels), graph: symbolic.NewGraph()}, labels: labels, whole: e}
	c.into = &c.prog.monomials
	if err := c.top(e, ""); err != nil {
		return nil, err
	}
	c.prog.root = c.graph().Add(c.terms...)
	return c.prog, c.prog.finish()
}

// CompileText parses and compiles text for points of d columns, labelled by their positions.
func CompileText(text string, d int) (*Program, error) {
	e, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return Compile(e, Columns(d))
}

type compiler struct {
	prog   *Program
	whole  Expr
	labels []int
	outline
	// terms are the nodes of the outermost sum.
	terms []*Node
}

func (c *compiler) graph() *symbolic.Graph { return c.prog.graph }

// fail returns an error about a part of the expression.
func (c *compiler) fail(part Expr, format string, args ...any) error {
	e := &CompileError{Msg: fmt.Sprintf(format, args...)}
	if pos := position(c.whole, part, nil); pos >= 0 {
		e.Text, e.Pos = c.prog.Text, pos
	}
	return e
}

// top compiles the outermost sum.
func (c *compiler) top(e Expr, prefix string) error {
	if sum, ok := e.(Sum); ok {
		for i, t := range sum {
			if err := c.top(t, PartPrefix(prefix, i)); err != nil {
				return err
			}
		}
		return nil
	}
	node, err := c.product(e, prefix, scaling{own: true})
	c.terms = append(c.terms, node)
	return err
}

// scaling describes what sets the size of a term.
type scaling struct {
	// own requests a signal variance. relative means that another factor of the
	// enclosing product already has the units of the target.
	own, relative bool
}

// sum compiles a sum within a product. Without own, the first term that would have
// a variance gets none.
func (c *compiler) sum(s Sum, prefix string, sc scaling) (*Node, error) {
	var terms []*Node
	for i, t := range s {
		inner := scaling{own: true, relative: sc.relative}
		if !sc.own && (!setsScale(t) || i == len(s)-1) {
			inner.own, sc.own = false, true
		}
		compile := c.product
		if _, ok := t.(Sum); ok {
			compile = func(e Expr, prefix string, sc scaling) (*Node, error) { return c.sum(e.(Sum), prefix, sc) }
		}
		node, err := compile(t, PartPrefix(prefix, i), inner)
		if err != nil {
			return nil, err
		}
		terms = append(terms, node)
	}
	return c.graph().Add(terms...), nil
}

// setsScale reports whether e is a leaf or product whose size follows from
// lengthscales of inner products.
func setsScale(e Expr) bool {
	switch e := e.(type) {
	case *Leaf:
		return e.ARD && e.Family.scalesInner()
	case Product:
		return slices.ContainsFunc(e, setsScale)
	}
	return false
}

// factorState holds what is known about a product while its factors are compiled.
type factorState struct {
	// hasScale means that a factor has set the size. sized is passed to the next
	// factor that can set it, which consumes it.
	hasScale bool
	scaling
	// start is the signal variance given in the text, if any.
	start []float64
	// measured are the leaves whose values have units of the inputs.
	measured []measured
}

// measured is a leaf whose values have units of its columns to a power.
type measured struct {
	dims  []int
	input float64
}

// product compiles a term of a sum: a leaf or a product.
func (c *compiler) product(e Expr, prefix string, sc scaling) (*Node, error) {
	st := factorState{scaling: sc, hasScale: setsScale(e)}
	defer c.begin()()
	node, err := c.factors(e, prefix, &st)
	if err != nil {
		return nil, err
	}
	if st.hasScale || !sc.own {
		if st.start != nil {
			return nil, c.fail(e, "signal_variance given in %q, but this term does not have one", e)
		}
		return node, nil
	}
	p := Param{Name: prefix + signalVariance, Kind: Variance, Size: 1, Start: st.start, Units: Units{Target: 2}}
	if sc.relative {
		p.Kind, p.Units.Target = Weight, 0
	}
	if len(st.measured) == 1 {
		p.Dims, p.Units.Input = st.measured[0].dims, -st.measured[0].input
	}
	c.open.Variance = c.param(p)
	variance := c.graph().Parameter(c.open.Variance, p.Name)
	return c.graph().Mul(variance, node), nil
}

// factors compiles the factors of a product, or a single leaf.
func (c *compiler) factors(e Expr, prefix string, st *factorState) (*Node, error) {
	switch e := e.(type) {
	case *Leaf:
		if v := e.Start[signalVariance]; v != nil {
			if st.start != nil || len(v) != 1 {
				return nil, c.fail(e, "signal_variance is one number and can be given once per product")
			}
			st.start = v
		}
		return c.leaf(e, prefix, st)
	case Product:
		var nodes []*Node
		for i, f := range e {
			node, err := c.factors(f, PartPrefix(prefix, i), st)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, node)
		}
		return c.graph().Mul(nodes...), nil
	case Sum:
		sc := scaling{own: st.own && !st.hasScale, relative: st.relative || st.hasScale}
		st.hasScale = true
		defer c.beginSum()()
		return c.sum(e, prefix, sc)
	}
	return nil, c.fail(e, "unknown part %T", e)
}

// param appends p to θ and returns its offset.
func (c *compiler) param(p Param) int {
	p.Offset = c.prog.NumParams
	c.prog.NumParams += p.Size
	c.prog.Params = append(c.prog.Params, p)
	return p.Offset
}

// leaf places the parameters of a leaf in θ and builds its function.
func (c *compiler) leaf(l *Leaf, prefix string, st *factorState) (*Node, error) {
	dims, labels, err := c.columns(l)
	if err != nil {
		return nil, err
	}
	p := &Pair{Graph: c.graph(), features: &c.prog.Features, family: l.Family.Name, degree: l.degree(), dims: dims, placed: map[string]*Param{}}
	parameters, input := l.Family.parametersOf(l.ARD)
	for _, q := range parameters {
		p.placed[q.Name] = nil
		if q.Count == OnlyARD && !l.ARD {
			if l.Start[q.Name] != nil {
				return nil, c.fail(l, "%s: %s has a %s only with ard", l, l.Family.Name, q.Name)
			}
			continue
		}
		if l.isZero(q.Name) {
			c.prog.Zeros = append(c.prog.Zeros, prefix+q.Name)
			p.placed[q.Name] = &Param{}
			continue
		}
		param, err := c.parameter(l, q, prefix, dims, labels, st)
		if err != nil {
			return nil, err
		}
		c.param(*param)
		param.Offset = c.prog.NumParams - param.Size
		p.placed[q.Name] = param
	}
	if setsScale(l) {
		st.relative = true // one leaf has the units of the target
	}
	if input != 0 {
		st.measured = append(st.measured, measured{dims, input})
	}
	c.add(l, dims, p.placed)
	node, err := write(l.Family, p)
	if err != nil {
		return nil, c.fail(l, "%v", err)
	}
	return node, nil
}

// write calls the function of a family. Because it may be the user's, write turns a
// panic into an error.
func write(f *Family, p *Pair) (node *Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the function of %s panicked: %v", f.Name, r)
		}
	}()
	node = f.Function(p)
	if err = p.Err(); err == nil && node == nil {
		err = fmt.Errorf("the function of %s returned no expression", f.Name)
	}
	return node, err
}

// parameter returns a parameter of a leaf, without its place in θ.
func (c *compiler) parameter(l *Leaf, q Parameter, prefix string, dims, labels []int, st *factorState) (*Param, error) {
	p := &Param{Name: prefix + q.Name, Kind: q.kind(), Size: 1, Units: q.unitsOf(), Moves: q.moves, Apart: l.Family.Name == additiveName, Sphere: l.Family.Name == sphereName}
	if q.Count != One || p.Units.Input != 0 {
		p.Dims = dims
	}
	if p.Sphere {
		p.Units.Input = 0 // its columns keep their degrees
	}
	if q.Count != One && l.ARD {
		p.Size, p.Vector, p.labels = len(dims), true, labels
	}
	if setsScale(l) && !st.relative {
		// θ of (θ₀ + Σ x x'/ρ²)^p has the p-th root of the target's units.
		part := 1 / float64(max(1, l.degree()))
		switch q.Kind {
		case InnerScale:
			p.Units.Target = -part
		case Offset:
			p.Units.Target = 2 * part
		case Variance:
			p.Units.Target = 2
		}
	} else if q.Kind == Variance {
		p.Kind = Weight
	}
	return p, c.setStart(p, l, l.Start[q.Name])
}

// columns returns the positions and labels of the columns that l acts on.
func (c *compiler) columns(l *Leaf) (dims, labels []int, err error) {
	if l.Dims == nil {
		return Columns(c.prog.D), c.labels, nil
	}
	for _, label := range l.Dims {
		pos := slices.Index(c.labels, label)
		if pos < 0 {
			return nil, nil, c.fail(l, "%s: column %d is not available (columns are %s)", l, label, labelText(c.labels))
		}
		dims = append(dims, pos)
	}
	return dims, l.Dims, nil
}

// setStart copies the start values given for the leaf l to p.
func (c *compiler) setStart(p *Param, l *Leaf, v []float64) error {
	switch {
	case v == nil:
	case len(v) == 1:
		p.Start = slices.Repeat(v, p.Size)
	case len(v) == p.Size:
		p.Start = v
	default:
		return c.fail(l, "%s: %d start values for %s, which has %d", l, len(v), p.Name, p.Size)
	}
	return nil
}

func labelText(labels []int) string {
	if len(labels) == 0 {
		return "none"
	}
	contiguous := true
	for i, l := range labels {
		contiguous = contiguous && l == labels[0]+i
	}
	if contiguous && len(labels) > 2 {
		return fmt.Sprintf("%d to %d", labels[0], labels[len(labels)-1])
	}
	return fmt.Sprint(labels)
}

// Term is one term of the outermost sum of an expression.
type Term struct {
	// Path is the path of the term in the names of its parameters: "k1", "k2", or in nested sums "k1.k2".
	// The only term of an expression that is no sum has the path "k1".
	Path string
	Expr Expr
	// Program computes only the term. Its parameters keep their names in the whole.
	Program *Program
	// Params[i] is the index, in the θ of the whole, of the i-th element of the term's θ.
	Params []int
}

// Theta returns the term's elements of the θ of the whole.
func (t Term) Theta(whole []float64) []float64 {
	return each.Of(t.Params, func(p int) float64 { return whole[p] })
}

// Terms compiles e and splits it into the terms of its outermost sum, in order; it also splits
// sums within that sum. The covariance of the whole is the sum of the covariances of the terms.
// An expression that is not a sum is one term. Terms returns the errors of [Compile].
func Terms(e Expr, labels []int) ([]Term, error) {
	whole, err := Compile(e, labels)
	if err != nil {
		return nil, err
	}
	var terms []Term
	theta, params := 0, whole.Params
	if _, sum := e.(Sum); !sum {
		e = Sum{e}
	}
	parts, paths := outerTerms(e, "")
	for i, part := range parts {
		prog, err := Compile(part, labels)
		if err != nil {
			return nil, err
		}
		t := Term{Path: paths[i], Expr: part, Program: prog}
		for i := range prog.Params {
			prog.Params[i].Name = params[i].Name
		}
		for range prog.NumParams {
			t.Params = append(t.Params, theta)
			theta++
		}
		terms, params = append(terms, t), params[len(prog.Params):]
	}
	return terms, nil
}

// outerTerms lists the terms of the outermost sum with their paths, including the terms of sums within it.
func outerTerms(e Expr, prefix string) (terms []Expr, paths []string) {
	sum, ok := e.(Sum)
	if !ok {
		return []Expr{e}, []string{strings.TrimSuffix(prefix, ".")}
	}
	for i, t := range sum {
		within, at := outerTerms(t, PartPrefix(prefix, i))
		terms, paths = append(terms, within...), append(paths, at...)
	}
	return terms, paths
}

// outline records monomials while a compiler visits the parts of an expression.
type outline struct {
	// open is the innermost monomial, and into the list of the innermost sum.
	open *Monomial
	into *[]*Monomial
}

// begin opens a monomial in the innermost sum. The caller closes it by end.
func (s *outline) begin() (end func()) {
	outer := s.open
	s.open = &Monomial{Variance: -1}
	*s.into = append(*s.into, s.open)
	return func() { s.open = outer }
}

// beginSum opens a sum in the innermost monomial. The caller closes it by end.
func (s *outline) beginSum() (end func()) {
	outer, terms := s.into, new([]*Monomial)
	s.into = terms
	return func() {
		s.into = outer
		s.open.Sums = append(s.open.Sums, *terms)
	}
}

// add adds a leaf with its parameters to the innermost monomial.
func (s *outline) add(l *Leaf, columns []int, placed map[string]*Param) {
	leaf := PlacedLeaf{Leaf: l, Columns: columns, Places: map[string]int{}}
	for name, q := range placed {
		if q != nil && q.Size > 0 {
			leaf.Places[name] = q.Offset
		}
	}
	s.open.Leaves = append(s.open.Leaves, leaf)
}
