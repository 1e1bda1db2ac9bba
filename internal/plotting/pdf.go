package plotting

import (
	"image"
	"image/color"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgpdf"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// pdf is a PDF page. vgpdf writes texts in code page 1252; other texts, such as Greek, are
// drawn as outlines.
type pdf struct{ *vgpdf.Canvas }

func newPDF(w, h vg.Length) vg.CanvasWriterTo { return &pdf{vgpdf.New(w, h)} }

// straight is a colour whose components are not multiplied by its opacity: vgpdf multiplies
// them.
type straight struct{ color.NRGBA }

// RGBA implements color.Color in the way that vgpdf needs.
func (s straight) RGBA() (r, g, b, a uint32) {
	wide := func(v uint8) uint32 { return uint32(v) * 0x101 }
	return wide(s.R), wide(s.G), wide(s.B), wide(s.A)
}

// SetColor implements vg.Canvas.
func (p *pdf) SetColor(c color.Color) {
	p.Canvas.SetColor(straight{color.NRGBAModel.Convert(c).(color.NRGBA)})
}

// DrawImage implements vg.Canvas. vgpdf draws pictures upside down, with the opacity of the
// last colour.
func (p *pdf) DrawImage(at vg.Rectangle, picture image.Image) {
	b := picture.Bounds()
	flipped := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	for y := range b.Dy() {
		for x := range b.Dx() {
			flipped.Set(x, b.Dy()-1-y, picture.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	p.Canvas.SetColor(color.Black)
	p.Canvas.DrawImage(at, flipped)
}

// FillString implements vg.Canvas.
func (p *pdf) FillString(face font.Face, at vg.Point, line string) {
	if latin(line) {
		p.Canvas.FillString(face, at, line)
		return
	}
	var outlines vg.Path
	for _, r := range line {
		advance := addOutline(&outlines, face, at, r)
		at.X += advance
	}
	p.Canvas.Fill(outlines)
}

// latin reports whether text is ASCII.
func latin(line string) bool {
	for _, r := range line {
		if r >= 0x7F {
			return false
		}
	}
	return true
}

// addOutline adds the outline of a character and returns its width.
func addOutline(path *vg.Path, face font.Face, at vg.Point, r rune) vg.Length {
	var b sfnt.Buffer
	size := face.Font.Size
	const unit = 1024
	em := fixed.I(unit)
	glyph, err := face.Face.GlyphIndex(&b, r)
	if err != nil {
		return 0
	}
	segments, err := face.Face.LoadGlyph(&b, glyph, em, nil)
	if err != nil {
		return 0
	}
	point := func(p fixed.Point26_6) vg.Point { // y of fonts runs down
		return vg.Point{X: at.X + vg.Length(p.X)/64/unit*size, Y: at.Y - vg.Length(p.Y)/64/unit*size}
	}
	for i, s := range segments {
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			if i > 0 {
				path.Close()
			}
			path.Move(point(s.Args[0]))
		case sfnt.SegmentOpLineTo:
			path.Line(point(s.Args[0]))
		case sfnt.SegmentOpQuadTo:
			path.QuadTo(point(s.Args[0]), point(s.Args[1]))
		case sfnt.SegmentOpCubeTo:
			path.CubeTo(point(s.Args[0]), point(s.Args[1]), point(s.Args[2]))
		}
	}
	if len(segments) > 0 {
		path.Close()
	}
	advance, err := face.Face.GlyphAdvance(&b, glyph, em, 0)
	if err != nil {
		return 0
	}
	return vg.Length(advance) / 64 / unit * size
}
