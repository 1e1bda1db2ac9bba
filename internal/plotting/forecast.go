package plotting

import (
	"cmp"
	"context"
	"errors"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Forecast is a plot of a prediction along one input: the data, the mean and a band
// around it.
type Forecast struct {
	Title, XLabel, YLabel string
	// DataX and DataY are the observations; they may be empty.
	DataX, DataY []float64
	// X may be in any order; Mean, Lower and Upper have the same length.
	X, Mean, Lower, Upper []float64
	// Separate draws a dot and a bar for each X in place of a line and a band, for
	// predictions that are no function of X.
	Separate bool
	// Band describes the range between Lower and Upper, such as "95 % interval".
	Band string
}

// Write draws the plot to a file, completely or not at all. Only if replace is true,
// it replaces an existing file.
func (f *Forecast) Write(ctx context.Context, path string, replace bool) error {
	format, err := Format(path)
	if err != nil {
		return err
	}
	if len(f.X) == 0 || len(f.X) != len(f.Mean) || len(f.X) != len(f.Lower) || len(f.X) != len(f.Upper) {
		return errors.New("plotting: a forecast needs mean and band for every input")
	}
	p, legend := withLegend(f.Title, f.XLabel, f.YLabel)
	prediction, band, err := f.prediction()
	if err != nil {
		return err
	}
	p.Add(band, prediction)
	legend.Add("mean", prediction)
	legend.Add(f.Band, band)
	lines := 2
	if len(f.DataX) > 0 {
		data := make(plotter.XYs, len(f.DataX))
		for i := range data {
			data[i] = plotter.XY{X: f.DataX[i], Y: f.DataY[i]}
		}
		points, err := plotter.NewScatter(data)
		if err != nil {
			return err
		}
		points.Color, points.Radius, points.Shape = palette[1], vg.Points(1.1), draw.CircleGlyph{}
		p.Add(points)
		legend.Add("data", points)
		lines++
	}
	return write(ctx, path, format, replace, p, legend, lines)
}

// thumbnailer is a part of a plot that shows itself in the legend.
type thumbnailer interface {
	plot.Plotter
	plot.Thumbnailer
}

// prediction returns the mean and the range around it.
func (f *Forecast) prediction() (mean, band thumbnailer, err error) {
	if f.Separate {
		return f.separate()
	}
	order := make([]int, len(f.X))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(f.X[a], f.X[b]) })
	along := func(y []float64) plotter.XYs {
		points := make(plotter.XYs, len(order))
		for i, k := range order {
			points[i] = plotter.XY{X: f.X[k], Y: y[k]}
		}
		return points
	}
	upper, lower := along(f.Upper), along(f.Lower)
	slices.Reverse(lower)
	outline, err := plotter.NewPolygon(slices.Concat(upper, lower))
	if err != nil {
		return nil, nil, err
	}
	outline.Color, outline.LineStyle.Width = bandColor, 0
	line, err := plotter.NewLine(along(f.Mean))
	if err != nil {
		return nil, nil, err
	}
	line.Color, line.Width = palette[0], vg.Points(1.2)
	return line, outline, nil
}

// separate returns a dot and a bar for each prediction.
func (f *Forecast) separate() (mean, band thumbnailer, err error) {
	points := make(plotter.XYs, len(f.X))
	for i := range points {
		points[i] = plotter.XY{X: f.X[i], Y: f.Mean[i]}
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return nil, nil, err
	}
	dots.Color, dots.Radius, dots.Shape = palette[0], vg.Points(1.6), draw.CircleGlyph{}
	return dots, &rangeBars{f.X, f.Lower, f.Upper}, nil
}

// rangeBars draws an upright bar from lower to upper at each x.
type rangeBars struct{ x, lower, upper []float64 }

var barStyle = draw.LineStyle{Color: bandColor, Width: vg.Points(1.6)}

// Plot implements plot.Plotter.
func (b *rangeBars) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	for i, x := range b.x {
		c.StrokeLine2(barStyle, toX(x), toY(b.lower[i]), toX(x), toY(b.upper[i]))
	}
}

// DataRange implements plot.DataRanger.
func (b *rangeBars) DataRange() (xmin, xmax, ymin, ymax float64) {
	return slices.Min(b.x), slices.Max(b.x), slices.Min(b.lower), slices.Max(b.upper)
}

// Thumbnail implements plot.Thumbnailer.
func (b *rangeBars) Thumbnail(c *draw.Canvas) {
	x := c.Center().X
	c.StrokeLine2(barStyle, x, c.Min.Y, x, c.Max.Y)
}

// bandColor is a light version of the first colour of the palette.
var bandColor = color.RGBA{178, 212, 232, 255}
