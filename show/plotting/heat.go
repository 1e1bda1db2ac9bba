package plotting

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Heat colours a grid of values, with lines of equal value. Values between the points of
// the grid are interpolated.
type Heat struct {
	// X and Y ascend. Z[i][j] is the value at Y[i] and X[j]; NaN leaves the paper free.
	X, Y []float64
	Z    [][]float64
	// Label describes the values beside a colour scale; empty for none.
	Label string
	// Levels are the values of the lines; nil for none.
	Levels []float64
	// Low and High are the values of the ends of the scale; values beyond have the colour
	// of the end. If both are 0, they are the smallest and the largest value.
	Low, High float64
	// Diverging has the colours of the two signs, with white at 0.
	Diverging bool
}

func (h *Heat) extend(e *extent) error {
	ok := len(h.X) > 1 && len(h.Y) > 1 && len(h.Z) == len(h.Y) && slices.IsSorted(h.X) && slices.IsSorted(h.Y)
	for _, row := range h.Z {
		ok = ok && len(row) == len(h.X)
	}
	if !ok {
		return fmt.Errorf("plotting: grid of %d×%d: needs two or more ascending values of each axis, and a value for each pair of them", len(h.X), len(h.Y))
	}
	e.x.addGrid(h.X)
	e.y.addGrid(h.Y)
	return nil
}

func (h *Heat) entry() entry { return entry{} }

// limits returns the values at the ends of the colour scale.
func (h *Heat) limits() (lo, hi float64) {
	if h.Low != 0 || h.High != 0 {
		return h.Low, h.High
	}
	var s span
	for _, row := range h.Z {
		s.add(row...)
	}
	if h.Diverging {
		s.add(-s.lo, -s.hi)
	}
	if s.lo == s.hi {
		return s.lo - 0.5, s.hi + 0.5
	}
	return s.lo, s.hi
}

// Colours at equal distances of the scales: viridis (Smith & van der Walt 2015) from low to
// high, and RdBu (Brewer 2003) from negative to positive. Both differ in lightness, too.
var (
	sequential = []color.NRGBA{
		{68, 1, 84, 255}, {72, 40, 120, 255}, {62, 74, 137, 255}, {49, 104, 142, 255}, {38, 130, 142, 255}, {31, 158, 137, 255},
		{53, 183, 121, 255}, {109, 205, 89, 255}, {180, 222, 44, 255}, {253, 231, 37, 255},
	}
	diverging = []color.NRGBA{
		{5, 48, 97, 255}, {33, 102, 172, 255}, {67, 147, 195, 255}, {146, 197, 222, 255}, {209, 229, 240, 255}, {247, 247, 247, 255},
		{253, 219, 199, 255}, {244, 165, 130, 255}, {214, 96, 77, 255}, {178, 24, 43, 255}, {103, 0, 31, 255},
	}
)

// color returns the colour of a value on a scale from lo to hi; NaN has none.
func (h *Heat) color(v, lo, hi float64) color.NRGBA {
	colors := sequential
	if h.Diverging {
		colors = diverging
	}
	at := (v - lo) / (hi - lo) * float64(len(colors)-1)
	if math.IsNaN(at) {
		return color.NRGBA{}
	}
	at = min(max(at, 0), float64(len(colors)-1))
	i := min(int(at), len(colors)-2)
	between := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a)))) }
	a, b := colors[i], colors[i+1]
	return color.NRGBA{between(a.R, b.R), between(a.G, b.G), between(a.B, b.B), 255}
}

func (h *Heat) plotters(c *chart) []plot.Plotter {
	c.onColours = true
	lo, hi := h.limits()
	made := &heatMap{Heat: h, chart: c.Chart, ticks: linearTicks(lo, hi, max(2, int(c.tile.Y/30)))}
	for _, t := range made.ticks {
		made.label = max(made.label, tickLength+2*labelGap+textStyle(textSize).Width(t.Label))
	}
	return []plot.Plotter{made}
}

// heatMap draws a grid on a chart, and its colour scale on the right. The heat map of gonum has one
// colour for each cell, and the order of its contour lines changes from drawing to drawing.
type heatMap struct {
	*Heat
	chart *Chart
	// ticks are on the scale, and label is the distance of its label from the bar.
	ticks []plot.Tick
	label vg.Length
}

// Sizes of the colour scale, in points.
const barWidth, barGap = 10, 10

// GlyphBoxes implements [plot.GlyphBoxer]: it claims room for the scale.
func (h *heatMap) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	if h.Label == "" {
		return nil
	}
	width := barGap + barWidth + h.label + textStyle(textSize).FontExtents().Height
	return []plot.GlyphBox{{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: width}}}}
}

// pixels is the number of pixels along a side of a grid's picture.
const pixels = 320

// Plot implements [plot.Plotter].
func (h *heatMap) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	x, y := make([]vg.Length, len(h.X)), make([]vg.Length, len(h.Y))
	for i, v := range h.X {
		x[i] = toX(h.chart.X.place(v))
	}
	for i, v := range h.Y {
		y[i] = toY(h.chart.Y.place(v))
	}
	box := vg.Rectangle{
		Min: vg.Point{X: max(slices.Min(x), c.Min.X), Y: max(slices.Min(y), c.Min.Y)},
		Max: vg.Point{X: min(slices.Max(x), c.Max.X), Y: min(slices.Max(y), c.Max.Y)},
	}
	size := box.Size()
	if size.X <= 0 || size.Y <= 0 {
		return
	}
	lo, hi := h.limits()
	picture := image.NewNRGBA(image.Rect(0, 0, pixels, pixels))
	for i := range pixels {
		row, up := find(y, box.Max.Y-(vg.Length(i)+0.5)/pixels*size.Y)
		for j := range pixels {
			column, right := find(x, box.Min.X+(vg.Length(j)+0.5)/pixels*size.X)
			below := h.Z[row][column]*(1-right) + h.Z[row][column+1]*right
			above := h.Z[row+1][column]*(1-right) + h.Z[row+1][column+1]*right
			picture.SetNRGBA(j, i, h.color(below*(1-up)+above*up, lo, hi))
		}
	}
	c.DrawImage(box, picture)
	h.drawLevels(c, x, y)
	if h.Label != "" {
		h.drawScale(c)
	}
}

// find returns the index of the first of two lengths, which ascend or descend, around a length, and
// which share of the way to the second it is.
func find(lengths []vg.Length, at vg.Length) (index int, share float64) {
	last := len(lengths) - 2
	i := sort.Search(last, func(i int) bool { return (lengths[i+1] > at) == (lengths[0] < lengths[last+1]) })
	return i, min(max(float64((at-lengths[i])/(lengths[i+1]-lengths[i])), 0), 1)
}

// drawLevels draws the lines of equal value on a grid with the columns x and the rows y.
func (h *heatMap) drawLevels(c draw.Canvas, x, y []vg.Length) {
	line := draw.LineStyle{Color: color.NRGBA{255, 255, 255, 200}, Width: vg.Points(0.8)}
	if h.Diverging {
		line.Color = color.NRGBA{0, 0, 0, 130}
	}
	c.SetLineStyle(line)
	for _, level := range slices.Sorted(slices.Values(h.Levels)) {
		var path vg.Path
		for _, s := range c.ClipLinesXY(h.contour(level, x, y)...) {
			path.Move(s[0])
			path.Line(s[len(s)-1])
		}
		if len(path) > 0 {
			c.Stroke(path)
		}
	}
}

// contour returns the pieces of the line where the grid has a value, each a straight line
// through a cell (marching squares, Lorensen & Cline 1987, in two dimensions).
func (h *Heat) contour(level float64, x, y []vg.Length) (segments [][]vg.Point) {
	for i := range len(y) - 1 {
		for j := range len(x) - 1 {
			// The corners of the cell, around it.
			rows, columns := [4]int{i, i, i + 1, i + 1}, [4]int{j, j + 1, j + 1, j}
			var crossings []vg.Point
			mean := 0.0
			for k := range 4 {
				next := (k + 1) % 4
				a, b := h.Z[rows[k]][columns[k]], h.Z[rows[next]][columns[next]]
				mean += a / 4
				if (a < level) == (b < level) || !finite(a) || !finite(b) {
					continue
				}
				from, to := vg.Point{X: x[columns[k]], Y: y[rows[k]]}, vg.Point{X: x[columns[next]], Y: y[rows[next]]}
				crossings = append(crossings, from.Add(to.Sub(from).Scale(vg.Length((level-a)/(b-a)))))
			}
			switch {
			case len(crossings) == 4 && (mean < level) == (h.Z[i][j] < level):
				// A saddle: the corners with the mean's side of the level are joined.
				segments = append(segments, crossings[:2], crossings[2:])
			case len(crossings) == 4:
				segments = append(segments, []vg.Point{crossings[3], crossings[0]}, crossings[1:3])
			case len(crossings) == 2:
				segments = append(segments, crossings)
			}
		}
	}
	return segments
}

// drawScale draws the colour scale: axes of gonum are on the left.
func (h *heatMap) drawScale(c draw.Canvas) {
	lo, hi := h.limits()
	picture := image.NewNRGBA(image.Rect(0, 0, 1, 256))
	for i := range 256 {
		picture.SetNRGBA(0, 255-i, h.color(lo+(float64(i)+0.5)/256*(hi-lo), lo, hi))
	}
	right, style := c.Max.X+barGap+barWidth, textStyle(textSize)
	c.DrawImage(vg.Rectangle{Min: vg.Point{X: right - barWidth, Y: c.Min.Y}, Max: vg.Point{X: right, Y: c.Max.Y}}, picture)
	for _, t := range h.ticks {
		y := c.Y((t.Value - lo) / (hi - lo))
		c.StrokeLine2(axisLine, right, y, right+tickLength, y)
		fillText(c, style, vg.Point{X: right + tickLength + labelGap, Y: y}, t.Label, draw.XLeft, draw.YCenter)
	}
	style.Rotation = math.Pi / 2
	label := shortened(style, oneLine(h.Label), c.Size().Y)
	fillText(c, style, vg.Point{X: right + h.label, Y: c.Center().Y}, label, draw.XCenter, draw.YTop)
}
