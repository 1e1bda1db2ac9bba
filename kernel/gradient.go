package kernel

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"gpfit/kernel/code"
	"gpfit/kernel/pair"
)

// Gradient says how the derivatives by all parameters come from sums over pairs:
// Σ_pairs adj·∂k/∂log θ_p for weights adj of the pairs is put together by
// [Gradient.Assemble] from
//
//	Σ_pairs adj·value                          for every value in Sums,
//	Σ_pairs adj·weight·term_c(pair)            for every column c of a feature in Columns,
//
// where term_c is what column c adds to the feature, without its weight.
type Gradient struct {
	// List holds the operations. Features are those of the program, and behind
	// them those that only derivatives need.
	List     *code.List
	Features []Feature
	// Sums are values; None stands for the number 1.
	Sums []code.ID
	// Columns are sums by columns.
	Columns []ColumnSums
	// ByFeature are derivatives by the features of the program, None where there
	// is none: what derivatives by the inputs are made of.
	ByFeature []code.ID
	// parts[p] are the terms of the derivative by log θ_p.
	parts [][]part
}

// ColumnSums asks for sums by the columns of a feature with parameters for each.
// For SinSquares there are two: of sin²(πu) and of u·sin(2πu), u = Δ_c/p_c.
type ColumnSums struct {
	Feature int
	// Weight is a value, None for 1; Factor is uniform and multiplies the sums.
	Weight, Factor code.ID
}

// part is coef·Sums[sum], coef uniform.
type part struct {
	coef code.ID
	sum  int
}

// finish compiles the value, and leaves the derivatives for when they are asked for.
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
			// Every op of package pair is differentiable once.
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

// add makes value a part of the derivative by log θ_param: of a sum of values each
// is summed for itself, since others may need the same.
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

// Needed tells the values that the sums and weights depend on, and the uniform
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

// Assemble adds the derivatives by log θ to grad. inverse is 1/θ: the CPU calls this
// for every row of pairs, which is no place for divisions. uniforms are the uniform
// values at θ, sums those of Sums; columns[i] are the sums of Columns[i], one for each
// column, followed for SinSquares by those of u·sin(2πu).
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

// uniform is a uniform factor, 1 for None.
func uniform(values []float64, v code.ID) float64 {
	if v == code.None {
		return 1
	}
	return values[v]
}

// Stationary tells a program of the differences of points alone, whose
// diagonal is constant.
func (p *Program) Stationary() bool {
	return !slices.ContainsFunc(p.Features, func(f Feature) bool {
		switch f.Kind {
		case SquaredDistance, SinSquares, Differences, Mismatches:
			return false
		}
		return true
	})
}
