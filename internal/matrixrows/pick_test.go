package matrixrows

import (
	"slices"
	"testing"
)

// TestRows checks rows of two 3×2 matrices, of columns, and of nothing.
func TestRows(t *testing.T) {
	v := []float64{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15}
	for _, c := range []struct {
		v    []float64
		rows []int
		n, d int
		want []float64
	}{
		{v, []int{2, 0}, 3, 2, []float64{4, 5, 0, 1, 14, 15, 10, 11}},
		{v, []int{5, 5}, 6, 1, []float64{5, 5, 15, 15}},
		{v, nil, 3, 2, nil},
		{nil, []int{1}, 3, 2, nil},
	} {
		if got := Rows(c.v, c.rows, c.n, c.d); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("%v of %d×%d: %v, want %v", c.rows, c.n, c.d, got, c.want)
		}
	}
	if got := Values([]string{"a", "b", "c"}, []int{2, 1}); !slices.Equal(got, []string{"c", "b"}) {
		t.Error(got)
	}
	Put(v, []float64{-1, -2, -3, -4}, []int{5, 0}, 6)
	if want := []float64{-2, 1, 2, 3, 4, -1, -4, 11, 12, 13, 14, -3}; !slices.Equal(v, want) {
		t.Error(v)
	}
	marks := []bool{false, true, true}
	if got := Marked(marks, 3, true); !slices.Equal(got, []int{1, 2}) {
		t.Error(got)
	}
	if got := append(Marked(marks, 3, false), Marked(nil, 2, false)...); !slices.Equal(got, []int{0, 0, 1}) || Marked(nil, 2, true) != nil {
		t.Error(got)
	}
	if got := Spaced(0, 4, 5); !slices.Equal(got, []float64{0, 1, 2, 3, 4}) {
		t.Error(got)
	}
}
