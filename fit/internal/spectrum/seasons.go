package spectrum

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

// A Season is a period of a series in units of its column.
type Season struct {
	Period float64
	// Steps is the period in steps between rows, and Turns counts it over the series.
	Steps, Turns float64
	// Cycle says that the period is no whole number of steps and that no calendar has it: such a wave usually drifts.
	Cycle bool
	// Known says that the calendar gives the season, and not a line.
	Known bool
	lines []member
}

// Harmonics returns the highest harmonic among the multiples of some number, without which less than a small share of the power of
// these multiples is left, or of all others; 0 if there is none. Strongest is the number of the strongest line.
func (s *Season) Harmonics(of int, others bool) (highest int) {
	total, beyond := 0.0, 0.0
	counts := func(l member) bool { return l.harmonic%of == 0 != others }
	for _, l := range s.lines {
		if counts(l) {
			total += l.power
		}
	}
	for _, l := range slices.Backward(s.lines) {
		if counts(l) {
			if beyond += l.power; beyond > weakLines*total {
				return l.harmonic
			}
		}
	}
	return 0
}

// Strongest returns the number of the strongest line among the harmonics, 1 if the calendar gives the season.
func (s *Season) Strongest() int {
	if s.Known {
		return 1
	}
	return slices.MaxFunc(s.lines, func(a, b member) int { return cmp.Compare(a.power, b.power) }).harmonic
}

// line is a line of a spectrum: its frequency in turns a step and the square of its amplitude.
type line struct{ frequency, power float64 }

// member is a line as a harmonic of a season.
type member struct {
	line
	harmonic int
}

// Constants of lines: the probability of one of noise in a whole series, the margin above its threshold for the taper, and how
// wide the bands of the background are, as a ratio of frequencies and in frequencies of the series.
const (
	falseLine, taperMargin = 0.01, 1.25
	bandRatio, bandWidth   = 1.25, 16
)

// leastPower stands for no power.
const leastPower = 1e-300

// periodDigits are the digits of a period: steps of a column, such as months in years, have no more. weakLines is the share of the power of lines that a season may lack.
const periodDigits, weakLines = 7, 0.002

// Seasons returns the seasons of targets along a column, the strongest first, from all of its rows. It takes the lines of a
// tapered periodogram that stand out of the median of their neighbourhood, and joins harmonics of one period. Rows
// that come at no step count at the nearest multiple of the mean step, and their seasons are cycles.
func Seasons(column, targets []float64) []Season {
	values, step, even := onGrid(column, targets)
	if values == nil {
		return nil
	}
	n := float64(len(values))
	var out []Season
	for _, f := range families(lines(values), len(values)) {
		steps, whole := f.period, false
		if even {
			f = f.ofWeek(n)
			steps, whole = f.rounded(n)
		}
		out = append(out, Season{Period: toDigits(steps*step, periodDigits), Steps: steps, Turns: n / steps, Cycle: !whole, lines: f.members})
	}
	if !even {
		return out
	}
	return withCalendar(out, step, n)
}

// Lines returns the periods of the season's lines in units of its column, and their amplitudes.
func (s *Season) Lines() (periods, amplitudes []float64) {
	for _, l := range s.lines {
		periods, amplitudes = append(periods, s.Period/float64(l.harmonic)), append(amplitudes, math.Sqrt(l.power))
	}
	return periods, amplitudes
}

// Amplitudes returns the amplitudes of waves by the tapered periodogram of all rows, and their periods in units of the column: the highest in
// each of at most some bands of equal ratios of periods. A column without a grid has none.
func Amplitudes(column, targets []float64, most int) (periods, amplitudes []float64) {
	values, step, _ := onGrid(column, targets)
	if values == nil {
		return nil, nil
	}
	power, squares, sum := tapered(values)
	m := float64(2 * (len(power) - 1))
	first := firstFrequency(len(values), int(m))
	ratio, band := math.Log(float64(len(power))/float64(first))/float64(most), -1
	for i := first; i < len(power); i++ {
		v := 2 * math.Sqrt(power[i]*squares) / sum
		if b := int(math.Log(float64(i)/float64(first)) / ratio); b != band {
			band, periods, amplitudes = b, append(periods, step*m/float64(i)), append(amplitudes, v)
		} else if k := len(periods) - 1; v > amplitudes[k] {
			periods[k], amplitudes[k] = step*m/float64(i), v
		}
	}
	return periods, amplitudes
}

// lines returns the lines of a series, the strongest first. Values that are missing are NaN.
func lines(y []float64) (out []line) {
	n := len(y)
	spectrum, squares, sum := tapered(y)
	m := 2 * (len(spectrum) - 1) // even
	ratio := overBackground(spectrum, n, m)
	threshold := taperMargin * math.Log(float64(n)/2/falseLine)
	var peaks []int
	for i := firstFrequency(n, m); i < len(spectrum); i++ {
		highest := spectrum[i] >= spectrum[i-1] && (i+1 == len(spectrum) || spectrum[i] >= spectrum[i+1])
		if highest && ratio[i] > threshold {
			peaks = append(peaks, i)
		}
	}
	slices.SortStableFunc(peaks, func(a, b int) int { return cmp.Compare(spectrum[b], spectrum[a]) })
	for _, i := range peaks {
		f := (float64(i) + vertex(spectrum, i)) / float64(m)
		if !slices.ContainsFunc(out, func(l line) bool { return math.Abs(l.frequency-f) <= 3/float64(n) }) {
			out = append(out, line{f, 4 * spectrum[i] * squares / (sum * sum)})
		}
	}
	return out
}

// vertex returns how far the highest point of the parabola through the logarithms of three powers is from the middle one.
func vertex(power []float64, i int) float64 {
	if i+1 == len(power) {
		return 0
	}
	a, b, c := math.Log(power[i-1]), math.Log(power[i]), math.Log(power[i+1])
	if curvature := a - 2*b + c; curvature < 0 {
		return (a - c) / (2 * curvature)
	}
	return 0
}

// firstFrequency is the lowest one that counts, of 1.5 turns.
func firstFrequency(n, m int) int { return int(math.Ceil(1.5 / float64(n) * float64(m))) }

// tapered returns the power spectrum of a series without its line, with the taper of Hann and zeros to at least twice its length;
// and the sums of the squares and of the values of the taper where the series has values.
func tapered(y []float64) (power []float64, squares, sum float64) {
	n := len(y)
	var at, of []float64
	for i, v := range y {
		if !math.IsNaN(v) {
			at, of = append(at, float64(i)), append(of, v)
		}
	}
	offset, slope := stat.LinearRegression(at, of, nil, false)
	m := fastLength(2 * n)
	padded := make([]float64, m)
	for k, i := range at {
		s := math.Sin(math.Pi * (i + 0.5) / float64(n))
		taper := s * s
		padded[int(i)] = taper * (of[k] - offset - slope*i)
		squares, sum = squares+taper*taper, sum+taper
	}
	coefficients := fourier.NewFFT(m).Coefficients(nil, padded)
	power = make([]float64, len(coefficients))
	for k, c := range coefficients {
		power[k] = max((real(c)*real(c)+imag(c)*imag(c))/squares, leastPower)
	}
	return power, squares, sum
}

// fastLength returns the smallest even number of at least n whose prime factors are 2, 3 and 5.
func fastLength(n int) int {
	for m := n + n%2; ; m += 2 {
		rest := m
		for _, p := range []int{2, 3, 5} {
			for rest%p == 0 {
				rest /= p
			}
		}
		if rest == 1 {
			return m
		}
	}
}

// overBackground divides a spectrum by its background: the median in bands, which lines do not move, between the bands linear in
// the logarithms. A median of powers is log 2 of their mean. A spectrum of one band is flat.
func overBackground(power []float64, n, m int) []float64 {
	wide, last := float64(bandWidth*m)/float64(n), len(power)-1
	var middles, levels []float64
	for from := firstFrequency(n, m); from < last; {
		to := last
		if float64(last-from) > 1.5*wide {
			to = min(last, int(max(bandRatio*float64(from), float64(from)+wide)))
		}
		band := slices.Sorted(slices.Values(power[from : to+1]))
		middles = append(middles, math.Log(float64(from+to)/2))
		levels = append(levels, math.Log(stat.Quantile(0.5, stat.LinInterp, band, nil)/math.Ln2))
		from = to
	}
	out := slices.Clone(power)
	for i := range out {
		at := math.Log(max(float64(i), 1))
		k, _ := slices.BinarySearch(middles, at)
		switch {
		case len(middles) == 0:
			return make([]float64, len(power))
		case k == 0:
			out[i] /= math.Exp(levels[0])
		case k == len(middles):
			out[i] /= math.Exp(levels[k-1])
		default:
			share := (at - middles[k-1]) / (middles[k] - middles[k-1])
			out[i] /= math.Exp(levels[k-1] + share*(levels[k]-levels[k-1]))
		}
	}
	return out
}
