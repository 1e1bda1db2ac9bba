package fit

import (
	"math"

	"gpfit/kernel"
)

// Default start values and bounds of kernel parameters, by what they are; the
// bounds are factors of the start's unit.
//
//	kind          unit, from the data                                 bounds
//	Lengthscale   median distance of points over its columns          1e-4 … 1e4
//	Period        smallest range of its columns                       1e-3 … 1e2
//	InnerScale    root of the mean squared norm over its columns      1e-4 … 1e4
//	Shape         1                                                   1e-3 … 1e3
//	Offset        1                                                   1e-6 … 1e6
//	Weight        1                                                   1e-6 … 1e6
//	Variance      1, then the variance of the targets                 1e-6 … 1e6
//
// A start is its unit; a third of it for periods, so that some turns are seen,
// and half as much for each further lengthscale or period, since equal leaves
// with equal starts would stay equal for ever.
//
// Then every term of the outermost sum is brought to its share of the targets'
// variance: its parameters with units of the target are scaled such that its
// mean prior variance over training rows is that share. For the stationary
// families this is the variance over the number of signal variances.
var kindBounds = map[kernel.Kind][2]float64{
	kernel.Lengthscale: {1e-4, 1e4},
	kernel.Period:      {1e-3, 1e2},
	kernel.InnerScale:  {1e-4, 1e4},
	kernel.Shape:       {1e-3, 1e3},
	kernel.Offset:      {1e-6, 1e6},
	kernel.Weight:      {1e-6, 1e6},
	kernel.Variance:    {1e-6, 1e6},
}

// periodStart is the share of a column's range that a period begins with.
const periodStart = 1.0 / 3

// varianceRows bounds the rows over which a term's variance is averaged.
const varianceRows = 200

// kernelParameters lists the kernel's parameters with default starts, or those
// of its text, and default bounds.
func (t *Task) kernelParameters(variance float64) ([]parameter, error) {
	var out []parameter
	lengthscales, periods := 0, 0
	for _, p := range t.program.Params {
		q := parameter{group: p.Name, isLog: true, start: 1}
		unit := 1.0
		switch p.Kind {
		case kernel.Lengthscale:
			unit = medianDistance(t.points, p.Dims)
			q.start = unit * math.Pow(0.5, float64(lengthscales))
			lengthscales++
		case kernel.Period:
			unit = smallestRange(t.points, p.Dims)
			q.start = unit * periodStart * math.Pow(0.5, float64(periods))
			periods++
		case kernel.InnerScale:
			unit = rootMeanNorm(t.points, p.Dims)
			q.start = unit
		}
		bounds := kindBounds[p.Kind]
		q.lo, q.hi = unit*bounds[0], unit*bounds[1]
		for i, name := range p.ElementNames() {
			q.name = name
			if p.Start != nil {
				q.start, q.textStart = p.Start[i], true
			}
			out = append(out, q)
		}
	}
	return out, t.shareVariance(out, variance)
}

// shareVariance scales the parameters with units of the target, term by term.
func (t *Task) shareVariance(params []parameter, variance float64) error {
	terms, err := kernel.Terms(t.expr, t.columns)
	if err != nil {
		return err
	}
	theta := make([]float64, len(params))
	for i, p := range params {
		theta[i] = p.start
	}
	all := 0
	for _, p := range t.program.Params {
		if sizes(p) {
			all++
		}
	}
	for _, term := range terms {
		own := 0
		for _, p := range term.Program.Params {
			if sizes(p) {
				own++
			}
		}
		factor := variance * float64(own) / float64(all)
		if prior := meanVariance(term.Program, term.Theta(theta), t.points); prior > 0 && !math.IsInf(prior, 0) {
			factor /= prior
		}
		for _, p := range term.Program.Params {
			if p.Units.Target == 0 {
				continue
			}
			scale := math.Pow(factor, p.Units.Target/2)
			if p.Kind == kernel.Variance {
				scale = factor
			}
			for i := range p.Size {
				q := &params[term.Params[p.Offset+i]]
				if p.Start == nil {
					q.start *= scale
				}
				bound := scale
				if p.Kind == kernel.Variance { // bounds are those of the whole variance
					bound *= float64(all)
				}
				q.lo, q.hi = q.lo*bound, q.hi*bound
			}
		}
	}
	return nil
}

// sizes tells the parameters of which each sets the size of a summand.
func sizes(p kernel.Param) bool {
	return p.Kind == kernel.Variance || p.Kind == kernel.InnerScale && p.Units.Target != 0
}

// meanVariance returns the mean of k(x, x) over rows spread over the points.
func meanVariance(prog *kernel.Program, theta []float64, x *kernel.Points) float64 {
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	sum, count := 0.0, min(x.N, varianceRows)
	v := []float64{0}
	for k := range count {
		i := k * x.N / count
		e.Diagonal(v, x, i, i+1)
		sum += v[0]
	}
	return sum / float64(count)
}

// smallestRange returns the smallest of the columns' ranges that is not 0.
func smallestRange(x *kernel.Points, dims []int) float64 {
	best := math.Inf(1)
	for _, c := range dims {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, v := range x.Column(c) {
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi > lo {
			best = min(best, hi-lo)
		}
	}
	if math.IsInf(best, 0) {
		return 1
	}
	return best
}

// rootMeanNorm returns the root of the mean of Σ_c x_c² over all points.
func rootMeanNorm(x *kernel.Points, dims []int) float64 {
	sum := 0.0
	for _, c := range dims {
		for _, v := range x.Column(c) {
			sum += v * v
		}
	}
	if !(sum > 0) {
		return 1
	}
	return math.Sqrt(sum / float64(x.N))
}
