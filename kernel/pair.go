package kernel

import (
	"slices"

	"gpfit/internal/pair"
)

// Pair provides what the function of a [Family] needs: nodes for features of a pair
// of points and for the leaf's parameters, and the methods of [pair.Graph] for
// arithmetic on them. A feature sums over the columns c that the leaf acts on. The
// argument of some features names a parameter that divides the columns: one number,
// or with ard one for each column; "" means none.
type Pair struct {
	*pair.Graph
	// features are the features of the program so far.
	features *[]Feature
	// family is the name of the leaf's family.
	family string
	degree int
	dims   []int
	// placed maps the names of the family's parameters to those of the leaf. A parameter
	// that the leaf lacks is nil, and one that is the constant 0 has size 0.
	placed map[string]*Param
}

// Degree returns the leaf's degree, if its family has one.
func (p *Pair) Degree() int { return p.degree }

// Parameter returns a scalar parameter of the leaf. An offset may be the number 0.
func (p *Pair) Parameter(name string) *Node {
	q := p.placed[name]
	switch {
	case q == nil || q.Vector:
		p.Fail("kernel: %s has no parameter %q that is one number", p.family, name)
		return p.Number(1)
	case q.Size == 0:
		return p.Number(0)
	}
	return p.Graph.Parameter(q.Offset, q.Name)
}

// SquaredDistance returns Σ Δ_c²/ρ_c².
func (p *Pair) SquaredDistance(lengthscale string) *Node {
	return p.scaled(Feature{Kind: SquaredDistance}, lengthscale, 2)
}

// Distance returns √(Σ Δ_c²/ρ_c²). Its derivative at distance 0 counts as 0, the
// mean of both one-sided derivatives.
func (p *Pair) Distance(lengthscale string) *Node { return p.Sqrt(p.SquaredDistance(lengthscale)) }

// InnerProduct returns Σ x_c x'_c/ρ_c².
func (p *Pair) InnerProduct(lengthscale string) *Node {
	return p.scaled(Feature{Kind: InnerProduct}, lengthscale, 2)
}

// SineSquares returns Σ sin²(πΔ_c/p_c)/ρ_c². With ard it needs both names.
func (p *Pair) SineSquares(lengthscale, period string) *Node {
	q := p.placed[period]
	if q == nil {
		p.Fail("kernel: %s has no parameter %q", p.family, period)
		return p.Number(0)
	}
	return p.scaled(Feature{Kind: SinSquares, Period: q.Offset, Periods: q.Size}, lengthscale, 2)
}

// Difference returns Σ Δ_c/p_c, which changes sign when the points are swapped. The
// covariance built from it must not.
func (p *Pair) Difference(period string) *Node {
	return p.scaled(Feature{Kind: Differences}, period, 1)
}

// Mismatches returns Σ [x_c ≠ x'_c]/ρ_c², for columns of categories.
func (p *Pair) Mismatches(lengthscale string) *Node {
	return p.scaled(Feature{Kind: Mismatches}, lengthscale, 2)
}

// Coordinates returns Σ x_c and Σ x'_c.
func (p *Pair) Coordinates() (first, second *Node) {
	return p.scaled(Feature{Kind: First}, "", 1), p.scaled(Feature{Kind: Second}, "", 1)
}

// Norms returns Σ x_c²/ρ_c² and Σ x'_c²/ρ_c².
func (p *Pair) Norms(lengthscale string) (first, second *Node) {
	return p.scaled(Feature{Kind: FirstNorm}, lengthscale, 2), p.scaled(Feature{Kind: SecondNorm}, lengthscale, 2)
}

// scaled returns a feature whose columns are divided by a power of a parameter. A
// parameter for each column becomes weights of the columns, a scalar becomes a
// factor.
func (p *Pair) scaled(f Feature, name string, power int) *Node {
	f.Dims, f.Param = p.dims, -1
	q, declared := p.placed[name]
	switch {
	case name != "" && !declared:
		p.Fail("kernel: %s has no parameter %q", p.family, name)
	case q != nil && q.Vector:
		f.Param = q.Offset
	}
	index := p.feature(f)
	node := p.Feature(index, f.title(), f.Kind.sign())
	if q == nil || q.Vector || q.Size == 0 {
		return node
	}
	return p.Div(node, p.PowInt(p.Graph.Parameter(q.Offset, q.Name), power))
}

// Node is a Gorgonia node for a number computed from a pair of points.
type Node = pair.Node

// feature returns the index of f; equal features share one.
func (p *Pair) feature(f Feature) int {
	i := slices.IndexFunc(*p.features, func(g Feature) bool {
		return g.Kind == f.Kind && g.Param == f.Param && g.Period == f.Period && slices.Equal(g.Dims, f.Dims)
	})
	if i < 0 {
		i, *p.features = len(*p.features), append(*p.features, f)
	}
	return i
}
