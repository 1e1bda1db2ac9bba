// Package plotting draws the plots of the commands, as SVG or PNG.
package plotting

import (
	"context"
	"fmt"
	"image/color"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"gpfit/internal/atomicfile"
)

// The size of a plot; PNG files have pngDPI dots per inch.
const (
	width, height = 16 * vg.Centimeter, 11 * vg.Centimeter
	margin        = 8
	pngDPI        = 160
	// The legend is below the axes, where it hides no line. This is the height for
	// each series.
	legendLine   = 14
	legendIndent = 60
)

// palette holds colours that are distinguishable with colour blindness (Okabe & Ito
// 2008).
var palette = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{230, 159, 0, 255},
}

var gridColor = color.Gray{225}

// Format returns "svg" or "png" for a file name, and an error for any other ending.
func Format(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg", ".png":
		return ext[1:], nil
	}
	return "", fmt.Errorf("%s: the name of a plot must end in .svg or .png", path)
}

// newPlot returns an empty plot in the project's style.
func newPlot(title, xLabel string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text = printable(title), printable(xLabel)
	sans(&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font)
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.Title.Padding, p.X.Label.Padding = vg.Points(6), vg.Points(4)
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridColor, gridColor
	p.Add(grid)
	return p
}

// printable returns text with � in place of characters that an SVG file cannot
// contain: control characters and invalid UTF-8 (XML 1.0, §2.2).
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r == '\uFFFE' || r == '\uFFFF' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func sans(fonts ...*font.Font) {
	for _, f := range fonts {
		f.Variant, f.Size = "Sans", vg.Points(10)
	}
}

// withLegend is like newPlot, with a legend and axes that meet at the corner.
func withLegend(title, xLabel, yLabel string) (*plot.Plot, *plot.Legend) {
	p, legend := newPlot(title, xLabel), plot.NewLegend()
	sans(&p.Y.Label.TextStyle.Font, &legend.TextStyle.Font)
	p.Y.Label.Text, p.Y.Label.Padding = printable(yLabel), vg.Points(4)
	p.X.Padding, p.Y.Padding = 0, 0
	legend.Top, legend.Left = true, true
	legend.ThumbnailWidth = vg.Points(26)
	legend.Padding = vg.Points(2)
	return p, &legend
}

// write draws the plot, with the given number of legend lines below it, to a file.
// completely or not at all.
func write(ctx context.Context, path, format string, replace bool, p *plot.Plot, legend *plot.Legend, lines int) error {
	below := vg.Length(lines) * legendLine
	height := height + below
	var canvas vg.CanvasWriterTo
	if format == "png" {
		canvas = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pngDPI))}
	} else {
		canvas = vgsvg.New(width, height)
	}
	area := draw.New(canvas)
	area.SetColor(color.White)
	area.Fill(area.Rectangle.Path())
	p.Draw(draw.Crop(area, margin, -2*margin, margin+below, -margin))
	legend.Draw(draw.Crop(area, legendIndent, 0, margin, below+margin-height))
	return atomicfile.Writer(replace)(ctx, path, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}
