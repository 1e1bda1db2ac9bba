package effect

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/show/plotting"
	"gpfit/table/feature"
)

// model has a number, a category with indicators of which one is not used, a date, a boolean,
// and a number that it does not use.
func model() *gp.Model {
	m := &gp.Model{
		Encoding: &feature.Encoding{Columns: []feature.Coding{
			{Name: "age", Kind: feature.Number},
			{Name: "unused", Kind: feature.Number},
			{Name: "port", Kind: feature.Category, Categories: []string{"Bath", "Cork", "Dover"}},
			{Name: "day", Kind: feature.Date, Unit: feature.Days, Origin: "2020-01-01"},
			{Name: "alone", Kind: feature.Boolean},
			{Name: "class", Kind: feature.Category, Categories: []string{"a", "b"}, Codes: true},
		}},
		Columns: []int{0, 2, 4, 5, 6, 7},
		X: []float64{ // age, Bath, Dover, day, alone, class
			30, 1, 0, 10, 1, 0,
			10, 0, 1, 20, 0, 1,
			20, 0, 1, 40, 0, 1,
			50, 1, 0, 30, 1, 1,
			40, 0, 1, 31, 1, 0,
		},
		Y: make([]float64, 5),
	}
	m.FeatureNames = m.Encoding.Features()
	return m
}

func TestColumns(t *testing.T) {
	all := testcheck.Get(Columns(model()))(t)
	type row struct {
		name               string
		low, high, typical float64
		text               string
		points             int
	}
	want := []row{{"age", 10, 50, 30, "30", 5}, {"port", 0, 2, 2, "Dover", 3}, {"day", 10, 40, 30, "2020-01-31", 5}, {"alone", 0, 1, 1, "true", 2}, {"class", 0, 1, 1, "b", 2}}
	var got []row
	for i := range all {
		c := &all[i]
		got = append(got, row{c.Name, c.Low, c.High, c.Typical, c.TypicalText(), len(c.Values(5))})
	}
	if !slices.Equal(got, want) {
		t.Errorf("columns %v, want %v", got, want)
	}
	if v := all[0].Values(5); !slices.Equal(v, []float64{10, 20, 30, 40, 50}) {
		t.Errorf("values of age: %v", v)
	}
}

func TestAlong(t *testing.T) {
	m := model()
	m.Noise = gp.Noise{GroupColumn: "lab", Labels: []string{"A", "B"}, Variances: []float64{1, 2}}
	all := testcheck.Get(Columns(m))(t)
	in := Along(m, all, 1, all[1].Values(9))
	// age, unused, Bath, Cork, Dover, day, alone, class
	want := []float64{
		30, 0, 1, 0, 0, 30, 1, 1,
		30, 0, 0, 1, 0, 30, 1, 1,
		30, 0, 0, 0, 1, 30, 1, 1,
	}
	if in.N != 3 || !slices.Equal(in.X, want) {
		t.Errorf("%d rows\n%v, want\n%v", in.N, in.X, want)
	}
	testcheck.Get(in.Noise.Variances(m, in.N))(t)
}

func TestChart(t *testing.T) {
	all := testcheck.Get(Columns(model()))(t)
	for i := range all {
		c := &all[i]
		x := c.Values(20)
		p := &gp.Prediction{Mean: make([]float64, len(x)), StdLatent: make([]float64, len(x))}
		for k := range p.StdLatent {
			p.StdLatent[k] = 1
		}
		chart := c.Chart(Plain(x, c.Categories != nil), p, 0.95, "fare")
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, l := range bounds(chart) {
			lo, hi = min(lo, slices.Min(l)), max(hi, slices.Max(l))
		}
		if math.Abs(hi-1.959963984540054) > 1e-12 || math.Abs(lo+hi) > 1e-12 {
			t.Errorf("%s: the interval is [%v, %v]", c.Name, lo, hi)
		}
		if chart.X.Label != c.Name || chart.Y.Label != "fare" || !slices.Equal(chart.X.Categories, c.Categories) {
			t.Errorf("%s: axes %+v", c.Name, chart.X)
		}
	}
	if day := all[2].Axis(); day.Date == nil || !strings.HasPrefix(day.Date(31).String(), "2020-02-01") {
		t.Error("the axis of a date has no dates")
	}
}

// bounds returns the bounds of the interval that a chart shows.
func bounds(c plotting.Chart) [][]float64 {
	switch l := c.Layers[0].(type) {
	case *plotting.Band:
		return [][]float64{l.Lower, l.Upper}
	case *plotting.Errors:
		return [][]float64{l.Lower, l.Upper}
	}
	return nil
}
