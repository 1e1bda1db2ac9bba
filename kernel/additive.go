package kernel

import "slices"

const additiveName = "additive"

// columnVariance is the variance of a column, with ard.
var columnVariance = Parameter{Name: "variance", Kind: Variance, Count: OnlyARD}

// newAdditive makes the family of sums over columns of a family's functions of one column (Duvenaud, Nickisch &
// Rasmussen, NIPS 2011). With ard each column has a variance of its own.
func newAdditive(of *Family) *Family {
	return &Family{Name: additiveName, of: of, Parameters: append(slices.Clone(of.Parameters), columnVariance),
		Function: func(p *Pair) *Node {
			terms := make([]*Node, len(p.dims))
			for q := range terms {
				column := p.column(q)
				terms[q] = of.Function(column)
				if column.placed[columnVariance.Name] != nil {
					terms[q] = p.Mul(column.Parameter(columnVariance.Name), terms[q])
				}
			}
			return p.Add(terms...)
		}}
}

// column returns a pair of the q-th column alone, whose parameters are numbers.
func (p *Pair) column(q int) *Pair {
	out := *p
	out.dims, out.placed = p.dims[q:q+1], map[string]*Param{}
	for name, v := range p.placed {
		if v != nil && v.Vector {
			v = &Param{Name: v.elementName(q), Kind: v.Kind, Offset: v.Offset + q, Size: 1}
		}
		out.placed[name] = v
	}
	return &out
}

// inColumns reports whether functions of the family can be terms of a sum over columns.
func (f *Family) inColumns() bool {
	return f.number() == nil && slices.ContainsFunc(f.Parameters, func(q Parameter) bool { return q.Count == PerColumn })
}

// additive reads the arguments of additive(…).
func (p *textParser) additive(start int) (Expr, error) {
	if !p.Accept('(') {
		return nil, p.Fail(start, "additive needs the family of its terms: additive(matern52)")
	}
	terms := slices.DeleteFunc(slices.Clone(p.families), func(f *Family) bool { return !f.inColumns() })
	name, _, err := p.OneOf("term of additive", familyNames(terms))
	if err != nil {
		return nil, err
	}
	leaf := &Leaf{Family: newAdditive(p.family(name))}
	if p.Accept(',') {
		return leaf, p.List(')', func() error { return p.argument(leaf) })
	}
	return leaf, p.Expect(')')
}
