package kernel

import (
	"fmt"
	"math"

	"gpfit/internal/code"
)

// separable tests whether a product of values, with their powers, is ψ(x)ψ(x′) for a
// function ψ of a formula, which sees each point alone. If so, g(x, x′)² = g(x, x)·g(x′,
// x′) for all points, and ψ(x) = g(x, a)/√g(a, a) for the point a with the largest g(a, a).
func (f *finder) separable(ids []code.ID, powers []int) (polynomial, bool) {
	name := fmt.Sprint(ids, powers)
	if at, ok := f.products[name]; ok {
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
	if f.products == nil {
		f.products = map[string]int{}
	}
	f.products[name] = len(f.atoms)
	at := &Points{N: 1, D: f.x.D, X: make([]float64, f.x.D)}
	for c := range at.D {
		at.X[c] = f.x.Column(c)[anchor]
	}
	root := math.Sqrt(largest)
	f.atoms = append(f.atoms, atom{product: func(x *Points, i int) float64 { return g(x, i, at, 0) / root }})
	return polynomial{monomialKey([]int{f.products[name]}): 1}, true
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
