package problem

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gpfit/graph"
	"gpfit/kernel"
	"gpfit/kernel/vec"
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
	common = periodPeaks
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

// startsAt returns a function that applies a scheme: start values by its rules, and base for the rest.
func startsAt(j *Prepared, base []float64) func(c scheme) []float64 {
	s := j.Sample
	levels := lengthscaleStarts(s, j.Program())
	peaks := periodStarts(s, j.Program())
	variance, waves := j.Model.TargetVariance(s), map[string]float64{}
	for _, p := range j.Program().Params {
		for _, o := range j.Program().Params {
			if l := peaks[o.Name]; l != nil && l.common > 0 && p.Kind == kernel.Shape && leafOf(o) == leafOf(p) {
				waves[p.Name] = commonLengthscale * min(l.values[0], l.values[1]) / l.common
			}
		}
	}
	return func(c scheme) []float64 {
		z := slices.Clone(base)
		for i, q := range j.Params.Free {
			switch l, p := levels[q.Indexed], peaks[q.Group]; {
			case q.Fixed:
			case q.Group == graph.NoiseVariance:
				z[i] = q.Z(variance * noiseLevels[c.noise])
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
// leaf has half of the previous one's, as in kernelParameters.
func lengthscaleStarts(s *Sample, prog *kernel.Program) map[string]*leafLevels {
	out := map[string]*leafLevels{}
	leaves, x := 0, s.Points
	var own []float64
	for _, p := range prog.Params {
		if p.Kind != kernel.Lengthscale {
			continue
		}
		mid := medianDistance(x, p.Dims)
		near := min(2*nearestDistance(x, p.Dims), mid/4)
		for i, name := range p.ElementNames() {
			l := &leafLevels{leaves, [...]float64{nearest: near, short: math.Sqrt(near * mid), median: mid, long: longScale * mid, columns: mid}}
			if p.Vector {
				if own == nil {
					own = columnLengthscales(s)
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

// Constants of the lengthscales by column: the share of the targets' sum of squares that
// the highest peak of a clear wave explains, times n/ln n, since the highest of n
// peaks of noise explains about 2 ln(n)/n; the turns of a wave in a lengthscale; and the
// largest number of rows, for one column and for the square root of all.
const (
	clearWave          = 6
	waveTurns          = 0.25
	waveRows, waveCost = 500, 1200
)

// columnLengthscales returns for each column the lengthscale of the wave along it that
// explains the targets best, or +Inf if none does clearly.
func columnLengthscales(s *Sample) []float64 {
	out := make([]float64, s.Points.D)
	for c := range out {
		period, _ := clearestWave(s, c)
		out[c] = waveTurns * period
	}
	return out
}

// clearestWave returns the period of the wave along a column that explains the targets best, and
// its share of their sum of squares; +Inf and 0 if none does clearly.
func clearestWave(s *Sample, column int) (period, share float64) {
	limit := max(50, min(waveRows, int(waveCost/math.Sqrt(float64(s.Points.D)))))
	peaks, total, rows := periodogram(s.Points.Column(column), s.Targets, limit)
	if len(peaks) > 0 && peaks[0].power > clearWave*math.Log(float64(rows))/float64(rows)*total {
		return peaks[0].period, peaks[0].power / total
	}
	return math.Inf(1), 0
}

// Constants of a regular column: the number of turns over its range from which a wave is a period, the
// share of its steps that are near a multiple of the usual step, the largest multiple that counts, because
// rows are missing or held out, and how near, in usual steps: months have 28 to 31 days.
const (
	fewestTurns  = 3
	regularShare = 0.7
	mostMissing  = 4
	nearStep     = 0.11
)

// PeriodicColumn returns the regular column of the table, such as a date, along which a wave with a
// period explains the targets best, or −1 if none does clearly.
func PeriodicColumn(s *Sample) int {
	column, highest := -1, 0.0
	for c, of := range s.Columns {
		if !regular(s.Points.Column(c)) {
			continue
		}
		period, share := clearestWave(s, c)
		if share > highest && fewestTurns*period <= smallestRange(s.Points, []int{c}) {
			column, highest = of, share
		}
	}
	return column
}

// regular reports whether values differ in most rows and most steps between them are small multiples
// of the usual one, the lower quartile.
func regular(values []float64) bool {
	steps := slices.Compact(slices.Sorted(slices.Values(values)))
	for i := range len(steps) - 1 {
		steps[i] = steps[i+1] - steps[i]
	}
	if steps = steps[:len(steps)-1]; 2*len(steps) < len(values) || len(steps) == 0 {
		return false
	}
	slices.Sort(steps)
	usual, alike := steps[len(steps)/4], 0
	for _, v := range steps {
		if times := math.Round(v / usual); times >= 1 && times <= mostMissing && math.Abs(v/usual-times) <= nearStep {
			alike++
		}
	}
	return float64(alike) >= regularShare*float64(len(steps))
}

// nearestDistance returns the median, over at most 500 rows, of the distance to the
// nearest other point over the given columns. It ignores points at distance zero.
func nearestDistance(x *kernel.Points, dims []int) float64 {
	const rows = 500
	var squares []float64
	count, all := min(x.N, rows), make([]float64, x.N)
	for k := range count {
		i, best := k*x.N/count, math.Inf(1)
		clear(all)
		for _, c := range dims {
			col := x.Column(c)
			own := col[i]
			for j, v := range col {
				all[j] += (own - v) * (own - v)
			}
		}
		for _, sum := range all {
			if sum > 0 && sum < best {
				best = sum
			}
		}
		if !math.IsInf(best, 1) {
			squares = append(squares, best)
		}
	}
	return rootOfMedian(squares)
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
func periodStarts(s *Sample, prog *kernel.Program) map[string]*leafPeriods {
	out := map[string]*leafPeriods{}
	for _, p := range prog.Params {
		if p.Kind != kernel.Period {
			continue
		}
		var all []peak
		for _, c := range p.Dims {
			peaks, _, _ := periodogram(s.Points.Column(c), s.Targets, periodRows)
			all = append(all, peaks...)
		}
		slices.SortStableFunc(all, func(a, b peak) int { return cmp.Compare(b.power, a.power) })
		l := &leafPeriods{index: len(out)}
		for _, q := range all[:min(len(all), periodPeaks)] {
			l.values = append(l.values, q.period)
		}
		l.common = commonMultiple(l.values, smallestRange(s.Points, p.Dims))
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

// Constants of the periodogram: its largest numbers of rows and of frequencies, the
// frequencies per width of a peak, and the peaks that become starts.
const (
	periodRows, periodFrequencies = 2000, 4000
	periodOversampling            = 4
	periodPeaks                   = 3
)

// peak is a local maximum of a periodogram.
type peak struct{ period, power float64 }

// periodogram returns the peaks of the least-squares periodogram (Lomb, Astrophysics and
// Space Science 39, 1976) of the targets over a column, highest first. It removes a
// parabola beforehand. Several targets count as one series each. It uses at most the given
// number of rows; it also returns their number and the sum of squares that the parabola leaves.
func periodogram(column, targets []float64, most int) (peaks []peak, total float64, count int) {
	n := len(column)
	rows := rand.New(rand.NewPCG(1, 2)).Perm(n)[:min(n, most)]
	x := make([]float64, len(rows))
	for k, i := range rows {
		x[k] = column[i]
	}
	lo, hi := slices.Min(x), slices.Max(x)
	if !(hi > lo) {
		return nil, 0, len(rows)
	}
	var series [][]float64
	for from := 0; from < len(targets); from += n {
		y := make([]float64, len(rows))
		for k, i := range rows {
			y[k] = targets[from+i]
		}
		y = withoutParabola(x, y)
		series = append(series, y)
		for _, v := range y {
			total += v * v
		}
	}
	// From one turn over the range to two rows a turn.
	step := 1 / (periodOversampling * (hi - lo))
	frequencies := min(periodOversampling*len(rows)/2, periodFrequencies)
	power := wavePowers(x, series, periodOversampling*step, step, frequencies)
	for k := 1; k+1 < frequencies; k++ {
		if power[k] > power[k-1] && power[k] >= power[k+1] {
			// The vertex of the parabola through the three values.
			off := 0.5 * (power[k-1] - power[k+1]) / (power[k-1] - 2*power[k] + power[k+1])
			peaks = append(peaks, peak{1 / ((float64(k+periodOversampling) + off) * step), power[k]})
		}
	}
	slices.SortStableFunc(peaks, func(a, b peak) int { return cmp.Compare(b.power, a.power) })
	return peaks[:min(len(peaks), periodPeaks)], total, len(rows)
}

// wavePowers returns by how much waves of frequencies first, first+step and so on reduce the
// sums of squares of the series.
func wavePowers(x []float64, series [][]float64, first, step float64, count int) []float64 {
	// From one frequency to the next, the angle of each row turns by the same amount. After
	// 32 turns it is computed directly, which keeps rounding below 1e-14. The waves
	// that turn together are 32 frequencies apart.
	const turns = 32
	cos, sin := make([]float64, vec.Waves*len(x)), make([]float64, vec.Waves*len(x))
	turnCos, turnSin := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		turnSin[i], turnCos[i] = math.Sincos(2 * math.Pi * step * v)
	}
	powers := make([]float64, count)
	for from := 0; from < count; from += vec.Waves * turns {
		for wave := range vec.Waves {
			k := from + wave*turns
			if k >= count {
				break // the other waves have no frequency
			}
			for i, v := range x {
				sin[i*vec.Waves+wave], cos[i*vec.Waves+wave] = math.Sincos(2 * math.Pi * (first + float64(k)*step) * v)
			}
		}
		for turn := range turns {
			if turn > 0 {
				vec.TurnWaves(cos, sin, turnCos, turnSin)
			}
			for _, y := range series {
				var sums [5][vec.Waves]float64
				vec.WaveSums(&sums, cos, sin, y)
				for wave := range vec.Waves {
					if k := from + wave*turns + turn; k < count {
						powers[k] += wavePower(sums[0][wave], sums[1][wave], sums[2][wave], sums[3][wave], sums[4][wave])
					}
				}
			}
		}
	}
	return powers
}

// wavePower returns by how much a wave reduces the sum of squares of y, from the sums of
// cos·y, sin·y, cos², sin² and cos·sin.
func wavePower(c, s, cc, ss, cs float64) float64 {
	if det := cc*ss - cs*cs; det > 1e-9*cc*ss {
		return (c*c*ss - 2*c*s*cs + s*s*cc) / det
	}
	return c * c / cc
}

// withoutParabola returns y less its least-squares parabola in x.
func withoutParabola(x, y []float64) []float64 {
	lo, hi := slices.Min(x), slices.Max(x)
	basis := [3][]float64{make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))}
	for i, v := range x {
		t := 2*(v-lo)/(hi-lo) - 1
		basis[0][i], basis[1][i], basis[2][i] = 1, t, t*t
	}
	out := slices.Clone(y)
	for k, b := range basis {
		for _, a := range basis[:k] {
			subtract(b, a)
		}
		subtract(out, b)
	}
	return out
}

// subtract removes from v its part along b.
func subtract(v, b []float64) {
	var vb, bb float64
	for i := range v {
		vb, bb = vb+v[i]*b[i], bb+b[i]*b[i]
	}
	if bb > 0 {
		for i := range v {
			v[i] -= vb / bb * b[i]
		}
	}
}
