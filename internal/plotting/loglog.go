package plotting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one line of a plot.
type Series struct {
	Name string
	// X and Y have the same length, and are positive on logarithmic axes.
	X, Y []float64
	// Group is the index of a colour; related series share one.
	Group int
	// Style distinguishes the lines of a group.
	Style Style
}

// Style is the look of a line.
type Style int

// The styles. Measured lines have markers.
const (
	Measured Style = iota
	MeasuredDashed
	Limit
)

// LogLog is a plot with two logarithmic axes.
type LogLog struct {
	Title, XLabel, YLabel string
	Series                []Series
}

// Write draws the plot to a file, completely or not at all. Only if replace is true,
// it replaces an existing file.
func (l *LogLog) Write(ctx context.Context, path string, replace bool) error {
	format, err := Format(path)
	if err != nil {
		return err
	}
	p, legend, err := l.draw()
	if err != nil {
		return err
	}
	return write(ctx, path, format, replace, p, legend, len(l.Series))
}

// draw returns the plot and its legend.
func (l *LogLog) draw() (*plot.Plot, *plot.Legend, error) {
	if len(l.Series) == 0 {
		return nil, nil, errors.New("plotting: nothing to draw")
	}
	p, legend := withLegend(l.Title, l.XLabel, l.YLabel)
	var xs, ys []float64
	for _, s := range l.Series {
		if err := addSeries(p, legend, s); err != nil {
			return nil, nil, err
		}
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	valueAxis(&p.X, xs)
	decadeAxis(&p.Y, ys)
	return p, legend, nil
}

func addSeries(p *plot.Plot, legend *plot.Legend, s Series) error {
	points := make(plotter.XYs, len(s.X))
	for i := range points {
		if !(s.X[i] > 0) || !(s.Y[i] > 0) {
			return fmt.Errorf("plotting: %s: (%v, %v) has no logarithm", s.Name, s.X[i], s.Y[i])
		}
		points[i].X, points[i].Y = s.X[i], s.Y[i]
	}
	line, markers, err := plotter.NewLinePoints(points)
	if err != nil {
		return fmt.Errorf("plotting: %s: %w", s.Name, err)
	}
	c := palette[s.Group%len(palette)]
	line.Color, line.Width = c, vg.Points(1.6)
	markers.Color, markers.Radius = c, vg.Points(3)
	markers.Shape = draw.CircleGlyph{}
	switch s.Style {
	case MeasuredDashed:
		line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		markers.Shape = draw.RingGlyph{}
	case Limit:
		line.Width = vg.Points(0.9)
		line.Dashes = []vg.Length{vg.Points(1.5), vg.Points(2.5)}
		p.Add(line)
		legend.Add(s.Name, line)
		return nil
	}
	p.Add(line, markers)
	legend.Add(s.Name, line, markers)
	return nil
}

// logAxis sets a logarithmic scale from lo to hi.
func logAxis(a *plot.Axis, lo, hi float64, ticks []plot.Tick) {
	a.Min, a.Max = lo, hi
	a.Scale, a.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
}

// valueAxis sets a tick at each of the values, with a label where it fits, and a
// range slightly larger than the values'.
func valueAxis(a *plot.Axis, values []float64) {
	values = slices.Compact(slices.Sorted(slices.Values(values)))
	lo, hi := values[0], values[len(values)-1]
	room := max(math.Pow(hi/lo, 0.04), 1.05)
	var ticks []plot.Tick
	last := math.Inf(-1)
	for _, v := range values {
		t := plot.Tick{Value: v}
		if math.Log(v)-last >= math.Log(hi/lo)/12 {
			t.Label, last = strconv.FormatFloat(v, 'f', -1, 64), math.Log(v)
		}
		ticks = append(ticks, t)
	}
	logAxis(a, lo/room, hi*room, ticks)
}

// decadeAxis sets an axis that starts and ends at numbers of the series 1, 2, 5,
// 10, …. It labels these numbers, or only powers of ten if there are many.
func decadeAxis(a *plot.Axis, values []float64) {
	lo, hi := slices.Min(values), slices.Max(values)
	few := math.Log10(hi/lo) < 2.5
	var ticks []plot.Tick
	below, above := 0.0, math.Inf(1)
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for i := 1.0; i < 10; i++ {
			t := plot.Tick{Value: i * math.Pow(10, e)}
			if i == 1 || i == 2 || i == 5 {
				if t.Value <= lo {
					below = t.Value
				}
				if t.Value >= hi && t.Value > below {
					above = min(above, t.Value)
				}
				if i == 1 || few {
					t.Label = strconv.FormatFloat(t.Value, 'g', 3, 64)
				}
			}
			ticks = append(ticks, t)
		}
	}
	logAxis(a, below, above, ticks)
}
