package hyperopt

import (
	"math"
	"slices"
	"testing"
)

// TestLatinStarts: reproducible, inside the bounds, fixed ones untouched, and
// with one value in every slice of equal probability.
func TestLatinStarts(t *testing.T) {
	const n = 21
	p := Problem{
		Names: []string{"l[0]", "l[1]", "noise", "fixed"},
		Start: []float64{0, 1, -2, 5}, Fixed: []bool{false, false, false, true},
		Lower: []float64{-9, -9, -3, -9}, Upper: []float64{9, 9, 9, 9},
	}
	a, err := LatinStarts(p, Settings{Seed: 3}, n)
	b, _ := LatinStarts(p, Settings{Seed: 3}, n)
	other, _ := LatinStarts(p, Settings{Seed: 4}, n)
	if err != nil || len(a) != n || !slices.Equal(a[0].Z, p.Start) {
		t.Fatalf("%d starts, first %v, %v", len(a), a[0].Z, err)
	}
	below := 0
	for k := range a {
		if !slices.Equal(a[k].Z, b[k].Z) || k > 0 && slices.Equal(a[k].Z, other[k].Z) {
			t.Errorf("start %d: %v, again %v, of another seed %v", k, a[k].Z, b[k].Z, other[k].Z)
		}
		if a[k].Z[3] != 5 || a[k].Z[2] < -3 {
			t.Errorf("start %d: %v", k, a[k].Z)
		}
		if k > 0 && a[k].Z[2] < -2 {
			below++
		}
	}
	// Of 20 slices of a lone parameter ten are below its start.
	if below != 10 {
		t.Errorf("%d of 20 starts below the median", below)
	}
}

// TestLatinDeviates: marginally standard normal, those of a group correlated by
// one half.
func TestLatinDeviates(t *testing.T) {
	c, err := Problem{Names: []string{"l[0]", "l[1]", "noise"}, Start: []float64{0, 0, 0}}.check()
	if err != nil {
		t.Fatal(err)
	}
	const n = 20000
	var sum [3][3]float64
	for _, row := range latinDeviates(c, 1, n) {
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
