package kernel

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/each"
	"gpfit/internal/textform"
)

// Expr is a covariance function as an expression tree: a [*Leaf], a [Sum] or a [Product]. String
// prints the text form that [Parse] reads back to an equal tree.
type Expr interface {
	String() string
	isExpr()
}

// Leaf is a covariance function of one family on chosen columns.
type Leaf struct {
	// Family is the formula.
	Family *Family
	// ARD gives every column its own lengthscale (automatic relevance
	// determination) and its own period.
	ARD bool
	// Degree is the degree of poly. For other families with a number, it is the
	// position, from 1, of that number among the allowed ones: p + 1 for matern of
	// order ν = p + ½, q + 1 for wendland. 0 means the default.
	Degree int
	// Dims are the columns that the leaf acts on; nil means all.
	Dims []int
	// Start holds start values given in the text by parameter name ("lengthscale",
	// "signal_variance"): one value, or with ARD one per column.
	Start map[string][]float64
}

// degree returns the degree of a leaf that has one, otherwise 0.
func (l *Leaf) degree() int {
	n := l.Family.number()
	switch {
	case n == nil:
		return 0
	case l.Degree == 0:
		return n.standard
	}
	return l.Degree
}

// Formula returns the text of a leaf that is a formula, and "" for others.
func (l *Leaf) Formula() string {
	if f := l.Family.formula; f != nil {
		return f.String()
	}
	return ""
}

// Number returns the name and value of the number in the leaf's parentheses, such as the degree
// of poly or the order of matern. The name is "" if the family has none.
func (l *Leaf) Number() (name string, value float64) {
	if n := l.Family.number(); n != nil {
		return n.name, n.of(l.degree())
	}
	return "", 0
}

// Sum is the sum of its terms.
type Sum []Expr

// Product is the product of its factors.
type Product []Expr

func (*Leaf) isExpr()   {}
func (Sum) isExpr()     {}
func (Product) isExpr() {}

func (l *Leaf) String() string   { return l.text(nil) }
func (s Sum) String() string     { return Text(s, nil) }
func (p Product) String() string { return Text(p, nil) }

// Text returns the text form of e, with the names of columns in place of indices, as
// [Parser.Parse] with these columns reads it.
func Text(e Expr, columns []string) string {
	if leaf, ok := e.(*Leaf); ok {
		return leaf.text(columns)
	}
	parts, sign := split(e)
	words := each.Of(parts, func(part Expr) string { return bracketed(e, part, columns) })
	return strings.Join(words, sign)
}

// split returns the terms of a sum or the factors of a product, with the sign between
// them; a leaf has none.
func split(e Expr) (parts []Expr, sign string) {
	switch e := e.(type) {
	case Sum:
		return e, " + "
	case Product:
		return e, "*"
	}
	return nil, ""
}

// text returns the text form of l with the names of columns.
func (l *Leaf) text(columns textform.Columns) string {
	var args []string
	if text := l.Formula(); text != "" {
		args = append(args, text)
	}
	name := l.Family.Name
	switch {
	case l.Family.otherDistance() != "":
		name = l.Family.of.Name
	case l.Family.of != nil:
		args = append(args, l.Family.of.Name)
	}
	if number, v := l.Number(); number != "" {
		args = append(args, strconv.FormatFloat(v, 'g', -1, 64))
	}
	switch {
	case l.Family.otherDistance() != "":
		args = append(args, l.Family.Name)
	case l.ARD:
		args = append(args, "ard")
	}
	if l.Dims != nil {
		args = append(args, "dims="+columns.ColumnList(l.Dims))
	}
	for _, name := range l.Family.parameterNames() {
		if v, ok := l.Start[name]; ok {
			args = append(args, name+"="+textform.List(v)+l.Family.mark(name))
		}
	}
	return textform.Call(name, args)
}

// bracketed prints a part of e, in parentheses if it needs them.
func bracketed(e, part Expr, columns []string) string {
	if needsBrackets(e, part) {
		return "(" + Text(part, columns) + ")"
	}
	return Text(part, columns)
}

// needsBrackets reports whether part needs parentheses in e. A sum in a sum keeps
// them, so that it is read back as a sum.
func needsBrackets(e, part Expr) bool {
	switch e.(type) {
	case Sum:
		_, sum := part.(Sum)
		return sum
	case Product:
		_, leaf := part.(*Leaf)
		return !leaf
	}
	return false
}

// position returns the byte offset of part in the text of e with the names of columns, or −1 if it is
// not a part of e.
func position(e, part Expr, columns []string) int {
	if same(e, part) {
		return 0
	}
	parts, sign := split(e)
	begin := 0
	for _, p := range parts {
		if at := position(p, part, columns); at >= 0 {
			if needsBrackets(e, p) {
				at++
			}
			return begin + at
		}
		begin += len(bracketed(e, p, columns)) + len(sign)
	}
	return -1
}

// same reports whether a and b are the same node of a tree, not only equal.
func same(a, b Expr) bool {
	if leaf, ok := a.(*Leaf); ok {
		return Expr(leaf) == b
	}
	p, sign := split(a)
	q, other := split(b)
	return sign == other && len(p) == len(q) && (len(p) == 0 || &p[0] == &q[0])
}

// Unproved reports whether e contains a formula or a custom family, which nobody
// has shown to be a covariance function. [CheckKernelhood] tests this numerically.
func Unproved(e Expr) bool {
	if leaf, ok := e.(*Leaf); ok {
		return !slices.Contains(families, cmp.Or(leaf.Family.of, leaf.Family))
	}
	parts, _ := split(e)
	return slices.ContainsFunc(parts, Unproved)
}

// WithARD returns a copy of e in which every leaf has one lengthscale and period per column.
// Leaves without either stay unchanged, and so do formulas, which specify their own scaling.
func WithARD(e Expr) Expr {
	return mapLeaves(e, "", func(l *Leaf, _ string) *Leaf {
		if !l.Family.takesARD() {
			return l
		}
		c := *l
		c.ARD = true
		return &c
	})
}

// WithZero returns a copy of e in which the offset of that name, such as "offset" or
// "k1.offset", is the constant 0. ok is false if e has no such offset.
func WithZero(e Expr, name string) (out Expr, ok bool) {
	out = mapLeaves(e, "", func(l *Leaf, prefix string) *Leaf {
		own, found := strings.CutPrefix(name, prefix)
		if !found || !l.Family.takesZero(own) {
			return l
		}
		ok = true
		c := *l
		c.Start = maps.Clone(l.Start)
		if c.Start == nil {
			c.Start = map[string][]float64{}
		}
		c.Start[own] = []float64{0}
		return &c
	})
	return out, ok
}

// mapLeaves returns a copy of e with f applied to each leaf and the prefix of its
// parameters' names.
func mapLeaves(e Expr, prefix string, f func(l *Leaf, prefix string) *Leaf) Expr {
	if leaf, ok := e.(*Leaf); ok {
		return f(leaf, prefix)
	}
	parts, _ := split(e)
	out := make([]Expr, len(parts))
	for i, part := range parts {
		out[i] = mapLeaves(part, PartPrefix(prefix, i), f)
	}
	if _, sum := e.(Sum); sum {
		return Sum(out)
	}
	return Product(out)
}

// isZero reports whether a parameter of the leaf is the constant 0.
func (l *Leaf) isZero(name string) bool {
	v := l.Start[name]
	return len(v) == 1 && v[0] == 0 && l.Family.takesZero(name)
}

// PartPrefix returns the prefix of the names of parameters in the i-th term or factor of an expression that has a prefix
// itself.
func PartPrefix(prefix string, i int) string {
	return prefix + "k" + strconv.Itoa(i+1) + "."
}
