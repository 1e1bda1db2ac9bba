package kernel

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gpfit/kernel/code"
	"gpfit/kernel/pair"
)

// Gradient describes how to compute the derivatives by all parameters from sums
// over pairs. [Gradient.Assemble] computes Σ_pairs adj·∂k/∂log θ_p, for weights adj
// of the pairs, from
//
//	Σ_pairs adj·value                          for every value in Sums,
//	Σ_pairs adj·weight·term_c(pair)            for every column c of a feature in Columns,
//
// where term_c is what column c adds to the feature, without its weight.
type Gradient struct {
	// List holds the operations. Features are the features of the program, followed
	// by those that only derivatives need.
	List     *code.List
	Features []Feature
	// Sums are the values to sum; None stands for the number 1.
	Sums []code.ID
	// Columns are the sums by columns.
	Columns []ColumnSums
	// ByFeature are the derivatives by the features of the program, None for
	// features without one. The derivatives by the inputs are computed from them.
	ByFeature []code.ID
	// parts[p] are the terms of the derivative by log θ_p.
	parts [][]part
}

// ColumnSums requests sums by the columns of a feature that has one parameter for
// each column. SinSquares has two sums for each column: of sin²(πu) and of
// u·sin(2πu), u = Δ_c/p_c.
type ColumnSums struct {
	Feature int
	// Weight is a value, None for 1; Factor is uniform and multiplies the sums.
	Weight, Factor code.ID
}

// part is coef·Sums[sum], with a uniform coef.
type part struct {
	coef code.ID
	sum  int
}

// finish compiles the value. The derivatives are compiled when they are first
// needed.
func (p *Program) finish() error {
	f, err := p.graph.Compile(p.root, false, 0, 0)
	if err != nil {
		return &CompileError{Msg: err.Error()}
	}
	p.List, p.Value = f.List, f.Value
	p.gradient = sync.OnceValue(func() *Gradient {
		pair.Building.Lock()
		defer pair.Building.Unlock()
		f, err := p.graph.Compile(p.root, true, len(p.Features), p.NumParams)
		if err != nil {
			// Unreachable: every op of package pair is differentiable once.
			panic(fmt.Sprintf("kernel: %s: %v", p.Text, err))
		}
		return newGradient(p, f)
	})
	return nil
}

// Gradient returns the derivatives. They are compiled on the first call.
func (p *Program) Gradient() *Gradient { return p.gradient() }

// Expression returns the covariance function of a pair and its derivatives, as the
// nodes of a Gorgonia graph that the program was compiled from.
func (p *Program) Expression() *pair.Expression {
	p.gradient()
	return p.graph.Differentiated()
}

func newGradient(p *Program, f *pair.Function) *Gradient {
	g := &Gradient{List: f.List, Features: slices.Clone(p.Features), ByFeature: f.ByFeature, parts: make([][]part, p.NumParams)}
	for i, d := range f.ByParameter {
		if d != code.None {
			g.add(i, d)
		}
	}
	for i, d := range f.ByFeature {
		if d == code.None {
			continue
		}
		feature := &p.Features[i]
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
	return g
}

// add makes value a part of the derivative by log θ_param. It adds each term of a
// sum separately, because other derivatives may need the same terms.
func (g *Gradient) add(param int, value code.ID) {
	put := func(coef, core code.ID) {
		sum := slices.Index(g.Sums, core)
		if sum < 0 {
			sum = len(g.Sums)
			g.Sums = append(g.Sums, core)
		}
		g.parts[param] = append(g.parts[param], part{coef, sum})
	}
	var split func(outer, value code.ID)
	split = func(outer, value code.ID) {
		coef, core := g.List.Factor(value)
		if coef == code.None {
			coef = g.List.Num(1)
		}
		coef = g.List.Mul(outer, coef)
		if core == code.None {
			put(coef, code.None)
			return
		}
		v := *g.List.At(core)
		if v.Op != code.Sum {
			put(coef, core)
			return
		}
		for i, a := range v.Args {
			split(g.List.Mul(coef, v.Coef[i]), a)
		}
		if v.Offset != code.None {
			put(g.List.Mul(coef, v.Offset), code.None)
		}
	}
	split(g.List.Num(1), value)
}

// Needed marks the values that the sums and weights depend on and the uniform
// values that [Gradient.Assemble] takes.
func (g *Gradient) Needed() []bool {
	roots := slices.Clone(g.Sums)
	for _, c := range g.Columns {
		roots = append(roots, c.Weight, c.Factor)
	}
	for _, list := range g.parts {
		for _, p := range list {
			roots = append(roots, p.coef)
		}
	}
	return g.List.Needed(roots...)
}

// Assemble adds the derivatives by log θ to grad. inverse is 1/θ, so that Assemble,
// which the CPU calls for every row of pairs, needs no divisions. uniforms are the
// uniform values at θ, and sums the sums of Sums. columns[i] are the sums of
// Columns[i], one for each column; for SinSquares the sums of u·sin(2πu) follow.
func (g *Gradient) Assemble(grad, inverse, uniforms, sums []float64, columns [][]float64) {
	for p, list := range g.parts {
		for _, t := range list {
			grad[p] += uniform(uniforms, t.coef) * sums[t.sum]
		}
	}
	for i, c := range g.Columns {
		f := &g.Features[c.Feature]
		d := len(f.Dims)
		for q := range f.Dims {
			weight := uniform(uniforms, c.Factor)
			if f.Param >= 0 {
				for range f.Power() {
					weight *= inverse[f.Param+q]
				}
				grad[f.Param+q] -= float64(f.Power()) * weight * columns[i][q]
			}
			if f.Kind == SinSquares {
				grad[f.Period+min(q, f.Periods-1)] -= math.Pi * weight * columns[i][d+q]
			}
		}
	}
}

// uniform returns a uniform factor, 1 for None.
func uniform(values []float64, v code.ID) float64 {
	if v == code.None {
		return 1
	}
	return values[v]
}

// Stationary reports whether the program depends only on the differences of points,
// so that its diagonal is constant.
func (p *Program) Stationary() bool {
	return !slices.ContainsFunc(p.Features, func(f Feature) bool {
		switch f.Kind {
		case SquaredDistance, SinSquares, Differences, Mismatches:
			return false
		}
		return true
	})
}
