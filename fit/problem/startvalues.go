package problem

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/fit/internal/spread"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
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
func DefaultParameters(s *Sample, m *Model) []*Parameter {
	d := defaults{s, m, m.TargetVariance(s), m.leastNoise(s)}
	out := slices.Concat(d.kernel(), d.noise(), d.lambda(), d.mean())
	all := make([]*Parameter, len(out))
	for i := range out {
		all[i] = &out[i]
		all[i].Indexed, all[i].Name = out[i].Name, s.Display(out[i].Name)
	}
	return all
}

// defaults chooses the start values and bounds of the parameters of a model on a sample. variance is the variance that
// the model has to explain, and leastNoise the lower bound of the noise.
type defaults struct {
	*Sample
	model      *Model
	variance   float64
	leastNoise float64
}

// kernel returns the parameters of the kernel.
func (d defaults) kernel() []Parameter {
	var out []Parameter
	lengthscales, periods, x := 0, 0, d.Points
	for _, p := range d.model.program.Params {
		q := Parameter{Parameter: descent.Parameter{Group: p.Name, Log: true, Start: 1}}
		unit := 1.0
		switch p.Kind {
		case kernel.Lengthscale:
			unit = spread.PartOf(p) * spread.MedianDistance(x, p.Dims)
			q.Start = unit * math.Pow(0.5, float64(lengthscales))
			lengthscales++
		case kernel.Period:
			unit = spread.SmallestRange(x, p.Dims)
			q.Start = unit * periodStart * math.Pow(0.5, float64(periods))
			periods++
		case kernel.InnerScale:
			unit = spread.RootMeanNorm(x, p.Dims)
			q.Start = unit
		}
		q.offset = p.Kind == kernel.Offset
		if p.Kind == kernel.Location {
			q.Log, q.real, q.Lower, q.Upper = false, true, math.Inf(-1), math.Inf(1)
			if p.Moves {
				q.Lower, q.Upper = floats.Min(x.Column(p.Dims[0])), floats.Max(x.Column(p.Dims[0]))
			}
			if q.Name, q.Start = p.Name, 0; p.Start != nil {
				q.Start, q.TextStart = p.Start[0], true
			}
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
	d.shareVariance(out)
	return out
}

// shareVariance scales the parameters with units of the target, term by term.
func (d defaults) shareVariance(params []Parameter) {
	theta := each.Of(params, func(p Parameter) float64 { return p.Start })
	all := countSizes(d.model.program)
	for _, term := range d.model.Terms {
		factor := d.variance * float64(countSizes(term.Program)) / float64(all)
		if prior := MeanVariance(term.Program, term.Theta(theta), d.Points); prior > 0 && !math.IsInf(prior, 0) {
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

// Default bounds of the noise: the lower one in units of the targets' variance, whatever the mean explains of it, and
// the upper one in units of the variance left to explain. They are wide enough for a target without noise, and keep
// the optimizer where exp and Cholesky still work.
const (
	noiseLo, noiseHi = 1e-9, 1e2
	// noiseStart is the noise's start value as a share of the variance left to explain.
	noiseStart = 0.1
)

// noise returns the estimated noise variances.
func (d defaults) noise() []Parameter {
	p := Parameter{Parameter: descent.Parameter{
		Name: graph.NoiseVariance, Group: graph.NoiseVariance, Log: true,
		Start: max(d.variance*noiseStart, startRoom*d.leastNoise), Lower: d.leastNoise, Upper: d.variance * noiseHi,
	}}
	switch {
	case d.Noise.None:
		return nil
	case d.Noise.Labels == nil:
		return []Parameter{p}
	}
	var out []Parameter
	for _, label := range d.Noise.Labels {
		p.Name = graph.NoiseName(label)
		out = append(out, p)
	}
	return out
}

// mean returns the mean's coefficients if they are parameters. The constant
// starts at the targets' mean, the others at zero.
func (d defaults) mean() []Parameter {
	if !d.model.MeanFree {
		return nil
	}
	var out []Parameter
	for _, f := range d.model.Basis {
		p := Parameter{Parameter: descent.Parameter{Name: f.Name(), Group: f.Group, Lower: math.Inf(-1), Upper: math.Inf(1)}}
		if f.Group == mean.Constant {
			for _, v := range d.Targets {
				p.Start += v / float64(len(d.Targets))
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
