package plotting

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"gpfit/internal/testcheck"
)

func TestFormats(t *testing.T) {
	dir := t.TempDir()
	endings := map[string]string{".svg": "<?xml", ".PNG": "\x89PNG", ".pdf": "%PDF"}
	figures := map[string]*Figure{"forecast": forecast(), "profile": profile()}
	if out := os.Getenv("GPFIT_PLOTS"); out != "" {
		dir, figures = out, samples() // to look at
	}
	for name, f := range figures {
		for ending, magic := range endings {
			path := filepath.Join(dir, name+ending)
			if err := f.Write(t.Context(), path, true); err != nil {
				t.Errorf("%s%s: %v", name, ending, err)
				continue
			}
			data, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(data, []byte(magic)) {
				t.Errorf("%s: begins with %.10q, error %v", path, data, err)
			}
		}
	}
	f := testcheck.Get(os.Open(filepath.Join(dir, "forecast.PNG")))(t)
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() < 900 {
		t.Errorf("PNG: %v", err)
	}
	if err := forecast().Write(t.Context(), filepath.Join(dir, "forecast.svg"), false); err == nil {
		t.Error("an existing file was replaced")
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	chart := func(layers ...Layer) []Chart { return []Chart{{Layers: layers}} }
	good := &Points{X: []float64{1}, Y: []float64{1}}
	logarithmic := chart(&Line{X: []float64{1, 2}, Y: []float64{0, 1}})
	logarithmic[0].Y.Log = true
	for name, f := range map[string]*Figure{
		"a.gif":      {Charts: chart(good)},
		"a":          {Charts: chart(good)},
		"none.svg":   {},
		"empty.svg":  {Charts: chart()},
		"log.svg":    {Charts: logarithmic},
		"line.svg":   {Charts: chart(&Line{X: []float64{1, 2}, Y: []float64{1}})},
		"band.svg":   {Charts: chart(&Band{X: []float64{1, 2}, Lower: []float64{1, 2}, Upper: []float64{2}})},
		"order.svg":  {Charts: chart(&Band{X: []float64{2, 1}, Lower: []float64{1, 2}, Upper: []float64{2, 3}})},
		"errors.svg": {Charts: chart(&Errors{X: []float64{1, 2}, Lower: []float64{1}, Upper: []float64{2, 3}})},
		"bars.svg":   {Charts: chart(&Bars{At: []float64{1}, Height: []float64{1}})},
		"labels.svg": {Charts: chart(&Points{X: []float64{1, 2}, Y: []float64{1, 2}, Labels: []string{"a"}})},
		"grid.svg":   {Charts: chart(&Heat{X: []float64{1, 2}, Y: []float64{1, 2}, Z: [][]float64{{1, 2}, {1}}})},
		"small.svg":  {Size: Size{Width: 3, Height: 3}, Charts: []Chart{{X: Axis{Label: "x"}, Layers: []Layer{good}}, {Layers: []Layer{good}}}},
		"minus.svg":  {Size: Size{Width: -3, Height: 3}, Charts: chart(good)},
	} {
		if err := f.Write(t.Context(), filepath.Join(dir, name), true); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	err := (&Figure{Size: Size{Width: 3, Height: 3}, Charts: []Chart{{Layers: []Layer{good}}, {Layers: []Layer{good}}}}).Write(t.Context(), filepath.Join(dir, "small.svg"), true)
	if !errors.Is(err, ErrSmall) {
		t.Errorf("two charts on 3×3 cm: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files left", len(left))
	}
}

// TestInside checks that every text and path of the samples lies within the picture: nothing
// is clipped, and pictures that are too small are errors.
func TestInside(t *testing.T) {
	for name, f := range samples() {
		own := cmp.Or(f.Size, f.defaultSize(f.columns()))
		for _, size := range []Size{own, {Width: 4, Height: 4}, {Width: 6, Height: 5}, {Width: 8, Height: 4}, {Width: 12, Height: 6}, {Width: 30, Height: 9}} {
			w, h := vg.Length(size.Width)*vg.Centimeter, vg.Length(size.Height)*vg.Centimeter
			// Draw on a larger canvas, with the picture in its middle; its frame must stay empty.
			const frame = 40
			canvas := vgimg.NewWith(vgimg.UseWH(w+2*frame, h+2*frame), vgimg.UseDPI(72))
			area := draw.Crop(draw.New(canvas), frame, -frame, frame, -frame)
			if _, _, err := f.draw(area, f.columns()); size != own && errors.Is(err, ErrSmall) {
				continue
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			img := canvas.Image()
			b := img.Bounds()
			for y := range b.Dy() {
				for x := range b.Dx() {
					if x >= frame && x < b.Dx()-frame && y >= frame && y < b.Dy()-frame {
						continue
					}
					if r, g, bl, _ := img.At(x, y).RGBA(); r != 0xFFFF || g != 0xFFFF || bl != 0xFFFF {
						t.Fatalf("%s: something is drawn outside %v, at (%d, %d)", name, size, x-frame, y-frame)
					}
				}
			}
		}
	}
}

// TestLegend checks that the legend has every name once, and that no chart reaches into it.
func TestLegend(t *testing.T) {
	c := draw.NewCanvas(vgimg.New(500, 350), 500, 350)
	for name, f := range samples() {
		names, width := map[string]int{}, c.Size().X
		rows := f.legend(width)
		for _, row := range rows {
			total := -vg.Length(legendGap)
			for _, e := range row {
				names[e.name]++
				total += legendGap + e.width()
			}
			if total > width {
				t.Errorf("%s: a row of the legend is %v wide", name, total)
			}
		}
		area := draw.Crop(c, 0, 0, drawLegend(c, rows), 0)
		charts, places, err := f.layOut(area, f.columns())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, made := range charts {
			place := places[i/f.columns()][i%f.columns()]
			if data := made.plot.DataCanvas(place); data.Min.Y < place.Min.Y || place.Min.Y < area.Min.Y-1e-9 {
				t.Errorf("%s: chart %d begins at %v, the legend ends at %v", name, i, place.Min.Y, area.Min.Y)
			}
			for _, l := range made.Layers {
				if e := l.entry(); e.name != "" && names[e.name] != 1 {
					t.Errorf("%s: the legend has %s %d times", name, e.name, names[e.name])
				}
			}
		}
	}
}

var textElement = regexp.MustCompile(`<text[^>]*>([^<]*)</text>`)

// TestTexts checks ticks and names in SVG files.
func TestTexts(t *testing.T) {
	for name, want := range map[string][]string{
		"forecast":  {"Forecast", "year", "CO₂, ppm", "mean", "95 % interval", "data", "0.5", "2", "10"},
		"dates":     {"2024-01", "2025-07"},
		"speed":     {"100", "1000", "4000", "0.1", "10"},
		"effects":   {"Amsterdam", "København", "column 3"},
		"profile":   {"NLML", "0.01", "10", "1st"},
		"draws":     {"5e−6", "1e−5"},
		"one":       {"−2e7", "200"},
		"histogram": {"income", "&lt;script&gt;"},
	} {
		text := testcheck.Get(samples()[name].SVG())(t)
		var texts []string
		for _, m := range textElement.FindAllStringSubmatch(text, -1) {
			texts = append(texts, strings.TrimSpace(m[1]))
			if strings.Contains(m[1], ".") && strings.HasSuffix(m[1], "0") && !strings.Contains(m[1], "e") {
				t.Errorf("%s: the label %s has a needless zero", name, m[1])
			}
		}
		all := "\n" + strings.Join(texts, "\n") + "\n"
		for _, w := range want {
			if !strings.Contains(all, "\n"+w+"\n") {
				t.Errorf("%s: no text %q among %q", name, w, texts)
			}
		}
	}
}

// TestInline checks that a picture for a page is well-formed and has the colour of the page's
// text.
func TestInline(t *testing.T) {
	f := histogram()
	f.Alt = `residuals "of" <a> model`
	text := testcheck.Get(f.SVG())(t)
	if !strings.HasPrefix(text, "<svg ") || !strings.Contains(text, "fill:currentColor") || !strings.Contains(text, "stroke:currentColor;stroke-opacity:0.1") || strings.Contains(text, inkText) {
		t.Errorf("%.200s", text)
	}
	if strings.Contains(strings.ToLower(text), "#ffffff") {
		t.Error("the picture has a background")
	}
	if label := attributes(t, text)["svg aria-label"]; label != f.Alt {
		t.Errorf("aria-label %q", label)
	}
	if again := testcheck.Get(f.SVG())(t); again != text {
		t.Error("a second drawing differs")
	}
}

// TestMarks checks that the marks of a picture lie on its line, and have the texts of its axes.
func TestMarks(t *testing.T) {
	day := func(v float64) time.Time { return time.Date(2024, 1, 1+int(v), 0, 0, 0, 0, time.UTC) }
	f := Figure{Alt: "it's", Charts: []Chart{{X: Axis{Label: "day", Date: day}, Y: Axis{Label: "its 'y' <b>", Range: [2]float64{0, 2}}, Layers: []Layer{
		&Line{Name: "mean", X: []float64{0, 10}, Y: []float64{0.5, 1.25}},
		&Points{Name: "row", X: []float64{5, 6}, Y: []float64{-1.5, 1}, Notes: []string{"row 7", "row <8>"}},
	}}}}
	text := testcheck.Get(f.SVG())(t)
	var sets []markSet
	testcheck.Do(t, json.Unmarshal([]byte(attributes(t, text)["svg data-marks"]), &sets))
	if len(sets) != 1 || sets[0].X != "day" || sets[0].Y != "its 'y' <b>" || len(sets[0].Layers) != 2 {
		t.Fatalf("marks %+v", sets)
	}
	line, points := sets[0].Layers[0], sets[0].Layers[1]
	if fmt.Sprint(line.At[0][2:]) != "[2024-01-01 0.5]" || fmt.Sprint(line.At[1][2:]) != "[2024-01-11 1.25]" {
		t.Errorf("line %v", line.At)
	}
	if len(points.At) != 1 || fmt.Sprint(points.At[0][2:]) != "[2024-01-07 1 row <8>]" {
		t.Errorf("points %v: a point outside of the axes has no mark", points.At)
	}
	_, height := newCanvas(inline, f.defaultSize(1)).Size()
	for _, at := range line.At {
		x, y := at[0].(float64), float64(height)-at[1].(float64)
		near := false
		for _, m := range regexp.MustCompile(`[ML]([0-9.]+),([0-9.]+)`).FindAllStringSubmatch(text, -1) {
			px, py := testcheck.Get(strconv.ParseFloat(m[1], 64))(t), testcheck.Get(strconv.ParseFloat(m[2], 64))(t)
			near = near || math.Hypot(px-x, py-y) < 0.1 // a tenth of a point is the precision of marks
		}
		if !near {
			t.Errorf("no line of the picture goes to %v, %v", x, y)
		}
	}
	f.Charts[0].Layers[1].(*Points).Notes = []string{"one"}
	if _, err := f.SVG(); err == nil {
		t.Error("one note for two points")
	}
}

// TestSVGImages checks that the images of a grid fill their rectangles, in files and pages:
// without the attribute a browser keeps the aspect ratio of the pixels.
func TestSVGImages(t *testing.T) {
	f := profile()
	inline := testcheck.Get(f.SVG())(t)
	path := filepath.Join(t.TempDir(), "f.svg")
	testcheck.Do(t, f.Write(t.Context(), path, true))
	file := testcheck.Get(os.ReadFile(path))(t)
	for _, text := range []string{inline, string(file)} {
		attributes(t, text)
		all := strings.Count(text, "<image ")
		if filling := strings.Count(text, `<image preserveAspectRatio="none" `); all == 0 || filling != all {
			t.Errorf("%d of %d images fill their rectangles", filling, all)
		}
		if !strings.Contains(text, "data:image/png;base64,iVBOR") || !strings.Contains(text, "Arial") {
			t.Errorf("a grid of %d bytes has no PNG, or no font of the system", len(text))
		}
	}
}

// attributes returns the attributes of the last element of each name, as "svg width". No
// element may have one twice, which is no XML: [xml.Decoder] accepts it, browsers do not.
func attributes(t *testing.T, text string) map[string]string {
	t.Helper()
	d, all := xml.NewDecoder(strings.NewReader(text)), map[string]string{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		testcheck.Do(t, err)
		element, _ := token.(xml.StartElement)
		names := map[xml.Name]bool{}
		for _, a := range element.Attr {
			if names[a.Name] {
				t.Errorf("%s has the attribute %s twice", element.Name.Local, a.Name.Local)
			}
			names[a.Name] = true
			all[element.Name.Local+" "+a.Name.Local] = a.Value
		}
	}
}

// TestTicks checks that ticks are within the axis, are ascending and read as their value.
func TestTicks(t *testing.T) {
	for _, a := range []struct {
		lo, hi float64
		Axis
	}{
		{lo: 0, hi: 1}, {lo: -1e-9, hi: 3e-9}, {lo: 1e6, hi: 1e6 + 3}, {lo: -5e12, hi: 1e13}, {lo: -7, hi: 0.3, Axis: Axis{Reversed: true}},
		{lo: 0.03, hi: 20, Axis: Axis{Log: true}}, {lo: 2, hi: 3, Axis: Axis{Log: true}}, {lo: 1e-12, hi: 1e15, Axis: Axis{Log: true}}, {lo: 3, hi: 4e5, Axis: Axis{Log: true, Reversed: true}},
	} {
		from, to := a.place(a.lo), a.place(a.hi)
		if a.Reversed {
			from, to = to, from
		}
		for n := 2; n < 10; n++ {
			labels, last := 0, math.Inf(-1)
			for _, at := range a.ticks(from, to, n) {
				value := a.value(at.Value)
				if value < a.lo-1e-9*(a.hi-a.lo) || value > a.hi+1e-9*(a.hi-a.lo) || at.Value <= last {
					t.Errorf("[%v, %v]: tick at %v after %v", a.lo, a.hi, value, last)
				}
				last = at.Value
				if at.Label == "" {
					continue
				}
				labels++
				v, err := strconv.ParseFloat(strings.ReplaceAll(at.Label, "−", "-"), 64)
				if err != nil || math.Abs(v-value) > 1e-9*math.Abs(a.hi-a.lo) {
					t.Errorf("the tick at %v has the label %s", value, at.Label)
				}
			}
			if labels < 1 || labels > 3*n+3 {
				t.Errorf("[%v, %v]: %d labels for %d", a.lo, a.hi, labels, n)
			}
		}
	}
}

func TestHistogram(t *testing.T) {
	for _, values := range [][]float64{{1, 2, 3, 4, 5, math.NaN()}, {7, 7, 7}, {1e17, 1e17}, {0, 0, 0, 0, 1}, nil} {
		b := Histogram(values)
		rows, want := 0.0, 0
		for _, h := range b.Height {
			rows += h
		}
		for _, v := range values {
			if finite(v) {
				want++
			}
		}
		if int(rows) != want {
			t.Errorf("%v: %v rows in the bars", values, rows)
		}
		if err := b.extend(&extent{}); err != nil {
			t.Error(err)
		}
	}
}

// TestContour checks that the line of a cone's level is a circle.
func TestContour(t *testing.T) {
	h := &Heat{}
	for i := range 61 {
		v := float64(i)/15 - 2
		h.X, h.Y = append(h.X, v), append(h.Y, v)
	}
	for _, y := range h.Y {
		var row []float64
		for _, x := range h.X {
			row = append(row, math.Hypot(x, y))
		}
		h.Z = append(h.Z, row)
	}
	var places []vg.Length
	for _, v := range h.X {
		places = append(places, vg.Length(v))
	}
	length := 0.0
	for _, s := range h.contour(1, places, places) {
		for _, p := range s {
			if math.Abs(math.Hypot(float64(p.X), float64(p.Y))-1) > 0.01 {
				t.Fatalf("(%v, %v) is not on the circle", p.X, p.Y)
			}
		}
		length += math.Hypot(float64(s[0].X-s[1].X), float64(s[0].Y-s[1].Y))
	}
	if math.Abs(length-2*math.Pi) > 0.2 {
		t.Errorf("the circle has the length %v", length)
	}
}
