package plotting

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Dots is a plot of single values by category. From the top down, each row is a
// category with a ring for each value and a bar at the mean.
type Dots struct {
	Title, XLabel string
	Rows          []DotRow
	// Zero draws a line at 0.
	Zero bool
}

// DotRow is a category; its values are finite.
type DotRow struct {
	Name   string
	Values []float64
	// Group is the index of a colour; related rows share one.
	Group int
}

// The size of a row and of the margins.
const (
	dotsWidth    = 18 * vg.Centimeter
	dotsRow      = 0.72 * vg.Centimeter
	dotsFrame    = 2.3 * vg.Centimeter
	dotsMeanSize = 9
)

// SVG draws the plot as the text of an svg element, without an XML declaration.
func (d *Dots) SVG() (string, error) {
	p, err := d.draw()
	if err != nil {
		return "", err
	}
	canvas := vgsvg.New(dotsWidth, dotsFrame+vg.Length(len(d.Rows))*dotsRow)
	area := draw.New(canvas)
	p.Draw(draw.Crop(area, margin, -2*margin, margin, -margin))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	start := bytes.Index(b.Bytes(), []byte("<svg"))
	if start < 0 {
		return "", errors.New("plotting: no svg element was written")
	}
	return b.String()[start:], nil
}

func (d *Dots) draw() (*plot.Plot, error) {
	if len(d.Rows) == 0 {
		return nil, errors.New("plotting: nothing to draw")
	}
	p := newPlot(d.Title, d.XLabel)
	if d.Zero {
		zero, err := plotter.NewLine(plotter.XYs{{X: 0, Y: -0.6}, {X: 0, Y: float64(len(d.Rows)) - 0.4}})
		if err != nil {
			return nil, err
		}
		zero.Color, zero.Width = color.Gray{120}, vg.Points(1)
		p.Add(zero)
	}
	var ticks []plot.Tick
	for i, row := range d.Rows {
		y := float64(len(d.Rows) - 1 - i)
		ticks = append(ticks, plot.Tick{Value: y, Label: printable(row.Name)})
		if err := addDots(p, row, y); err != nil {
			return nil, err
		}
	}
	room := (p.X.Max - p.X.Min) / 30
	p.X.Min, p.X.Max = p.X.Min-room, p.X.Max+room
	p.Y.Tick.Marker = plot.ConstantTicks(ticks)
	p.Y.Tick.Length, p.Y.LineStyle.Width = 0, 0
	p.Y.Min, p.Y.Max = -0.6, float64(len(d.Rows))-0.4
	return p, nil
}

func addDots(p *plot.Plot, row DotRow, y float64) error {
	if len(row.Values) == 0 {
		return nil
	}
	points, mean := make(plotter.XYs, len(row.Values)), 0.0
	for i, v := range row.Values {
		points[i].X, points[i].Y = v, y
		mean += v / float64(len(row.Values))
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return fmt.Errorf("plotting: %s: %w", row.Name, err)
	}
	bar, err := plotter.NewScatter(plotter.XYs{{X: mean, Y: y}})
	if err != nil {
		return fmt.Errorf("plotting: %s: %w", row.Name, err)
	}
	c := palette[row.Group%len(palette)]
	dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(3), Shape: draw.RingGlyph{}}
	bar.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(dotsMeanSize), Shape: barGlyph{}}
	p.Add(dots, bar)
	return nil
}

// barGlyph is a thick upright line.
type barGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (barGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetColor(style.Color)
	c.SetLineWidth(vg.Points(3))
	var path vg.Path
	path.Move(vg.Point{X: at.X, Y: at.Y - style.Radius})
	path.Line(vg.Point{X: at.X, Y: at.Y + style.Radius})
	c.Stroke(path)
}
