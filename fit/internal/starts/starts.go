// Package starts suggests starts of a fit and other points to try: [Of] returns starts that the
// data suggest, and [Alternatives] other points to try from an optimum.
package starts

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"gpfit/fit/internal/spectrum"
	"gpfit/fit/internal/spread"
	"gpfit/graph"
	"gpfit/kernel"
)

// A second optimum often differs from the first in what it calls noise: short lengthscales with
// little noise explain the same targets as long ones with much. So starts combine levels of noise
// with levels of the lengthscales that the distances of the data suggest. Periods come from a
// periodogram, because the objective has an optimum near every multiple of a period and almost none
// of its starts leads to the best.

// noiseLevels are start values of the noise variance as shares of the targets' variance.
var noiseLevels = []float64{1e-6, 1e-4, 1e-2, 0.1, 0.5}

// The levels of a lengthscale: twice the median distance to the nearest other point,
// halfway from there to the median distance of all points on a logarithmic scale, that
// median, longScale times it, and one of its own for each column of a vector: short where
// the periodogram of the column has a clear peak and long elsewhere.
const (
	nearest = iota
	short
	median
	long
	columns
	lengthscaleLevels
)

const longScale = 4

// Periods of a scheme other than a peak of the periodogram: the own start value, and a
// common multiple of the periods of two peaks.
const (
	own    = -1
	common = spectrum.MostPeaks
)

// scheme is a combination of levels: a noise, a level for the lengthscales of even
// leaves, a level for odd leaves, and which peak of the periodogram is the period.
type scheme struct {
	noise     int
	even, odd int
	peak      int
}

// schemes lists the combinations in the order in which they are worth a descent. The
// first ones differ as much as possible.
var schemes = []scheme{
	{1, short, short, 0},
	{4, long, long, 0},
	{2, nearest, nearest, 0},
	{2, columns, long, own},
	{2, short, long, 1},
	{2, short, median, common},
	{2, long, median, 1},
	{0, median, median, 0},
	{3, short, nearest, 1},
	{2, long, short, 0},
	{0, nearest, nearest, 0},
	{3, median, long, 2},
	{1, long, long, 0},
	{4, short, short, 1},
	{2, short, short, 2},
	{0, short, short, 0},
	{4, median, short, 0},
	{1, median, nearest, 2},
	{3, nearest, nearest, 0},
	{0, long, long, 1},
	{4, nearest, median, 2},
	{1, nearest, long, 1},
	{3, long, long, 0},
}

// at returns a function that applies a scheme: start values by its rules, and base for the rest.
func (o *outlook) at(base []float64) func(c scheme) []float64 {
	levels, peaks, waves := o.levels(), o.periods(), map[string]float64{}
	for _, p := range o.Program().Params {
		for _, other := range o.Program().Params {
			if l := peaks[other.Name]; l != nil && l.common > 0 && p.Kind == kernel.Shape && leafOf(other) == leafOf(p) {
				waves[p.Name] = commonLengthscale * min(l.values[0], l.values[1]) / l.common
			}
		}
	}
	return func(c scheme) []float64 {
		z := slices.Clone(base)
		for i, q := range o.Params.Free {
			switch l, p := levels[q.Indexed], peaks[q.Group]; {
			case q.Fixed:
			case q.Group == graph.NoiseVariance:
				z[i] = q.Z(o.variance * noiseLevels[c.noise])
			case l != nil:
				z[i] = q.Z(l.at(c))
			case p != nil && len(p.values) > 0 && c.peak != own:
				z[i] = q.Z(p.at(c))
			case c.peak == common && waves[q.Group] > 0:
				z[i] = q.Z(waves[q.Group])
			}
			z[i] = min(max(z[i], q.Z(q.Lower)), q.Z(q.Upper))
		}
		return z
	}
}

// leafLevels are the levels of a lengthscale of the index-th leaf that has any.
type leafLevels struct {
	index  int
	values [lengthscaleLevels]float64
}

func (l *leafLevels) at(c scheme) float64 {
	if l.index%2 == 1 {
		return l.values[c.odd]
	}
	return l.values[c.even]
}

// lengthscaleStarts returns the levels by the indexed name of the parameter. Each further
// leaf has half of the previous one's, as default start values have.
func lengthscaleStarts(x *kernel.Points, targets []float64, prog *kernel.Program) map[string]*leafLevels {
	out, leaves := map[string]*leafLevels{}, 0
	var own []float64
	for _, p := range prog.Params {
		if p.Kind != kernel.Lengthscale {
			continue
		}
		mid := spread.PartOf(p) * spread.MedianDistance(x, p.Dims)
		near := min(2*spread.PartOf(p)*spread.NearestDistance(x, p.Dims), mid/4)
		for i, name := range p.ElementNames() {
			l := &leafLevels{leaves, [...]float64{nearest: near, short: math.Sqrt(near * mid), median: mid, long: longScale * mid, columns: mid}}
			if p.Vector {
				if own == nil {
					own = columnLengthscales(x, targets)
				}
				l.values[columns] = min(own[p.Dims[i]], longScale*mid)
			}
			for k := range l.values {
				l.values[k] *= math.Pow(0.5, float64(l.index))
			}
			out[name] = l
		}
		leaves++
	}
	return out
}

// commonLengthscale is the lengthscale, of sin(π(x−x′)/period), of a leaf whose period is a common
// multiple of two waves' periods, times the number of the faster waves in a period.
const commonLengthscale = 2.5

// leafOf returns the begin of the names of the parameters of p's leaf.
func leafOf(p kernel.Param) string { return p.Name[:strings.LastIndex(p.Name, ".")+1] }

// waveTurns are the turns of a wave in a lengthscale.
const waveTurns = 0.25

// columnLengthscales returns for each column the lengthscale of the wave along it that
// explains the targets best, or +Inf if none does clearly.
func columnLengthscales(x *kernel.Points, targets []float64) []float64 {
	out := make([]float64, x.D)
	for c := range out {
		period, _ := spectrum.Clearest(x, targets, c)
		out[c] = waveTurns * period
	}
	return out
}

// leafPeriods are the periods that the data suggest for the index-th leaf with a period.
type leafPeriods struct {
	index  int
	values []float64
	common float64 // 0 if there is none
}

func (l *leafPeriods) at(c scheme) float64 {
	if c.peak == common && l.common > 0 {
		return l.common
	}
	return l.values[(c.peak+l.index)%len(l.values)]
}

// periodStarts returns the suggested periods by the name of the parameter.
func periodStarts(x *kernel.Points, targets []float64, prog *kernel.Program) map[string]*leafPeriods {
	out := map[string]*leafPeriods{}
	for _, p := range prog.Params {
		if p.Kind != kernel.Period {
			continue
		}
		var all []spectrum.Peak
		for _, c := range p.Dims {
			all = append(all, spectrum.Peaks(x.Column(c), targets)...)
		}
		slices.SortStableFunc(all, func(a, b spectrum.Peak) int { return cmp.Compare(b.Power, a.Power) })
		l := &leafPeriods{index: len(out)}
		for _, q := range all[:min(len(all), spectrum.MostPeaks)] {
			l.values = append(l.values, q.Period)
		}
		l.common = commonMultiple(l.values, spread.SmallestRange(x, p.Dims))
		out[p.Name] = l
	}
	return out
}

// mostMultiples is the largest multiple of a period that is a start value.
const mostMultiples = 24

// commonMultiple returns the smallest multiple of the shorter of the first two periods that is also
// a multiple of the longer one, to a quarter of a turn over the range: one leaf with that period
// explains both waves. It is 0 if there is none.
func commonMultiple(periods []float64, span float64) float64 {
	if len(periods) < 2 {
		return 0
	}
	fast, slow := min(periods[0], periods[1]), max(periods[0], periods[1])
	for k := 2; k <= mostMultiples; k++ {
		p := float64(k) * fast
		turns := math.Round(p / slow)
		if turns >= 1 && p <= longestCommon*span && span*math.Abs(1/slow-turns/p) <= 0.25 {
			return p
		}
	}
	return 0
}

// longestCommon is the longest common multiple as a share of the range.
const longestCommon = 0.7
