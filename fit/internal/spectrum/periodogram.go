package spectrum

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gpfit/fit/internal/spread"
	"gpfit/internal/each"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// Constants of the periodogram: its largest numbers of rows and of frequencies, and the frequencies per width of
// a peak. MostPeaks is the largest number of peaks.
const (
	periodRows, periodFrequencies = 2000, 4000
	periodOversampling            = 4
	MostPeaks                     = 3
)

// Peak is a local maximum of a periodogram. Its power is the sum of squares that a wave explains.
type Peak struct{ Period, Power float64 }

// Peaks returns the highest peaks of the periodogram of the targets over a column, highest first.
func Peaks(column, targets []float64) []Peak {
	peaks, _, _ := periodogram(column, targets, periodRows)
	return peaks
}

// periodogram returns the peaks of the least-squares periodogram (Lomb, Astrophysics and
// Space Science 39, 1976) of the targets over a column, highest first. It removes a
// parabola beforehand. Several targets count as one series each. It uses at most the given
// number of rows; it also returns their number and the sum of squares that the parabola leaves.
func periodogram(column, targets []float64, most int) (peaks []Peak, total float64, count int) {
	n := len(column)
	rows := rand.New(rand.NewPCG(1, 2)).Perm(n)[:min(n, most)]
	x := each.Of(rows, func(i int) float64 { return column[i] })
	lo, hi := slices.Min(x), slices.Max(x)
	if !(hi > lo) {
		return nil, 0, len(rows)
	}
	var series [][]float64
	for from := 0; from < len(targets); from += n {
		y := each.Of(rows, func(i int) float64 { return targets[from+i] })
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
			peaks = append(peaks, Peak{1 / ((float64(k+periodOversampling) + off) * step), power[k]})
		}
	}
	slices.SortStableFunc(peaks, func(a, b Peak) int { return cmp.Compare(b.Power, a.Power) })
	return peaks[:min(len(peaks), MostPeaks)], total, len(rows)
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

// Constants of a clear wave: the share of the targets' sum of squares that its peak explains, times n/ln n, since
// the highest of n peaks of noise explains about 2 ln(n)/n; and the largest number of rows, for one column
// and for the square root of all.
const (
	clearWave          = 6
	waveRows, waveCost = 500, 1200
)

// Clearest returns the period of the wave along a column that explains the targets best, and
// its share of their sum of squares; +Inf and 0 if none does clearly.
func Clearest(x *kernel.Points, targets []float64, column int) (period, share float64) {
	limit := max(50, min(waveRows, int(waveCost/math.Sqrt(float64(x.D)))))
	peaks, total, rows := periodogram(x.Column(column), targets, limit)
	if len(peaks) > 0 && peaks[0].Power > clearWave*math.Log(float64(rows))/float64(rows)*total {
		return peaks[0].Period, peaks[0].Power / total
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

// PeriodicColumn returns the regular column, such as a date, along which a wave with a period explains the
// targets best, and its period, or −1 if none does clearly.
func PeriodicColumn(x *kernel.Points, targets []float64) (column int, best float64) {
	column, highest := -1, 0.0
	for c := range x.D {
		if !Regular(x.Column(c)) {
			continue
		}
		period, share := Clearest(x, targets, c)
		if share > highest && fewestTurns*period <= spread.SmallestRange(x, []int{c}) {
			column, best, highest = c, period, share
		}
	}
	return column, best
}

// Regular reports whether values differ in most rows and most steps between them are small multiples
// of the usual one, the lower quartile.
func Regular(values []float64) bool {
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
