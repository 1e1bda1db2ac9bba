package plotting

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// Axis is one axis of a chart. The zero value is linear and has the range of the data,
// with room for markers.
type Axis struct {
	Label string
	Log   bool
	// Range is the range to show; without it, the axis shows all data. Layers end there.
	Range [2]float64
	// Date returns the date of a value, for an axis of dates. It is affine.
	Date func(x float64) time.Time
	// Categories are the labels of the values 0, 1, 2, … of an axis without numbers.
	Categories []string
	// Ticks are the values of the ticks; nil chooses. Each has a label if there is room.
	Ticks []float64
	// Reversed runs from right to left, or down.
	Reversed bool
	// Zero makes the range of the data include 0.
	Zero bool
}

type span struct {
	lo, hi float64
	some   bool
	// A grid from gridLo to gridHi fills the axis to its ends if tight is true.
	gridLo, gridHi float64
	tight          bool
}

func (s *span) add(values ...float64) {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if !s.some {
			s.lo, s.hi, s.some = v, v, true
		}
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	}
}

func (s *span) addGrid(values []float64) {
	s.add(values...)
	s.gridLo, s.gridHi, s.tight = values[0], values[len(values)-1], true
}

// scale maps the values of an axis to [0, 1].
type scale struct {
	lo, hi        float64
	log, reversed bool
	ticks         []tick
}

// tick is a mark on an axis; a minor one has no label.
type tick struct {
	value float64
	label string
}

func (t tick) length() vg.Length {
	if t.label == "" {
		return tickLength / 2
	}
	return tickLength
}

// headroom is the part of an axis that is free at each end, for markers and lines.
const headroom = 0.04

// newScale returns the scale for values of the given span, without ticks.
func newScale(a *Axis, values span) (scale, error) {
	s := scale{log: a.Log, reversed: a.Reversed}
	if a.Zero {
		values.add(0)
	}
	given := a.Range != [2]float64{}
	if given {
		values = span{lo: min(a.Range[0], a.Range[1]), hi: max(a.Range[0], a.Range[1]), some: true}
	}
	if !values.some {
		values = span{lo: 0, hi: 1}
		if a.Log {
			values.lo = 0.1
		}
	}
	if a.Log && !(values.lo > 0) {
		return s, fmt.Errorf("plotting: %v has no place on the logarithmic axis %s", values.lo, a.Label)
	}
	s.lo, s.hi = values.lo, values.hi
	if a.Categories != nil {
		s.lo, s.hi, given = -0.6, float64(len(a.Categories))-0.4, true
	}
	lo, hi := s.forward(s.lo), s.forward(s.hi)
	if !(hi-lo > 1e-12*max(math.Abs(lo), math.Abs(hi))) { // one value
		half := max(math.Abs(lo)/10, 0.5)
		if s.log {
			half = 0.5
		}
		lo, hi, given = lo-half, hi+half, true
	}
	if !given && !(values.tight && values.lo == values.gridLo && values.hi == values.gridHi) {
		lo, hi = lo-headroom*(hi-lo), hi+headroom*(hi-lo)
	}
	s.lo, s.hi = s.backward(lo), s.backward(hi)
	return s, nil
}

func (s *scale) forward(v float64) float64 {
	if s.log {
		return math.Log10(v)
	}
	return v
}

func (s *scale) backward(v float64) float64 {
	if s.log {
		return math.Pow(10, v)
	}
	return v
}

// norm returns the place of a value: 0 at the beginning of the axis, 1 at its end.
func (s *scale) norm(v float64) float64 {
	lo, hi := s.forward(s.lo), s.forward(s.hi)
	at := s.forward(v)/(hi-lo) - lo/(hi-lo)
	if s.reversed {
		return 1 - at
	}
	return at
}

// setTicks chooses the largest number of ticks, at most about nine, whose labels fit into
// a length. need returns the length that a label needs.
func (s *scale) setTicks(choose func(n int) []tick, length vg.Length, need func(label string) vg.Length) {
	for n := 9; ; n-- {
		s.ticks = choose(n)
		if n <= 2 || s.fit(length, need) {
			return
		}
	}
}

func (s *scale) fit(length vg.Length, need func(string) vg.Length) bool {
	end := math.Inf(-1)
	for _, t := range s.ticks {
		if t.label == "" {
			continue
		}
		at := s.norm(t.value)
		if s.reversed {
			at = 1 - at
		}
		half := float64(need(t.label)) / 2
		if at*float64(length)-half < end {
			return false
		}
		end = at*float64(length) + half
	}
	return true
}

func (s *scale) widest(style text.Style) (w vg.Length) {
	for _, t := range s.ticks {
		w = max(w, style.Width(t.label))
	}
	return w
}

// longestCategory limits labels of categories, in characters.
const longestCategory = 24

// ticks returns about n ticks of the axis within its scale, in ascending order.
func (a *Axis) ticks(s *scale, n int) []tick {
	switch {
	case a.Categories != nil:
		ticks := make([]tick, len(a.Categories))
		for i, name := range a.Categories {
			ticks[i] = tick{float64(i), cut(oneLine(name), longestCategory)}
		}
		return ticks
	case a.Ticks != nil:
		return givenTicks(s, a.Ticks, n)
	case a.Date != nil:
		return dateTicks(s, a.Date, n)
	case a.Log:
		return logTicks(s, n)
	}
	return linearTicks(s.lo, s.hi, n)
}

func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// givenTicks has a tick at each value, and labels at a distance of about 1/n of the axis.
func givenTicks(s *scale, values []float64, n int) []tick {
	var ticks []tick
	last := math.Inf(-1)
	for _, v := range values {
		if v < s.lo || v > s.hi {
			continue
		}
		t := tick{value: v}
		if at := math.Abs(s.norm(v) - last); at >= 1/float64(n+1) {
			t.label, last = number(v), s.norm(v)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// linearTicks has at most n+1 ticks at multiples of 1, 2 or 5 times a power of ten.
func linearTicks(lo, hi float64, n int) []tick {
	step := niceStep((hi - lo) / float64(n))
	var ticks []tick
	for i := math.Ceil(lo/step - 1e-9); i*step <= hi+1e-9*step && len(ticks) < 1000; i++ {
		ticks = append(ticks, tick{value: i * step, label: rounded(i*step, step)})
	}
	return ticks
}

// niceStep returns the smallest number that is at least least and 1, 2 or 5 times a power
// of ten.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, f := range []float64{1, 2, 5, 10} {
		if f*power >= least*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// rounded returns the text of a multiple of step.
func rounded(v, step float64) string {
	digits := max(0, int(math.Ceil(-math.Log10(step)-1e-9)))
	if math.Abs(v) < step/2 {
		return "0"
	}
	if digits > 300 {
		return number(v)
	}
	exact, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
	if err != nil {
		return number(v)
	}
	return number(exact)
}

// number returns the shortest text of a value: 0.5, −3, 20000, 3e6.
func number(v float64) string {
	if magnitude := math.Abs(v); magnitude == 0 || magnitude >= 1e-4 && magnitude < 1e6 {
		return minus(strconv.FormatFloat(v, 'f', -1, 64))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'e', -1, 64), "e")
	e, err := strconv.Atoi(exponent)
	if err != nil {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return minus(mantissa) + "e" + minus(strconv.Itoa(e))
}

// minus writes the sign of a negative number as a minus sign.
func minus(text string) string { return strings.Replace(text, "-", "−", 1) }

// logTicks labels powers of ten, or also 2 and 5 times these if there are few, and marks
// the numbers between.
func logTicks(s *scale, n int) []tick {
	lo, hi := math.Log10(s.lo), math.Log10(s.hi)
	if hi-lo < 0.7 {
		return linearTicks(s.lo, s.hi, n)
	}
	apart := max(1, int(math.Ceil((hi-lo)/float64(n))))
	between := 3*(hi-lo) <= float64(n)+1
	var ticks []tick
	for e := math.Floor(lo); e <= hi; e++ {
		for i := 1.0; i < 10; i++ {
			t := tick{value: i * math.Pow(10, e)}
			switch {
			case t.value < s.lo*(1-1e-9) || t.value > s.hi*(1+1e-9) || i > 1 && hi-lo > 8:
				continue
			case i == 1 && math.Mod(e, float64(apart)) == 0:
				t.label = number(rounding(t.value))
			case between && (i == 2 || i == 5):
				t.label = number(rounding(t.value))
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// rounding removes the error of a power of ten.
func rounding(v float64) float64 {
	exact, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 2, 64), 64)
	if err != nil {
		return v
	}
	return exact
}

// steps are the distances between ticks of dates: of calendar units, and of clocks.
var (
	monthSteps = []int{1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000}
	clockSteps = []time.Duration{
		time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute,
		time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 2 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour,
	}
)

const secondsOfMonth = 365.2425 * 86400 / 12

// seconds returns the seconds between two times, however far they are apart.
func seconds(from, to time.Time) float64 {
	return float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9
}

// dateTicks has at most about n ticks, at the beginnings of years, months, days, hours, ….
func dateTicks(s *scale, date func(float64) time.Time, n int) []tick {
	from, to := date(s.lo), date(s.hi)
	long := seconds(from, to)
	if !(long > 0) {
		return linearTicks(s.lo, s.hi, n)
	}
	value := func(t time.Time) float64 { return s.lo + (s.hi-s.lo)*seconds(from, t)/long }
	var ticks []tick
	add := func(t time.Time, format string) {
		if !t.Before(from) && !t.After(to) {
			ticks = append(ticks, tick{value(t), t.Format(format)})
		}
	}
	for _, step := range clockSteps {
		if long > float64(n)*step.Seconds() {
			continue
		}
		format := "2006-01-02"
		if step < 24*time.Hour {
			format = "01-02 15:04"
		}
		if step < time.Minute {
			format = "15:04:05"
		}
		for t := from.Truncate(step); !t.After(to); t = t.Add(step) {
			add(t, format)
		}
		return ticks
	}
	for _, step := range monthSteps {
		if long > float64(n*step)*secondsOfMonth {
			continue
		}
		format := "2006-01"
		if step%12 == 0 {
			format = "2006"
		}
		first := (from.Year()*12 + int(from.Month()) - 1) / step * step
		for m := first; ; m += step {
			t := time.Date(m/12, time.Month(m%12+1), 1, 0, 0, 0, 0, from.Location())
			if t.After(to) {
				return ticks
			}
			add(t, format)
		}
	}
	return linearTicks(s.lo, s.hi, n)
}
