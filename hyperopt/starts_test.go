package hyperopt

import (
	"math"
	"slices"
	"testing"

	"gpfit/hyperopt/descent"
)

// TestLatinStarts checks that starts are reproducible and inside the bounds, keep
// fixed parameters, and have one value in every slice of equal probability.
func TestLatinStarts(t *testing.T) {
	const n = 21
	inf := math.Inf(1)
	p := []descent.Parameter{
		{Name: "l[0]", Group: "l", Lower: -9, Upper: 9}, {Name: "l[1]", Group: "l", Start: 1, Lower: -9, Upper: 9},
		{Name: "noise", Group: "noise", Start: -2, Lower: -3, Upper: 9}, {Name: "fixed", Group: "fixed", Start: 5, Lower: -inf, Upper: inf, Fixed: true},
	}
	a, b, other := latinStarts(p, 3, n), latinStarts(p, 3, n), latinStarts(p, 4, n)
	if len(a) != n || !slices.Equal(a[0], []float64{0, 1, -2, 5}) || len(latinStarts(p, 3, 1)) != 1 {
		t.Fatalf("%d starts, first %v", len(a), a[0])
	}
	below := 0
	for k := range a {
		if !slices.Equal(a[k], b[k]) || k > 0 && slices.Equal(a[k], other[k]) {
			t.Errorf("start %d: %v, again %v, of another seed %v", k, a[k], b[k], other[k])
		}
		if a[k][3] != 5 || a[k][2] < -3 {
			t.Errorf("start %d: %v", k, a[k])
		}
		if k > 0 && a[k][2] < -2 {
			below++
		}
	}
	// Of 20 slices of a lone parameter ten are below its start.
	if below != 10 {
		t.Errorf("%d of 20 starts below the median", below)
	}
}

// TestLatinDeviates checks that the deviates are marginally standard normal, with
// correlation one half within a group.
func TestLatinDeviates(t *testing.T) {
	params := []descent.Parameter{{Group: "l"}, {Group: "l"}, {Group: "noise"}}
	const n = 20000
	var sum [3][3]float64
	for _, row := range latinDeviates(params, 1, n) {
		for i := range row {
			for j := range row {
				sum[i][j] += row[i] * row[j] / n
			}
		}
	}
	for i := range sum {
		for j := range sum {
			want := 0.0
			switch {
			case i == j:
				want = 1
			case i+j == 1:
				want = 0.5
			}
			// Four standard errors of a correlation, 1/√n.
			if math.Abs(sum[i][j]-want) > 4/math.Sqrt(n) {
				t.Errorf("moment %d,%d is %v, want %v", i, j, sum[i][j], want)
			}
		}
	}
}
