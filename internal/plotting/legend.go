package plotting

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
