package plotting

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// setTicks chooses the largest number of ticks, at most about nine, whose labels fit into an axis of
// a length, and reports whether they do. Labels are at most longest; need returns the length that
// one needs.
func (a *Axis) setTicks(on *plot.Axis, length, longest vg.Length, need func(label string) vg.Length) bool {
	for n := 9; ; n-- {
		ticks := a.ticks(on.Min, on.Max, n)
		for i := range ticks {
			ticks[i].Label = shortened(textStyle(textSize), ticks[i].Label, longest)
		}
		on.Tick.Marker = plot.ConstantTicks(ticks)
		if fit := apart(ticks, length/vg.Length(on.Max-on.Min), need); fit || n == 2 {
			return fit
		}
	}
}

// apart reports whether the labels of ticks in ascending order have the room that they need.
func apart(ticks []plot.Tick, unit vg.Length, need func(string) vg.Length) bool {
	end := vg.Length(math.Inf(-1))
	for _, t := range ticks {
		if t.IsMinor() {
			continue
		}
		at, half := vg.Length(t.Value)*unit, need(t.Label)/2
		if at-half < end {
			return false
		}
		end = at + half
	}
	return true
}

// ticks returns about n ticks between two places of the axis, in ascending order of their places.
// A tick without a label is a minor one.
func (a *Axis) ticks(from, to float64, n int) (ticks []plot.Tick) {
	lo, hi := a.value(from), a.value(to)
	if a.Reversed {
		lo, hi = hi, lo
	}
	switch {
	case a.Categories != nil:
		for i, name := range a.Categories {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: oneLine(name)})
		}
	case a.Ticks != nil:
		last := math.Inf(-1)
		for _, v := range a.Ticks {
			at, t := a.place(v), plot.Tick{Value: v}
			if at < from || at > to {
				continue
			}
			if math.Abs(at-last) >= (to-from)/float64(n+1) {
				t.Label, last = number(v), at
			}
			ticks = append(ticks, t)
		}
	case a.Date != nil:
		ticks = dateTicks(lo, hi, a.Date, n)
	case a.Log && math.Log10(hi/lo) >= 0.7:
		ticks = logTicks(lo, hi, n)
	default:
		ticks = linearTicks(lo, hi, n)
	}
	for i := range ticks {
		ticks[i].Value = a.place(ticks[i].Value)
	}
	if a.Reversed {
		slices.Reverse(ticks)
	}
	return ticks
}

// linearTicks has at most n+1 ticks at multiples of 1, 2 or 5 times a power of ten: the ticks
// of [plot.DefaultTicks] are about three on an axis of any length.
func linearTicks(lo, hi float64, n int) (ticks []plot.Tick) {
	least := (hi - lo) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(least)))
	step := 10 * power
	for _, f := range []float64{5, 2, 1} {
		if f*power >= least*(1-1e-9) {
			step = f * power
		}
	}
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-9*step && len(ticks) < 1000; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: number(i * step)})
	}
	return ticks
}

var signs = strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e−", "-", "−")

// number returns the shortest text of a value without the rounding error in its last digits:
// 0.5, −3, 20000, 3e6.
func number(v float64) string {
	if exact, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 13, 64), 64); err == nil {
		v = exact
	}
	if v == 0 {
		return "0" // also of −0
	}
	return signs.Replace(strconv.FormatFloat(v, 'g', -1, 64))
}

// logTicks labels powers of ten, or also 2 and 5 times these if there are few, and marks
// the numbers between: [plot.LogTicks] labels every power of ten and nothing else.
func logTicks(lo, hi float64, n int) (ticks []plot.Tick) {
	decades := math.Log10(hi / lo)
	apart := math.Ceil(decades / float64(n))
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for i := 1.0; i < 10 && (i == 1 || decades <= 8); i++ {
			t := plot.Tick{Value: i * math.Pow(10, e)}
			if t.Value < lo*(1-1e-9) || t.Value > hi*(1+1e-9) {
				continue
			}
			if i == 1 && math.Mod(e, apart) == 0 || (i == 2 || i == 5) && 3*decades <= float64(n)+1 {
				t.Label = number(t.Value)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// interval is a distance between ticks of dates: months, or a time of the clock.
type interval struct {
	months int
	clock  time.Duration
	format string
}

var intervals = []interval{
	{0, time.Second, "15:04:05"}, {0, 5 * time.Second, "15:04:05"}, {0, 15 * time.Second, "15:04:05"},
	{0, time.Minute, "01-02 15:04"}, {0, 5 * time.Minute, "01-02 15:04"}, {0, 15 * time.Minute, "01-02 15:04"},
	{0, time.Hour, "01-02 15:04"}, {0, 3 * time.Hour, "01-02 15:04"}, {0, 6 * time.Hour, "01-02 15:04"}, {0, 12 * time.Hour, "01-02 15:04"},
	{0, day, "2006-01-02"}, {0, 2 * day, "2006-01-02"}, {0, 7 * day, "2006-01-02"}, {0, 14 * day, "2006-01-02"},
	{1, 0, "2006-01"}, {2, 0, "2006-01"}, {3, 0, "2006-01"}, {6, 0, "2006-01"},
	{12, 0, "2006"}, {24, 0, "2006"}, {60, 0, "2006"}, {120, 0, "2006"}, {240, 0, "2006"}, {600, 0, "2006"}, {1200, 0, "2006"}, {6000, 0, "2006"}, {12000, 0, "2006"},
}

const day = 24 * time.Hour

// seconds returns the length of the interval.
func (i interval) seconds() float64 {
	return i.clock.Seconds() + float64(i.months)*365.2425/12*day.Seconds()
}

// begin returns the beginning of the interval that has a time.
func (i interval) begin(t time.Time) time.Time {
	if i.months == 0 {
		return t.Truncate(i.clock)
	}
	months := t.Year()*12 + int(t.Month()) - 1
	return time.Date(0, time.Month(months/i.months*i.months+1), 1, 0, 0, 0, 0, t.Location())
}

// dateTicks has at most about n ticks, at the beginnings of years, months, days, hours, …: the
// ticks of [plot.TimeTicks] are at round numbers of seconds.
func dateTicks(lo, hi float64, date func(float64) time.Time, n int) (ticks []plot.Tick) {
	from, to := date(lo), date(hi)
	seconds := func(t time.Time) float64 { // a time.Duration ends after 292 years
		return float64(t.Unix()-from.Unix()) + float64(t.Nanosecond()-from.Nanosecond())/1e9
	}
	at := slices.IndexFunc(intervals, func(i interval) bool { return seconds(to) <= float64(n)*i.seconds() })
	if at < 0 || !(seconds(to) > 0) {
		return linearTicks(lo, hi, n)
	}
	step := intervals[at]
	for t := step.begin(from); !t.After(to); t = t.AddDate(0, step.months, 0).Add(step.clock) {
		if !t.Before(from) {
			ticks = append(ticks, plot.Tick{Value: lo + (hi-lo)*seconds(t)/seconds(to), Label: t.Format(step.format)})
		}
	}
	return ticks
}
