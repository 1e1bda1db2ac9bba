package plotting

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/plot"
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

// place returns where a value is on a linear axis that runs to the right or up: plots have only
// such axes, since gonum gives labels on others the room that they need elsewhere.
func (a *Axis) place(v float64) float64 {
	if a.Log {
		v = math.Log10(v)
	}
	if a.Reversed {
		v = -v
	}
	return v
}

// value returns the value at a place.
func (a *Axis) value(place float64) float64 {
	if a.Reversed {
		place = -place
	}
	if a.Log {
		return math.Pow(10, place)
	}
	return place
}

// span is a range of values.
type span struct {
	lo, hi float64
	some   bool
	// tight means that a grid fills the axis to its ends.
	tight bool
}

func (s *span) add(values ...float64) {
	for _, v := range values {
		if !finite(v) || s.some && s.lo <= v && v <= s.hi {
			continue
		}
		if !s.some {
			s.lo, s.hi, s.some = v, v, true
		}
		s.lo, s.hi, s.tight = min(s.lo, v), max(s.hi, v), false
	}
}

func (s *span) addGrid(values []float64) {
	s.add(values...)
	s.tight = s.lo == values[0] && s.hi == values[len(values)-1]
}

// headroom is the part of an axis that is free at each end, for markers and lines.
const headroom = 0.04

// setEnds sets the places of the ends of the axis for values of the span.
func (a *Axis) setEnds(on *plot.Axis, values span) error {
	if a.Zero {
		values.add(0)
	}
	switch given := a.Range != [2]float64{}; {
	case a.Categories != nil:
		values = span{lo: -0.6, hi: float64(len(a.Categories)) - 0.4, tight: true}
	case given:
		values = span{lo: min(a.Range[0], a.Range[1]), hi: max(a.Range[0], a.Range[1]), tight: true}
	case !values.some && a.Log:
		values = span{lo: 0.1, hi: 1}
	case !values.some:
		values = span{lo: 0, hi: 1}
	}
	if a.Log && !(values.lo > 0) {
		return fmt.Errorf("plotting: %v has no place on the logarithmic axis %s", values.lo, a.Label)
	}
	lo, hi := a.place(values.lo), a.place(values.hi)
	if a.Reversed {
		lo, hi = hi, lo
	}
	room := headroom * (hi - lo)
	switch one := !(hi-lo > 1e-12*max(math.Abs(lo), math.Abs(hi))); {
	case one && a.Log:
		room = 0.5
	case one:
		room = max(math.Abs(lo)/10, 0.5)
	case values.tight:
		room = 0
	}
	on.Min, on.Max = lo-room, hi+room
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
