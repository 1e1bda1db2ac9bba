package plotting

import (
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	l := &LogLog{Title: "Title", XLabel: "n", YLabel: "seconds", Series: []Series{
		{Name: "measured", X: []float64{100, 1000, 4000}, Y: []float64{1e-4, 0.1, 7}},
		{Name: "value", X: []float64{100, 1000, 4000}, Y: []float64{5e-5, 0.03, 2}, Style: MeasuredDashed},
		{Name: "limit", X: []float64{100, 4000}, Y: []float64{4e-5, 2.6}, Group: 1, Style: Limit},
	}}
	dir := t.TempDir()
	for _, name := range []string{"a.svg", "a.PNG"} {
		if err := l.Write(t.Context(), filepath.Join(dir, name), true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "a.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "measured", "limit", "seconds", ">4000<", ">0.1<"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the SVG", want)
		}
	}
	f, err := os.Open(filepath.Join(dir, "a.PNG"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if img, err := png.Decode(f); err != nil || img.Bounds().Dx() < 900 {
		t.Errorf("PNG: %v", err)
	}
}

func TestWriteErrors(t *testing.T) {
	dir := t.TempDir()
	good := []Series{{Name: "s", X: []float64{1}, Y: []float64{1}}}
	for _, c := range []struct {
		name   string
		series []Series
	}{
		{"a.pdf", good},
		{"a", good},
		{"none.svg", nil},
		{"zero.svg", []Series{{Name: "s", X: []float64{1}, Y: []float64{0}}}},
		{"nan.svg", []Series{{Name: "s", X: []float64{math.NaN()}, Y: []float64{1}}}},
	} {
		if err := (&LogLog{Series: c.series}).Write(t.Context(), filepath.Join(dir, c.name), true); err == nil {
			t.Errorf("%s: no error", c.name)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files left", len(left))
	}
}

// TestOnePoint checks axes without a range.
func TestOnePoint(t *testing.T) {
	l := &LogLog{Series: []Series{{Name: "s", X: []float64{300}, Y: []float64{0.002}}}}
	if err := l.Write(t.Context(), filepath.Join(t.TempDir(), "a.svg"), true); err != nil {
		t.Error(err)
	}
}
