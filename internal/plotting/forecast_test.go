package plotting

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestForecast(t *testing.T) {
	f := &Forecast{Title: "Forecast", XLabel: "year", YLabel: "ppm", Band: "95 % interval"}
	for i := range 200 {
		x := float64(i) / 20
		y := math.Sin(x) + 0.1*x
		f.X, f.Mean = append(f.X, x), append(f.Mean, y)
		f.Lower, f.Upper = append(f.Lower, y-0.1-0.05*x), append(f.Upper, y+0.1+0.05*x)
		if i%3 == 0 && x < 7 {
			f.DataX, f.DataY = append(f.DataX, x), append(f.DataY, y+0.05*math.Cos(7*x))
		}
	}
	dir := t.TempDir()
	if out := os.Getenv("GPFIT_PLOTS"); out != "" {
		dir = out // to look at
	}
	path := filepath.Join(dir, "forecast.svg")
	if err := f.Write(t.Context(), path, true); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", ">mean<", ">95 % interval<", ">data<", ">year<"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the SVG", want)
		}
	}
	if err := f.Write(t.Context(), filepath.Join(dir, "forecast.png"), true); err != nil {
		t.Error(err)
	}
	f.Separate = true
	path = filepath.Join(dir, "separate.svg")
	if err := f.Write(t.Context(), path, true); err != nil {
		t.Fatal(err)
	}
	separate, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if more := strings.Count(string(separate), "<path") - strings.Count(string(text), "<path"); more < 2*len(f.X)-3 {
		t.Errorf("%d more paths than with a line and a band, want a bar and a dot for each of %d rows", more, len(f.X))
	}
	f.Upper = f.Upper[:3]
	if err := f.Write(t.Context(), filepath.Join(dir, "short.svg"), true); err == nil {
		t.Error("a band of another length than the mean was drawn")
	}
}
