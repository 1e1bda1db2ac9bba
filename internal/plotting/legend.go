package plotting

import (
	"image"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// entries are the lines of a legend.
type entries []entry

// Sizes in the legend, in points.
const (
	sampleWidth = 22
	legendLine  = 15
	legendPad   = 5
)

func entryWidth(name string) vg.Length {
	return sampleWidth + labelGap + 2 + textStyle(textSize).Width(name)
}

// size returns the size of a legend with one entry above the other.
func (l entries) size() vg.Point {
	p := vg.Point{Y: vg.Length(len(l))*legendLine + 2*legendPad}
	for _, e := range l {
		p.X = max(p.X, entryWidth(e.name)+2*legendPad)
	}
	return p
}

// draw draws the entries, one above the other, with their upper left corner at a point.
func (l entries) draw(c draw.Canvas, at vg.Point) {
	for i, e := range l {
		e.draw(c, vg.Point{X: at.X + legendPad, Y: at.Y - legendPad - vg.Length(i)*legendLine})
	}
}

// draw draws an entry with its upper left corner at a point.
func (e entry) draw(c draw.Canvas, at vg.Point) {
	sample := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
		Min: vg.Point{X: at.X, Y: at.Y - legendLine + 3}, Max: vg.Point{X: at.X + sampleWidth, Y: at.Y - 3}}}
	e.sample(&sample)
	fillText(c, textStyle(textSize), vg.Point{X: at.X + sampleWidth + labelGap + 2, Y: at.Y - legendLine/2}, e.name, draw.XLeft, draw.YCenter)
}

// below draws the entries in rows at the lower edge of the canvas and returns their height.
func (l entries) below(c draw.Canvas) vg.Length {
	const gap = 14
	width := c.Max.X - c.Min.X
	var rows []entries
	var used vg.Length
	for _, e := range l {
		e.name = shortened(textStyle(textSize), e.name, width-sampleWidth-labelGap-2)
		if need := entryWidth(e.name); rows == nil || used+gap+need > width {
			rows, used = append(rows, entries{e}), need
		} else {
			rows[len(rows)-1], used = append(rows[len(rows)-1], e), used+gap+need
		}
	}
	height := vg.Length(len(rows)) * legendLine
	for i, row := range rows {
		total := gap * vg.Length(len(row)-1)
		for _, e := range row {
			total += entryWidth(e.name)
		}
		at := vg.Point{X: c.Center().X - total/2, Y: c.Min.Y + height - vg.Length(i)*legendLine}
		for _, e := range row {
			e.draw(c, at)
			at.X += entryWidth(e.name) + gap
		}
	}
	return height
}

// corner returns the upper left corner of a place for the legend within the chart where no
// layer is, and whether there is one. It looks in the corners first and then along the upper
// and the lower edge.
func (c *chart) corner(l entries) (vg.Point, bool) {
	size, d := l.size(), c.data
	if len(l) == 0 {
		return vg.Point{}, true
	}
	if area := d.Size(); size.X > 0.7*area.X || size.Y > 0.5*area.Y {
		return vg.Point{}, false
	}
	drawn := c.occupied()
	for _, across := range []vg.Length{0, 1, 0.5, 0.25, 0.75} {
		for _, up := range []vg.Length{1, 0} {
			at := vg.Point{
				X: d.Min.X + 2 + across*(d.Size().X-size.X-4),
				Y: d.Max.Y - 2 - (1-up)*(d.Size().Y-size.Y-4),
			}
			if drawn.free(vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - size.Y}, Max: vg.Point{X: at.X + size.X, Y: at.Y}}) {
				return at, true
			}
		}
	}
	return vg.Point{}, false
}

// occupancy is a coarse drawing of the layers, with a pixel to the point.
type occupancy struct {
	picture image.Image
	height  int
}

func (c *chart) occupied() occupancy {
	w, h := c.data.Max.X+margin, c.data.Max.Y+margin
	canvas := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(72), vgimg.UseBackgroundColor(image.Transparent))
	c.drawLayers(draw.New(canvas))
	return occupancy{canvas.Image(), canvas.Image().Bounds().Dy()}
}

func (o occupancy) free(r vg.Rectangle) bool {
	for x := int(r.Min.X) - 1; x <= int(r.Max.X)+1; x++ {
		for y := int(r.Min.Y) - 1; y <= int(r.Max.Y)+1; y++ {
			if _, _, _, a := o.picture.At(x, o.height-1-y).RGBA(); a != 0 {
				return false
			}
		}
	}
	return true
}
