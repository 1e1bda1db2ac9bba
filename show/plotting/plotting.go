// Package plotting draws figures in one style, as SVG, PNG or PDF. A [Figure] has one chart or
// several side by side, a [Chart] has layers, and a [Layer] is a line, a band, points, error bars,
// bars, a rule or a coloured grid. Axes, ticks, margins and the place of the legend follow from the
// data.
package plotting

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"gpfit/internal/atomicfile"
)

// Figure is a picture of one chart or several.
type Figure struct {
	Title string
	// Size is the size of the picture; the zero value chooses one for the charts.
	Size Size
	// Columns is the number of charts in a row; 0 chooses.
	Columns int
	// SharedY gives charts with the same label of y the same range, for comparison.
	SharedY bool
	Charts  []Chart
	// Alt describes an inline picture to people who cannot see it; the title if empty.
	Alt string
}

// Write draws the figure to a file, completely or not at all. The ending of the name
// gives the format (see [Format]). Only if replace is true, it replaces an existing file.
func (f *Figure) Write(ctx context.Context, path string, replace bool) error {
	format, err := Format(path)
	if err != nil {
		return err
	}
	canvas, _, err := f.render(format)
	if err != nil {
		return err
	}
	return atomicfile.Writer(replace)(ctx, path, func(w io.Writer) error {
		if format == "svg" {
			return writeSVG(w, canvas)
		}
		_, err := canvas.WriteTo(w)
		return err
	})
}

// SVG draws the figure as the text of an svg element for a page, without an XML
// declaration. Text and axes have the colour of the text around it, so the picture fits
// light and dark pages. It is as wide as its container and at most its own size. Its attribute
// data-marks has the values of lines, points and bars with their places, as JSON, for a script.
func (f *Figure) SVG() (string, error) {
	canvas, marks, err := f.render(inline)
	if err != nil {
		return "", err
	}
	return inlineSVG(canvas, cmp.Or(f.Alt, f.Title), marks)
}

// render draws the figure on a canvas of the format. Of an inline picture it also returns the marks.
func (f *Figure) render(format string) (_ vg.CanvasWriterTo, marks string, err error) {
	if err := f.check(); err != nil {
		return nil, "", err
	}
	columns := f.columns()
	size := cmp.Or(f.Size, f.defaultSize(columns))
	canvas := newCanvas(format, size)
	area := draw.New(canvas)
	if format != inline {
		area.SetColor(paper)
		area.Fill(area.Rectangle.Path())
	}
	charts, places, err := f.draw(area, columns)
	if err == nil && format == inline {
		_, height := canvas.Size()
		marks, err = marksOf(charts, places, columns, float64(height))
	}
	return canvas, marks, err
}

// check returns an error for a figure without charts or layers, and for numbers that mean nothing.
func (f *Figure) check() error {
	if len(f.Charts) == 0 || slices.ContainsFunc(f.Charts, func(c Chart) bool { return len(c.Layers) == 0 }) {
		return errors.New("plotting: nothing to draw")
	}
	if f.Size.Width < 0 || f.Size.Height < 0 || f.Columns < 0 {
		return errors.New("plotting: the size and the number of columns must not be negative")
	}
	return nil
}

// columns returns the number of charts in a row: at most three.
func (f *Figure) columns() int {
	switch n := len(f.Charts); {
	case f.Columns > 0:
		return min(f.Columns, n)
	case n == 4:
		return 2
	default:
		return min(n, 3)
	}
}

// The sizes of charts that a figure has without a size, in centimetres.
const (
	chartWidth, chartHeight = 16, 11
	smallWidth, smallHeight = 8.5, 6.5
)

func (f *Figure) defaultSize(columns int) Size {
	if len(f.Charts) == 1 {
		return Size{Width: chartWidth, Height: chartHeight}
	}
	rows := (len(f.Charts) + columns - 1) / columns
	return Size{Width: float64(columns) * smallWidth, Height: float64(rows)*smallHeight + 1}
}

// draw draws title, charts and legend, and returns the charts with their places.
func (f *Figure) draw(c draw.Canvas, columns int) ([]*chart, [][]draw.Canvas, error) {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	style := textStyle(titleSize)
	if title := wrap(style, f.Title, c.Size().X); title != "" {
		fillText(c, style, vg.Point{X: c.Center().X, Y: c.Max.Y}, title, draw.XCenter, draw.YTop)
		c.Max.Y -= style.Height(title) + titleGap
	}
	if rows := f.legend(c.Size().X); len(rows) > 0 {
		c.Min.Y += drawLegend(c, rows) + margin
	}
	charts, places, err := f.layOut(c, columns)
	for i := range charts {
		charts[i].plot.Draw(places[i/columns][i%columns])
	}
	return charts, places, err
}

// legend returns an entry for each name among the layers of all charts, in rows of at most a width:
// below the charts a legend hides no data. The legend of gonum is a column within a chart.
func (f *Figure) legend(width vg.Length) (rows [][]entry) {
	seen, used := map[string]bool{"": true}, width
	for i := range f.Charts {
		for _, l := range f.Charts[i].Layers {
			e := l.entry()
			if e.name = oneLine(e.name); seen[e.name] {
				continue
			}
			seen[e.name] = true
			e.name = shortened(textStyle(textSize), e.name, width-sampleWidth-labelGap-2)
			if used += legendGap + e.width(); used > width {
				rows, used = append(rows, nil), e.width()
			}
			rows[len(rows)-1] = append(rows[len(rows)-1], e)
		}
	}
	return rows
}

// drawLegend draws rows of entries at the lower edge of the canvas and returns their height.
func drawLegend(c draw.Canvas, rows [][]entry) vg.Length {
	height := vg.Length(len(rows)) * legendLine
	for i, row := range rows {
		total := legendGap * vg.Length(len(row)-1)
		for _, e := range row {
			total += e.width()
		}
		at := vg.Point{X: c.Center().X - total/2, Y: c.Min.Y + height - vg.Length(i)*legendLine}
		for _, e := range row {
			e.draw(c, at)
			at.X += e.width() + legendGap
		}
	}
	return height
}

// layOut makes the charts and places them on the canvas in rows. The axes of a row and of a column
// of charts are in line.
func (f *Figure) layOut(c draw.Canvas, columns int) ([]*chart, [][]draw.Canvas, error) {
	tiles := draw.Tiles{Cols: columns, Rows: (len(f.Charts) + columns - 1) / columns, PadX: gapX, PadY: gapY}
	charts, plots := make([]*chart, len(f.Charts)), make([][]*plot.Plot, tiles.Rows)
	for i := range f.Charts {
		values, err := f.extent(i)
		if err != nil {
			return nil, nil, err
		}
		made, err := newChart(&f.Charts[i], values, tiles.At(c, 0, 0).Size())
		if err != nil {
			return nil, nil, err
		}
		charts[i], plots[i/columns] = made, append(plots[i/columns], made.plot)
	}
	last := plots[tiles.Rows-1]
	plots[tiles.Rows-1] = append(last, make([]*plot.Plot, columns-len(last))...)
	for round := 0; ; round++ { // the room for data depends on the ticks, and these on the room
		places := plot.Align(plots, tiles, c)
		for i, made := range charts {
			data := made.plot.DataCanvas(places[i/columns][i%columns])
			size := data.Size()
			if min(size.X, size.Y) < smallestAxis || !c.Contains(data.Min) || !c.Contains(data.Max) {
				return nil, nil, ErrSmall
			}
			if round < 3 {
				made.fit(size)
			}
		}
		if round == 3 {
			return charts, places, nil
		}
	}
}

// extent returns the range of the values of chart i, or of all charts that share its range.
func (f *Figure) extent(i int) (extent, error) {
	e, err := f.Charts[i].extent()
	for k := range f.Charts {
		if f.SharedY && f.Charts[k].Y.Label == f.Charts[i].Y.Label {
			other, wrong := f.Charts[k].extent()
			if err = cmp.Or(err, wrong); other.y.some {
				e.y.add(other.y.lo, other.y.hi)
			}
		}
	}
	return e, err
}

// ErrSmall says that a picture is too small for its charts.
var ErrSmall = errors.New("the picture is too small for its axes: give a larger size")
