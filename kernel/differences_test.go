package kernel

import (
	"math"
	"strings"
	"testing"
)

// TestDifferences checks a custom kernel that takes the difference of each column, with d = 2, and
// that the sum of differences, which is no distance there, is an error.
func TestDifferences(t *testing.T) {
	tent := &Family{
		Name: "tent", Parameters: []Parameter{{Name: "width"}},
		Function: func(p *Pair) *Node {
			sum := p.Number(0)
			for _, difference := range p.Differences() {
				sum = p.Add(sum, p.Abs(difference))
			}
			return p.Exp(p.Neg(p.Div(sum, p.Parameter("width"))))
		},
	}
	compile := func(f *Family, text string, d int) (*Program, error) {
		e, err := Parser{Families: []*Family{f}}.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return Compile(e, Columns(d))
	}
	prog, err := compile(tent, "tent", 2)
	if err != nil {
		t.Fatal(err)
	}
	x := NewPoints([]float64{0, 0, 1, -1, 2, 0.5}, 3, 2)
	row := make([]float64, 3)
	bound(prog, []float64{2, 0.7}).Row(row, x, 0, x, 0, 3)
	for j, sum := range []float64{0, 2, 2.5} { // the differences of the second point cancel in their sum
		width, variance := 2.0, 0.7
		if prog.Params[0].Kind == Variance {
			width, variance = variance, width
		}
		if want := variance * math.Exp(-sum/width); math.Abs(row[j]-want) > 1e-15 {
			t.Errorf("point %d: %v, want %v", j, row[j], want)
		}
	}
	one := &Family{Name: "one", Function: func(p *Pair) *Node { return p.Exp(p.Neg(p.Abs(p.Difference("")))) }}
	if _, err := compile(one, "one(dims=1)", 2); err != nil {
		t.Error(err)
	}
	if _, err := compile(one, "one", 2); err == nil || !strings.Contains(err.Error(), "one takes the difference of 2 columns as one number: take Differences") {
		t.Errorf("%v", err)
	}
}
