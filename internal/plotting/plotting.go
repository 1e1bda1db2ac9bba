// Package plotting draws the figures of the commands and pages, as SVG, PNG or PDF, in
// one style. A [Figure] has one chart or several side by side, a [Chart] has layers, and
// a [Layer] is a line, a band, points, error bars, bars, a rule or a coloured grid. Axes,
// ticks, margins and the place of the legend follow from the data.
package plotting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

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
	canvas, err := f.render(format)
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
// light and dark pages. It is as wide as its container and at most its own size.
func (f *Figure) SVG() (string, error) {
	canvas, err := f.render(inline)
	if err != nil {
		return "", err
	}
	return inlineSVG(canvas, cmp.Or(f.Alt, f.Title))
}

// render draws the figure on a canvas of the format.
func (f *Figure) render(format string) (vg.CanvasWriterTo, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	columns := f.columns()
	size := cmp.Or(f.Size, f.defaultSize(columns))
	canvas := newCanvas(format, size)
	area := draw.New(canvas)
	if format != inline {
		area.SetColor(paper)
		area.Fill(area.Rectangle.Path())
	}
	return canvas, f.draw(area, columns)
}

// check returns an error for a figure that cannot be drawn.
func (f *Figure) check() error {
	if len(f.Charts) == 0 {
		return errors.New("plotting: nothing to draw")
	}
	if f.Size.Width < 0 || f.Size.Height < 0 || f.Columns < 0 {
		return errors.New("plotting: the size and the number of columns must not be negative")
	}
	for i := range f.Charts {
		if len(f.Charts[i].Layers) == 0 {
			return errors.New("plotting: nothing to draw")
		}
		for _, l := range f.Charts[i].Layers {
			if err := l.check(); err != nil {
				return fmt.Errorf("plotting: %w", err)
			}
		}
	}
	return nil
}

// columns returns the number of charts in a row: at most three.
func (f *Figure) columns() int {
	if f.Columns > 0 {
		return min(f.Columns, len(f.Charts))
	}
	switch n := len(f.Charts); n {
	case 1, 2, 3:
		return n
	case 4:
		return 2
	}
	return 3
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

// draw draws title, charts and legend.
func (f *Figure) draw(c draw.Canvas, columns int) error {
	c = draw.Crop(c, margin, -margin, margin, -margin)
	text := textStyle(titleSize)
	for _, line := range wrap(text, printable(f.Title), c.Max.X-c.Min.X) {
		height := text.FontExtents().Height
		fillText(c, text, vg.Point{X: (c.Min.X + c.Max.X) / 2, Y: c.Max.Y}, line, draw.XCenter, draw.YTop)
		c.Max.Y -= height
	}
	if f.Title != "" {
		c.Max.Y -= titleGap
	}
	entries := f.legend()
	if len(f.Charts) == 1 {
		drawn, err := f.layOut(c, columns)
		if err != nil {
			return err
		}
		if at, ok := drawn[0].corner(entries); ok {
			drawn[0].draw()
			entries.draw(c, at)
			return nil
		}
	}
	if len(entries) > 0 {
		c.Min.Y += entries.below(c) + margin
	}
	drawn, err := f.layOut(c, columns)
	for i := range drawn {
		drawn[i].draw()
	}
	return err
}

// layOut places the charts on the canvas in rows. The axes of a row and of a column of
// charts are in line.
func (f *Figure) layOut(c draw.Canvas, columns int) ([]*chart, error) {
	rows := (len(f.Charts) + columns - 1) / columns
	tile := vg.Point{X: (c.Max.X - c.Min.X - gapX*vg.Length(columns-1)) / vg.Length(columns), Y: (c.Max.Y - c.Min.Y - gapY*vg.Length(rows-1)) / vg.Length(rows)}
	charts := make([]*chart, len(f.Charts))
	left, right := make([]vg.Length, columns), make([]vg.Length, columns)
	below, above := make([]vg.Length, rows), make([]vg.Length, rows)
	for i := range f.Charts {
		made, err := newChart(&f.Charts[i], f.extent(i), tile)
		if err != nil {
			return nil, err
		}
		charts[i] = made
		row, column := i/columns, i%columns
		left[column], right[column] = max(left[column], made.left), max(right[column], made.right)
		below[row], above[row] = max(below[row], made.below), max(above[row], made.above)
	}
	width := (c.Max.X - c.Min.X - gapX*vg.Length(columns-1) - sum(left) - sum(right)) / vg.Length(columns)
	height := (c.Max.Y - c.Min.Y - gapY*vg.Length(rows-1) - sum(below) - sum(above)) / vg.Length(rows)
	if width < smallestAxis || height < smallestAxis {
		return nil, ErrSmall
	}
	for i, made := range charts {
		row, column := i/columns, i%columns
		at := vg.Point{X: c.Min.X + sum(left[:column+1]) + sum(right[:column]), Y: c.Max.Y - sum(above[:row+1]) - sum(below[:row])}
		at = at.Add(vg.Point{X: vg.Length(column) * (width + gapX), Y: -vg.Length(row)*(height+gapY) - height})
		made.data = draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{Min: at, Max: at.Add(vg.Point{X: width, Y: height})}}
	}
	return charts, nil
}

// extent returns the range of the values of chart i, or of all that share its range.
func (f *Figure) extent(i int) extent {
	e := f.Charts[i].extent()
	for k := range f.Charts {
		if f.SharedY && f.Charts[k].Y.Label == f.Charts[i].Y.Label {
			if other := f.Charts[k].extent(); other.y.some {
				e.y.add(other.y.lo, other.y.hi)
			}
		}
	}
	return e
}

func sum(lengths []vg.Length) (s vg.Length) {
	for _, l := range lengths {
		s += l
	}
	return s
}

// ErrSmall says that a picture is too small for its charts.
var ErrSmall = errors.New("the picture is too small for its axes: give a larger size")

// legend returns an entry for each name among the layers of all charts.
func (f *Figure) legend() entries {
	var all entries
	seen := map[string]bool{}
	for i := range f.Charts {
		for _, l := range f.Charts[i].Layers {
			e := l.entry()
			if e.name = oneLine(e.name); e.name == "" || seen[e.name] {
				continue
			}
			seen[e.name] = true
			all = append(all, e)
		}
	}
	return all
}
