package plotting

import (
	"cmp"
	"context"
	"errors"
	"image/color"
	"slices"

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
	mean, upper, lower := along(f.Mean), along(f.Upper), along(f.Lower)
	slices.Reverse(lower)
	outline := slices.Concat(upper, lower)
	band, err := plotter.NewPolygon(outline)
	if err != nil {
		return err
	}
	band.Color, band.LineStyle.Width = bandColor, 0
	line, err := plotter.NewLine(mean)
	if err != nil {
		return err
	}
	line.Color, line.Width = palette[0], vg.Points(1.2)
	p.Add(band, line)
	legend.Add("mean", line)
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

// bandColor is a light version of the first colour of the palette.
var bandColor = color.RGBA{178, 212, 232, 255}
