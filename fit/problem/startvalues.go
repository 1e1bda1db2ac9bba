package problem

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/kernel"
	"gpfit/mean"
)

// Default start values and bounds of kernel parameters, by kind. The bounds are
// multiples of the unit.
//
//	kind          unit, from the data                                 bounds
//	Lengthscale   median distance of points over its columns          1e-4 … 1e4, of one column 1e9
//	Period        smallest range of its columns                       1e-3 … 1e2
//	InnerScale    root of the mean squared norm over its columns      1e-4 … 1e4, of one column 1e9
//	Shape         1                                                   1e-3 … 1e3
//	Offset        1                                                   1e-6 … 1e6
//	Weight        1                                                   1e-6 … 1e6
//	Variance      1, then the variance of the targets                 1e-6 … 1e6
//
// A start is its unit, with two exceptions. Periods start at a third of it, so that
// the data contain some turns. Each further lengthscale or period starts at half the
// previous one, since equal leaves with equal starts would stay equal.
//
// Then each term of the outermost sum gets its share of the targets' variance: its
// parameters with units of the target are scaled such that its mean prior variance
// over training rows is that share. For the stationary families the share is the
// variance divided by the number of signal variances.
var kindBounds = map[kernel.Kind][2]float64{
	kernel.Lengthscale: {1e-4, 1e4},
	kernel.Period:      {1e-3, 1e2},
	kernel.InnerScale:  {1e-4, 1e4},
	kernel.Shape:       {1e-3, 1e3},
	kernel.Offset:      {1e-6, 1e6},
	kernel.Weight:      {1e-6, 1e6},
	kernel.Variance:    {1e-6, 1e6},
}

// withoutColumn is the upper bound, in units, of a lengthscale of one column. The square of a distance is
// then below the rounding of 1, so that the column leaves the kernel. Of functions without noise, 1e-12 of
// a covariance cost 34 nats.
const withoutColumn = 1e9

// periodStart is the share of a column's range at which a period starts.
const periodStart = 1.0 / 3

// varianceRows limits the rows over which a term's variance is averaged.
const varianceRows = 200

// DefaultParameters lists the parameters of kernel, noise and mean with start values
// and bounds from the data or the kernel's text.
func DefaultParameters(s *Sample, m *Model) ([]*Parameter, error) {
	variance := m.TargetVariance(s)
	out := kernelParameters(s, m)
	if err := shareVariance(s, m, out, variance); err != nil {
		return nil, err
	}
	out = slices.Concat(out, noiseParameters(s, variance), lambdaParameters(s), meanParameters(s, m))
	all := make([]*Parameter, len(out))
	for i := range out {
		all[i] = &out[i]
		all[i].Indexed, all[i].Name = out[i].Name, s.Display(out[i].Name)
	}
	return all, nil
}

func kernelParameters(s *Sample, m *Model) []Parameter {
	var out []Parameter
	lengthscales, periods := 0, 0
	for _, p := range m.program.Params {
		q := Parameter{Parameter: descent.Parameter{Group: p.Name, Log: true, Start: 1}}
		unit := 1.0
		switch p.Kind {
		case kernel.Lengthscale:
			unit = medianDistance(s.Points, p.Dims)
			q.Start = unit * math.Pow(0.5, float64(lengthscales))
			lengthscales++
		case kernel.Period:
			unit = smallestRange(s.Points, p.Dims)
			q.Start = unit * periodStart * math.Pow(0.5, float64(periods))
			periods++
		case kernel.InnerScale:
			unit = rootMeanNorm(s.Points, p.Dims)
			q.Start = unit
		}
		q.offset = p.Kind == kernel.Offset
		if p.Kind == kernel.Location {
			q.Log, q.real, q.Lower, q.Upper = false, true, math.Inf(-1), math.Inf(1)
			if p.Moves {
				q.Lower, q.Upper = floats.Min(s.Points.Column(p.Dims[0])), floats.Max(s.Points.Column(p.Dims[0]))
			}
			q.Name, q.Start, q.TextStart = p.Name, p.Start[0], true
			q.Lower, q.Upper = min(q.Lower, q.Start), max(q.Upper, q.Start)
			out = append(out, q)
			continue
		}
		bounds := kindBounds[p.Kind]
		q.Lower, q.Upper = unit*bounds[0], unit*bounds[1]
		if p.Vector && (p.Kind == kernel.Lengthscale || p.Kind == kernel.InnerScale) {
			q.Upper = unit * withoutColumn
		}
		for i, name := range p.ElementNames() {
			q.Name = name
			if p.Start != nil {
				q.Start, q.TextStart = p.Start[i], true
			}
			out = append(out, q)
		}
	}
	return out
}

// shareVariance scales the parameters with units of the target, term by term.
func shareVariance(s *Sample, m *Model, params []Parameter, variance float64) error {
	terms, err := kernel.Terms(m.expr, s.Columns)
	if err != nil {
		return err
	}
	theta := make([]float64, len(params))
	for i, p := range params {
		theta[i] = p.Start
	}
	all := countSizes(m.program)
	for _, term := range terms {
		factor := variance * float64(countSizes(term.Program)) / float64(all)
		if prior := MeanVariance(term.Program, term.Theta(theta), s.Points); prior > 0 && !math.IsInf(prior, 0) {
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
			bound := scale
			if p.Kind == kernel.Variance { // bounds apply to the whole variance
				bound *= float64(all)
			}
			for i := range p.Size {
				q := &params[term.Params[p.Offset+i]]
				if p.Start == nil {
					q.Start *= scale
				}
				q.Lower, q.Upper = q.Lower*bound, q.Upper*bound
			}
		}
	}
	return nil
}

// countSizes counts the parameters that set the size of a summand.
func countSizes(prog *kernel.Program) int {
	n := 0
	for _, p := range prog.Params {
		if p.Kind == kernel.Variance || p.Kind == kernel.InnerScale && p.Units.Target != 0 {
			n++
		}
	}
	return n
}

// Default bounds of the noise, in units of the targets' variance. They are wide enough for a target
// without noise, and keep the optimizer where exp and Cholesky still work.
const (
	noiseLo, noiseHi = 1e-9, 1e2
	// noiseStart is the noise's start value as a share of the targets' variance.
	noiseStart = 0.1
)

// noiseParameters returns the estimated noise variances.
func noiseParameters(s *Sample, variance float64) []Parameter {
	p := Parameter{Parameter: descent.Parameter{
		Name: graph.NoiseVariance, Group: graph.NoiseVariance, Log: true,
		Start: variance * noiseStart, Lower: variance * noiseLo, Upper: variance * noiseHi,
	}}
	switch {
	case s.Noise.None:
		return nil
	case s.Noise.Labels == nil:
		return []Parameter{p}
	}
	var out []Parameter
	for _, label := range s.Noise.Labels {
		p.Name = graph.NoiseName(label)
		out = append(out, p)
	}
	return out
}

// meanParameters returns the mean's coefficients if they are parameters. The constant
// starts at the targets' mean, the others at zero.
func meanParameters(s *Sample, m *Model) []Parameter {
	if !m.MeanFree {
		return nil
	}
	var out []Parameter
	for _, f := range m.Basis {
		p := Parameter{Parameter: descent.Parameter{Name: f.Name(), Group: f.Group, Lower: math.Inf(-1), Upper: math.Inf(1)}}
		if f.Group == mean.Constant {
			for _, v := range s.Targets {
				p.Start += v / float64(len(s.Targets))
			}
		}
		out = append(out, p)
	}
	return out
}

// MeanVariance returns the mean of k(x, x) over rows spread over the points.
func MeanVariance(prog *kernel.Program, theta []float64, x *kernel.Points) float64 {
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

// smallestRange returns the smallest nonzero range of the columns, or 1 if there is none.
func smallestRange(x *kernel.Points, dims []int) float64 {
	best := math.Inf(1)
	for _, c := range dims {
		if size := floats.Max(x.Column(c)) - floats.Min(x.Column(c)); size > 0 {
			best = min(best, size)
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

// medianDistance returns the median Euclidean distance of pairs of points over the given columns,
// from at most 4,000 pairs drawn with a fixed seed. It ignores pairs at distance zero.
func medianDistance(x *kernel.Points, dims []int) float64 {
	const pairs = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	squares := make([]float64, 0, pairs)
	for range pairs {
		if square := squaredDistance(x, dims, rng.IntN(x.N), rng.IntN(x.N)); square > 0 {
			squares = append(squares, square)
		}
	}
	return rootOfMedian(squares)
}

// squaredDistance returns the squared Euclidean distance of two points over columns.
func squaredDistance(x *kernel.Points, dims []int, i, j int) float64 {
	sum := 0.0
	for _, c := range dims {
		column := x.Column(c)
		sum += (column[i] - column[j]) * (column[i] - column[j])
	}
	return sum
}

// rootOfMedian returns the root of the median, 1 for no values. It sorts them.
func rootOfMedian(values []float64) float64 {
	if len(values) == 0 {
		return 1
	}
	slices.Sort(values)
	return math.Sqrt(values[len(values)/2])
}
