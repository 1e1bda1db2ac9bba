package kernel

import (
	"fmt"
	"slices"
	"strings"

	"gpfit/internal/code"
	"gpfit/internal/pair"
)

// Pair provides what the function of a [Family] needs: nodes for features of a pair
// of points and for the leaf's parameters, and the methods of [pair.Graph] for
// arithmetic on them. A feature sums over the columns c that the leaf acts on. The
// argument of some features names a parameter that divides the columns: one number,
// or with ard one for each column; "" means none.
type Pair struct {
	*pair.Graph
	program *Program
	leaf    *Leaf
	dims    []int
	// placed maps names to the leaf's parameters.
	placed map[string]*Param
}

// Degree returns the leaf's degree, if its family has one.
func (p *Pair) Degree() int { return p.leaf.degree() }

// Parameter returns a scalar parameter of the leaf. An offset may be the number 0.
func (p *Pair) Parameter(name string) *Node {
	if p.leaf.isZero(name) {
		return p.Number(0)
	}
	q := p.placed[name]
	if q == nil || q.Vector {
		p.Fail("kernel: %s has no parameter %q that is one number", p.leaf.Family.Name, name)
		return p.Number(1)
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
		p.Fail("kernel: %s has no parameter %q", p.leaf.Family.Name, period)
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
	q := p.placed[name]
	switch {
	case q == nil && name != "" && !p.declared(name):
		p.Fail("kernel: %s has no parameter %q", p.leaf.Family.Name, name)
	case q != nil && q.Vector:
		f.Param = q.Offset
	}
	index := p.program.feature(f)
	node := p.Feature(index, f.title(), f.Kind.sign())
	if q == nil || q.Vector {
		return node
	}
	return p.Div(node, p.PowInt(p.Graph.Parameter(q.Offset, q.Name), power))
}

// declared reports whether the family has the parameter, even if this leaf does
// not.
func (p *Pair) declared(name string) bool {
	return slices.ContainsFunc(p.leaf.Family.Parameters, func(q Parameter) bool { return q.Name == name })
}

// feature returns the index of f; equal features share one.
func (p *Program) feature(f Feature) int {
	for i, g := range p.Features {
		if g.Kind == f.Kind && g.Param == f.Param && g.Period == f.Period && slices.Equal(g.Dims, f.Dims) {
			return i
		}
	}
	p.Features = append(p.Features, f)
	return len(p.Features) - 1
}

var titles = map[FeatureKind]string{
	SquaredDistance: "squared distance", InnerProduct: "inner product", SinSquares: "sum of sin²", Differences: "sum of differences",
	Mismatches: "mismatches", First: "x", Second: "x′", FirstNorm: "‖x‖²", SecondNorm: "‖x′‖²", SinePhases: "sum of u sin 2πu",
}

func (f Feature) title() string { return fmt.Sprintf("%s %v", titles[f.Kind], f.Dims) }

// FeatureName describes a feature: its kind, its columns and its parameters. label names
// the columns.
func (p *Program) FeatureName(index int, label func(column int) string) string {
	f := p.Features[index]
	columns := make([]string, len(f.Dims))
	for i, c := range f.Dims {
		columns[i] = label(c)
	}
	name := titles[f.Kind] + " [" + strings.Join(columns, " ") + "]"
	if q := p.paramAt(f.Param); q != nil {
		name += " over " + q.Name + strings.Repeat("²", f.Power()-1)
	}
	if f.Kind == SinSquares || f.Kind == SinePhases {
		name += " by " + p.paramAt(f.Period).Name
	}
	return name
}

// paramAt returns the parameter that begins at an offset in θ.
func (p *Program) paramAt(offset int) *Param {
	for i := range p.Params {
		if p.Params[i].Offset == offset {
			return &p.Params[i]
		}
	}
	return nil
}

func (k FeatureKind) sign() code.Sign {
	switch k {
	case SquaredDistance, SinSquares, Mismatches, FirstNorm, SecondNorm, SinePhases:
		return code.AtLeast0
	}
	return code.Unknown
}
