package plotting

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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
	// extend adds the layer's values to the range of the chart. An error says that they do not
	// belong together.
	extend(e *extent) error
	// plotters draw the layer.
	plotters(c *chart) []plot.Plotter
	// entry is the layer's name and its sample for the legend.
	entry() entry
}

// entry is a name in the legend and its sample.
type entry struct {
	name   string
	sample plot.Thumbnailer
}

// Sizes in the legend, in points.
const sampleWidth, legendLine, legendGap = 22, 15, 14

func (e entry) width() vg.Length {
	return sampleWidth + labelGap + 2 + textStyle(textSize).Width(e.name)
}

// draw draws an entry with its upper left corner at a point.
func (e entry) draw(c draw.Canvas, at vg.Point) {
	sample := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: at.X, Y: at.Y - legendLine + 3}, Max: vg.Point{X: at.X + sampleWidth, Y: at.Y - 3}}}
	e.sample.Thumbnail(&sample)
	fillText(c, textStyle(textSize), vg.Point{X: at.X + sampleWidth + labelGap + 2, Y: at.Y - legendLine/2}, e.name, draw.XLeft, draw.YCenter)
}

// extent is the range of the values of layers along both axes.
type extent struct{ x, y span }

// points adds the points with finite coordinates. Each of y has a value for each of x.
func (e *extent) points(kind, name string, x []float64, y ...[]float64) error {
	for _, y := range y {
		if len(y) != len(x) {
			return fmt.Errorf("plotting: %s %s: %d values for %d others", kind, name, len(y), len(x))
		}
		for i := range x {
			if finite(x[i]) && finite(y[i]) {
				e.x.add(x[i])
				e.y.add(y[i])
			}
		}
	}
	return nil
}

// extent returns the range of the values of the layers.
func (c *Chart) extent() (e extent, err error) {
	for _, l := range c.Layers {
		err = errors.Join(err, l.extend(&e))
	}
	return e, err
}

// chart is a Chart as a plot.
type chart struct {
	*Chart
	plot *plot.Plot
	// tile is the size of the chart's part of the picture.
	tile vg.Point
	// onColours means that marks lie on a coloured grid.
	onColours bool
}

// newChart returns a chart of values of the extent for a tile of the given size.
func newChart(c *Chart, e extent, tile vg.Point) (*chart, error) {
	p, style := newPlot(), textStyle(textSize)
	made := &chart{Chart: c, plot: p, tile: tile}
	setEnds := func() error { return errors.Join(c.X.setEnds(&p.X, e.x), c.Y.setEnds(&p.Y, e.y)) }
	if err := setEnds(); err != nil {
		return nil, err
	}
	p.Title.Text = wrap(style, c.Title, 0.9*tile.X)
	behind := &gridLines{plotter.Grid{Vertical: gridLine, Horizontal: gridLine}}
	if c.X.Categories != nil {
		behind.Vertical.Color = nil
	}
	p.Add(behind)
	for _, l := range c.Layers {
		p.Add(l.plotters(made)...)
	}
	err := setEnds() // again: Add has extended the axes
	made.fit(tile.Scale(0.8))
	return made, err
}

// newPlot returns an empty plot in the style of the figures.
func newPlot() *plot.Plot {
	p, style := plot.New(), textStyle(textSize)
	p.BackgroundColor = nil
	p.Title.TextStyle.Font, p.Title.TextStyle.Color = style.Font, ink
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding, a.Label.Padding = 0, labelGap
		a.LineStyle, a.Tick.LineStyle, a.Tick.Length = axisLine, axisLine, tickLength
		a.Label.TextStyle.Font, a.Label.TextStyle.Color = style.Font, ink
		a.Tick.Label.Font, a.Tick.Label.Color = style.Font, ink
	}
	p.X.Label.Padding += 3
	return p
}

// fit chooses labels and ticks for axes of given lengths, and turns names below the axis that do not
// fit side by side.
func (c *chart) fit(size vg.Point) {
	x, y, style := &c.plot.X, &c.plot.Y, textStyle(textSize)
	x.Label.Text = wrap(style, c.X.Label, size.X)
	y.Label.Text = wrap(style, c.Y.Label, size.Y)
	c.Y.setTicks(y, size.Y, 0.4*c.tile.X, func(string) vg.Length { return 1.4 * style.FontExtents().Height })
	ok := c.X.setTicks(x, size.X, 0.45*c.tile.Y, func(label string) vg.Length { return style.Width(label) + 0.8*textSize })
	label := &x.Tick.Label
	label.Rotation, label.XAlign, label.YAlign = 0, draw.XCenter, draw.YTop-0.25 // a gap below the ticks
	if ticks := x.Tick.Marker.Ticks(0, 0); !ok && c.X.Categories != nil {
		label.Rotation, label.XAlign, label.YAlign = math.Pi/2, draw.XRight, draw.YCenter
		for i := range ticks {
			ticks[i].Label += "  " // the gap
		}
	}
}

// gridLines are lines behind the layers, which claim room on the right of and above the axes.
type gridLines struct{ plotter.Grid }

// GlyphBoxes implements [plot.GlyphBoxer].
func (*gridLines) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{
		{X: 1, Rectangle: vg.Rectangle{Max: vg.Point{X: 0.5 * textSize}}},
		{Y: 1, Rectangle: vg.Rectangle{Max: vg.Point{Y: 0.85 * textSize}}},
	}
}

// at returns the place of a point, and whether it is finite.
func (c *chart) at(x, y float64) (plotter.XY, bool) {
	p := plotter.XY{X: c.X.place(x), Y: c.Y.place(y)}
	return p, finite(p.X) && finite(p.Y)
}
