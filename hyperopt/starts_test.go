package hyperopt

import (
	"math"
	"slices"
	"testing"

	"gpfit/hyperopt/descent"
)

// TestStarts checks that starts are reproducible and within the bounds, that more of them
// only add to the first, that suggested ones come first, and that fixed parameters stay.
func TestStarts(t *testing.T) {
	inf := math.Inf(1)
	p := []descent.Parameter{
		{Name: "l[0]", Group: "l", Lower: -9, Upper: 9}, {Name: "l[1]", Group: "l", Start: 1, Lower: -9, Upper: 9},
		{Name: "noise", Group: "noise", Start: -2, Lower: -3, Upper: 9}, {Name: "fixed", Group: "fixed", Start: 5, Lower: -inf, Upper: inf, Fixed: true},
		{Name: "size", Group: "size", Lower: -inf, Upper: inf},
	}
	suggested := [][]float64{{-4, -3, -3, 5, 0}, {2, 3, 1, 5, 0}}
	a, fewer, other := starts(p, suggested, 3, 200), starts(p, suggested, 3, 20), starts(p, suggested, 4, 200)
	if !slices.Equal(a[0], []float64{0, 1, -2, 5, 0}) || !slices.Equal(a[2], suggested[1]) {
		t.Fatalf("first %v", a[:3])
	}
	if len(a) != 200 || len(starts(p, suggested, 3, 2)) != 2 {
		t.Fatalf("%d starts", len(a))
	}
	below, short := 0, 0
	for k, z := range a[3:] {
		if k+3 < len(fewer) && !slices.Equal(z, fewer[k+3]) {
			t.Errorf("start %d is %v of 200 and %v of 20", k+3, z, fewer[k+3])
		}
		if slices.Equal(z, other[k+3]) {
			t.Errorf("start %d is the same for two seeds: %v", k+3, z)
		}
		if z[3] != 5 || z[2] < -3 || z[2] > 1 || math.Abs(z[0]) > 9 {
			t.Errorf("start %d: %v", k+3, z)
		}
		if z[2] < -1 {
			below++
		}
		if z[0] < -1 && z[1] < 0 {
			short++
		}
	}
	// The noise is uniform over [−3, 1]: half of 197 within the discrepancy of the
	// sequence. The lengthscales share a shift: more than a quarter are short together.
	if below < 90 || below > 107 || short < 60 {
		t.Errorf("of 197 starts %d have little noise and %d short lengthscales", below, short)
	}
}

// TestKronecker checks that the first n points are evenly spread in every dimension: each
// tenth has its share.
func TestKronecker(t *testing.T) {
	for _, d := range []int{1, 2, 7, 20} {
		points := kronecker(d, 5, 1000)
		for j := range d {
			var counts [10]int
			for _, u := range points {
				counts[int(10*u[j])]++
			}
			for k, c := range counts {
				// A half above or below 100 would be seven standard deviations of
				// independent draws.
				if c < 67 || c > 133 {
					t.Errorf("dimension %d of %d: %d of 1000 points in tenth %d", j, d, c, k)
				}
			}
		}
	}
}

// TestOrder checks that subsets are nested, ascending, and hold whole groups.
func TestOrder(t *testing.T) {
	labels := []int{0, 1, 0, 2, 3, 3, 3, 4, 5, 1}
	u := &tuner{rows: len(labels), groups: grouped(labels)}
	for stream := range uint64(20) {
		o := u.order(stream)
		var last []int
		for m := 1; m <= len(labels); m++ {
			rows := o.first(m)
			if len(rows) < m || len(rows) > m+2 || !slices.IsSorted(rows) {
				t.Fatalf("%d rows: %v", m, rows)
			}
			for _, r := range last {
				if !slices.Contains(rows, r) {
					t.Errorf("%v does not contain %v", rows, last)
				}
			}
			for r, g := range labels {
				for s, h := range labels {
					if g == h && slices.Contains(rows, r) != slices.Contains(rows, s) {
						t.Errorf("%v has only one of rows %d and %d", rows, r, s)
					}
				}
			}
			last = rows
		}
	}
	u.groups = nil
	if rows := u.order(1).first(4); len(rows) != 4 {
		t.Errorf("%v without groups", rows)
	}
}
