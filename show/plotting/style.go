package plotting

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image"
	"image/color"
	"io"
	"path/filepath"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"

	"gpfit/internal/textform"
)

// Sizes of text and distances, in points.
const (
	titleSize    = 12
	textSize     = 10
	titleGap     = 6
	margin       = 9
	smallestAxis = 36
	pngDPI       = 160
	// Between charts side by side, and one above the other.
	gapX, gapY = 14, 12
	// Between axis, ticks and their labels.
	tickLength, labelGap = 4, 3
)

// Grey is the colour of reference lines; other colours are indices of the palette.
const Grey = -1

// palette holds colours that are distinguishable with colour blindness (Okabe & Ito
// 2008), and that stand out from white and from black.
var palette = []color.NRGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}, {230, 159, 0, 255}, {86, 180, 233, 255},
}

// Colours of text and axes, of the grid, and of the paper of files. A page replaces ink
// by the colour of its text.
var (
	ink       = color.NRGBA{33, 37, 41, 255}
	gridColor = color.NRGBA{33, 37, 41, 28}
	paper     = color.White
)

// Lines of axes and of the grid.
var (
	axisLine = draw.LineStyle{Color: ink, Width: 0.8}
	gridLine = draw.LineStyle{Color: gridColor, Width: 0.6}
)

// The colours of ink and grid in SVG files. The opacity of the grid rounds its colour.
const inkText, gridText = "#212529", "#202428"

// colorOf returns the colour of an index, with the opacity in percent.
func colorOf(index, percent int) color.NRGBA {
	c := color.NRGBA{128, 128, 128, 255}
	if index >= 0 {
		c = palette[index%len(palette)]
	}
	c.A = uint8(255 * percent / 100)
	return c
}

// Size is the size of a picture in centimetres; the zero value chooses.
type Size = textform.Size

// inline is the format of a picture within a page.
const inline = "inline"

// Format returns "svg", "png" or "pdf" for a file name, and an error for any other ending.
func Format(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg", ".png", ".pdf":
		return ext[1:], nil
	}
	return "", errors.New("the name of a plot must end in .svg, .png or .pdf")
}

func newCanvas(format string, s Size) vg.CanvasWriterTo {
	w, h := vg.Length(s.Width)*vg.Centimeter, vg.Length(s.Height)*vg.Centimeter
	switch format {
	case "png":
		return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(pngDPI))}
	case "pdf":
		return &pdf{vgpdf.New(w, h)}
	}
	return vgsvg.New(w, h)
}

// corrections replaces the font of the measurements by fonts of the same widths that systems
// have, names the type that images have, and lets images fill the rectangles that they are
// drawn in, as images of other formats do.
var corrections = strings.NewReplacer("font-family:Liberation Sans;", "font-family:'Liberation Sans',Arial,Helvetica,'DejaVu Sans Condensed',sans-serif;", "data:image/jpg;", "data:image/png;", "<image ", `<image preserveAspectRatio="none" `)

// writeSVG writes the SVG file that the canvas holds.
func writeSVG(w io.Writer, canvas vg.CanvasWriterTo) error {
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	_, err := corrections.WriteString(w, b.String())
	return err
}

// inlineSVG returns the svg element that the canvas holds, for a page.
func inlineSVG(canvas vg.CanvasWriterTo, alt, marks string) (string, error) {
	var b bytes.Buffer
	if err := writeSVG(&b, canvas); err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(b.String(), "<svg ")
	_, body, ok2 := strings.Cut(rest, ">")
	if !ok || !ok2 {
		return "", errors.New("plotting: no svg element was written")
	}
	alt = html.EscapeString(printable(alt))
	body = strings.NewReplacer(inkText, "currentColor", gridText, "currentColor").Replace(body)
	w, h := canvas.Size()
	return fmt.Sprintf(`<svg class="plot" role="img" aria-label="%s" data-marks='%s' style="width:100%%;height:auto;max-width:%.5gpt" viewBox="0 0 %.5g %.5g" xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">`, alt, strings.ReplaceAll(marks, "'", "&#39;"), w, w, h) + body, nil
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

// oneLine returns text without line breaks.
func oneLine(label string) string { return strings.Join(strings.Fields(printable(label)), " ") }

func textStyle(size vg.Length) text.Style {
	return text.Style{Color: ink, Font: font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size), Handler: plot.DefaultTextHandler}
}

func fillText(c draw.Canvas, style text.Style, at vg.Point, line string, x text.XAlignment, y text.YAlignment) {
	style.XAlign, style.YAlign = x, y
	c.FillText(style, at, line)
}

// wrap breaks text into lines of at most the given width, where it has spaces.
func wrap(style text.Style, line string, width vg.Length) string {
	var lines []string
	for _, word := range strings.Fields(printable(line)) {
		last := len(lines) - 1
		if last >= 0 && style.Width(lines[last]+" "+word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, shortened(style, word, width))
	}
	return strings.Join(lines, "\n")
}

// shortened cuts text that is wider than width, and ends it with an ellipsis.
func shortened(style text.Style, line string, width vg.Length) string {
	if style.Width(line) <= width {
		return line
	}
	runes := []rune(line)
	short := func(n int) string { return string(runes[:n]) + "…" }
	return short(sort.Search(len(runes)-1, func(n int) bool { return style.Width(short(n+1)) > width })) // a name may have a million
}

// pdf is a PDF page. vgpdf writes texts in code page 1252; other texts, such as Greek, are
// drawn as outlines.
type pdf struct{ *vgpdf.Canvas }

// straight is a colour whose components are not multiplied by its opacity: vgpdf multiplies
// them.
type straight color.NRGBA

// RGBA implements color.Color in the way that vgpdf needs.
func (s straight) RGBA() (r, g, b, a uint32) {
	return uint32(s.R) * 0x101, uint32(s.G) * 0x101, uint32(s.B) * 0x101, uint32(s.A) * 0x101
}

// SetColor implements vg.Canvas.
func (p *pdf) SetColor(c color.Color) {
	p.Canvas.SetColor(straight(color.NRGBAModel.Convert(c).(color.NRGBA)))
}

// DrawImage implements vg.Canvas. vgpdf draws pictures upside down, with the opacity of the
// last colour.
func (p *pdf) DrawImage(at vg.Rectangle, picture image.Image) {
	p.Push()
	p.Canvas.SetColor(color.Black)
	p.Translate(vg.Point{Y: at.Min.Y + at.Max.Y})
	p.Scale(1, -1)
	p.Canvas.DrawImage(at, picture)
	p.Pop()
}

// FillString implements vg.Canvas.
func (p *pdf) FillString(face font.Face, at vg.Point, line string) {
	if !strings.ContainsFunc(line, func(r rune) bool { return r > unicode.MaxASCII }) {
		p.Canvas.FillString(face, at, line)
		return
	}
	var outlines vg.Path
	for _, r := range line {
		at.X += addOutline(&outlines, face, at, r)
	}
	p.Canvas.Fill(outlines)
}

// addOutline adds the outline of a character and returns its width; a character that the font does
// not have is left out.
func addOutline(path *vg.Path, face font.Face, at vg.Point, r rune) vg.Length {
	var b sfnt.Buffer
	const unit = 1024
	glyph, err := face.Face.GlyphIndex(&b, r)
	advance, err2 := face.Face.GlyphAdvance(&b, glyph, fixed.I(unit), 0)
	segments, err3 := face.Face.LoadGlyph(&b, glyph, fixed.I(unit), nil) // valid until the next use of b
	if err != nil || err2 != nil || err3 != nil {
		return 0
	}
	length := func(v fixed.Int26_6) vg.Length { return vg.Length(v) / 64 / unit * face.Font.Size }
	for i, s := range segments {
		var to [3]vg.Point
		for k, p := range s.Args {
			to[k] = at.Add(vg.Point{X: length(p.X), Y: -length(p.Y)}) // y of fonts runs down
		}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if i > 0 {
				path.Close()
			}
			path.Move(to[0])
		case sfnt.SegmentOpLineTo:
			path.Line(to[0])
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(to[0], to[1])
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(to[0], to[1], to[2])
		}
	}
	if len(segments) > 0 {
		path.Close()
	}
	return length(advance)
}
