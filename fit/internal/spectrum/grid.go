package spectrum

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

// mostHoles bounds the steps of a series over its rows, and mostJitter the standard deviation of times about the multiples of their numbers, in steps.
const mostHoles, mostJitter = 16, 0.3

// onGrid returns the targets near the multiples of a step, without gross errors, as means if there are several and NaN if there is none; nil
// if there are too few times, or if most would be NaN. Times that come at no step are not even, and the step is their mean one.
func onGrid(column, targets []float64) (values []float64, step float64, even bool) {
	n, first := len(column), slices.Min(column)
	times := slices.Compact(slices.Sorted(slices.Values(column)))
	if step = gridStep(times); step == 0 {
		step, first = jittered(times)
	}
	if even = step > 0; !even && len(times) >= leastTimes {
		first, step, even = numbered(times)
	}
	last := math.Round((times[len(times)-1] - first) / step)
	if step == 0 || !(last < float64(mostHoles*n)) {
		return nil, 0, false
	}
	values = make([]float64, int(last)+1)
	counts := make([]float64, len(values))
	for i, x := range column {
		k := max(0, min(int(math.Round((x-first)/step)), len(values)-1))
		values[k], counts[k] = values[k]+targets[i], counts[k]+1
	}
	for k, c := range counts {
		values[k] /= c // NaN for none
	}
	return withoutGross(values), step, even
}

// numbered returns the first time and the mean step of ascending times, and whether each is near the multiple of its number.
func numbered(times []float64) (first, step float64, even bool) {
	number, after := make([]float64, len(times)), make([]float64, len(times))
	for i, t := range times {
		number[i], after[i] = float64(i), t-times[0]
	}
	offset, step := stat.LinearRegression(number, after, nil, false)
	square := 0.0
	for i, t := range after {
		square += math.Pow(t-offset-step*number[i], 2) / float64(len(times))
	}
	if math.Sqrt(square) < mostJitter*step {
		return times[0] + offset, step, true
	}
	return times[0], after[len(after)-1] / float64(len(times)-1), false
}

// Constants of gross errors: where they begin, in medians of the sizes of values, and the largest share of the values that they are.
const grossSize, grossShare = 9, 0.05

// withoutGross returns values that go no farther from their line than the gross errors among them begin.
func withoutGross(values []float64) []float64 {
	var at, of []float64
	for i, v := range values {
		if !math.IsNaN(v) {
			at, of = append(at, float64(i)), append(of, v)
		}
	}
	offset, slope := stat.LinearRegression(at, of, nil, false)
	sizes := make([]float64, len(of))
	for k, v := range of {
		sizes[k] = math.Abs(v - offset - slope*at[k])
	}
	most := grossSize * stat.Quantile(0.5, stat.Empirical, slices.Sorted(slices.Values(sizes)), nil)
	out, gross := slices.Clone(values), 0
	for k, size := range sizes {
		if size > most {
			line := offset + slope*at[k]
			out[int(at[k])], gross = line+math.Copysign(most, of[k]-line), gross+1
		}
	}
	if float64(gross) > grossShare*float64(len(of)) {
		return values
	}
	return out
}

// Step returns the step of a column whose steps are multiples of one; 0 of others.
func Step(column []float64) float64 {
	return gridStep(slices.Compact(slices.Sorted(slices.Values(column))))
}

// Constants of a grid: the share of the steps that are near multiples of its step, its least number of times, and where to look for that among the sorted steps.
const gridShare, leastTimes = 0.95, 8

var stepShares = []float64{0, 0.05, 0.25}

// gridStep returns the step of which the steps between ascending times are multiples, up to the differences of months; 0 if there is none.
func gridStep(times []float64) float64 {
	if len(times) < leastTimes {
		return 0
	}
	steps := make([]float64, len(times)-1)
	for i := range steps {
		steps[i] = times[i+1] - times[i]
	}
	slices.Sort(steps)
	for _, share := range stepShares {
		usual := steps[int(share*float64(len(steps)-1))]
		alike, whole, sum := 0, 0., 0.
		for _, v := range steps {
			if k := math.Round(v / usual); math.Abs(v/usual-k) <= nearStep {
				alike, whole, sum = alike+1, whole+k, sum+v
			}
		}
		if float64(alike) >= gridShare*float64(len(steps)) {
			return sum / whole // of months, the mean
		}
	}
	return 0
}

// Constants of times around a grid: how many of them find its step first; the step as shares of their mean one; the
// frequencies per width of a peak; and the least mean of the waves with the step's period at the times, in units of the highest that
// chance gives, and at all.
const (
	firstTimes          = 500
	shortStep, longStep = 2.05, 0.95
	stepOversampling    = 4
	aboveChance, atAll  = 1.3, 0.2
	sameStep            = 0.05
)

// jittered returns the step around whose multiples ascending times lie, from a time on, such as rows at irregular times of each hour; 0 if
// there is none. The times themselves have the highest peak of their periodogram there: first some of them, then twice as many, and so on.
func jittered(times []float64) (step, first float64) {
	n := min(len(times), firstTimes)
	if n < leastTimes {
		return 0, 0
	}
	rate := float64(n-1) / (times[n-1] - times[0])
	low, high := longStep*rate, shortStep*rate
	for {
		span, highest := times[n-1]-times[0], 0.
		for f := low; f <= high; f += 1 / (stepOversampling * span) {
			if r, angle := wave(times[:n], f); r > highest {
				highest, step, first = r, 1/f, times[0]+angle/(2*math.Pi*f)
			}
		}
		if highest < max(atAll, aboveChance*math.Sqrt(math.Log(stepOversampling*float64(n))/float64(n))) {
			return 0, 0
		}
		if n == len(times) {
			break
		}
		n, low, high = min(2*n, len(times)), 1/step-1/(stepOversampling*span), 1/step+1/(stepOversampling*span)
	}
	number := make([]float64, n)
	for i, t := range times {
		number[i] = math.Round((t - first) / step)
	}
	first, step = stat.LinearRegression(number, times, nil, false)
	first += step * number[0]
	for digits := 1; digits < 8; digits++ { // the fewest with which the last row stays in its place
		if few := toDigits(step, digits); math.Abs(few-step)*float64(n) < sameStep*step {
			return few, first
		}
	}
	return step, first
}

// toDigits returns a number with a number of digits.
func toDigits(v float64, digits int) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	return out
}

// wave returns length and angle of the mean of waves of a frequency at times, from the first one on.
func wave(times []float64, frequency float64) (length, angle float64) {
	var c, s float64
	for _, t := range times {
		sin, cos := math.Sincos(2 * math.Pi * frequency * (t - times[0]))
		c, s = c+cos, s+sin
	}
	return math.Hypot(c, s) / float64(len(times)), math.Atan2(s, c)
}
