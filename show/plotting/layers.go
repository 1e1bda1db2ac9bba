package plotting

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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

func (l *Line) extend(e *extent) error { return e.points("line", l.Name, l.X, l.Y) }

func (l *Line) entry() entry { return entry{l.Name, &plotter.Line{LineStyle: l.style()}} }

func (l *Line) style() draw.LineStyle {
	if l.Thin {
		return lineStyle(colorOf(l.Color, 65), 0.8, l.Dashed)
	}
	return lineStyle(colorOf(l.Color, 100), 1.5, l.Dashed)
}

func (l *Line) plotters(c *chart) []plot.Plotter { return c.lines(l.X, l.Y, l.style()) }

func lineStyle(color color.Color, points float64, dashed bool) draw.LineStyle {
	s := draw.LineStyle{Color: color, Width: vg.Points(points)}
	if dashed {
		s.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	return s
}

// lines returns a line for each run of finite points.
func (c *chart) lines(x, y []float64, style draw.LineStyle) (out []plot.Plotter) {
	for _, run := range c.runs(x, y) {
		out = append(out, &plotter.Line{XYs: run, LineStyle: style})
	}
	return out
}

// runs returns the places of points in runs: lines and polygons of gonum need finite values, and
// the others separate the runs.
func (c *chart) runs(x, y []float64) (runs []plotter.XYs) {
	open := false
	for i := range x {
		at, ok := c.at(x[i], y[i])
		if ok && !open {
			runs = append(runs, nil)
		}
		if open = ok; ok {
			runs[len(runs)-1] = append(runs[len(runs)-1], at)
		}
	}
	return runs
}

// Band fills the range between Lower and Upper. X ascends.
type Band struct {
	Name            string
	X, Lower, Upper []float64
	Color           int
	// Dark distinguishes a band from others behind it.
	Dark bool
}

func (b *Band) opacity() int {
	if b.Dark {
		return 70
	}
	return 25
}

func (b *Band) extend(e *extent) error {
	if !slices.IsSorted(b.X) {
		return fmt.Errorf("plotting: band %s: X does not ascend", b.Name)
	}
	return e.points("band", b.Name, b.X, b.Lower, b.Upper)
}

func (b *Band) entry() entry { return entry{b.Name, area(b.Color, b.opacity())} }

func (b *Band) plotters(c *chart) (out []plot.Plotter) {
	lower, upper := slices.Clone(b.Lower), slices.Clone(b.Upper)
	for i := range lower { // both have the same runs
		if !finite(c.Y.place(lower[i])) || !finite(c.Y.place(upper[i])) {
			lower[i], upper[i] = math.NaN(), math.NaN()
		}
	}
	above := c.runs(b.X, upper)
	for i, run := range c.runs(b.X, lower) {
		slices.Reverse(run)
		out = append(out, area(b.Color, b.opacity(), append(above[i], run...)))
	}
	return out
}

// area returns polygons without a border, with the opacity in percent.
func area(index, percent int, rings ...plotter.XYs) *plotter.Polygon {
	c := colorOf(index, percent)
	return &plotter.Polygon{Color: c, LineStyle: draw.LineStyle{Color: c}, XYs: rings}
}

// Shape is the look of a point.
type Shape int

// The shapes. Upright is a thick bar that marks a mean among the points of a row.
const (
	Dot Shape = iota
	Ring
	Cross
	Upright
)

// DrawGlyph implements [draw.GlyphDrawer]: lines of gonum's rings and crosses are too thin to be
// seen on colours.
func (s Shape) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	r := style.Radius
	stroke := func(width, x, y vg.Length) {
		c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: width}, at.X-x, at.Y-y, at.X+x, at.Y+y)
	}
	switch s {
	case Dot:
		draw.CircleGlyph{}.DrawGlyph(c, style, at)
	case Ring:
		c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: 1.3})
		var circle vg.Path
		circle.Move(vg.Point{X: at.X + r, Y: at.Y})
		circle.Arc(at, r, 0, 2*math.Pi)
		circle.Close()
		c.Stroke(circle)
	case Cross:
		stroke(1.8, r, r)
		stroke(1.8, -r, r)
	case Upright:
		stroke(3, 0, 3*r)
	}
}

// Points are single points, with texts beside them if Labels has any.
type Points struct {
	Name   string
	X, Y   []float64
	Color  int
	Shape  Shape
	Labels []string
	// Notes are texts of the points that a page shows under the pointer; nil for none.
	Notes []string
	// Radius is the size in points; 0 chooses one for the number of points.
	Radius float64
}

func (p *Points) extend(e *extent) error {
	if len(p.Labels) > 0 && len(p.Labels) != len(p.X) {
		return fmt.Errorf("plotting: points %s: %d labels for %d points", p.Name, len(p.Labels), len(p.X))
	}
	if p.Notes != nil && len(p.Notes) != len(p.X) {
		return fmt.Errorf("plotting: points %s: %d notes for %d points", p.Name, len(p.Notes), len(p.X))
	}
	return e.points("points", p.Name, p.X, p.Y)
}

func (p *Points) entry() entry { return entry{p.Name, &plotter.Scatter{GlyphStyle: p.style()}} }

func (p *Points) style() draw.GlyphStyle {
	s := draw.GlyphStyle{Color: colorOf(p.Color, 100), Radius: vg.Length(p.Radius), Shape: p.Shape}
	if p.Shape == Dot && len(p.X) > 500 {
		s.Color = colorOf(p.Color, 60)
	}
	if p.Radius == 0 {
		s.Radius = vg.Length(min(2.6, max(1, 2.6*math.Pow(50/float64(len(p.X)), 0.25))))
	}
	return s
}

func (p *Points) plotters(c *chart) []plot.Plotter {
	points := &plotter.Scatter{GlyphStyle: p.style()}
	out := []plot.Plotter{points}
	for i := range p.X {
		at, ok := c.at(p.X[i], p.Y[i])
		if !ok {
			continue
		}
		points.XYs = append(points.XYs, at)
		if len(p.Labels) > 0 {
			out = append(out, label{at, oneLine(p.Labels[i]), points.Radius + labelGap, c.onColours})
		}
	}
	return out
}

// label is a text on the right of a point, with paper below it on a coloured grid.
type label struct {
	at        plotter.XY
	text      string
	gap       vg.Length
	onColours bool
}

// GlyphBoxes implements [plot.GlyphBoxer].
func (l label) GlyphBoxes(p *plot.Plot) []plot.GlyphBox {
	end := vg.Point{X: l.gap + textStyle(textSize).Width(l.text)}
	return []plot.GlyphBox{{X: p.X.Norm(l.at.X), Y: p.Y.Norm(l.at.Y), Rectangle: vg.Rectangle{Max: end}}}
}

// Plot implements [plot.Plotter].
func (l label) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	at, style := vg.Point{X: x(l.at.X), Y: y(l.at.Y)}, textStyle(textSize)
	if !c.Contains(at) {
		return
	}
	at.X += l.gap
	if l.onColours {
		margin := vg.Point{X: 2, Y: style.FontExtents().Height / 2}
		c.SetColor(color.NRGBA{255, 255, 255, 215})
		c.Fill(vg.Rectangle{Min: at.Sub(margin), Max: at.Add(margin).Add(vg.Point{X: style.Width(l.text)})}.Path())
		style.Color = color.Black // also on a dark page
	}
	fillText(c, style, at, l.text, draw.XLeft, draw.YCenter)
}

// Errors are upright bars from Lower to Upper at each X.
type Errors Band

func (b *Errors) extend(e *extent) error {
	return e.points("error bars", b.Name, b.X, b.Lower, b.Upper)
}

func (b *Errors) entry() entry          { return entry{b.Name, upright(b.style())} }
func (b *Errors) style() draw.LineStyle { return lineStyle(colorOf(b.Color, 45), 1.6, false) }

// plotters returns a line for each bar: error bars of gonum have caps.
func (b *Errors) plotters(c *chart) (out []plot.Plotter) {
	for i, x := range b.X {
		out = append(out, c.lines([]float64{x, x}, []float64{b.Lower[i], b.Upper[i]}, b.style())...)
	}
	return out
}

// upright is the sample of an upright line.
type upright draw.LineStyle

// Thumbnail implements [plot.Thumbnailer].
func (u upright) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(draw.LineStyle(u), c.Center().X, c.Min.Y, c.Center().X, c.Max.Y)
}

// Bars are upright bars of a width from 0 to Height around At.
type Bars struct {
	Name       string
	At, Height []float64
	Width      float64
	Color      int
}

func (b *Bars) extend(e *extent) error {
	if !(b.Width > 0) {
		return fmt.Errorf("plotting: bars %s: the width %v is not positive", b.Name, b.Width)
	}
	e.y.add(0)
	for _, v := range b.At {
		e.x.add(v-b.Width/2, v+b.Width/2)
	}
	return e.points("bars", b.Name, b.At, b.Height)
}

func (b *Bars) entry() entry { return entry{b.Name, area(b.Color, 75)} }

func (b *Bars) plotters(c *chart) []plot.Plotter {
	var bars []plotter.XYs
	for i, at := range b.At {
		from, ok := c.at(at-b.Width/2, 0)
		to, ok2 := c.at(at+b.Width/2, b.Height[i])
		if ok && ok2 {
			bars = append(bars, plotter.XYs{from, {X: to.X, Y: from.Y}, to, {X: from.X, Y: to.Y}})
		}
	}
	return []plot.Plotter{area(b.Color, 75, bars...)}
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

func (r *Guide) extend(e *extent) error {
	if r.Vertical {
		e.x.add(r.At)
	} else {
		e.y.add(r.At)
	}
	return nil
}

func (r *Guide) style() draw.LineStyle { return lineStyle(colorOf(r.Color, 100), 1, r.Dashed) }

func (r *Guide) entry() entry {
	if r.Vertical {
		return entry{r.Name, upright(r.style())}
	}
	return entry{r.Name, &plotter.Line{LineStyle: r.style()}}
}

func (r *Guide) plotters(c *chart) []plot.Plotter {
	x, y := []float64{c.X.value(c.plot.X.Min), c.X.value(c.plot.X.Max)}, []float64{r.At, r.At}
	if r.Vertical {
		x, y = y, []float64{c.Y.value(c.plot.Y.Min), c.Y.value(c.plot.Y.Max)}
	}
	return c.lines(x, y, r.style())
}
