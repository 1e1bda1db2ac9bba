package symbolic

import (
	"math"
	"math/rand/v2"

	"gpfit/kernel/oplist"
)

// Gorgonia merges nodes of one op whose 32-bit hashes are equal, without a look at their operands. Among the
// thousands of nodes of a large expression with its derivatives that happens by chance, and gives a wrong
// derivative. So derivatives are taken twice, in graphs with other names and hence other hashes.

// maxSalts bounds the graphs that confirmed compares. If no two of them agree, rounding is the reason.
const maxSalts = 4

// confirmed returns f, or another form of it, if another graph of its value has the same derivatives.
func confirmed(f *Function, features, parameters int) (*Function, error) {
	all := []*Function{f}
	for salt := 1; salt <= maxSalts; salt++ {
		g, root := raiseAs(f.List, f.Value, salt)
		next, err := g.compile(root, true, features, parameters)
		if err != nil {
			return nil, err
		}
		for _, before := range all {
			if agree(before, next, features, parameters) {
				return before, nil
			}
		}
		all = append(all, next)
	}
	return f, nil
}

// agreePoints is the number of random points at which functions are compared.
const agreePoints = 9

// agree reports whether two forms of a function have the same derivatives, at most of some random points.
func agree(a, b *Function, features, parameters int) bool {
	rng := rand.New(rand.NewPCG(1, 2))
	theta, point := make([]float64, parameters), make([]float64, features)
	known, same := 0, 0
	for range agreePoints {
		for i := range theta {
			theta[i] = math.Exp(0.5 * rng.NormFloat64())
		}
		for i := range point {
			point[i] = rng.NormFloat64()
		}
		for _, v := range a.List.Values {
			if v.Op == oplist.Feature && v.Sign != oplist.Unknown {
				point[v.Index] = math.Abs(point[v.Index])
			}
		}
		x, y := a.derivatives(theta, point), b.derivatives(theta, point)
		if close, finite := near(x, y); finite {
			known++
			if close {
				same++
			}
		}
	}
	return 2*same >= known
}

// derivatives returns all derivatives at a point.
func (f *Function) derivatives(theta, point []float64) []float64 {
	out := f.List.Evaluate(theta, point, f.ByFeature...)
	return append(out, f.List.Evaluate(theta, point, f.ByParameter...)...)
}

// near reports whether numbers are equal but for rounding, and whether all are finite.
func near(x, y []float64) (close, finite bool) {
	scale := 0.0
	for i := range x {
		scale = max(scale, math.Abs(x[i]), math.Abs(y[i]))
	}
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return false, false
	}
	for i := range x {
		if math.Abs(x[i]-y[i]) > 1e-7*math.Abs(x[i])+1e-11*scale {
			return false, true
		}
	}
	return true, true
}
