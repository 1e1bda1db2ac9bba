package problem

import (
	"slices"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/table/feature"
)

// TestLinearMeanOfCategories checks the linear mean of a choice: a category that a number repeats has no part in it, one that
// explains all of the targets has, and else it has only the numbers.
func TestLinearMeanOfCategories(t *testing.T) {
	const n = 60
	encoding := &feature.Encoding{Columns: []feature.Coding{{Name: "c", Kind: feature.Category, Categories: []string{"u", "v"}}, {Name: "same", Kind: feature.Number}, {Name: "x", Kind: feature.Number}}}
	for name, c := range map[string]struct {
		repeats, exact bool
		text           string
		without        []string
	}{
		"a repeated category": {true, false, "linear(dims=[same, x])", []string{"c_v", "c_u"}},
		"another category":    {false, false, "linear(dims=[same, x])", nil},
		"an exact category":   {false, true, "linear(dims=[c_v, same, x])", []string{"c_u"}},
	} {
		d := Data{N: n, D: 4, FeatureNames: encoding.Features(), Encoding: encoding}
		for i := range n {
			is, number := float64(i%2), float64(i*i%7)
			if c.repeats {
				number = is
			}
			x := float64(i*i%23) / 7
			y := 2*is + 3*number - x
			if !c.exact {
				y += float64(i*i*i%11) / 50
			}
			d.X, d.Y = append(d.X, 1-is, is, number, x), append(d.Y, y)
		}
		j := testcheck.Get(New(d, Options{Kernel: "rbf"}))(t)
		text, without, exact := LinearMean(Options{}, j.Sample)
		slices.Sort(without)
		if slices.Sort(c.without); text != c.text || exact != c.exact || !slices.Equal(without, c.without) {
			t.Errorf("%s: %s without %v, %v", name, text, without, exact)
		}
	}
}
