package kernel

import (
	"math"
	"slices"

	"gpfit/kernel/oplist"
	"gpfit/kernel/symbolic"
)

// formulaProduct is a product g(x, x′) of values, with their powers, that sees each point alone.
type formulaProduct struct {
	prog   *Program
	theta  []float64
	ids    []oplist.ID
	powers []int
}

// value returns g for the i-th point of x and the j-th one of y.
func (f *formulaProduct) value(x *Points, i int, y *Points, j int) float64 {
	out := 1.0
	for k, v := range f.prog.List.Evaluate(f.theta, f.alone(x, i, y, j), f.ids...) {
		out *= math.Pow(v, float64(f.powers[k]))
	}
	return out
}

// anchor tests whether g is ψ(x)ψ(x′) for a function ψ. If so, g(x, x′)² = g(x, x)·g(x′, x′) for all
// points, and ψ(x) = g(x, a)/√g(a, a) for the point a with the largest g(a, a), which it returns.
func (f *formulaProduct) anchor(x *Points) (at *Points, largest float64, ok bool) {
	anchor, largest := 0, math.Inf(-1)
	for i := range x.N {
		if v := f.value(x, i, x, i); v > largest {
			anchor, largest = i, v
		}
	}
	if !(largest > 0) {
		return nil, 0, false
	}
	for i := range x.N {
		for _, j := range []int{anchor, (i + 1) % x.N, (7*i + 3) % x.N} {
			v := f.value(x, i, x, j)
			bound := productRounding * largest
			// Absolute: where ψ is small, the squares have underflowed first.
			if !(math.Abs(math.Abs(v)-math.Sqrt(max(0, f.value(x, i, x, i)*f.value(x, j, x, j)))) <= bound) || !(math.Abs(v-f.value(x, j, x, i)) <= bound) {
				return nil, 0, false
			}
		}
	}
	at = &Points{N: 1, D: x.D, X: make([]float64, x.D)}
	for c := range at.D {
		at.X[c] = x.Column(c)[anchor]
	}
	return at, largest, true
}

// productRounding is the share of the largest value by which rounding, some ε, may change
// a product of formulas.
const productRounding = 1e-12

// seePointsAlone reports whether values depend on the pair, and only by sums over each
// point alone, as x, y, xx and yy of a formula.
func (p *Program) seePointsAlone(ids []oplist.ID) bool {
	any := false
	for i, need := range p.List.Needed(ids...) {
		if v := p.List.At(oplist.ID(i)); need && v.Op == oplist.Feature {
			any = true
			switch p.Features[v.Index].Kind {
			case First, Second, FirstNorm, SecondNorm:
			default:
				return false
			}
		}
	}
	return any
}

// alone computes the features that belong to one point of a pair.
func (f *formulaProduct) alone(x *Points, i int, y *Points, j int) []float64 {
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

// differentiate sets Params and slopes of the atom ψ(x) = g(x, a)/√g(a, a), with g(a, a) in largest:
// ∂ψ = ∂g(x, a)/√g(a, a) − ½ψ·∂g(a, a)/g(a, a).
func (f *formulaProduct) differentiate(a *Atom, at *Points, largest float64) error {
	functions := make([]*symbolic.Function, len(f.ids))
	depends := make([]bool, f.prog.NumParams)
	for k, id := range f.ids {
		var err error
		if functions[k], err = f.prog.differentiated(id); err != nil {
			return err
		}
		f.markParams(depends, functions[k])
	}
	for p, d := range depends {
		if d {
			a.Params = append(a.Params, p)
		}
	}
	all := make([]float64, f.prog.NumParams)
	f.addSlopes(all, functions, at, 0, at)
	own := slices.Clone(all)
	root := math.Sqrt(largest)
	a.slopes = func(dst []float64, x *Points, i int) {
		all := make([]float64, f.prog.NumParams)
		value := f.addSlopes(all, functions, x, i, at)
		for k, p := range a.Params {
			dst[k] = (all[p] - value*own[p]/(2*largest)) / root
		}
	}
	return nil
}

// markParams marks the parameters on which a value depends, by itself and by its features.
func (f *formulaProduct) markParams(depends []bool, g *symbolic.Function) {
	for p, d := range g.ByParameter {
		depends[p] = depends[p] || d != oplist.None
	}
	for k, d := range g.ByFeature {
		feature := &f.prog.Features[k]
		for q := range feature.Dims {
			if d != oplist.None && feature.Param >= 0 {
				depends[feature.Param+q] = true
			}
		}
	}
}

// addSlopes adds the derivatives by log θ of the product of values with powers, for the i-th point and
// the point at, to dst, and returns the product.
func (f *formulaProduct) addSlopes(dst []float64, functions []*symbolic.Function, x *Points, i int, at *Points) float64 {
	features, product := f.alone(x, i, at, 0), 1.0
	values := make([]float64, len(functions))
	for k, g := range functions {
		values[k] = g.List.Evaluate(f.theta, features, g.Value)[0]
		product *= math.Pow(values[k], float64(f.powers[k]))
	}
	for k, g := range functions {
		factor := float64(f.powers[k]) * math.Pow(values[k], float64(f.powers[k]-1))
		for other, v := range values {
			if other != k {
				factor *= math.Pow(v, float64(f.powers[other]))
			}
		}
		for p, v := range g.List.Evaluate(f.theta, features, g.ByParameter...) {
			dst[p] += factor * v
		}
		for j, v := range g.List.Evaluate(f.theta, features, g.ByFeature...) {
			f.addFeatureSlopes(dst, &f.prog.Features[j], factor*v, x, i, at)
		}
	}
	return product
}

// addFeatureSlopes adds factor times the derivatives of a feature of one point: the columns of a norm
// are divided by the squares of their parameters.
func (f *formulaProduct) addFeatureSlopes(dst []float64, feature *Feature, factor float64, x *Points, i int, at *Points) {
	if factor == 0 || feature.Param < 0 {
		return
	}
	row := i
	if feature.Kind == SecondNorm {
		x, row = at, 0
	}
	for q, c := range feature.Dims {
		v := x.Column(c)[row] / f.theta[feature.Param+q]
		dst[feature.Param+q] -= 2 * factor * v * v
	}
}
