package kernel

import (
	"math"
	"slices"

	"gpfit/internal/code"
	"gpfit/internal/pair"
)

// Gradient describes how to compute the derivatives by all parameters from sums over pairs.
// [Gradient.Assemble] computes Σ_pairs adj·∂k/∂log θ_p, for weights adj of the pairs, from
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
	// offsets[c] is the position of the c-th column's sums among all sums; the last element is
	// the number of all sums. targets are the parameters and sums of the factors of Factors.
	offsets []int
	targets []target
}

// target is a parameter to whose derivative a sum contributes.
type target struct{ param, sum int }

// ColumnSums requests sums by the columns of a feature that has one parameter for each column.
// SinSquares has two sums for each column: of sin²(πu) and of u·sin(2πu), u = Δ_c/p_c.
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

func newGradient(features []Feature, params int, f *pair.Function) *Gradient {
	g := &Gradient{List: f.List, Features: slices.Clone(features), ByFeature: f.ByFeature, parts: make([][]part, params)}
	for i, d := range f.ByParameter {
		if d != code.None {
			g.add(i, d)
		}
	}
	for i, d := range f.ByFeature {
		if d == code.None {
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
	g.setTargets()
	return g
}

// setTargets sets offsets and targets. [Gradient.Factors] has the same order.
func (g *Gradient) setTargets() {
	for p, list := range g.parts {
		for _, t := range list {
			g.targets = append(g.targets, target{p, t.sum})
		}
	}
	next := len(g.Sums)
	for _, c := range g.Columns {
		f := &g.Features[c.Feature]
		d := len(f.Dims)
		g.offsets = append(g.offsets, next)
		for q := range d {
			if f.Param >= 0 {
				g.targets = append(g.targets, target{f.Param + q, next + q})
			}
			if f.Kind == SinSquares {
				g.targets = append(g.targets, target{f.Period + min(q, f.Periods-1), next + d + q})
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

// Factors appends the factors of [Gradient.Assemble] to dst. inverse is 1/θ, and
// uniforms are the uniform values at θ.
func (g *Gradient) Factors(dst, inverse, uniforms []float64) []float64 {
	for _, list := range g.parts {
		for _, t := range list {
			dst = append(dst, uniform(uniforms, t.coef))
		}
	}
	for _, c := range g.Columns {
		f := &g.Features[c.Feature]
		for q := range f.Dims {
			weight := uniform(uniforms, c.Factor)
			if f.Param >= 0 {
				for range f.Power() {
					weight *= inverse[f.Param+q]
				}
				dst = append(dst, -float64(f.Power())*weight)
			}
			if f.Kind == SinSquares {
				dst = append(dst, -math.Pi*weight)
			}
		}
	}
	return dst
}

// Assemble adds the derivatives by log θ to grad. The CPU calls it for every row of
// pairs. sums are the sums of Sums, then those of Columns, one for each column; for
// SinSquares the sums of u·sin(2πu) follow.
func (g *Gradient) Assemble(grad, factors, sums []float64) {
	for i, t := range g.targets {
		grad[t.param] += factors[i] * sums[t.sum]
	}
}

// uniform returns a uniform factor, 1 for None.
func uniform(values []float64, v code.ID) float64 {
	if v == code.None {
		return 1
	}
	return values[v]
}
