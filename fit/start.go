package fit

import (
	"math"
	"math/rand/v2"
	"slices"

	"gpfit/graph"
	"gpfit/kernel"
)

// parameter is one element of the objective's vector.
type parameter struct {
	name string
	// group is the name of the vector it belongs to, or its own.
	group string
	// isLog tells positive parameters, optimised as logarithms, from
	// coefficients of the mean. start, lo and hi are natural values.
	isLog         bool
	start, lo, hi float64
	fixed         bool
	// given says that the options set the start, textStart that the kernel's
	// text does, bounded that the options set the bounds.
	given, textStart, bounded bool
}

// toZ turns a natural value into an element of the objective's vector.
func (p parameter) toZ(v float64) float64 {
	if p.isLog {
		return math.Log(v)
	}
	return v
}

func (p parameter) natural(z float64) float64 {
	if p.isLog {
		return math.Exp(z)
	}
	return z
}

// Default bounds of the noise, in units of the targets' variance; those of the
// kernel are in kernelstart.go. They are wide enough for a column that does not
// matter or a target without noise, and keep the optimiser where exp and
// Cholesky still work.
const (
	noiseLo, noiseHi = 1e-9, 1e2
	// noiseStart is the share of the targets' variance that noise begins with.
	noiseStart = 0.1
)

// chooseParameters fills t.params: start values and bounds from the data, then
// what the kernel's text and the options say.
func (t *Task) chooseParameters() error {
	variance := t.targetVariance()
	params, err := t.kernelParameters(variance)
	if err != nil {
		return err
	}
	t.params = append(t.params, params...)
	t.noiseParameters(variance)
	t.meanParameters()
	if err := t.tie(); err != nil {
		return err
	}
	if err := t.applyOptions(); err != nil {
		return err
	}
	return t.applyPriors()
}

func (t *Task) applyOptions() error {
	assign := func(a Assignment, flag string) ([]int, error) {
		matches := t.find(a.Name)
		if matches == nil {
			return nil, t.unknownParameter(flag, a.Name)
		}
		for _, i := range matches {
			p := &t.params[i]
			if a.Given && p.group == graph.NoiseVariance && a.Value == 0 {
				return nil, optionErrorf("%s %s=0: must be a positive number; --noise none fits without noise", flag, a.Name)
			}
			if a.Given && p.isLog && !(a.Value > 0) || math.IsInf(a.Value, 0) || math.IsNaN(a.Value) {
				return nil, optionErrorf("%s %s=%v: must be a positive number", flag, a.Name, a.Value)
			}
			if a.Given {
				p.start, p.given = a.Value, true
			}
		}
		return matches, nil
	}
	for _, a := range t.opts.Set {
		if _, err := assign(a, "--set"); err != nil {
			return err
		}
	}
	for _, a := range t.opts.Fix {
		matches, err := assign(a, "--fix")
		if err != nil {
			return err
		}
		for _, i := range matches {
			t.params[i].fixed = true
		}
	}
	for _, b := range t.opts.Bounds {
		matches := t.find(b.Name)
		if matches == nil {
			return t.unknownParameter("--bounds", b.Name)
		}
		for _, i := range matches {
			switch p := &t.params[i]; {
			case p.isLog && !(b.Lo > 0 && b.Lo < b.Hi):
				return optionErrorf("--bounds %s=%v:%v: needs 0 < lower < upper", b.Name, b.Lo, b.Hi)
			case !(b.Lo < b.Hi):
				return optionErrorf("--bounds %s=%v:%v: needs lower < upper", b.Name, b.Lo, b.Hi)
			default:
				p.lo, p.hi, p.bounded = b.Lo, b.Hi, true
			}
		}
	}
	for i := range t.params {
		p := &t.params[i]
		// A start value given by the user widens default bounds; coefficients of
		// the mean have none.
		if p.isLog && !p.bounded {
			p.lo, p.hi = min(p.lo, p.start/10), max(p.hi, p.start*10)
		}
	}
	return nil
}

// find returns the parameters with that name, or all of a vector.
func (t *Task) find(name string) []int {
	var out []int
	for i, p := range t.params {
		if p.name == name {
			return []int{i}
		}
		if p.group == name {
			out = append(out, i)
		}
	}
	return out
}

func meanSquare(v []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, x := range v {
		mean += x
	}
	mean /= float64(len(v))
	for _, x := range v {
		sum += (x - mean) * (x - mean)
	}
	if sum == 0 {
		return 1
	}
	return sum / float64(len(v))
}

// medianDistance returns the median Euclidean distance of pairs of points over
// the given columns, from at most a few thousand pairs drawn with a fixed seed;
// pairs at distance zero do not count.
func medianDistance(x *kernel.Points, dims []int) float64 {
	const pairs = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	var dist []float64
	for range pairs {
		i, j := rng.IntN(x.N), rng.IntN(x.N)
		sum := 0.0
		for _, c := range dims {
			col := x.Column(c)
			sum += (col[i] - col[j]) * (col[i] - col[j])
		}
		if sum > 0 {
			dist = append(dist, math.Sqrt(sum))
		}
	}
	if len(dist) == 0 {
		return 1
	}
	slices.Sort(dist)
	return dist[len(dist)/2]
}
