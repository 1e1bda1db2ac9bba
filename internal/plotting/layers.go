package plotting

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Line joins points in their order; a value that is not finite interrupts it.
type Line struct {
	Name   string
	X, Y   []float64
	Color  int
	Dashed bool
	// Thin is for lines of which there are many, such as draws of a function.
	Thin bool
}

func (l *Line) check() error     { return sameLength("line", l.Name, l.X, l.Y) }
func (l *Line) extend(e *extent) { e.points(l.X, l.Y) }
func (l *Line) entry() entry {
	return lineEntry(l.Name, l.style(), false)
}

// lineEntry returns an entry whose sample is a line, level or upright.
func lineEntry(name string, style draw.LineStyle, upright bool) entry {
	return entry{name, func(c *draw.Canvas) {
		if upright {
			c.StrokeLine2(style, c.Center().X, c.Min.Y, c.Center().X, c.Max.Y)
			return
		}
		c.StrokeLine2(style, c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}}
}

// areaEntry returns an entry whose sample is an area of a colour.
func areaEntry(name string, color color.Color) entry {
	return entry{name, func(c *draw.Canvas) { c.FillPolygon(color, rectangle(c.Min, c.Max)) }}
}

func (l *Line) style() draw.LineStyle {
	s := draw.LineStyle{Color: colorOf(l.Color, 100), Width: vg.Points(1.5)}
	if l.Thin {
		s.Color, s.Width = colorOf(l.Color, 65), vg.Points(0.8)
	}
	if l.Dashed {
		s.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return s
}

func (l *Line) draw(c *chart) {
	var part []vg.Point
	stroke := func() {
		if len(part) > 1 {
			c.data.StrokeLines(l.style(), c.data.ClipLinesXY(part)...)
		}
		part = nil
	}
	for i := range l.X {
		p, ok := c.at(l.X[i], l.Y[i])
		if !ok {
			stroke()
			continue
		}
		part = append(part, p)
	}
	stroke()
}

// Band fills the range between Lower and Upper. X ascends.
type Band struct {
	Name            string
	X, Lower, Upper []float64
	Color           int
}

func (b *Band) check() error {
	if !slices.IsSorted(b.X) {
		return fmt.Errorf("band %s: X does not ascend", b.Name)
	}
	return sameLength("band", b.Name, b.X, b.Lower, b.Upper)
}

func (b *Band) extend(e *extent) {
	e.points(b.X, b.Lower)
	e.points(b.X, b.Upper)
}

func (b *Band) color() color.Color { return colorOf(b.Color, 25) }
func (b *Band) entry() entry       { return areaEntry(b.Name, b.color()) }

func (b *Band) draw(c *chart) {
	var lower, upper []vg.Point
	fill := func() {
		if len(lower) > 1 {
			slices.Reverse(lower)
			c.data.FillPolygon(b.color(), c.data.ClipPolygonXY(append(upper, lower...)))
		}
		lower, upper = nil, nil
	}
	for i, x := range b.X {
		lo, ok := c.at(x, b.Lower[i])
		hi, ok2 := c.at(x, b.Upper[i])
		if !ok || !ok2 {
			fill()
			continue
		}
		lower, upper = append(lower, lo), append(upper, hi)
	}
	fill()
}

// Shape is the look of a point.
type Shape int

// The shapes. Upright is a thick bar that marks a mean among the points of a row.
const (
	Dot Shape = iota
	Ring
	Cross
	Diamond
	Upright
)

// Points are single points, with texts beside them if Labels has any.
type Points struct {
	Name   string
	X, Y   []float64
	Color  int
	Shape  Shape
	Labels []string
	// Radius is the size in points; 0 chooses one for the number of points.
	Radius float64
}

func (p *Points) check() error {
	if len(p.Labels) > 0 && len(p.Labels) != len(p.X) {
		return fmt.Errorf("points %s: %d labels for %d points", p.Name, len(p.Labels), len(p.X))
	}
	return sameLength("points", p.Name, p.X, p.Y)
}

func (p *Points) extend(e *extent) { e.points(p.X, p.Y) }

func (p *Points) entry() entry {
	return entry{p.Name, func(c *draw.Canvas) { p.mark(c, c.Center()) }}
}

func (p *Points) radius() vg.Length {
	if p.Radius > 0 {
		return vg.Length(p.Radius)
	}
	return vg.Length(min(2.6, max(1, 2.6*math.Pow(50/float64(len(p.X)), 0.25))))
}

func (p *Points) mark(c *draw.Canvas, at vg.Point) {
	opacity := 100
	if p.Shape == Dot && len(p.X) > 500 {
		opacity = 60
	}
	c.SetColor(colorOf(p.Color, opacity))
	c.SetLineDash(nil, 0)
	c.SetLineWidth(1.3)
	r := p.radius()
	path := func(lines ...vg.Point) (path vg.Path) {
		path.Move(at.Add(lines[0]))
		for _, to := range lines[1:] {
			path.Line(at.Add(to))
		}
		return path
	}
	switch p.Shape {
	case Dot:
		draw.CircleGlyph{}.DrawGlyph(c, draw.GlyphStyle{Radius: r}, at)
	case Ring:
		var circle vg.Path
		circle.Move(vg.Point{X: at.X + r, Y: at.Y})
		circle.Arc(at, r, 0, 2*math.Pi)
		circle.Close()
		c.Stroke(circle)
	case Cross:
		c.SetLineWidth(1.8)
		c.Stroke(path(vg.Point{X: -r, Y: -r}, vg.Point{X: r, Y: r}))
		c.Stroke(path(vg.Point{X: -r, Y: r}, vg.Point{X: r, Y: -r}))
	case Diamond:
		diamond := path(vg.Point{X: -1.3 * r}, vg.Point{Y: 1.3 * r}, vg.Point{X: 1.3 * r}, vg.Point{Y: -1.3 * r})
		diamond.Close()
		c.Fill(diamond)
	case Upright:
		c.SetLineWidth(3)
		c.Stroke(path(vg.Point{Y: -3 * r}, vg.Point{Y: 3 * r}))
	}
}

func (p *Points) draw(c *chart) {
	style := textStyle(textSize)
	for i := range p.X {
		at, ok := c.at(p.X[i], p.Y[i])
		if !ok || !c.data.Contains(at) {
			continue
		}
		p.mark(&c.data, at)
		if len(p.Labels) == 0 {
			continue
		}
		label, gap := oneLine(p.Labels[i]), p.radius()+labelGap
		x, side := at.X+gap, draw.XLeft
		if x+style.Width(label) > c.data.Max.X {
			x, side = at.X-gap, draw.XRight
		}
		c.label(vg.Point{X: x, Y: at.Y}, label, side)
	}
}

// label writes text beside a point. Above a grid the text has paper below.
func (c *chart) label(at vg.Point, label string, side text.XAlignment) {
	style := textStyle(textSize)
	if c.colours != nil {
		left, half := at.X+vg.Length(side)*style.Width(label), style.FontExtents().Height/2
		c.data.FillPolygon(color.NRGBA{255, 255, 255, 215}, rectangle(vg.Point{X: left - 2, Y: at.Y - half}, vg.Point{X: left + style.Width(label) + 2, Y: at.Y + half}))
		style.Color = color.Black // also on a dark page
	}
	fillText(c.data, style, at, label, side, draw.YCenter)
}

// Errors are upright bars from Lower to Upper at each X.
type Errors struct {
	Name            string
	X, Lower, Upper []float64
	Color           int
}

func (b *Errors) check() error {
	return sameLength("error bars", b.Name, b.X, b.Lower, b.Upper)
}

func (b *Errors) extend(e *extent) {
	e.points(b.X, b.Lower)
	e.points(b.X, b.Upper)
}

func (b *Errors) style() draw.LineStyle {
	return draw.LineStyle{Color: colorOf(b.Color, 45), Width: vg.Points(1.6)}
}

func (b *Errors) entry() entry { return lineEntry(b.Name, b.style(), true) }

func (b *Errors) draw(c *chart) {
	for i, x := range b.X {
		from, ok := c.at(x, b.Lower[i])
		to, ok2 := c.at(x, b.Upper[i])
		if ok && ok2 {
			c.data.StrokeLines(b.style(), c.data.ClipLinesXY([]vg.Point{from, to})...)
		}
	}
}

// Bars are upright bars of a width from 0 to Height around At.
type Bars struct {
	Name       string
	At, Height []float64
	Width      float64
	Color      int
}

func (b *Bars) check() error {
	if !(b.Width > 0) {
		return fmt.Errorf("bars %s: the width %v is not positive", b.Name, b.Width)
	}
	return sameLength("bars", b.Name, b.At, b.Height)
}

func (b *Bars) extend(e *extent) {
	e.y.add(0)
	e.y.add(b.Height...)
	for _, v := range b.At {
		e.x.add(v-b.Width/2, v+b.Width/2)
	}
}

func (b *Bars) color() color.Color { return colorOf(b.Color, 75) }

func (b *Bars) entry() entry { return areaEntry(b.Name, b.color()) }

func (b *Bars) draw(c *chart) {
	for i, at := range b.At {
		from, ok := c.at(at-b.Width/2, 0)
		to, ok2 := c.at(at+b.Width/2, b.Height[i])
		if ok && ok2 {
			c.data.FillPolygon(b.color(), c.data.ClipPolygonXY(rectangle(from, to)))
		}
	}
}

// Histogram returns bars that count the finite values in bins of equal width, with bins
// as wide as Freedman and Diaconis (1981) advise.
func Histogram(values []float64) *Bars {
	sorted := slices.Sorted(slices.Values(values))
	sorted = slices.DeleteFunc(sorted, func(v float64) bool { return !finite(v) })
	n := len(sorted)
	if n == 0 {
		return &Bars{Width: 1}
	}
	lo, hi := sorted[0], sorted[n-1]
	width := 2 * (sorted[3*(n-1)/4] - sorted[(n-1)/4]) / math.Cbrt(float64(n))
	bins := 1
	if hi > lo {
		if !(width > (hi-lo)/100) {
			width = (hi - lo) / math.Min(100, math.Ceil(math.Sqrt(float64(n))))
		}
		bins = max(1, int(math.Ceil((hi-lo)/width)))
		width = (hi - lo) / float64(bins)
	} else {
		width = 1
		lo -= 0.5
	}
	b := &Bars{At: make([]float64, bins), Height: make([]float64, bins), Width: width}
	for i := range b.At {
		b.At[i] = lo + (float64(i)+0.5)*width
	}
	for _, v := range sorted {
		b.Height[min(bins-1, int((v-lo)/width))]++
	}
	return b
}

// Guide is a straight line across the chart: level at the value At, or upright.
type Guide struct {
	Name     string
	At       float64
	Vertical bool
	Color    int
	Dashed   bool
}

func (r *Guide) check() error { return nil }

func (r *Guide) extend(e *extent) {
	if r.Vertical {
		e.x.add(r.At)
		return
	}
	e.y.add(r.At)
}

func (r *Guide) style() draw.LineStyle {
	s := draw.LineStyle{Color: colorOf(r.Color, 100), Width: vg.Points(1)}
	if r.Dashed {
		s.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
	}
	return s
}

func (r *Guide) entry() entry { return lineEntry(r.Name, r.style(), r.Vertical) }

func (r *Guide) draw(c *chart) {
	d := &c.data
	if x := c.toX(r.At); r.Vertical && d.ContainsX(x) {
		d.StrokeLine2(r.style(), x, d.Min.Y, x, d.Max.Y)
	}
	if y := c.toY(r.At); !r.Vertical && d.ContainsY(y) {
		d.StrokeLine2(r.style(), d.Min.X, y, d.Max.X, y)
	}
}

func sameLength(kind, name string, first []float64, others ...[]float64) error {
	for _, o := range others {
		if len(o) != len(first) {
			return fmt.Errorf("%s %s: %d values for %d others", kind, name, len(o), len(first))
		}
	}
	return nil
}

func rectangle(from, to vg.Point) []vg.Point {
	return []vg.Point{from, {X: to.X, Y: from.Y}, to, {X: from.X, Y: to.Y}}
}
