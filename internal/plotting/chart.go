package plotting

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Chart is a pair of axes with the layers between them, the first at the bottom.
type Chart struct {
	Title  string
	X, Y   Axis
	Layers []Layer
}

// Layer is a part of a chart: a [*Line], [*Band], [*Points], [*Errors], [*Bars], [*Guide]
// or [*Heat]. If it has a name, the legend shows it. Its colour is an index of the
// palette, or [Grey]. Values that are not finite are left out.
type Layer interface {
	// check returns an error for values that do not belong together.
	check() error
	// extend adds the layer's values to the range of the chart.
	extend(e *extent)
	draw(c *chart)
	// entry is the layer's name and its sample for the legend.
	entry() entry
}

// entry is a line of the legend.
type entry struct {
	name   string
	sample func(c *draw.Canvas)
}

// extent is the range of the values of layers along both axes.
type extent struct{ x, y span }

// points adds the points with finite coordinates.
func (e *extent) points(x, y []float64) {
	for i := range x {
		if finite(x[i]) && finite(y[i]) {
			e.x.add(x[i])
			e.y.add(y[i])
		}
	}
}

// coloured is a layer with a colour scale.
type coloured interface{ colours() colours }

// colours are the colours of values from lo to hi, and what the values are.
type colours struct {
	label  string
	lo, hi float64
	of     func(v float64) color.NRGBA
}

// chart is a Chart with its scales and its place.
type chart struct {
	*Chart
	x, y scale
	// colours come from a layer with a colour scale, nil if there is none, and bar is the
	// axis of that scale.
	colours *colours
	bar     scale
	// Room that the chart needs around the area of the data.
	left, right, below, above vg.Length
	// turned means that the labels of the ticks of x run upwards.
	turned bool
	title  []string
	data   draw.Canvas
}

// extent returns the range of the values of the layers.
func (c *Chart) extent() (e extent) {
	for _, l := range c.Layers {
		l.extend(&e)
	}
	return e
}

// newChart chooses scales and margins for a chart of values of the extent in a tile of the given
// size.
func newChart(c *Chart, e extent, tile vg.Point) (*chart, error) {
	made := &chart{Chart: c}
	for _, l := range c.Layers {
		if l, ok := l.(coloured); ok {
			c := l.colours()
			made.colours = &c
		}
	}
	style := textStyle(textSize)
	line := style.FontExtents().Height
	var err error
	if made.y, err = newScale(&c.Y, e.y); err != nil {
		return nil, err
	}
	if made.x, err = newScale(&c.X, e.x); err != nil {
		return nil, err
	}
	made.above = textSize / 2
	if c.Title != "" {
		made.title = wrap(textStyle(textSize), printable(c.Title), tile.X)
		made.above = vg.Length(len(made.title))*line + labelGap + 2
	}
	made.below = line + tickLength + labelGap
	if c.X.Label != "" {
		made.below += line + labelGap
	}
	made.y.setTicks(func(n int) []tick { return c.Y.ticks(&made.y, n) }, tile.Y-made.below-made.above, func(string) vg.Length { return 1.6 * line })
	for i, t := range made.y.ticks {
		made.y.ticks[i].label = shortened(style, t.label, tile.X*0.4)
	}
	made.left = made.y.widest(style) + tickLength + labelGap
	if c.Y.Label != "" {
		made.left += line + labelGap
	}
	made.right = textSize / 2
	made.addColourScale(tile.Y-made.below-made.above, line, style)
	made.setX(tile, style)
	return made, nil
}

// setX chooses the ticks of the x axis, and turns labels that do not fit.
func (c *chart) setX(tile vg.Point, style text.Style) {
	room := tile.X - c.left - c.right
	width := func(label string) vg.Length { return style.Width(label) + textSize }
	c.x.setTicks(func(n int) []tick { return c.X.ticks(&c.x, n) }, room, width)
	if c.X.Categories != nil && len(c.x.ticks) > 0 {
		c.turned = c.x.widest(style)+textSize/2 > room/vg.Length(len(c.x.ticks))
	}
	if c.turned {
		for i, t := range c.x.ticks {
			c.x.ticks[i].label = shortened(style, t.label, tile.Y*0.45)
		}
		c.below += c.x.widest(style) - style.FontExtents().Height
		return
	}
	for _, t := range c.x.ticks { // labels stay within the tile
		at, half := vg.Length(c.x.norm(t.value)), style.Width(t.label)/2
		c.left = max(c.left, half-at*room)
		c.right = max(c.right, half-(1-at)*room)
	}
}

func (c *chart) toX(v float64) vg.Length {
	return c.data.Min.X + vg.Length(c.x.norm(v))*(c.data.Max.X-c.data.Min.X)
}

func (c *chart) toY(v float64) vg.Length {
	return c.data.Min.Y + vg.Length(c.y.norm(v))*(c.data.Max.Y-c.data.Min.Y)
}

// at returns the place of a point, and whether it is finite.
func (c *chart) at(x, y float64) (vg.Point, bool) {
	p := vg.Point{X: c.toX(x), Y: c.toY(y)}
	return p, finite(float64(p.X)) && finite(float64(p.Y))
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// draw draws axes and layers.
func (c *chart) draw() {
	c.drawGrid()
	c.drawLayers(c.data)
	c.drawAxes()
	c.drawColourScale()
}

// drawLayers draws the layers at the chart's place on a canvas.
func (c *chart) drawLayers(canvas draw.Canvas) {
	on := *c
	on.data.Canvas = canvas.Canvas
	for _, l := range c.Layers {
		l.draw(&on)
	}
}

func (c *chart) drawGrid() {
	line := draw.LineStyle{Color: gridColor, Width: vg.Points(0.6)}
	for _, t := range c.x.ticks {
		if t.label != "" && c.X.Categories == nil {
			c.data.StrokeLine2(line, c.toX(t.value), c.data.Min.Y, c.toX(t.value), c.data.Max.Y)
		}
	}
	for _, t := range c.y.ticks {
		if t.label != "" {
			c.data.StrokeLine2(line, c.data.Min.X, c.toY(t.value), c.data.Max.X, c.toY(t.value))
		}
	}
}

// drawAxes draws titles, axes, ticks and labels.
func (c *chart) drawAxes() {
	style, line := textStyle(textSize), draw.LineStyle{Color: ink, Width: vg.Points(0.8)}
	d, height := c.data, textStyle(textSize).FontExtents().Height
	for i, text := range c.title {
		fillText(d, style, vg.Point{X: d.Center().X, Y: d.Max.Y + c.above - vg.Length(i)*height}, text, draw.XCenter, draw.YTop)
	}
	d.StrokeLine2(line, d.Min.X, d.Min.Y, d.Max.X, d.Min.Y)
	d.StrokeLine2(line, d.Min.X, d.Min.Y, d.Min.X, d.Max.Y)
	for _, t := range c.x.ticks {
		x := c.toX(t.value)
		d.StrokeLine2(line, x, d.Min.Y, x, d.Min.Y-t.length())
		at := vg.Point{X: x, Y: d.Min.Y - tickLength - labelGap}
		if c.turned {
			turned := style
			turned.Rotation = math.Pi / 2
			fillText(d, turned, at, t.label, draw.XRight, draw.YCenter)
			continue
		}
		fillText(d, style, at, t.label, draw.XCenter, draw.YTop)
	}
	for _, t := range c.y.ticks {
		y := c.toY(t.value)
		d.StrokeLine2(line, d.Min.X, y, d.Min.X-t.length(), y)
		fillText(d, style, vg.Point{X: d.Min.X - tickLength - labelGap, Y: y}, t.label, draw.XRight, draw.YCenter)
	}
	c.drawLabels(style)
}

// drawLabels draws the labels of the axes.
func (c *chart) drawLabels(style text.Style) {
	d := c.data
	if c.X.Label != "" {
		label := shortened(style, oneLine(c.X.Label), d.Max.X-d.Min.X+c.left)
		x := min(d.Center().X, d.Max.X+c.right-style.Width(label)/2)
		fillText(d, style, vg.Point{X: x, Y: d.Min.Y - c.below}, label, draw.XCenter, draw.YBottom)
	}
	if c.Y.Label != "" {
		label := shortened(style, oneLine(c.Y.Label), d.Max.Y-d.Min.Y+c.below)
		y := min(d.Center().Y, d.Max.Y+c.above-style.Width(label)/2)
		style.Rotation = math.Pi / 2
		fillText(d, style, vg.Point{X: d.Min.X - c.left, Y: y}, label, draw.XCenter, draw.YTop)
	}
}

// Sizes of the colour scale, in points.
const (
	barWidth = 10
	barGap   = 10
)

// addColourScale makes room for the colour scale on the right of the chart.
func (c *chart) addColourScale(height, line vg.Length, style text.Style) {
	if c.colours == nil || c.colours.label == "" {
		return
	}
	c.bar.lo, c.bar.hi = c.colours.lo, c.colours.hi
	c.bar.setTicks(func(n int) []tick { return linearTicks(c.bar.lo, c.bar.hi, n) }, height, func(string) vg.Length { return 1.6 * line })
	c.right = barGap + barWidth + tickLength + labelGap + c.bar.widest(style) + labelGap + line
}

func (c *chart) drawColourScale() {
	if c.colours == nil || c.colours.label == "" {
		return
	}
	d, style := c.data, textStyle(textSize)
	left := d.Max.X + barGap
	picture := image.NewNRGBA(image.Rect(0, 0, 1, 256))
	for i := range 256 {
		picture.SetNRGBA(0, 255-i, c.colours.of(c.bar.lo+(float64(i)+0.5)/256*(c.bar.hi-c.bar.lo)))
	}
	d.DrawImage(vg.Rectangle{Min: vg.Point{X: left, Y: d.Min.Y}, Max: vg.Point{X: left + barWidth, Y: d.Max.Y}}, picture)
	right, line := left+barWidth, draw.LineStyle{Color: ink, Width: vg.Points(0.8)}
	for _, t := range c.bar.ticks {
		y := d.Min.Y + vg.Length(c.bar.norm(t.value))*d.Size().Y
		d.StrokeLine2(line, right, y, right+tickLength, y)
		fillText(d, style, vg.Point{X: right + tickLength + labelGap, Y: y}, t.label, draw.XLeft, draw.YCenter)
	}
	label := shortened(style, oneLine(c.colours.label), d.Size().Y+c.below)
	y := min(d.Center().Y, d.Max.Y+c.above-style.Width(label)/2)
	style.Rotation = math.Pi / 2
	fillText(d, style, vg.Point{X: right + tickLength + labelGap + c.bar.widest(textStyle(textSize)) + labelGap, Y: y}, label, draw.XCenter, draw.YTop)
}
