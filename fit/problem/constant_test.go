package problem

import (
	"slices"
	"testing"
)

func TestConstantColumns(t *testing.T) {
	x := []float64{
		1, 2, 3,
		1, 5, 3,
		1, 2, 4,
	}
	for _, c := range []struct {
		x    []float64
		n, d int
		want []int
	}{
		{x, 3, 3, []int{0}},
		{x[:6], 2, 3, []int{0, 2}},
		{x[:3], 1, 3, []int{0, 1, 2}},
		{nil, 0, 3, nil},
		{x, 9, 1, nil},
	} {
		if got := constantColumns(c.x, c.n, c.d); !slices.Equal(got, c.want) {
			t.Errorf("n=%d d=%d: got %v, want %v", c.n, c.d, got, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong size did not panic")
		}
	}()
	constantColumns(x, 2, 3)
}
