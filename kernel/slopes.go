package kernel

import (
	"fmt"
	"math"

	"gpfit/kernel/oplist"
	"gpfit/kernel/symbolic"
)

// Slopes computes the prior variance of the derivatives of a function whose
// covariance a program computes.
type Slopes struct {
	prog  *Program
	theta []float64
	grad  *Gradient
	// seconds[f] are the derivatives of the derivative by feature f, compiled for
	// the features that change to first order when one point of an equal pair moves.
	seconds []*symbolic.Function
}

// kinkError reports a program whose sample functions have no derivatives.
func kinkError(p *Program) error {
	return &CompileError{Msg: fmt.Sprintf("functions with the covariance %s have no derivatives: it has a kink at distance 0", p.Text)}
}

// NewSlopes prepares Slopes for the parameters theta. The error is a [*CompileError] about a kink.
func NewSlopes(p *Program, theta []float64) (*Slopes, error) {
	s := &Slopes{prog: p, theta: theta, grad: p.Gradient(), seconds: make([]*symbolic.Function, len(p.Features))}
	for f, d := range s.grad.ByFeature {
		if d == oplist.None {
			continue
		}
		kind := p.Features[f].Kind
		if kind == SquaredDistance && s.kink(d) {
			return nil, kinkError(p)
		}
		if !kinds[kind].moves {
			continue
		}
		second, err := differentiateAgain(s.grad.List, d, len(p.Features), p.NumParams)
		if err != nil {
			return nil, kinkError(p)
		}
		s.seconds[f] = second
	}
	return s, nil
}

// kink reports whether the derivative by a squared distance grows like 1/distance.
func (s *Slopes) kink(d oplist.ID) bool {
	need := s.grad.List.Needed(d)
	for id, v := range s.grad.List.Values {
		if need[id] && v.Op == oplist.Decay && v.Poly[0] != 0 {
			return true
		}
	}
	return false
}

// Variance writes ∂²k(x, x′)/∂x_c∂x′_c at x′ = x, the prior variance of the
// derivative by column c (Rasmussen & Williams 2006, section 9.4), to out. By the
// chain rule, with the features s_f of the pair, it is
//
//	Σ_f (∂k/∂s_f)·∂²s_f/∂x_c∂x′_c + Σ_f Σ_g (∂²k/∂s_f∂s_g)·(∂s_f/∂x_c)·(∂s_g/∂x′_c).
//
// x has D coordinates. The error is a [*CompileError] about a kink.
func (s *Slopes) Variance(out, x []float64) error {
	features := make([]float64, len(s.prog.Features))
	for f := range features {
		features[f] = s.equalPair(f, x)
	}
	clear(out)
	for f, d := range s.grad.ByFeature {
		if d == oplist.None {
			continue
		}
		first, err := s.first(f, d, features)
		if err != nil {
			return err
		}
		var second []float64
		if s.seconds[f] != nil {
			second = s.seconds[f].List.Evaluate(s.theta, features, s.seconds[f].ByFeature...)
		}
		for c := range out {
			own := s.column(f, c, x)
			if own.mixed != 0 {
				out[c] += first * own.mixed
			}
			for g, v := range second {
				if slopes := own.first * s.column(g, c, x).second; slopes != 0 {
					out[c] += v * slopes
				}
			}
		}
	}
	for _, v := range out {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return kinkError(s.prog)
		}
	}
	return nil
}

// columnTerm is the part of a column in a feature of an equal pair and in its derivatives.
type columnTerm struct {
	// value belongs to the feature, first to ∂/∂x_c, second to ∂/∂x′_c, mixed to ∂²/∂x_c∂x′_c.
	value, first, second, mixed float64
}

// term returns what the q-th column of a feature adds.
func (s *Slopes) term(f *Feature, q int, x []float64) columnTerm {
	at, w := x[f.Dims[q]], 1.0
	if f.Param >= 0 {
		w = math.Pow(s.theta[f.Param+q], -float64(f.Power()))
	}
	switch f.Kind {
	case SquaredDistance:
		return columnTerm{mixed: -2 * w}
	case InnerProduct:
		return columnTerm{w * at * at, w * at, w * at, w}
	case SinSquares:
		turns := math.Pi / s.theta[f.Period+min(q, f.Periods-1)]
		return columnTerm{mixed: -2 * turns * turns * w}
	case Differences:
		return columnTerm{first: w, second: -w}
	case First:
		return columnTerm{value: at, first: 1}
	case Second:
		return columnTerm{value: at, second: 1}
	case FirstNorm:
		return columnTerm{value: w * at * at, first: 2 * w * at}
	case SecondNorm:
		return columnTerm{value: w * at * at, second: 2 * w * at}
	}
	return columnTerm{}
}

// equalPair returns a feature of (x, x).
func (s *Slopes) equalPair(f int, x []float64) float64 {
	feature, sum := &s.prog.Features[f], 0.0
	for q := range feature.Dims {
		sum += s.term(feature, q, x).value
	}
	return sum
}

// column returns the derivatives of a feature by column c.
func (s *Slopes) column(f, c int, x []float64) (sum columnTerm) {
	feature := &s.prog.Features[f]
	for q, col := range feature.Dims {
		if col == c {
			t := s.term(feature, q, x)
			sum.first, sum.second, sum.mixed = sum.first+t.first, sum.second+t.second, sum.mixed+t.mixed
		}
	}
	return sum
}

// first returns ∂k/∂s_f at an equal pair. If it has a root of a squared distance in
// a denominator, it returns the limit at distance 0.
func (s *Slopes) first(f int, d oplist.ID, features []float64) (float64, error) {
	list, roots := s.grad.List, false
	for id, need := range list.Needed(d) {
		roots = roots || need && list.Values[id].Op == oplist.RootInverse
	}
	at := func(r float64) float64 {
		moved := append([]float64(nil), features...)
		moved[f] = r * r
		return list.Evaluate(s.theta, moved, d)[0]
	}
	if !roots || kinds[s.prog.Features[f].Kind].moves {
		return list.Evaluate(s.theta, features, d)[0], nil
	}
	return s.limit(at, s.scale(f, features))
}

// scale returns a distance at which the covariance has changed by a tenth.
func (s *Slopes) scale(f int, features []float64) float64 {
	moved := append([]float64(nil), features...)
	at := func(r float64) float64 {
		moved[f] = r * r
		return s.prog.List.Evaluate(s.theta, moved, s.prog.Value)[0]
	}
	whole, r := at(0), math.Ldexp(1, -60)
	for r < math.Ldexp(1, 60) && !(math.Abs(at(r)-whole) > 0.1*math.Abs(whole)) {
		r *= 2
	}
	return r
}

// limit extrapolates to 0 by polynomials in r (Richardson). It starts at a
// twentieth of the scale and halves r, which gives an error of the order of 1e-9. A
// value that doubles with each halving has no limit.
func (s *Slopes) limit(at func(float64) float64, scale float64) (float64, error) {
	const levels = 7
	var table [levels]float64
	r := scale / 20
	for i := range table {
		table[i] = at(r)
		r /= 2
	}
	if last, before := math.Abs(table[levels-1]), math.Abs(table[levels-2]); !(last < 1.5*before) && last > 0 {
		return 0, kinkError(s.prog)
	}
	for order := 1; order < levels; order++ {
		power := math.Ldexp(1, order)
		for i := levels - 1; i >= order; i-- {
			table[i] = (power*table[i] - table[i-1]) / (power - 1)
		}
	}
	return table[levels-1], nil
}
