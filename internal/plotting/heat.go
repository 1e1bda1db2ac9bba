package plotting

import (
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"

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

func (h *Heat) check() error {
	if len(h.X) < 2 || len(h.Y) < 2 || len(h.Z) != len(h.Y) {
		return fmt.Errorf("grid of %d×%d: needs two values of each axis and a row for each value of Y", len(h.X), len(h.Y))
	}
	if !slices.IsSorted(h.X) || !slices.IsSorted(h.Y) {
		return fmt.Errorf("grid: the axes do not ascend")
	}
	for i, row := range h.Z {
		if len(row) != len(h.X) {
			return fmt.Errorf("grid: row %d has %d values for %d columns", i, len(row), len(h.X))
		}
	}
	return nil
}

func (h *Heat) extend(e *extent) {
	e.x.addGrid(h.X)
	e.y.addGrid(h.Y)
}

func (h *Heat) entry() entry { return entry{} }

// colours implements coloured.
func (h *Heat) colours() colours {
	lo, hi := h.limits()
	return colours{label: h.Label, lo: lo, hi: hi, of: func(v float64) color.NRGBA { return h.color(v, lo, hi) }}
}

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
		s.hi = max(math.Abs(s.lo), math.Abs(s.hi))
		s.lo = -s.hi
	}
	if s.lo == s.hi {
		s.lo, s.hi = s.lo-0.5, s.hi+0.5
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

// pixels is the largest number of pixels along a side of a grid's picture.
const pixels = 320

func (h *Heat) draw(c *chart) {
	lo, hi := h.limits()
	from, _ := c.at(h.X[0], h.Y[0])
	to, _ := c.at(h.X[len(h.X)-1], h.Y[len(h.Y)-1])
	d := c.data.Rectangle
	box := vg.Rectangle{
		Min: vg.Point{X: max(min(from.X, to.X), d.Min.X), Y: max(min(from.Y, to.Y), d.Min.Y)},
		Max: vg.Point{X: min(max(from.X, to.X), d.Max.X), Y: min(max(from.Y, to.Y), d.Max.Y)},
	}
	if size := box.Size(); size.X <= 0 || size.Y <= 0 {
		return
	}
	picture := image.NewNRGBA(image.Rect(0, 0, pixels, pixels))
	columns, rows := make([]place, pixels), make([]place, pixels)
	for i := range pixels {
		share := (vg.Length(i) + 0.5) / pixels
		columns[i] = find(h.X, c.x, float64((box.Min.X+share*(box.Max.X-box.Min.X)-d.Min.X)/(d.Max.X-d.Min.X)))
		rows[i] = find(h.Y, c.y, float64((box.Max.Y-share*(box.Max.Y-box.Min.Y)-d.Min.Y)/(d.Max.Y-d.Min.Y)))
	}
	for i, row := range rows {
		for j, column := range columns {
			below := h.Z[row.index][column.index]*(1-column.share) + h.Z[row.index][column.index+1]*column.share
			above := h.Z[row.index+1][column.index]*(1-column.share) + h.Z[row.index+1][column.index+1]*column.share
			picture.SetNRGBA(j, i, h.color(below*(1-row.share)+above*row.share, lo, hi))
		}
	}
	c.data.DrawImage(box, picture)
	h.drawLevels(c)
}

// place is a position between two points of an axis of the grid.
type place struct {
	index int
	share float64
}

// find returns where the position at, a part of the axis, is among ascending values.
func find(values []float64, s scale, at float64) place {
	if s.reversed {
		at = 1 - at
	}
	lo, hi := s.forward(s.lo), s.forward(s.hi)
	v := lo + at*(hi-lo)
	i, _ := slices.BinarySearchFunc(values, v, func(value, v float64) int {
		if s.forward(value) < v {
			return -1
		}
		return 1
	})
	i = min(max(i-1, 0), len(values)-2)
	a, b := s.forward(values[i]), s.forward(values[i+1])
	return place{i, min(max((v-a)/(b-a), 0), 1)}
}

// drawLevels draws the lines of equal value.
func (h *Heat) drawLevels(c *chart) {
	levels := slices.DeleteFunc(slices.Sorted(slices.Values(h.Levels)), func(v float64) bool { return !finite(v) })
	if len(levels) == 0 {
		return
	}
	line := draw.LineStyle{Color: color.NRGBA{255, 255, 255, 200}, Width: vg.Points(0.8)}
	if h.Diverging {
		line.Color = color.NRGBA{0, 0, 0, 130}
	}
	for _, level := range levels {
		segments := h.contour(level, c)
		if segments = c.data.ClipLinesXY(segments...); len(segments) > 0 {
			c.data.SetLineStyle(line)
			var path vg.Path
			for _, s := range segments {
				path.Move(s[0])
				path.Line(s[len(s)-1])
			}
			c.data.Stroke(path)
		}
	}
}

// contour returns the pieces of the line where the grid has a value, each a straight line
// through a cell (marching squares, Lorensen & Cline 1987, in two dimensions).
func (h *Heat) contour(level float64, c *chart) (segments [][]vg.Point) {
	for i := range len(h.Y) - 1 {
		for j := range len(h.X) - 1 {
			// The corners of the cell, around it.
			rows, columns := [4]int{i, i, i + 1, i + 1}, [4]int{j, j + 1, j + 1, j}
			var crossings []vg.Point
			mean := 0.0
			for k := range 4 {
				a, b := h.Z[rows[k]][columns[k]], h.Z[rows[(k+1)%4]][columns[(k+1)%4]]
				mean += a / 4
				if (a < level) == (b < level) || !finite(a) || !finite(b) {
					continue
				}
				share := vg.Length((level - a) / (b - a))
				from, _ := c.at(h.X[columns[k]], h.Y[rows[k]])
				to, _ := c.at(h.X[columns[(k+1)%4]], h.Y[rows[(k+1)%4]])
				crossings = append(crossings, from.Add(to.Sub(from).Scale(share)))
			}
			switch {
			case len(crossings) == 4 && (mean < level) == (h.Z[i][j] < level):
				// A saddle: the corners with the mean's side of the level are joined.
				segments = append(segments, []vg.Point{crossings[0], crossings[1]}, []vg.Point{crossings[2], crossings[3]})
			case len(crossings) == 4:
				segments = append(segments, []vg.Point{crossings[3], crossings[0]}, []vg.Point{crossings[1], crossings[2]})
			case len(crossings) == 2:
				segments = append(segments, crossings)
			}
		}
	}
	return segments
}
